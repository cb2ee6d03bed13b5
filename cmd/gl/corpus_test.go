package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// A statusDoc has the fields of gl status --json that these tests read.
type statusDoc struct {
	Total, Done int
	Ready       []string
	Slices      []struct {
		ID   string
		Deps []string
	}
}

// A real project in the middle of its work, most of whose slices are only rows of STATE.md or
// entries of GRAPH.json, is read as its people know it, and drained to its end in the order of
// its dependencies.
func TestRealProject(t *testing.T) {
	source := testfiles.Corpus(t, "project")[0]
	root := filepath.Join(t.TempDir(), "project")
	copyTree(t, source, root)

	before := statusOf(t, root)
	if before.Done != 36 || before.Total != 46 {
		t.Errorf("%d of %d done, not 36 of 46", before.Done, before.Total)
	}
	ready := slices.Sorted(slices.Values(before.Ready))
	if want := []string{"S-36", "S-40", "S-41", "S-43"}; !slices.Equal(ready, want) {
		t.Errorf("ready: %v, not %v", ready, want)
	}

	callGL(t, root, "settings", "set", "test.command", "true") // there is no code to test
	callGL(t, root, "trust", "--yes")
	out := callGL(t, root, "slice", "--watch", "--runner", "process", "--agent", "rehearsal:here,step=5ms")
	if !strings.Contains(out, "46/46 done") {
		t.Errorf("the drain ended with\n%s", out)
	}
	after := statusOf(t, root)
	if after.Done != 46 || after.Total != 46 {
		t.Errorf("%d of %d done, not 46 of 46", after.Done, after.Total)
	}
	checkOrder(t, root, after, before.Total-before.Done)
}

// checkOrder checks by the records that n slices were built, each in one attempt that was
// claimed after all dependencies of the slice were settled.
func checkOrder(t *testing.T, root string, doc statusDoc, n int) {
	t.Helper()
	store := attempt.OpenStore(filepath.Join(root, ".greenlight", "runs"))
	built := make(map[string]*attempt.Record)
	for _, s := range doc.Slices {
		records, err := store.History(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) > 1 {
			t.Errorf("%s: %d attempts", s.ID, len(records))
		}
		for _, r := range records {
			if r.Life.Phase != plan.Settled || r.Judged.Outcome != outcome.Done {
				t.Errorf("%s is %s, %s", r.ID.Name(), r.Life.Phase, r.Judged.Outcome)
			}
			built[s.ID] = r
		}
	}
	if len(built) != n {
		t.Errorf("%d slices were built, not %d", len(built), n)
	}
	edges := 0
	for _, s := range doc.Slices {
		for _, dep := range s.Deps {
			r, d := built[s.ID], built[dep]
			if r == nil || d == nil {
				continue
			}
			edges++
			if d.Life.SettledAt == nil || r.Life.ClaimedAt.Before(*d.Life.SettledAt) {
				t.Errorf("%s was claimed at %s, but %s, which it needs, was settled at %v", s.ID, r.Life.ClaimedAt, dep, d.Life.SettledAt)
			}
		}
	}
	if edges == 0 {
		t.Error("no slice that was built depends on another: the order was not tested")
	}
}

func statusOf(t *testing.T, root string) (doc statusDoc) {
	t.Helper()
	if err := json.Unmarshal([]byte(callGL(t, root, "status", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// callGL runs gl, which must succeed, and returns its stdout.
func callGL(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.Command("gl", args...)
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(root)}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gl %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// copyTree copies files and directories and makes the copy writable.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
