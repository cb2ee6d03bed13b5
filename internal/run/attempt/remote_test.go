package attempt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

// remoteIn returns a started attempt on a worker whose gl serve is this process or dead.
func remoteIn(t *testing.T, serving proc.ID) (*bench, *Record) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	r.Life.Wrapper, r.Life.Process = &serving, nil
	r.Life.Remote = &Remote{Worker: "w1", Host: "build-7", Lease: 1}
	must(t, b.store.unlocked().Put(r))
	return b, b.get(r)
}

// The agent of a remote attempt runs on while no gl serve is there: no settler ends it.
func TestRemoteAttemptOutlivesItsServer(t *testing.T) {
	b, r := remoteIn(t, deadID(1))
	final, err := b.settler(b.state).Recover(t.Context(), r)
	must(t, err)
	if final != nil || r.Life.Dead() || len(b.live()) != 1 {
		t.Errorf("settled: %+v", final)
	}
	if got := r.Life.Elsewhere(); got != "on worker w1 (build-7)" {
		t.Errorf("it is %q", got)
	}
	_, err = b.settler(b.state).Stop(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "gl serve isn't running: the next gl serve stops it. If the worker is gone, run gl retry --abandon S-1") {
		t.Errorf("stopped: %v", err)
	}
	if b.get(r).Life.Ending != EndStop {
		t.Error("gl serve doesn't learn that it is to end the agent")
	}
	final, err = b.settler(b.state).Abandon(t.Context(), b.get(r))
	must(t, err)
	if final == nil || final.Judged.Outcome == outcome.Done || final.Life.Phase != plan.Settled {
		t.Errorf("abandoned: %+v", final)
	}
}

// A worker in contact isn't given up; a silent one may be.
func TestSilentWorker(t *testing.T) {
	b, r := remoteIn(t, proc.Self())
	if r.Life.State() != proc.Alive || r.Life.Elsewhere() != "" {
		t.Errorf("%v, %q", r.Life.State(), r.Life.Elsewhere())
	}
	s := b.settler(b.state)
	if _, err := s.Abandon(t.Context(), r); !errors.Is(err, ErrReachable) {
		t.Errorf("abandoned: %v", err)
	}
	since := time.Now().UTC()
	must(t, s.ChangeRemote(t.Context(), r, func(m *Remote) { m.Silent = &since }))
	r = b.get(r)
	if r.Life.State() != proc.Unknown || r.Life.Elsewhere() != "on worker w1 (build-7)" {
		t.Errorf("%v, %q", r.Life.State(), r.Life.Elsewhere())
	}
	must(t, s.ChangeRemote(t.Context(), r, func(m *Remote) { m.Silent = nil }))
	if r = b.get(r); r.Life.State() != proc.Alive {
		t.Errorf("%v after contact", r.Life.State())
	}
}

// Below gl serve runs much that isn't the attempt's agent.
func TestServerIsNotTheAgent(t *testing.T) {
	_, r := remoteIn(t, proc.Self())
	if r.Life.isAbove([]proc.ID{proc.Self()}) {
		t.Error("what gl serve starts counts as the agent")
	}
}
