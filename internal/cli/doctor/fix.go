package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
)

func fixTemps(_ context.Context, pr *project.Project) ([]string, error) {
	var did []string
	var errs []error
	now := time.Now()
	for _, dir := range tempDirs(pr.Root) {
		temps, err := durable.Abandoned(dir, now)
		errs = append(errs, err, durable.Sweep(dir, now))
		for _, path := range temps {
			if !paths.Exists(path) {
				did = append(did, "removed "+paths.Relative(pr.Root, path))
			}
		}
	}
	return did, errors.Join(errs...)
}

// fixState has the tracker fix its own files.
func fixState(ctx context.Context, pr *project.Project) ([]string, error) {
	return pr.Tracker.Repair(ctx)
}

func fixIgnores(ctx context.Context, pr *project.Project) ([]string, error) {
	left, err := git.Unignored(ctx, pr.Root, statedir.Ignored()...)
	if err != nil || len(left) == 0 || !paths.Exists(statedir.Path(pr.Root)) {
		return nil, nil // no repository, or nothing to do there
	}
	path := statedir.Path(pr.Root, ".gitignore")
	missing := !paths.Exists(path)
	added, err := statedir.AddIgnores(ctx, pr.Root)
	if len(added) > 0 || missing && paths.Exists(path) { // taking the lock creates a missing file
		return []string{"wrote .greenlight/.gitignore"}, err
	}
	return nil, err
}

// fixRecords moves unusable files of runs/ aside.
func fixRecords(ctx context.Context, pr *project.Project) ([]string, error) {
	bad, err := (attempt.Quarantine{Store: pr.Runs}).Bad()
	if err != nil || len(bad) == 0 {
		return nil, err
	}
	var did []string
	err = pr.Tracker.Do(ctx, func(tracker.Tx) error {
		moved, err := (attempt.Quarantine{Store: pr.Runs}).SetAside(bad)
		for _, a := range moved {
			did = append(did, fmt.Sprintf("moved %s to %s", paths.Relative(pr.Root, a.Path),
				paths.Relative(pr.Root, a.To)))
		}
		return err
	})
	return did, err
}

// fixAttempts settles the attempts whose gl process is gone.
func fixAttempts(ctx context.Context, pr *project.Project) ([]string, error) {
	before, _, err := pr.Runs.Live()
	if err != nil {
		return nil, err
	}
	found, err := scheduler.Reconcile(ctx, pr)
	settled := found.Settled
	var did []string
	for _, r := range settled {
		did = append(did,
			fmt.Sprintf("settled attempt %d of %s: %s", r.ID.N, r.ID.Slice,
				r.Judged.Outcome.Text(r.Judged.Detail)))
	}
	for _, r := range before {
		wasSettled := slices.ContainsFunc(settled, func(s *attempt.Record) bool {
			return s.ID.Slice == r.ID.Slice
		})
		if !wasSettled && !pr.Runs.IsOpen(r.ID.Name()) && !r.Life.Phase.Begun() &&
			r.Life.State() == proc.Dead {
			did = append(did, fmt.Sprintf("released the claim of attempt %d of %s, which never started", r.ID.N, r.ID.Slice))
		}
	}
	return did, err
}

// fixReverted rewrites the files of slices that have landed.
func fixReverted(ctx context.Context, pr *project.Project) ([]string, error) {
	var did []string
	var errs []error
	for _, view := range pr.Views() {
		p, err := view.Plan(time.Now(), view.Options())
		if err != nil { // reported by another check
			continue
		}
		ids := p.Reverted()
		recs, err := view.Runs.Last(ids...)
		errs = append(errs, err)
		settler := view.Settler()
		for _, id := range ids {
			if len(recs[id]) == 0 {
				continue
			}
			wrote, err := settler.Rewrite(ctx, recs[id][0])
			if errs = append(errs, err); wrote {
				did = append(did,
					fmt.Sprintf("wrote %s again: %s is merged", p.State(id).File, id))
			}
		}
	}
	return did, errors.Join(errs...)
}

// fixLeftovers removes live records of settled attempts whose gl process died before removing them.
func fixLeftovers(ctx context.Context, pr *project.Project) ([]string, error) {
	live, _, err := pr.Runs.Live()
	if err != nil {
		return nil, err
	}
	var did []string
	var errs []error
	for _, r := range live {
		final, err := pr.Runs.Get(r.ID.Slice, r.ID.N)
		if err != nil || final.Life.Phase != plan.Settled || r.Life.State() != proc.Dead {
			continue
		}
		settler := pr.Whose(r).Settler()
		_, err = settler.Settle(ctx, r)
		errs = append(errs, err)
		if !pr.Runs.IsOpen(r.ID.Name()) {
			did = append(did,
				fmt.Sprintf("removed what was left of attempt %d of %s", r.ID.N, r.ID.Slice))
		}
	}
	return did, errors.Join(errs...)
}

func fixEnvs(_ context.Context, pr *project.Project) ([]string, error) {
	var did []string
	var errs []error
	for _, path := range deadEnvs(pr.Runs) {
		err := durable.Unlink(path)
		errs = append(errs, err)
		if err == nil {
			did = append(did, "removed "+paths.Relative(pr.Root, path))
		}
	}
	return did, errors.Join(errs...)
}

// fixMessages drops messages to agents that no agent will read.
func fixMessages(ctx context.Context, pr *project.Project) ([]string, error) {
	if len(pr.Runs.Messages.SaidTo()) == 0 {
		return nil, nil
	}
	var did []string
	err := pr.Tracker.Do(ctx, func(tracker.Tx) error {
		var errs []error
		for _, work := range unread(pr, time.Now()) {
			err := pr.Runs.Messages.Drop(pr.Key(), work)
			if errs = append(errs, err); err == nil {
				did = append(did, "dropped messages to "+work+": gl events has it")
			}
		}
		return errors.Join(errs...)
	})
	return did, err
}
