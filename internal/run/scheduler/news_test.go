package scheduler

import (
	"testing"
	"time"

	"greenlight/internal/core/plan"
)

// Why slices wait for a worker is reported once it has lasted, once for each reason, and again if
// it comes back.
func TestUnplacedIsReportedOnce(t *testing.T) {
	n := &news{unplaced: map[plan.Obstacle]time.Time{}}
	p := &plan.Plan{Snapshot: &plan.Snapshot{Outlook: plan.Outlook{Unplaced: map[string]plan.Obstacle{}}}}
	p.Lists.Ready = []string{"S-1", "S-2", "S-3"}
	now := time.Now()
	look := func(after time.Duration) []plan.Unplaced {
		now = now.Add(after)
		var r Report
		n.addUnplaced(p, now, &r)
		return r.Unplaced
	}
	silent := plan.Obstacle{Cause: "no worker fits: w1: it has no contact", Next: "gl workers"}
	p.Snapshot.Outlook.Unplaced["S-1"], p.Snapshot.Outlook.Unplaced["S-3"] = silent, silent
	if got := look(0); len(got) != 0 {
		t.Errorf("reported at once: %v", got)
	}
	if got := look(unplacedTime - 1); len(got) != 0 {
		t.Errorf("reported too early: %v", got)
	}
	if got := look(time.Second); len(got) != 1 || len(got[0].IDs) != 2 || got[0].Obstacle != silent {
		t.Errorf("reported %v", got)
	}
	if got := look(time.Hour); len(got) != 0 {
		t.Errorf("reported twice: %v", got)
	}
	p.Lists.Ready = p.Lists.Ready[1:2] // the worker is back
	look(time.Second)
	p.Lists.Ready = []string{"S-3"}
	look(time.Second)
	if got := look(unplacedTime); len(got) != 1 || got[0].IDs[0] != "S-3" {
		t.Errorf("a second time: %v", got)
	}
}
