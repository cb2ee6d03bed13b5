package ops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/environ"
	"greenlight/internal/core/plan"
)

func TestPauseAndResume(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: implementing; step: implementing; deps: S-2; session:", "S-2": "status: complete"})
	p, err := Pause(t.Context(), y.Project, "S-1", person)
	must(t, err)
	if p.File != ".greenlight/.continue-here.S-1.md" || y.read(".continue-here.S-1.md") != p.Text || p.Notes != nil {
		t.Errorf("%+v", p)
	}
	for _, line := range []string{"# S-1\n", "- Status: implementing\n", "- Needs: S-2 (done)\n", "## Last attempt\n\nNone.\n", handoffNotes} {
		if !strings.Contains(p.Text, line) {
			t.Errorf("no %q in\n%s", line, p.Text)
		}
	}
	if st := y.state("S-1"); st.Class != plan.Waiting || st.Status != "implementing" {
		t.Errorf("%s, %s", st.Class, st.Status)
	}

	// A person's additions are kept, also when the slice is paused again.
	path := filepath.Join(y.Root, p.File)
	must(t, os.WriteFile(path, []byte(p.Text+"Look at the cache\n"), 0o644))
	p, err = Pause(t.Context(), y.Project, "S-1", person)
	if err != nil || !strings.HasSuffix(p.Text, "Look at the cache\n") {
		t.Errorf("%v\n%s", err, p.Text)
	}

	h, err := FindHandoff(y.Project, "S-1")
	if err != nil || !h.Paused || h.PausedAt == "" || h.Text != p.Text || h.Notes != nil {
		t.Fatalf("%+v, %v", h, err)
	}
	if y.state("S-1").Class != plan.Waiting {
		t.Error("resumed before the hand-off was read")
	}
	must(t, h.Resume(t.Context()))
	if y.state("S-1").Class == plan.Waiting {
		t.Error("still paused")
	}
	h, err = FindHandoff(y.Project, "S-1")
	if err != nil || h.Paused || len(h.Notes) != 1 ||
		!strings.Contains(h.Notes[0], "isn't paused any more") {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := FindHandoff(y.Project, "S-2"); err == nil {
		t.Error("a slice without a hand-off")
	}
	if _, err := Pause(t.Context(), y.Project, "S-2", person); err == nil {
		t.Error("paused a complete slice")
	}
}

func TestPauseNamesSessionsAtWork(t *testing.T) {
	y := newYard(t, map[string]string{"run": "status: pending; session:", "claimed": "status: pending; session:"})
	y.attempt("run")
	_, err := Claim(t.Context(), y.Project, "claimed", ClaimOptions{Who: you})
	must(t, err)
	for id, says := range map[string]string{"run": "gl stop run", "claimed": "claimed is claimed by session"} {
		p, err := Pause(t.Context(), y.Project, id, me)
		if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], says) {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
}

func TestToPause(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; session:", "S-2": "status: pending; session:", "S-3": "status: pending"})
	var argument *ArgumentError
	if _, err := ToPause(y.Project, nil); !errors.As(err, &argument) {
		t.Errorf("nothing is active: %v", err)
	}
	for id, who := range map[string]string{"S-1": "me", "S-2": "you"} {
		env := environ.Environ{"CLAUDE_CODE_SESSION_ID=" + who}
		o := ClaimOptions{Who: me}
		o.Who.Holder = who
		_, err := Claim(t.Context(), y.Project, id, o)
		must(t, err)
		if got, err := ToPause(y.Project, env); err != nil || got != id {
			t.Errorf("%s: %q, %v", who, got, err)
		}
	}
	if _, err := ToPause(y.Project, nil); !errors.As(err, &argument) ||
		!strings.Contains(err.Error(), "S-1, S-2") {
		t.Error(err)
	}
	if got, err := ToPause(y.Project,
		environ.Environ{"GL_SESSION=t", "GL_SLICE=S-3"}); err != nil || got != "S-3" {
		t.Errorf("gl's own agent: %q, %v", got, err)
	}
}

func TestOnlyHandoff(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: implementing; session:", "S-2": "status: implementing; session:"})
	var argument *ArgumentError
	if _, err := OnlyHandoff(y.Project, ""); !errors.As(err, &argument) {
		t.Errorf("with no slice paused: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(y.Root, oldHandoff), []byte("old"), 0o644))
	if h, err := OnlyHandoff(y.Project, ""); err != nil || h.State != nil || h.Text != "old" {
		t.Errorf("an older Greenlight's: %+v, %v", h, err)
	} else {
		must(t, h.Resume(t.Context()))
	}
	for i, id := range []string{"S-1", "S-2"} {
		_, err := Pause(t.Context(), y.Project, id, person)
		must(t, err)
		h, err := OnlyHandoff(y.Project, "")
		if i == 0 && (err != nil || h.State.ID != "S-1") || i == 1 && !errors.As(err, &argument) {
			t.Errorf("%d paused: %+v, %v", i+1, h, err)
		}
	}
	if h, err := OnlyHandoff(y.Project, "S-2"); err != nil || h.State.ID != "S-2" {
		t.Errorf("%+v, %v", h, err)
	}
}

// A hand-off file outside the project isn't read, even if project-state.json names it.
func TestHandoffStaysInside(t *testing.T) {
	root := tempDir(t)
	must(t, os.WriteFile(filepath.Join(root, "secret"), []byte("secret"), 0o600))
	inside := filepath.Join(root, "p")
	must(t, os.MkdirAll(inside, 0o755))
	if file, text, err := readHandoff(inside, "S-1", "../secret"); err != nil ||
		file != "" || text != "" {
		t.Errorf("%q, %q, %v", file, text, err)
	}
}
