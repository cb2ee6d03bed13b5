package project

import (
	"context"
	"fmt"
	"strings"

	"greenlight/internal/attempt"
	"greenlight/internal/durable"
	"greenlight/internal/plan"
)

// noWorker says that nothing happens to what is in the merge queue.
const noWorker = "queued, and no gl works the merge queue"

// QueueText is how far an attempt in the merge queue is, which process works that queue, or which command does where none does.
func (p *Project) QueueText(r *attempt.Record) string {
	a := p.open(r)
	if a.Idle {
		return a.Landing + ". Run gl land" + p.Flags()
	}
	return a.Landing
}

// tellWorker adds to an attempt in the merge queue which process works that queue, or that none does. What waits for a reason of its own
// doesn't wait for a process.
func (p *Project) tellWorker(a *plan.Attempt, r *attempt.Record) {
	waits := a.Landing == attempt.InQueue
	if !waits && (r.Landing == nil || r.Landing.Step == "") {
		return
	}
	var worker string
	if r.LauncherLives() { // looking at locks would get in the way of those who take them
		worker = fmt.Sprintf("the gl that launched it, pid %d", r.Launcher.PID)
	} else {
		worker = p.laneWorker()
	}
	switch {
	case worker == "":
		a.Idle, a.Landing = true, noWorker
	case waits:
		a.Landing = "queued for " + worker
		if branch := p.Runs.QueueWork(); branch != "" {
			a.Landing += ", which tests " + branch + " first"
		}
	}
}

// laneWorker names the process that works the merge queue or leads the project's run, which works it; "" for none.
func (p *Project) laneWorker() string {
	if leader, err := p.Runs.Leader(); err == nil && leader != "" {
		return leader
	}
	repo, err := p.Worktrees(context.Background())
	if err != nil {
		return ""
	}
	holder, err := durable.Holder(repo.LaneLock())
	if err != nil { // then nobody can say that none does
		return "another gl"
	}
	return strings.TrimSpace(holder)
}
