package ops

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/tracker"
)

// A Fixed is another system's item that is held back because its tests failed, and that a person
// may have fixed in the checkout.
type Fixed struct {
	Project *project.Project
	ID      string
	rec     *attempt.Record // the attempt that is held back
	test    project.Test
	// Commands are what a person must have allowed before Test.
	Commands []trust.Command
}

// HeldBack returns the item if it is held back, otherwise nil.
func HeldBack(pr *project.Project, id string) (*Fixed, error) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	st := p.State(id)
	if st == nil || !st.HeldBack || st.Attempt.Open() {
		return nil, nil
	}
	rec, err := pr.Runs.Get(id, st.Attempt.N)
	if err != nil {
		return nil, err
	}
	settings, err := pr.Settings()
	if err != nil {
		return nil, err
	}
	f := &Fixed{Project: pr, ID: id, rec: rec}
	f.test, f.Commands = settings.Test()
	if len(f.Commands) == 0 {
		return nil, fmt.Errorf("test.command is no longer set, so gl can't tell whether %s is fixed: set it with gl settings set test.command, "+
			"or run gl retry %s%s", id, id, pr.Flags())
	}
	return f, nil
}

// Limit is how long the tests may run.
func (f *Fixed) Limit() time.Duration { return f.test.Limit }

// Test runs the tests in the checkout. If they pass, the item is done; otherwise it stays held
// back.
func (f *Fixed) Test(ctx context.Context, self string, env []string) (*testrun.Verdict, error) {
	id := f.ID
	v, err := testrun.Run(ctx, testrun.Spec{
		Executor: executor.NewLocal(self), Command: f.test.Command, Root: f.Project.Root, Top: f.Project.Root,
		Dir: f.Project.Root, Env: env, Limit: f.test.Limit, Pattern: f.test.Pattern,
		Log: f.Project.Runs.Files.TestsLog(id, f.rec.ID.N),
	})
	if err != nil || !v.Green() {
		return v, err
	}
	err = f.Project.Tracker.Do(context.WithoutCancel(ctx), func(tx tracker.Tx) error {
		now, err := HeldBack(f.Project, id)
		if err != nil {
			return err
		}
		if now == nil || now.rec.ID.N != f.rec.ID.N {
			return fmt.Errorf("%s was changed while its tests ran: run gl why %s%s", id, id, f.Project.Flags())
		}
		return f.Project.Runs.Within(tx.Held()).MarkFixed(id, v)
	})
	if err == nil {
		_ = f.Project.Runs.Journal().Append(journal.Event{Kind: journal.Accepted, System: f.Project.Key(), Slice: id,
			Attempt: f.rec.ID.N, Reason: "fixed; its tests pass"})
	}
	return v, err
}
