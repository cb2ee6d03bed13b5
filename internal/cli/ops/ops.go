// Package ops implements the commands that change a project's state: accept and reject, retry,
// pause and resume, claim and release, set and note, add, stop, migrate, and starting a new
// project. Each has a file.
//
// An operation checks and changes in one step, under the project's lock. It returns what changed
// and what a person should know about it. It prints nothing, asks nothing, and has no flags; output
// and exit codes belong to the commands.
//
// The operations are one package because they share how they reach a slice's file, whom they refuse
// and the errors for that. None of them calls another. The format of a slice's file belongs to the
// tracker.
package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// ErrNothingToDo means that the slice is already in the state that the operation would bring about.
var ErrNothingToDo = errors.New("nothing to do")

// A TakenError means that another session or agent works on the slice.
type TakenError struct {
	Reason string
	Claim  *plan.State // set if the slice has a claim that Claim could take over
}

func (e *TakenError) Error() string { return e.Reason }

func taken(format string, a ...any) error { return &TakenError{Reason: fmt.Sprintf(format, a...)} }

// atWork returns the error for a slice with a running attempt.
func atWork(st *plan.State) error {
	a := st.Attempt
	switch {
	case !a.Live():
		return taken("attempt %d of %s isn't settled, and its gl process vanished: run gl doctor --fix", a.N, st.ID)
	case a.Where.Unserved:
		return taken("%s is being worked on by attempt %d (%s) %s, and gl serve isn't running: run gl serve", st.ID, a.N, a.Agent, a.Where.Text)
	case a.Where.Text != "":
		return taken("%s is being worked on by attempt %d (%s) %s, where gl can't look. If that is gone, run gl retry --abandon %s", st.ID, a.N, a.Agent, a.Where.Text, st.ID)
	}
	if a.Phase == plan.Queued {
		help := "gl status shows how far it is"
		if a.Idle {
			help = "run gl land"
		}
		return taken("%s is in the merge queue (%s): %s", st.ID, a.Landing, help)
	}
	return taken("%s is being worked on by attempt %d (%s): run gl stop %s", st.ID, st.Attempt.N,
		st.Attempt.Agent, st.ID)
}

// An ArgumentError means that an operation got an argument that is invalid in every state of the
// slice.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }
func (e *ArgumentError) Unwrap() error { return e.Err }

func badArgument(format string, a ...any) error { return &ArgumentError{fmt.Errorf(format, a...)} }

// store returns the project's slices, the only access to them.
func store(pr *project.Project) (project.SliceKeeper, error) {
	if err := pr.RequireGreenlight(); err != nil {
		return nil, err
	}
	return pr.Slices, nil
}

// A moment is the project as seen by an edit, under the lock.
type moment struct {
	now  time.Time
	plan *plan.Plan  // nil in editAlone
	st   *plan.State // the slice that is edited
	held statedir.Held
}

// An editor changes a slice's file under the lock. f runs again if a writer without the lock has
// changed the file meanwhile.
type editor func(ctx context.Context, pr *project.Project, id string,
	f func(moment, *slice.File) error) error

// edit is the editor that sees the whole project.
func edit(ctx context.Context, pr *project.Project, id string,
	f func(moment, *slice.File) error) error {
	return editSeeing(ctx, pr, id, lookAtAll, f)
}

// editAlone is for changes that don't depend on other slices. Its moment has no plan, and its slice
// is read from its own file and attempts alone, so it costs the same in a project of any size.
func editAlone(ctx context.Context, pr *project.Project, id string,
	f func(moment, *slice.File) error) error {
	return editSeeing(ctx, pr, id, lookAtOne, f)
}

func editSeeing(ctx context.Context, pr *project.Project, id string,
	look func(*project.Project, string) (moment, error), f func(moment, *slice.File) error) error {
	s, err := store(pr)
	if err != nil {
		return err
	}
	return s.Edit(ctx, id, func(file *slice.File) error {
		m, err := look(pr, id)
		if err != nil {
			return err
		}
		m.held = file.Held
		if err := unchanged(ctx, m.st); err != nil {
			return err
		}
		return f(m, file)
	})
}

// amend changes records of attempts under the lock: of two changes of one record at the same time,
// one would be lost. It follows the change of the slice's file, so that a kill between the two
// can't make it look as if a session worked on the slice. An interrupt doesn't come between them.
func amend(ctx context.Context, pr *project.Project, change func(*attempt.Writer) error) error {
	return pr.Tracker.Do(context.WithoutCancel(ctx), func(tx tracker.Tx) error {
		return change(pr.Runs.Within(tx.Held()))
	})
}

func lookAtAll(pr *project.Project, id string) (moment, error) {
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		return moment{}, err
	}
	st := p.State(id)
	if st == nil {
		return moment{}, notFound(id)
	}
	return moment{now: now, plan: p, st: st}, nil
}

func lookAtOne(pr *project.Project, id string) (moment, error) {
	it, ok := pr.Slices.Own(id)
	if !ok {
		return lookAtAll(pr, id)
	}
	now := time.Now()
	st, err := pr.Alone(it, now, pr.Options())
	return moment{now: now, st: st}, err
}

// tell writes what was done to a slice into the journal, with the number of its last attempt. A
// journal that can't be written doesn't undo the change.
func tell(pr *project.Project, st *plan.State, e journal.Event) {
	_ = pr.Runs.Journal().Append(about(pr, st, e))
}

// about returns the event as one of the slice's.
func about(pr *project.Project, st *plan.State, e journal.Event) journal.Event {
	e.System, e.Slice = pr.Key(), st.ID
	if st.Attempt != nil {
		e.Attempt = st.Attempt.N
	}
	return e
}

// notFound is the error for a slice that was just removed.
func notFound(id string) error { return fmt.Errorf("%s: %w", id, tracker.ErrNotFound) }

// warnOther returns a warning about changing a slice that another session has claimed; none if who
// has the claim.
func warnOther(pr *project.Project, st *plan.State, who attempt.Claimant, now time.Time) []string {
	if !who.OtherHolds(pr.Runs, st) {
		return nil
	}
	return []string{"warning: " + st.ClaimText(now) + ": changed anyway"}
}

// IsLine reports whether text is a single, nonblank line.
func IsLine(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsFunc(text, unicode.IsControl)
}

// NextRun describes what builds a reopened slice: the current run, if there is one.
func NextRun(pr *project.Project) string {
	if leader, err := pr.Runs.Control.Leader(); err == nil && leader != "" {
		return "the run under way"
	}
	return "the next gl slice"
}
