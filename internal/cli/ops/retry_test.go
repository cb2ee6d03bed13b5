package ops

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
)

func TestRetry(t *testing.T) {
	y := newYard(t, map[string]string{
		"byhand": "status: failed; step: tests", "tried": "status: pending; step: none; session:", "ready": "status: pending; step: none",
		"done": "status: complete; step: complete", "running": "status: pending; step: none; session:",
	})
	y.failed("tried")
	y.attempt("running")
	for id, want := range map[string]string{"byhand": "pending tests", "tried": "pending none"} {
		was, err := Retry(t.Context(), y.Project, id, false)
		if err != nil || was.Class != plan.Failed {
			t.Errorf("%s was %s, %v", id, was.Class, err)
		}
		if st := y.state(id); st.Class != plan.Available || y.mark(id) != want {
			t.Errorf("%s is %s: %s", id, st.Class, y.mark(id))
		}
	}
	if _, err := Retry(t.Context(), y.Project, "ready", false); !errors.Is(err, ErrNothingToDo) {
		t.Error(err)
	}
	var taken *TakenError
	if _, err := Retry(t.Context(), y.Project, "running", false); !errors.As(err, &taken) ||
		taken.Claim != nil {
		t.Error(err)
	}
	if _, err := Retry(t.Context(), y.Project, "done", false); err == nil ||
		errors.Is(err, ErrNothingToDo) {
		t.Error(err)
	}
}

// A GSD project can't express a failure: only the attempt's record has it, and retry changes that.
func TestRetryOfAnotherSystem(t *testing.T) {
	root := tempDir(t)
	for name, text := range map[string]string{
		"ROADMAP.md":                  "# Roadmap\n\n## Phases\n\n- [ ] **Phase 1: One** - first\n\n## Phase Details\n\n### Phase 1: One\n**Goal**: g\n",
		"STATE.md":                    "# Project State\n\nPhase: 1 of 1 (One)\nStatus: Ready to execute\n",
		"phases/01-one/01-CONTEXT.md": "x\n",
	} {
		path := filepath.Join(root, ".planning", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	pr, err := project.Open(root)
	must(t, err)
	y := &yard{pr, t}
	p, err := pr.Plan(time.Now(), pr.Options())
	must(t, err)
	id := p.States[0].ID
	y.failed(id)
	if st := y.state(id); st.Class != plan.Failed {
		t.Fatalf("%s is %s", id, st.Class)
	}
	before, err := os.ReadFile(filepath.Join(root, ".planning", "STATE.md"))
	must(t, err)
	_, err = Retry(t.Context(), pr, id, false)
	must(t, err)
	if st := y.state(id); st.Class == plan.Failed {
		t.Error("has still failed")
	}
	if after, _ := os.ReadFile(filepath.Join(root, ".planning",
		"STATE.md")); string(after) != string(before) {
		t.Errorf("STATE.md:\n%s", after)
	}
}

func TestLiftLogin(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending"})
	for _, kind := range []string{string(agent.Login), "quota"} {
		path := filepath.Join(y.Root, ".greenlight", "runs", "hold.json")
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		must(t, os.WriteFile(path,
			[]byte(`{"schema_version": 1, "kind": "`+kind+`", "until": "`+until+`"}`), 0o644))
		if h := y.Runs.HoldFile.Everybody(); h == nil || h.Kind != kind {
			t.Fatalf("%+v", h)
		}
		must(t, LiftLogin(y.Project))
		if held := y.Runs.HoldFile.Everybody() != nil; held != (kind == "quota") {
			t.Errorf("%s: held %v", kind, held)
		}
	}
}
