package slice

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A crash test runs one operation repeatedly in a process of its own, and kills it just before
// its first, second, third… system call that changes a file, until it completes.

// before is the state that settling restores.
var before = tracker.Before{Mark: plan.Mark{Status: "pending", Step: "none"}}

// crashOps maps names to operations.
var crashOps = map[string]func(ctx context.Context, s *Store) error{
	"write": func(ctx context.Context, s *Store) error {
		return s.Edit(ctx, "S-1", func(f *File) error {
			return errors.Join(f.Set("tests", "7"), f.AppendToSection("Decisions", "made"))
		})
	},
	"claim": func(ctx context.Context, s *Store) error {
		return s.Do(ctx, func(tx tracker.Tx) error { return tx.Claim("S-1", "token") })
	},
	"settle": func(ctx context.Context, s *Store) error {
		return s.Do(ctx, func(tx tracker.Tx) error {
			it, err := tx.Item("S-1")
			if err != nil || it.Session == "" { // settled before
				return err
			}
			_, err = tx.Settle("S-1", tracker.Fail, before)
			return err
		})
	},
	"rename": func(ctx context.Context, s *Store) error {
		_, err := s.Rename(ctx, "S-1", "A-1", nil, func() error { return nil })
		return err
	},
	"project": func(ctx context.Context, s *Store) error {
		return s.EditProject(ctx, func(p *ProjectState) error { return p.AddBlocker("stuck") })
	},
}

// crashChild runs one operation, after marking its beginning.
func crashChild(root string) error {
	op := crashOps[os.Getenv("GREENLIGHT_TEST_OP")]
	s := open(root)
	crashtest.Begin()
	return op(context.Background(), s)
}

func TestCrashAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	slicesProject := map[string]string{
		"slices/S-1.md": sliceText("S-1", "pending", "step: none\ntests: 1\n"), "slices/S-2.md": sliceText("S-2", "complete", ""),
		"GRAPH.json": `{"slices":["S-1","S-2","S-3"]}`, projectFile: `{"mine": 1.0}`,
	}
	claimedSlices := map[string]string{"slices/S-1.md": sliceText("S-1", "in_progress", "session: token\n")}
	for _, c := range []struct {
		name, op string
		files    map[string]string
	}{
		{"write", "write", slicesProject},
		{"claim", "claim", slicesProject},
		{"settle", "settle", claimedSlices},
		{"project state", "project", slicesProject},
	} {
		t.Run(c.name, func(t *testing.T) {
			crashEverywhere(t, c.op, c.files)
		})
	}
}

// crashEverywhere kills the operation at each step in turn and checks what is left; then it
// runs the operation again.
func crashEverywhere(t *testing.T, op string, files map[string]string) {
	whole := project(t, files)
	if err := crashOps[op](t.Context(), open(whole)); err != nil {
		t.Fatal(err)
	}
	after := tree(t, whole)
	crashtest.Everywhere(t, func() (root string, env []string) {
		root = project(t, files)
		return root, []string{"GREENLIGHT_TEST_CHILD=crash", "GREENLIGHT_TEST_ROOT=" + root, "GREENLIGHT_TEST_OP=" + op}
	}, func(t *testing.T, root string) { lookAtCrash(t, root, op, files, after) })
}

// lookAtCrash checks that every file is in its old or new state, and that the project is
// usable.
func lookAtCrash(t *testing.T, root, op string, before, after map[string]string) {
	left := tree(t, root)
	for name, text := range left {
		old, had := before[name]
		if temp := strings.HasSuffix(name, ".tmp"); temp {
			continue
		}
		if !(had && text == old) && text != after[name] && !(name == projectFile && text == emptyProject) {
			t.Errorf("%s is neither old nor new: %q", name, text)
		}
	}
	for name := range before {
		if _, ok := left[name]; !ok && after[name] != "" {
			t.Errorf("%s is gone", name)
		}
	}
	c, err := Open(root).Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range c.Items {
		if it.Corrupt != "" {
			t.Errorf("%+v", it)
		}
		if it.ID == "S-1" && op == "claim" && it.Status == "in_progress" && it.Session != "token" {
			t.Errorf("in work by nobody: %+v", it)
		}
	}
	goOn(t, root, op, after)
}

// goOn runs the operation again, as the next gl would: then everything is as if nothing had
// happened, and no temporary file is left.
func goOn(t *testing.T, root, op string, want map[string]string) {
	t.Helper()
	s := open(root)
	if err := crashOps[op](t.Context(), s); err != nil {
		t.Fatalf("again: %v", err)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := tree(t, root)
	if op == "write" || op == "project" {
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s in the end: %q, want %q", name, got[name], text)
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && name != "STATE.md" {
			t.Errorf("%s is left over", name)
		}
	}
	for _, it := range load(t, root).Items {
		ends := map[string]string{"claim": "in_progress token", "settle": "failed "}
		if end, ok := ends[op]; ok && it.ID == "S-1" && it.Status+" "+it.Session != end {
			t.Errorf("%+v", it)
		}
	}
}
