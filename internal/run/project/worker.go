package project

import (
	"context"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

// noWorker means that no process works on the merge queue.
const noWorker = "queued, and no gl is working on the queue"

// QueueText describes the progress of an attempt in the merge queue and, if no process works on the
// queue, the command to run.
func (p *Project) QueueText(r *attempt.Record) string {
	a := p.open(r)
	if a.Landing == noWorker {
		return a.Landing + ". Run gl land" + p.Flags()
	}
	return a.Landing
}

// A queueWorkers finds the process that works on the merge queue.
type queueWorkers struct {
	runs  *attempt.Store
	trees func(context.Context) (*worktree.Repo, error)
}

// tell adds to an attempt in the merge queue that no process works on the queue, or that the target
// is tested first. An attempt that waits for another reason keeps that.
func (w queueWorkers) tell(a *plan.Attempt, r *attempt.Record) {
	waits := a.Landing == attempt.InQueue
	// while the launcher lives, the locks aren't probed: that would disturb processes that take
	// them
	a.Idle = !r.Life.LauncherLives() && !w.works()
	switch branch := w.runs.Control.QueueWork(); {
	case a.Idle && (waits || r.Landing != nil && r.Landing.Step != ""):
		a.Landing = noWorker
	case waits && branch != "":
		a.Landing += ", while " + branch + " is tested"
	}
}

// works reports whether a process works on the merge queue, or leads the project's run and so works
// on it.
func (w queueWorkers) works() bool {
	if leader, err := w.runs.Control.Leader(); err == nil && leader != "" {
		return true
	}
	repo, err := w.trees(context.Background())
	if err != nil {
		return false
	}
	holder, err := durable.Holder(repo.Queue.LockFile())
	return err != nil || strings.TrimSpace(holder) != "" // an error: it isn't certain that there is none
}
