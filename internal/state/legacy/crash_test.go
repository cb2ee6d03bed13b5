package legacy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// A crash test repeats an operation in a process of its own, and kills it just before its
// first, second, third… system call that changes a file, until it completes.

// before is the state that a settling returns to.
var before = tracker.Before{Mark: plan.Mark{Status: "pending", Step: "none"}}

// crashOps are the operations, by name.
var crashOps = map[string]func(ctx context.Context, s *Store) error{
	"write": func(ctx context.Context, s *Store) error {
		return s.Edit(ctx, "S-1", func(f *slice.File) error {
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
	"migrate": func(ctx context.Context, s *Store) error {
		_, err := s.Migrate(ctx, false)
		if errors.Is(err, slice.ErrMigrated) {
			err = nil
		}
		return err
	},
}

// crashChild runs one operation, after the mark.
func crashChild(root string) error {
	op := crashOps[os.Getenv("GREENLIGHT_TEST_OP")]
	s := open(root)
	crashtest.Begin()
	return op(context.Background(), s)
}

const crashSlices = "## Slices\n" + rows + "| S-1 | One | pending | 0 | 0 | none |\n| S-2 | Two | complete | 3 | 1 | S-1 |\n\n## Current\n\nSlice: S-2 — Two\nStep: complete\n\n" +
	"## Decisions\n\n- D-1\n\n## Blockers\n\n- wait\n"

func claimedText(text string) string { return strings.Replace(text, "pending", "in_progress", 1) }

func TestCrashAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	legacy := map[string]string{"STATE.md": crashSlices, "runs/legacy.json": `{"S-2":{"started":"2026-01-01","changed":"2026-01-01T00:00:00Z"}}`}
	claimedLegacy := map[string]string{"STATE.md": claimedText(crashSlices), "runs/legacy.json": `{"S-1":{"session":"token","changed":"2026-01-01T00:00:00Z"}}`}
	legacyProject := map[string]string{"STATE.md": crashSlices, "DECISIONS.md": "# Decisions\n", "project-state.json": `{"mine": 1.0}`,
		"runs/legacy.json": `{"S-1":{"session":"token","changed":"2026-01-01T00:00:00Z"}}`}
	for _, c := range []struct {
		name, op string
		files    map[string]string
	}{
		{"write", "write", map[string]string{"STATE.md": strings.Replace(crashSlices, "- D-1\n", "", 1)}},
		{"claim", "claim", legacy},
		{"settle", "settle", claimedLegacy},
		{"migrate", "migrate", legacyProject},
	} {
		t.Run(c.name, func(t *testing.T) {
			crashEverywhere(t, c.op, c.files)
		})
	}
}

// loadAny loads the project, which may already have slice files.
func loadAny(t testing.TB, root string) *tracker.Contents {
	t.Helper()
	c, err := Open(root).Load()
	if err != nil {
		c, err = slice.Open(root).Load()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// crashEverywhere kills the operation at each step in turn, checks what is left, and runs the
// operation again.
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

// lookAtCrash checks that every file has its content from before or after the operation, and
// that the project works from there.
func lookAtCrash(t *testing.T, root, op string, before, after map[string]string) {
	format, err := slice.Detect(root)
	if err != nil {
		t.Fatal(err)
	}
	left := tree(t, root)
	for name, text := range left {
		old, had := before[name]
		if temp := strings.HasSuffix(name, ".tmp") || strings.HasPrefix(name, ".slices.migrate-") || strings.HasSuffix(name, ".migrate.json"); temp {
			continue
		}
		if !(had && text == old) && text != after[name] && !oneOf(name, text, before) {
			t.Errorf("%s is neither old nor new: %q", name, text)
		}
	}
	for name := range before {
		if _, ok := left[name]; !ok && after[name] != "" {
			t.Errorf("%s is gone", name)
		}
	}
	c := loadAny(t, root)
	for _, it := range c.Items {
		if it.Corrupt != "" {
			t.Errorf("%+v", it)
		}
		if it.ID == "S-1" && op == "claim" && it.Status == "in_progress" && it.Session != "token" {
			t.Errorf("in work by nobody: %+v", it)
		}
	}
	if op == "migrate" && format == slice.Slices && len(c.Items) != 2 {
		t.Errorf("migrated by halves: %v", brief(c))
	}
	goOn(t, root, op, after)
}

// oneOf accepts the backup of a migration that wasn't committed.
func oneOf(name, text string, before map[string]string) bool {
	return name == "STATE.md.backup" && text == before["STATE.md"]
}

// goOn runs the operation again, as the next gl would: then the result is as without the crash,
// and no temporary file is left.
func goOn(t *testing.T, root, op string, want map[string]string) {
	t.Helper()
	s := open(root)
	if err := crashOps[op](t.Context(), s); err != nil {
		t.Fatalf("again: %v", err)
	}
	if format, err := slice.Detect(root); err == nil && format == slice.Slices {
		fresh(t, root)
	}
	got := tree(t, root)
	if op == "migrate" || op == "write" {
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
	for _, it := range loadAny(t, root).Items {
		ends := map[string]string{"claim": "in_progress token", "settle": "failed "}
		if end, ok := ends[op]; ok && it.ID == "S-1" && it.Status+" "+it.Session != end {
			t.Errorf("%+v", it)
		}
	}
	if dirs, _ := filepath.Glob(filepath.Join(root, ".greenlight", ".slices.migrate-"+"*")); len(dirs) > 0 {
		t.Errorf("left over: %v", dirs)
	}
}
