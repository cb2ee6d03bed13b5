package ops

import (
	"context"
	"fmt"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
)

// A Seen is what a person was shown of an item before they decided about it. Between the look and
// the decision the item may have moved on, by a run or by another person.
type Seen struct {
	Class    plan.Class `json:"class"`
	Attempt  int        `json:"attempt"`  // the last one; 0 for none
	Question string     `json:"question"` // what it waits for
	Tree     string     `json:"tree"`     // the work; "" if git doesn't tell
}

// Look returns what there is to see of an item now.
func Look(ctx context.Context, pr *project.Project, st *plan.State) Seen {
	s := seenOf(st)
	if l, err := Built(ctx, pr, st.ID); err == nil && l != nil {
		if left, err := asIs(ctx, pr, l); err == nil {
			s.Tree = left.Tree
		}
	}
	return s
}

func seenOf(st *plan.State) Seen {
	s := Seen{Class: st.Class, Question: st.WaitingFor}
	if st.Attempt != nil {
		s.Attempt = st.Attempt.N
	}
	return s
}

// A ChangedError means that an item has changed since a person looked at it, so nothing was done.
type ChangedError struct{ ID, What string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since you looked at it: %s. Nothing was done", e.ID, e.What)
}

type seenKey struct{}

// Showing returns a context in which operations on an item do nothing, and return a ChangedError,
// unless the item is as it was shown.
func Showing(ctx context.Context, s Seen) context.Context {
	return context.WithValue(ctx, seenKey{}, s)
}

// unchanged compares an item with what the person was shown.
func unchanged(ctx context.Context, st *plan.State) error {
	was, ok := ctx.Value(seenKey{}).(Seen)
	if !ok {
		return nil
	}
	if st == nil {
		return &ChangedError{"The slice", "it was removed"}
	}
	is := seenOf(st)
	switch {
	case is.Class != was.Class:
		return &ChangedError{st.ID, fmt.Sprintf("it was %s, and is %s now", was.Class, is.Class)}
	case is.Attempt != was.Attempt:
		return &ChangedError{st.ID, fmt.Sprintf("attempt %d has begun", is.Attempt)}
	case is.Question != was.Question:
		return &ChangedError{st.ID, "it waits for something else now: " + is.Question}
	}
	return nil
}

// SameWork returns a ChangedError if the work on an item isn't what the person was shown. The work
// of an agent that runs changes all the time, so it isn't compared.
func SameWork(ctx context.Context, pr *project.Project, id string) error {
	was, ok := ctx.Value(seenKey{}).(Seen)
	if !ok || was.Class == plan.Active {
		return nil
	}
	l, err := Built(ctx, pr, id)
	if err != nil {
		return err
	}
	is, err := asIs(ctx, pr, l)
	if err != nil { // git doesn't tell now
		is.Tree = ""
	}
	return sameWork(ctx, id, is.Tree)
}

// sameWork compares the tree of an item's work with the one that the person was shown.
func sameWork(ctx context.Context, id, tree string) error {
	if was, ok := ctx.Value(seenKey{}).(Seen); ok && was.Tree != tree {
		return &ChangedError{id, "its files have changed"}
	}
	return nil
}
