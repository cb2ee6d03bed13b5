package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/state/tracker"
)

// A Remote is the worker on which an attempt's agent runs, by the attempt's newest lease.
type Remote struct {
	Worker string `json:"worker"` // the name by which it joined
	Host   string `json:"host"`   // the machine it says it is on
	Lease  int    `json:"lease"`  // 1 for the attempt's first
	// Labels are what its worker must have, as the slice said when it was claimed.
	Labels []string `json:"labels,omitempty"`
	// Silent is when gl serve last heard of the worker; nil while they are in contact.
	Silent *time.Time `json:"silent,omitempty"`
	// Waits is why no worker has the attempt; "" while one has.
	Waits string `json:"waits,omitempty"`
}

// mostLeases bounds the leases of one attempt.
const mostLeases = 1000

func (m *Remote) check() error {
	if m == nil {
		return nil
	}
	if m.Lease < 1 || m.Lease > mostLeases {
		return fmt.Errorf("invalid lease %d", m.Lease)
	}
	if m.Worker == "" {
		return errors.New("runs on a worker without a name")
	}
	for _, label := range m.Labels {
		if err := remote.CheckLabel(label); err != nil {
			return err
		}
	}
	return cmp.Or(checkLine("worker", m.Worker), checkLine("host", m.Host), checkLine("waits", m.Waits), checkTimes(m.Silent))
}

// name returns the worker's name, "" for this machine.
func (m *Remote) name() string {
	if m == nil {
		return ""
	}
	return m.Worker
}

// Label names the worker and its machine: "w1 (build-7)"; "" for this machine.
func (m *Remote) Label() string {
	if m == nil {
		return ""
	}
	text := m.Worker
	if m.Host != "" && m.Host != m.Worker {
		text += " (" + m.Host + ")"
	}
	return sanitize.Line(text)
}

// Place names the worker in a sentence: "on worker w1 (build-7)".
func (m *Remote) Place() string { return "on worker " + m.Label() }

// isRemote reports whether a worker may have the attempt's agent. Until the wrapper has taken the
// attempt over nothing has been sent there.
func (l *Life) isRemote() bool {
	return l.Remote != nil && (l.Phase == plan.Preparing || l.Phase == plan.Started)
}

// Unserved reports whether a worker may have the attempt's agent, and the gl serve that was to hear
// of it is gone.
func (l *Life) Unserved() bool { return l.isRemote() && l.mover().State() == proc.Dead }

// stopRemote has gl serve end the agent of a remote attempt, and waits for that. What it can't
// reach now it ends at the next contact.
func (s *Settler) stopRemote(ctx context.Context, r *Record) (*Record, error) {
	if err := s.Store.MarkEnding(ctx, s.Tracker, r, EndStop, ""); err != nil {
		return nil, err
	}
	if r.Life.State() == proc.Alive {
		if final := s.await(ctx, r, command.EndGrace+15*time.Second); final != nil {
			return final, nil
		}
	}
	if r.Life.Unserved() {
		return nil, fmt.Errorf("it runs %s, and gl serve isn't running: the next gl serve stops it. "+
			"If the worker is gone, run gl retry --abandon %s", r.Life.Remote.Place(), r.ID.Label())
	}
	return nil, fmt.Errorf("it runs %s, and is stopped there once gl serve reaches that worker. "+
		"If the worker is gone, run gl retry --abandon %s", r.Life.Remote.Place(), r.ID.Label())
}

// ChangeRemote changes what is known of the worker of a remote attempt. The record on disk may be
// over by now: then nothing changes.
func (s *Settler) ChangeRemote(ctx context.Context, r *Record, change func(*Remote)) error {
	return s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := s.Store.Get(r.ID.Slice, r.ID.N)
		if err != nil || disk.ID.Token != r.ID.Token || !disk.Life.isRemote() {
			return err
		}
		change(disk.Life.Remote)
		return s.Store.Within(tx.Held()).Put(disk)
	})
}
