package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/journal"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
)

// Accept marks a slice that awaits approval as complete, and returns the slices that can be built because of it. With
// force it also takes one that is being verified or has stalled. The error is ErrNothingToDo for a complete slice.
func Accept(ctx context.Context, pr *project.Project, id string, force bool) (ready []string, err error) {
	before, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	var st *plan.State
	err = edit(ctx, pr, id, func(m moment, f *slice.File) error {
		st = m.st
		if err := mayDecide(m, force); err != nil {
			return err
		}
		switch {
		case m.st.Class == plan.Done:
			return ErrNothingToDo
		case m.st.Class == plan.Waiting && !m.st.AtReview() && !force:
			return fmt.Errorf("%s isn't at its review: %s", m.st.ID, m.plan.Why(m.st.ID, m.now))
		}
		return f.SetAll([][2]string{{"status", "complete"}, {"step", "complete"}, {"waiting_for", ""}, {"session", ""}})
	})
	if err != nil {
		return nil, err
	}
	tell(pr, st, journal.Event{Kind: journal.Accepted})
	after, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, fmt.Errorf("%s is complete, but what can be built now isn't known: %w", id, err)
	}
	return slices.DeleteFunc(slices.Clone(after.Ready), func(id string) bool { return slices.Contains(before.Ready, id) }), nil
}

// Reject puts a slice that awaits approval back, with what is wrong with it, one line of text, among its decisions. With
// force it also takes one that is being verified or has stalled.
func Reject(ctx context.Context, pr *project.Project, id, text string, force bool) error {
	var st *plan.State
	err := edit(ctx, pr, id, func(m moment, f *slice.File) error {
		st = m.st
		if err := mayDecide(m, force); err != nil {
			return err
		}
		if m.st.Class == plan.Done {
			return fmt.Errorf("%s is complete: to build it again, run gl state set %s status=pending", id, id)
		}
		if err := f.AppendToSection("Decisions", dated(m.now, "Rejected: "+text)); err != nil {
			return err
		}
		return f.SetAll([][2]string{{"status", "pending"}, {"step", "none"}, {"waiting_for", ""}, {"session", ""}})
	})
	if err != nil {
		return err
	}
	tell(pr, st, journal.Event{Kind: journal.Rejected, Reason: text})
	// As in Retry: after the slice's file, so that a kill between the two can't make it look as if somebody worked on it.
	return pr.Runs.MarkRetried(id)
}

// mayDecide refuses a slice that isn't a person's to decide about.
func mayDecide(m moment, force bool) error {
	st := m.st
	verifying := st.Class == plan.Active && strings.EqualFold(strings.TrimSpace(st.Status), "verifying")
	why := m.plan.Why(st.ID, m.now)
	switch {
	case st.Attempt.Open():
		return atWork(st)
	case st.Class == plan.Done:
		return nil
	case st.Class == plan.Waiting && st.WaitingFor != "":
		return nil
	case st.Class == plan.Waiting:
		return fmt.Errorf("%s is paused, not awaiting approval: run %s", st.ID, strings.Join(why.Next, ", then "))
	case (verifying || st.Class == plan.Stalled) && force:
		return nil
	case verifying || st.Class == plan.Stalled:
		why.If, why.Next = "", []string{"gl accept " + st.ID + " --force or gl reject " + st.ID + " TEXT --force to decide anyway"}
		if verifying { // somebody may be at work on it
			return taken("%s", why)
		}
		return errors.New(why.String())
	case st.Class == plan.Active:
		return taken("%s", why)
	}
	return fmt.Errorf("%s isn't awaiting approval: %s", st.ID, why)
}
