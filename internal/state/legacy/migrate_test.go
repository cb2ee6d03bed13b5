package legacy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/slice"
)

const migrateText = `# Project State

## Overview
A thing
that does things
Stack: Go
Mode: yolo

## Slices

| ID | Name | Status | Tests | Security | Deps |
|----|------|--------|-------|----------|------|
| S-01 | One | done | 31/31 | 2 | none |
| S-2 | Two \| 2 | in-progress | pass | — | S-01 |
| S-3 | Three | blocked | 0 | 0 | S-01..S-02, S-99 |

Progress: [x] 1/3

## Current

Slice: S-2 — Two
Step: pending
Last activity: 2026-01-01 — S-01 complete

## Decisions

- D-1: first
  with a second line
- D-2: second

## Blockers

- no key yet

## Wrapped Boundaries
w

## Session

Last session: 2026-01-01
Resume file: None
`

const generatedMark = "<!-- GENERATED"

// fresh renders STATE.md of a migrated project again.
func fresh(t testing.TB, root string) string {
	t.Helper()
	if err := slice.Open(root).Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return get(t, root, "STATE.md")
}

func migrate(t testing.TB, root string) *slice.Migration {
	t.Helper()
	m, err := open(root).Migrate(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMigrate(t *testing.T) {
	root := project(t, map[string]string{
		"STATE.md": migrateText, "STATE.md.backup": "older",
		"GRAPH.json":         `{"slices":[{"id":"S-2","milestone":"m2","description":"Do it","contracts":["C-1"]},{"id":"S-50"}]}`,
		"ROADMAP.md":         "# Roadmap\n\n## Milestone: base [complete]\n| S-01 | x |\n\n## Later\nS-3.\n",
		"DECISIONS.md":       "# Decisions\n\n| D-2: second |\n",
		"project-state.json": `{"overview":{"stack":"Rust"},"mine":1.0}`,
		"runs/legacy.json":   `{"S-2":{"session":"tok","started":"2026-01-02","waiting_for":"a key","changed":"2026-02-03T04:05:06Z"}}`,
	})
	before := tree(t, root)
	dry, err := open(root).Migrate(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Fatalf("a dry run writes: %s", diff)
	}
	m := migrate(t, root)
	if diff := cmp.Diff(dry, m); diff != "" {
		t.Errorf("the dry run said something else: %s", diff)
	}
	want := &slice.Migration{Slices: 3, Backup: ".greenlight/STATE.md.backup.1", Decisions: 1,
		Files: []string{".greenlight/slices/S-01.md", ".greenlight/slices/S-2.md", ".greenlight/slices/S-3.md", ".greenlight/project-state.json",
			".greenlight/STATE.md", ".greenlight/STATE.md.backup.1", ".greenlight/DECISIONS.md"},
		Warnings: []string{
			".greenlight/STATE.md line 14: S-2 is in-progress: who works on it has to go on in .greenlight/slices/S-2.md",
			`.greenlight/STATE.md line 15: S-3 has the status "blocked", which gl doesn't know; kept`,
			".greenlight/STATE.md line 15: S-3 depends on S-99, which is not a slice",
		}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	after := tree(t, root)
	for name, text := range map[string]string{
		"STATE.md.backup": "older", "STATE.md.backup.1": migrateText,
		"DECISIONS.md":       "# Decisions\n\n| D-2: second |\n\n## From STATE.md\n\n- D-1: first\n  with a second line\n",
		"project-state.json": `{"overview":{"stack":"Rust","value_prop":"A thing that does things","mode":"yolo"},"mine":1.0,"session":{"last_session":"2026-01-01"},"blockers":["no key yet"]}`,
		"slices/S-2.md": "---\nid: S-2\nstatus: in_progress\nstep: none\nmilestone: m2\nstarted: 2026-01-02\nupdated: " + now +
			"\ntests: 0\nsecurity_tests: 0\nsession: tok\ndeps: S-01\nwaiting_for: a key\n---\n\n# S-2: Two | 2\n\n## Why\n\n## What\nDo it\n\n## Dependencies\n- S-01: One\n\n## Contracts\n- C-1\n\n## Decisions\n\n## Files\n",
		"slices/S-01.md": "---\nid: S-01\nstatus: complete\nstep: complete\nmilestone: base\nstarted:\nupdated: " + now +
			"\ntests: 31\nsecurity_tests: 2\nsession:\ndeps:\n---\n\n# S-01: One\n\n## Why\n\n## What\n\n## Dependencies\n\n## Contracts\n\n## Decisions\n\n## Files\n",
	} {
		if diff := cmp.Diff(text, after[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if !strings.Contains(after["slices/S-3.md"], "milestone: Later\n") || !strings.Contains(after["slices/S-3.md"], "deps: S-01,S-02,S-99\n") {
		t.Errorf("%s", after["slices/S-3.md"])
	}
	state := after["STATE.md"]
	for _, part := range []string{"- D-1: first\n  with a second line\n- D-2: second\n", "## Wrapped Boundaries\nw\n", "| S-2 | Two \\| 2 | in_progress | 0 | 0 | S-01 |", "1/4 slices"} {
		if !strings.Contains(state, part) {
			t.Errorf("STATE.md has no %q:\n%s", part, state)
		}
	}
	if !strings.HasPrefix(state, generatedMark) || after["runs/legacy.json"] != "" || len(after) != 10 {
		t.Errorf("%d files: %v", len(after), state)
	}
	if fresh(t, root) != state {
		t.Error("STATE.md is no fresh render")
	}
	if _, err := open(root).Migrate(t.Context(), false); err == nil || !strings.Contains(err.Error(), "a file for each slice already") {
		t.Errorf("again: %v", err)
	}
}

func TestMigrateRefuses(t *testing.T) {
	line := func(text string) map[string]string {
		return map[string]string{"STATE.md": "## Slices\n" + rows + text + "\n"}
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no table":        {map[string]string{"STATE.md": "# x\n"}, "no slice table"},
		"a bad id":        {line("| S-1 | A | done | 0 | 0 | - |\n| S 2 | B | done | 0 | 0 | - |"), "line 5: slice id \"S 2\""},
		"an id twice":     {line("| S-1 | A | done | 0 | 0 | - |\n| s-1 | B | done | 0 | 0 | - |"), "line 5: s-1 already exists, in line 4"},
		"a bar too many":  {line("| S-1 | A | B | done | 0 | 0 | - |"), "line 4: the row has 7 cells"},
		"no status":       {line("| S-1 | A"), "line 4: the row has no cell for its id or its status"},
		"bad deps":        {line("| S-1 | A | done | 0 | 0 | all the others |"), "line 4: the dependencies of S-1 can't be read"},
		"a conflict":      {line("| S-1 | A | done | 0 | 0 | - |\n<<<<<<< HEAD"), "line 5: merge conflict"},
		"a running agent": {map[string]string{"STATE.md": migrateText, "runs/live/S-2.1.json": "{}"}, "S-2.1: wait for them, or run gl stop --all"},
		"a bad graph":     {map[string]string{"STATE.md": migrateText, "GRAPH.json": "{"}, "GRAPH.json can't be read"},
		"bad json":        {map[string]string{"STATE.md": migrateText, "project-state.json": "{"}, "project-state.json"},
		"a bad side file": {map[string]string{"STATE.md": migrateText, "runs/legacy.json": "{"}, "runs/legacy.json"},
		"nothing":         {map[string]string{"GRAPH.json": "{}"}, "run gl init"},
		"a file":          {map[string]string{"STATE.md": migrateText, "slices": ""}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, tt.files)
			before := tree(t, root)
			for _, dry := range []bool{true, false} {
				if _, err := open(root).Migrate(t.Context(), dry); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("dry %v: %v", dry, err)
				}
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A failure before the commit leaves everything as it was, without a stage.
func TestMigrateFails(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": "## Slices\n" + rows + "| S-1 | A | done | 0 | 0 | - |\n", "STATE.md.backup/": ""})
	before := tree(t, root)
	_, err := open(root).Migrate(t.Context(), false)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Error(diff)
	}
	list, _ := filepath.Glob(filepath.Join(root, ".greenlight", ".slices.migrate-"+"*"))
	if format, err := slice.Detect(root); format != slice.Legacy || err != nil || len(list) > 0 {
		t.Errorf("%s, %v, %v", format, err, list)
	}
}

func TestConcurrentMigrations(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": migrateText})
	var all sync.WaitGroup
	won := make(chan *slice.Migration, 8)
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			if m, err := open(root).Migrate(context.Background(), false); err == nil {
				won <- m
			}
		}()
	}
	all.Wait()
	close(won)
	n := 0
	for m := range won {
		n++
		if m.Finished || m.Slices != 3 {
			t.Errorf("%+v", m)
		}
	}
	if n != 1 {
		t.Errorf("%d migrations", n)
	}
}

// All STATE.md files of the corpus migrate, with the same number of slices of each kind.
func TestCorpusMigrates(t *testing.T) {
	for _, path := range testfiles.Corpus(t, "greenlight/*-STATE.md") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		root := project(t, map[string]string{"STATE.md": string(data)})
		classes := func() map[plan.Class]int {
			n := map[plan.Class]int{}
			for _, it := range loadAny(t, root).Items {
				n[plan.Classify(it.Status)]++
			}
			return n
		}
		before := classes()
		m, err := open(root).Migrate(t.Context(), false)
		if err != nil {
			if !strings.Contains(err.Error(), "line ") || len(tree(t, root)) != 1 {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
			t.Logf("%s is refused: %v", filepath.Base(path), err)
			continue
		}
		if diff := cmp.Diff(before, classes()); diff != "" || m.Slices == 0 || get(t, root, "STATE.md.backup") != string(data) {
			t.Errorf("%s: %s", filepath.Base(path), diff)
		}
		if c := loadAny(t, root); len(c.Warnings) > 0 {
			t.Errorf("%s: %v", filepath.Base(path), c.Warnings)
		}
	}
}

// Any STATE.md migrates as a whole or not at all.
func FuzzMigrate(f *testing.F) {
	f.Add(migrateText)
	f.Add(legacyText)
	f.Add("## Slices\n" + rows + "| S-1 | <!-- x | done\u0085 | 1 | 1 | S-1 |\n| S-1.md | | | | | |")
	f.Add("| Status | Slice |\n|--|--|\n| ## x | [S-1](y) |\n\n## Decisions\n```\n## Slices\n")
	f.Fuzz(func(t *testing.T, text string) {
		root := project(t, map[string]string{"STATE.md": text})
		m, err := open(root).Migrate(t.Context(), false)
		files := tree(t, root)
		if err != nil {
			if diff := cmp.Diff(map[string]string{"STATE.md": text}, files); diff != "" {
				t.Fatalf("%q: %v: %s", text, err, diff)
			}
			return
		}
		if files["STATE.md.backup"] != text || !strings.HasPrefix(files["STATE.md"], generatedMark) {
			t.Fatalf("%q: %v", text, files)
		}
		c := loadAny(t, root)
		n := slice.ReadStateMD([]byte(text)).Rows()
		if len(c.Items) != m.Slices || len(n) != m.Slices {
			t.Fatalf("%q: %d slices of %d rows: %v", text, m.Slices, len(n), brief(c))
		}
		for _, it := range c.Items {
			if it.Corrupt != "" {
				t.Fatalf("%q: %s", text, fmt.Sprint(c.Warnings))
			}
		}
		if once := files["STATE.md"]; fresh(t, root) != once {
			t.Fatalf("%q: STATE.md is no fresh render", text)
		}
	})
}
