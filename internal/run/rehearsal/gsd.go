package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/gsd"
)

// A gsdWorker does what GSD's commands do, as far as files show: a plan, a summary for each
// plan, a report. It records the project's position with gl gsd state.
type gsdWorker struct {
	gl          glCommand
	root, phase string
	step        string // plan-phase, execute-phase or verify-work
}

// dir returns the phase's directory, the prefix of its files, and its plans.
func (w *gsdWorker) dir() (dir, prefix string, plans []string, err error) {
	place, ok := gsd.Find(w.root, os.Getenv)
	if !ok {
		place = gsd.Place{Root: w.root, Planning: filepath.Join(w.root, ".planning")}
	}
	prefix = w.phase
	if len(prefix) == 1 || strings.Index(prefix, ".") == 1 {
		prefix = "0" + prefix
	}
	dir = filepath.Join(place.Phases(), prefix+"-rehearsal")
	for _, d := range gsd.ScanPhases(place.Phases()) {
		if d.Key == gsd.PhaseKey(w.phase) {
			dir = filepath.Join(place.Phases(), d.Name)
		}
	}
	plans, err = filepath.Glob(filepath.Join(paths.EscapeGlob(dir), "*PLAN.md"))
	return dir, prefix, plans, err
}

func (w *gsdWorker) enter(_ context.Context, step int) ([]call, error) {
	if w.step != "execute-phase" || step > 0 {
		return nil, nil
	}
	_, _, plans, err := w.dir()
	return []call{w.gl.try("gsd", "state", "begin-phase", "--phase", w.phase, "--plans",
		fmt.Sprint(len(plans)))}, err
}

func (w *gsdWorker) complete(context.Context, Fate) ([]call, error) {
	dir, prefix, plans, err := w.dir()
	if err != nil {
		return nil, err
	}
	switch w.step {
	case "plan-phase":
		return []call{
			write(filepath.Join(dir, prefix+"-01-PLAN.md"),
				"---\nphase: "+w.phase+"\nplan: 1\nwave: 1\n---\n\n# Plan (rehearsal)\n"),
			w.gl.try("gsd", "state", "planned-phase", "--phase", w.phase, "--plans", "1"),
		}, nil
	case "execute-phase":
		var calls []call
		for _, plan := range plans {
			calls = append(calls,
				write(strings.TrimSuffix(plan, "PLAN.md")+"SUMMARY.md", "# Summary (rehearsal)\n"),
				w.gl.try("gsd", "state", "advance-plan"))
		}
		return append(calls, write(filepath.Join(dir, prefix+"-VERIFICATION.md"),
			"---\nstatus: passed\n---\n\n# Verification (rehearsal)\n")), nil
	}
	return []call{write(filepath.Join(dir, prefix+"-UAT.md"),
		"---\nstatus: complete\n---\n\n# Tests (rehearsal)\n")}, nil
}

func (w *gsdWorker) park(context.Context) ([]call, error) {
	return []call{w.gl.call("gsd", "state", "signal-waiting", "--type", "rehearsal", "--question",
		"A person to look at it (rehearsal)", "--phase", w.phase)}, nil
}

// write returns a call that creates a file if it doesn't exist.
func write(path, text string) call {
	return call{"write " + path, func(context.Context) error {
		if err := durable.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		err := durable.Replace(path, nil, []byte(text))
		if errors.Is(err, durable.ErrChanged) {
			return toolError{fmt.Errorf("%s already exists", path)}
		}
		return err
	}}
}
