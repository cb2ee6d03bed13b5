package slice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// open returns a store with a fixed clock.
func open(root string) *Store {
	s := Open(root)
	s.Dir.Now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("x", 3600)) }
	return s
}

const now = "2026-03-04T04:06:07Z"

func do(t *testing.T, s *Store, f func(tracker.Tx) error) {
	t.Helper()
	if err := s.Do(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func TestClaimAndSettle(t *testing.T) {
	const text = "\ufeff---\r\nid: a\r\nstatus: \"ready\" # go\r\nstep: tests\nsession: ''\nown: x\nupdated: y\n---\n\nbody"
	claimed := "\ufeff---\r\nid: a\r\nstatus: \"in_progress\" # go\r\nstep: tests\nsession: 'tok'\nown: x\nupdated: " + now + "\nstarted: 2026-03-04\n---\n\nbody"
	tests := []struct {
		name   string
		effect tracker.Effect
		want   string
		mark   plan.Mark
	}{
		{"release", tracker.Release, strings.ReplaceAll(claimed, "'tok'", "''"), plan.Mark{Status: "in_progress", Step: "tests"}},
		{"fail", tracker.Fail, strings.NewReplacer("'tok'", "''", "in_progress", "failed").Replace(claimed), plan.Mark{Status: "failed", Step: "tests"}},
		{"restore", tracker.Restore, strings.NewReplacer("'tok'", "''", "in_progress", "ready", "started: 2026-03-04", "started:").Replace(claimed),
			plan.Mark{Status: "ready", Step: "tests"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, map[string]string{"slices/a.md": text})
			s := open(root)
			do(t, s, func(tx tracker.Tx) error {
				before, err := tx.Item("A")
				if err != nil {
					return err
				}
				for range 2 { // the second time changes nothing
					if err := tx.Claim("a", "tok"); err != nil {
						return err
					}
					if diff := cmp.Diff(claimed, get(t, root, "slices/a.md")); diff != "" {
						t.Error(diff)
					}
				}
				if it, err := tx.Item("a"); err != nil || it.Session != "tok" || it.Status != "in_progress" || it.Started != "2026-03-04" {
					t.Errorf("%+v, %v", it, err)
				}
				b := tracker.Before{Mark: plan.Mark{Status: before.Status, Step: before.Step, Session: before.Session}, Started: before.Started}
				for range 2 {
					mark, err := tx.Settle("a", tt.effect, b)
					if err != nil || mark != tt.mark {
						t.Errorf("%+v, %v", mark, err)
					}
				}
				return nil
			})
			if diff := cmp.Diff(tt.want, get(t, root, "slices/a.md")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A file that calls the slice done, and comes back after it was looked at, keeps the claim whose
// word that is.
func TestSettleAfterAStash(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": "---\nid: a\nstatus: implementing\nstep: implementing\nsession: tok\n---\n"})
	back := "---\nid: a\nstatus: complete\nstep: complete\nsession: tok\n---\n"
	do(t, open(root), func(tx tracker.Tx) error {
		if _, err := tx.Item("a"); err != nil {
			return err
		}
		testfiles.Write(t, root, map[string]string{".greenlight/slices/a.md": back})
		if _, err := tx.Settle("a", tracker.Release, tracker.Before{}); !errors.Is(err, tracker.ErrChanged) {
			t.Errorf("settled: %v", err)
		}
		return nil
	})
	if diff := cmp.Diff(back, get(t, root, "slices/a.md")); diff != "" {
		t.Error(diff)
	}
}

func TestTxErrors(t *testing.T) {
	root := project(t, map[string]string{"slices/bad.md": "oops"})
	do(t, open(root), func(tx tracker.Tx) error {
		var corrupt *CorruptError
		if err := tx.Claim("bad", "t"); !errors.As(err, &corrupt) || corrupt.Path != ".greenlight/slices/bad.md" {
			t.Errorf("corrupt: %v", err)
		}
		return nil
	})
	if err := open(t.TempDir()).Do(t.Context(), func(tracker.Tx) error { return nil }); !errors.Is(err, ErrNoState) {
		t.Errorf("no state: %v", err)
	}
}

func TestClaimMakesTheFile(t *testing.T) {
	root := project(t, map[string]string{"slices/": "",
		"GRAPH.json": `{"slices":[{"id":"S-1","name":"One","milestone":"m \"x\"","description":"# Do\nit","contracts":["C-1"],"deps":["S-2"]},"S-2"]}`,
		"STATE.md":   rows + "| S-1 | Uno | ready | 4 | 1 | none |\n"})
	do(t, open(root), func(tx tracker.Tx) error {
		it, err := tx.Item("S-1")
		if err != nil {
			return err
		}
		if err := tx.Claim("s1", "tok"); err != nil {
			return err
		}
		again, err := tx.Item("S-1")
		if again.Session != "tok" || again.File != ".greenlight/slices/S-1.md" || again.Name != it.Name {
			t.Errorf("%+v", again)
		}
		return err
	})
	want := `---
id: S-1
status: in_progress
step: none
milestone: "m \"x\""
started: 2026-03-04
updated: 2026-03-04T04:06:07Z
tests: 4
security_tests: 1
session: tok
deps: S-2
---

# S-1: One

## Why

## What
\# Do
it

## Dependencies
- S-2

## Contracts
- C-1

## Decisions

## Files
`
	if diff := cmp.Diff(want, get(t, root, "slices/S-1.md")); diff != "" {
		t.Error(diff)
	}
	if c := load(t, root); len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	if diff := cmp.Diff(".gitignore\n.lock\nruns/\n*.tmp\n", get(t, root, ".gitignore")); diff != "" {
		t.Error(diff)
	}
}

func TestEdit(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", "updated: x\n"), "GRAPH.json": `{"slices":["b"]}`})
	s := open(root)
	set := func(id, key, value string) {
		t.Helper()
		if err := s.Edit(t.Context(), id, func(f *File) error { return f.Set(key, value) }); err != nil {
			t.Fatal(err)
		}
	}
	set("a", "status", "pending") // nothing changes
	if diff := cmp.Diff(sliceText("a", "pending", "updated: x\n"), get(t, root, "slices/a.md")); diff != "" {
		t.Error(diff)
	}
	set("a", "updated", "z") // an explicit value
	set("b", "status", "pending")
	f, err := s.Read("a")
	if err != nil {
		t.Fatal(err)
	}
	if u, _ := f.Get("updated"); u != "z" {
		t.Errorf("updated: %q", u)
	}
	if f, err := s.Read("b"); err != nil || f.Heading() != "b" {
		t.Errorf("b has no file: %v", err)
	}
	if !strings.Contains(get(t, root, "STATE.md"), "| a | Name of a | pending |") {
		t.Errorf("STATE.md:\n%s", get(t, root, "STATE.md"))
	}
	if _, err := s.Read("c"); !errors.Is(err, tracker.ErrNotFound) {
		t.Errorf("Read: %v", err)
	}
	if err := s.Edit(t.Context(), "a", func(f *File) error { return f.AppendToSection("X", "<") }); err != nil {
		t.Error(err)
	}
}

func TestEditAgainstAWriterWithoutTheLock(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", "n: 0\n")})
	n := 0
	meddle := func(times int) error {
		n = 0
		return open(root).Edit(t.Context(), "a", func(f *File) error {
			if n++; n <= times {
				put(t, root, "slices/a.md", sliceText("a", "pending", fmt.Sprintf("n: %d\n", n)))
			}
			return f.Set("status", "complete")
		})
	}
	if err := meddle(3); !errors.Is(err, tracker.ErrChanged) || !strings.Contains(err.Error(), "slices/a.md") || n != 3 {
		t.Errorf("after %d tries: %v", n, err)
	}
	if diff := cmp.Diff(sliceText("a", "pending", "n: 3\n"), get(t, root, "slices/a.md")); diff != "" {
		t.Error(diff)
	}
	if err := meddle(2); err != nil || n != 3 {
		t.Errorf("after %d tries: %v", n, err)
	}
	if text := get(t, root, "slices/a.md"); !strings.Contains(text, "status: complete\nn: 2\n") {
		t.Errorf("%s", text)
	}
}

func TestEditWithoutTheLock(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", "")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	do(t, open(root), func(tracker.Tx) error {
		if err := open(root).Refresh(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("refresh under a foreign lock: %v", err)
		}
		return nil
	})
}

// With eight writers, each with its own store like eight processes, nothing is lost, and
// STATE.md is right in the end.
func TestConcurrentEdits(t *testing.T) {
	const writers, edits = 8, 50
	files := map[string]string{"slices/shared.md": sliceText("shared", "pending", "")}
	for w := range writers {
		files[fmt.Sprintf("slices/S-%d.md", w)] = sliceText(fmt.Sprintf("S-%d", w), "pending", "")
	}
	root := project(t, files)
	var all sync.WaitGroup
	for w := range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			s := Open(root)
			for n := range edits {
				id := "shared"
				if n%2 == 0 {
					id = fmt.Sprintf("S-%d", w)
				}
				err := s.Edit(t.Context(), id, func(f *File) error {
					return errors.Join(f.Set("tests", fmt.Sprint(n)), f.AppendToSection("Decisions", fmt.Sprintf("writer %d edit %d", w, n)))
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	if got := strings.Count(get(t, root, "slices/shared.md"), "- writer"); got != writers*edits/2 {
		t.Errorf("%d lines in the shared slice", got)
	}
	for w := range writers {
		if got := strings.Count(get(t, root, fmt.Sprintf("slices/S-%d.md", w)), "- writer"); got != edits/2 {
			t.Errorf("%d lines in S-%d", got, w)
		}
	}
	last := get(t, root, "STATE.md")
	if err := os.Remove(filepath.Join(root, ".greenlight/STATE.md")); err != nil {
		t.Fatal(err)
	}
	if err := Open(root).Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(get(t, root, "STATE.md"), last); diff != "" {
		t.Error(diff)
	}
	list, err := os.ReadDir(filepath.Join(root, ".greenlight/slices"))
	if err != nil || len(list) != writers+1 {
		t.Errorf("%v, %v", list, err)
	}
}
