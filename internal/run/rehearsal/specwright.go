package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"greenlight/internal/state/specwright"
)

// defaultTasks is the number of tasks of a unit whose plan doesn't give one.
const defaultTasks = 4

// A swWorker does what /sw-build and /sw-verify do, with gl sw: it finishes the unit's tasks,
// or makes each enabled gate pass.
type swWorker struct {
	gl     glCommand
	root   string
	verify bool
	gates  []string // gates to pass, for a verification
	passed int
}

// A swStatus has the fields that the worker needs of gl sw status --json.
type swStatus struct {
	Work *struct {
		Total     *int     `json:"tasks_total"`
		Completed []string `json:"tasks_completed"`
	}
	Gates []struct {
		Name    string
		Enabled bool
	}
	Missing []string `json:"gates_missing"`
}

func (w *swWorker) status(ctx context.Context) (s swStatus, err error) {
	out, err := w.gl(ctx, "sw", "status", "--json")
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err == nil && s.Work == nil {
		err = fmt.Errorf("no work is in hand")
	}
	return s, err
}

func (w *swWorker) enter(ctx context.Context, step int) ([]call, error) {
	if w.verify {
		return w.verification(ctx, step)
	}
	s, err := w.status(ctx)
	if err != nil {
		return nil, err
	}
	var calls []call
	total := defaultTasks
	if s.Work.Total != nil {
		total = *s.Work.Total
	} else {
		total = max(total, len(s.Work.Completed))
		calls = append(calls, w.gl.call("sw", "task", "total", fmt.Sprint(total)))
	}
	done := len(s.Work.Completed)
	for ; done < total*step/len(walk); done++ {
		calls = append(calls, w.gl.call("sw", "task", "done", rehearsed(done+1)))
	}
	if done < total {
		calls = append(calls, w.gl.call("sw", "task", "start", rehearsed(done+1)))
	}
	return calls, nil
}

func (w *swWorker) verification(ctx context.Context, step int) ([]call, error) {
	var calls []call
	if step == 0 {
		s, err := w.status(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range s.Gates {
			if g.Enabled {
				w.gates = append(w.gates, g.Name)
			}
		}
		w.gates = append(w.gates, s.Missing...)
		calls = append(calls, w.gl.call("sw", "to", "verifying"))
	}
	for ; w.passed < len(w.gates)*step/len(walk); w.passed++ {
		calls = append(calls, w.gate(w.gates[w.passed]))
	}
	return calls, nil
}

// gate returns the call that records a gate. gl runs those that it can by itself, and they may
// fail; of the others it takes the agent's word. Without a build command there is no build that
// could pass.
func (w *swWorker) gate(name string) call {
	word := w.gl.call("sw", "gate", name, "PASS")
	switch {
	case name == "build" && !specwright.ReadConfig(w.root).Build:
		return w.gl.call("sw", "gate", name, "SKIP")
	case name != "build" && name != "tests":
		return word
	}
	return call{"gl sw gate " + name + " --run", func(ctx context.Context) error {
		_, err := w.gl(ctx, "sw", "gate", name, "--run")
		var exit *exec.ExitError
		if err == nil || errors.As(err, &exit) { // it ran: an error of gl's own has a text
			return nil
		}
		return word.do(ctx)
	}}
}

func (w *swWorker) complete(ctx context.Context, _ Fate) ([]call, error) {
	return w.enter(ctx, len(walk))
}

// park makes the last gate report a finding for a person to decide about. Building has no such
// state.
func (w *swWorker) park(context.Context) ([]call, error) {
	if len(w.gates) == 0 {
		return nil, nil
	}
	return []call{w.gl.call("sw", "gate", w.gates[len(w.gates)-1], "FAIL")}, nil
}
