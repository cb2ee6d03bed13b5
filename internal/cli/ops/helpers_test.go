package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
)

// A yard is a project in a temporary directory.
type yard struct {
	*project.Project
	t *testing.T
}

// newYard makes a project of slice files. A slice is given as its frontmatter, one "key: value" a
// line or separated by "; ".
func newYard(t *testing.T, slices map[string]string) *yard {
	t.Helper()
	files := map[string]string{}
	for id, fields := range slices {
		files["slices/"+id+".md"] = "---\nid: " + id + "\n" + strings.ReplaceAll(fields, "; ", "\n") + "\n---\n# " + id + "\n"
	}
	return openYard(t, files)
}

// openYard makes a project of files under .greenlight.
func openYard(t *testing.T, files map[string]string) *yard {
	t.Helper()
	root := tempDir(t)
	for name, text := range files {
		path := filepath.Join(root, ".greenlight", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	pr, err := project.Open(root)
	must(t, err)
	must(t, pr.Runs.Files.Prepare())
	return &yard{pr, t}
}

// tempDir returns a temporary directory by its real path.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (y *yard) state(id string) *plan.State {
	y.t.Helper()
	p, err := y.Plan(time.Now(), y.Options())
	must(y.t, err)
	return p.State(id)
}

// mark returns a slice's status, step and session: "pending none token".
func (y *yard) mark(id string) string {
	y.t.Helper()
	st := y.state(id)
	return strings.TrimSpace(st.Status + " " + st.Step + " " + st.Session)
}

func (y *yard) read(name string) string {
	y.t.Helper()
	data, err := os.ReadFile(filepath.Join(y.Root, ".greenlight", name))
	must(y.t, err)
	return string(data)
}

// attempt claims a slice for an attempt of this process.
func (y *yard) attempt(id string) *attempt.Record {
	y.t.Helper()
	a, err := agent.Find("rehearsal", agent.Config{Self: "gl"})
	must(y.t, err)
	var r *attempt.Record
	must(y.t, y.Tracker.Do(y.t.Context(), func(tx tracker.Tx) (err error) {
		r, err = y.Runs.Within(tx.Held()).Claim(tx, attempt.Request{System: y.Key(), ID: id, Agent: a}, time.Now())
		return err
	}))
	return r
}

// failed leaves a settled attempt that failed.
func (y *yard) failed(id string) {
	y.t.Helper()
	r := y.attempt(id)
	code := 7
	r.Judged.Evidence = &attempt.Evidence{ExitCode: &code}
	s := y.Settler()
	_, err := s.Settle(y.t.Context(), r)
	must(y.t, err)
}
