package scheduler

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/words"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
)

// Patiently returns a context under which Reconcile waits for the project's lock as long as it
// takes. After some seconds it calls told with the lock's holder.
func Patiently(ctx context.Context, told func(holder string)) context.Context {
	return durable.Patiently(ctx, func(e *durable.LockedError) { told(e.Holder) })
}

// A Reconciled is what Reconcile has put right in a project's runs/.
type Reconciled struct {
	Settled []*attempt.Record // attempts whose launcher or wrapper is dead
	Aside   []*attempt.Aside  // files that can't be used, and where they are now
}

// Reconcile settles all attempts whose launcher or wrapper is dead, and moves bad records aside.
// Commands that launch a slice, or put one back, call it first. The error is a *TrackedError if git
// has the records: then they are another machine's, and gl doesn't act on them.
func Reconcile(ctx context.Context, pr *project.Project) (*Reconciled, error) {
	if err := checkTracked(ctx, pr); err != nil {
		return &Reconciled{}, err
	}
	live, bad, err := pr.Runs.Live()
	if err != nil {
		return &Reconciled{}, err
	}
	r := &Reconciled{}
	errs := []error{r.setAside(ctx, pr, bad)}
	for _, rec := range live {
		s := pr.Whose(rec).Settler()
		final, err := s.Recover(ctx, rec)
		if final != nil {
			r.Settled = append(r.Settled, final)
		}
		errs = append(errs, err)
	}
	return r, errors.Join(errs...)
}

func (r *Reconciled) setAside(
	ctx context.Context, pr *project.Project, bad []*attempt.BadRecord,
) error {
	var badHold *attempt.BadRecord
	if _, err := pr.Runs.HoldFile.Read(); errors.As(err, &badHold) {
		bad = append(bad, badHold)
	}
	if len(bad) == 0 {
		return nil
	}
	return pr.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		r.Aside, err = (attempt.Quarantine{Store: pr.Runs}).SetAside(bad)
		return err
	})
}

// A TrackedError means that git tracks files of runs/, which belong to one machine.
type TrackedError struct{ Files []string }

func (e *TrackedError) Error() string {
	return fmt.Sprintf("git tracks %s%s, but attempt records belong to one machine, "+
		"and gl doesn't act on records from a repository. Run %s",
		e.Files[0], words.More(len(e.Files)-1), UntrackCommand)
}

// UntrackCommand takes runs/ out of git and keeps the files.
const UntrackCommand = "git rm -r --cached " + statedir.Name + "/runs"

// checkTracked returns a *TrackedError if git tracks files of runs/. Without git there are none.
func checkTracked(ctx context.Context, pr *project.Project) error {
	if !paths.Exists(pr.Runs.Files.Dir()) {
		return nil
	}
	files, err := git.Tracked(ctx, pr.Root, statedir.Name+"/runs")
	if err != nil || len(files) == 0 {
		return nil
	}
	return &TrackedError{files}
}
