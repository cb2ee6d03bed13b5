package workers

import (
	"strings"
	"testing"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
)

func one(name string, labels ...string) Worker {
	return Worker{Name: name, Hello: remote.Hello{Boot: 1, Slots: 1, Agents: []string{"claude"}, Labels: labels}}
}

func TestObstacle(t *testing.T) {
	needs := remote.Needs{Agent: "claude", Labels: []string{"gpu"}}
	drained, full := one("w3", "gpu"), one("w4", "gpu")
	drained.Draining, full.Hello.Full = true, true
	gone := one("w5", "gpu")
	gone.Revoked = true
	tests := []struct {
		name    string
		server  proc.ID
		workers []Worker
		cause   string // that it begins with
		next    string
	}{
		{"no server", proc.ID{}, []Worker{one("w1", "gpu")}, "no worker: gl serve isn't running", "gl serve"},
		{"nobody joined", proc.Self(), nil, "no worker: none has joined", "gl workers invite"},
		{"revoked", proc.Self(), []Worker{gone}, "no worker: none has joined", "gl workers invite"},
		{"no label", proc.Self(), []Worker{one("w1"), drained, full},
			"no worker fits: w1: it has no label gpu: gl worker --label gpu gives it; " +
				"w3: it gets no new jobs: gl workers drain --off w3; w4: its disk", "gl workers"},
		{"one has it", proc.Self(), []Worker{one("w1"), drained, one("w6", "gpu")}, "", ""},
	}
	for _, tt := range tests {
		l := &List{Server: tt.server, Workers: tt.workers}
		got := l.Obstacle(needs)
		if !strings.HasPrefix(got.Cause, tt.cause) || (got.Cause == "") != (tt.cause == "") || got.Next != tt.next {
			t.Errorf("%s: %+v", tt.name, got)
		}
		// what no obstacle keeps from them is given to an idle one
		if w, _ := l.Choose(remote.Wish{Needs: needs}, nil); (w != nil) != (got == plan.Obstacle{}) {
			t.Errorf("%s: %v is chosen", tt.name, w)
		}
	}
}

// A busy worker is no obstacle: it takes the job later.
func TestBusyWorkerIsNoObstacle(t *testing.T) {
	l := &List{Server: proc.Self(), Workers: []Worker{one("w1", "gpu")}}
	needs := remote.Needs{Agent: "claude", Labels: []string{"gpu"}}
	if w, _ := l.Choose(remote.Wish{Needs: needs}, map[string]int{"w1": 1}); w != nil {
		t.Errorf("%s has no free slot", w.Name)
	}
	if o := l.Obstacle(needs); o.Cause != "" {
		t.Errorf("%+v", o)
	}
}
