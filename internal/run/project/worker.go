package project

import (
	"context"
	"fmt"
	"os"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

// noWorker means that no process works on the merge queue.
const noWorker = "queued, and no gl is working on the queue"

// QueueText describes the progress of an attempt in the merge queue, and the process that works
// on the queue or, if there is none, the command to run.
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

// tell adds to an attempt in the merge queue the process that works on the queue, or that
// there is none. An attempt that waits for another reason keeps that.
func (w queueWorkers) tell(a *plan.Attempt, r *attempt.Record) {
	waits := a.Landing == attempt.InQueue
	if !waits && (r.Landing == nil || r.Landing.Step == "") {
		a.Idle = !r.Life.LauncherLives() && w.find() == ""
		return
	}
	var worker string
	if r.Life.LauncherLives() { // probing the locks would disturb processes that take them
		worker = fmt.Sprintf("the gl that launched it, pid %d", r.Life.Launcher.PID)
	} else {
		worker = w.find()
	}
	if worker == "" {
		a.Idle, a.Landing = true, noWorker
		return
	}
	if !waits {
		return
	}
	branch := w.runs.Control.QueueWork()
	switch mine := r.Life.Launcher.PID == os.Getpid(); {
	case mine && branch != "":
		a.Landing += ", while " + branch + " is tested"
	case branch != "":
		a.Landing = "queued for " + worker + ", which tests " + branch + " first"
	case !mine:
		a.Landing = "queued for " + worker
	}
}

// find returns the process that works on the merge queue, or that leads the project's run
// and so works on it; "" for none.
func (w queueWorkers) find() string {
	if leader, err := w.runs.Control.Leader(); err == nil && leader != "" {
		return leader
	}
	repo, err := w.trees(context.Background())
	if err != nil {
		return ""
	}
	holder, err := durable.Holder(repo.Queue.LockFile())
	if err != nil { // then it isn't certain that there is none
		return "another gl"
	}
	return strings.TrimSpace(holder)
}
