package legacy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

const legacyText = "\ufeff# Project State\r\n\r\n## Slices\r\n\r\n" +
	"| Status      | ID   | Name | Tests | Deps | Owner |\r\n|---|---|---|---|---|---|\r\n" +
	"| **pending** | `S-1` | A \\| B | - | -- | ann |\r\n" +
	"| ready       | S-2 | Two | 31/31 | S-1 |\r\n" +
	"|done|S-3|Three|3||x|\r\n\r\n" +
	"Progress: 1/3\r\n\r\n## Current\r\n\r\nSlice: S-3 -- Three\r\nStep: complete\r\nLast activity: 2026-01-01 -- S-3 complete\r\n\r\n" +
	"## Decisions\r\n\r\nNone\r\n\r\n## Session\r\n\r\nResume file: None\r\n"

// changed replaces parts of legacyText, each of which must occur.
func changed(t *testing.T, pairs ...string) string {
	t.Helper()
	text := legacyText
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%q is there %d times", pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestClaimAndSettle(t *testing.T) {
	claimed := []string{"**pending**", "in_progress", "S-3 -- Three", "S-1 -- A | B", "Step: complete", "Step: none",
		"2026-01-01 -- S-3 complete", "2026-03-04 -- S-1 in_progress"}
	for _, tt := range []struct {
		name   string
		effect tracker.Effect
		status string
		mark   plan.Mark
		last   string
	}{
		{"release", tracker.Release, "in_progress", plan.Mark{Status: "in_progress", Step: "none"}, "S-1 in_progress"},
		{"fail", tracker.Fail, "failed", plan.Mark{Status: "failed", Step: "none"}, "S-1 failed"},
		{"restore", tracker.Restore, "pending", plan.Mark{Status: "pending", Step: "none"}, "S-1 pending"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, map[string]string{"STATE.md": legacyText})
			s := open(root)
			do(t, s, func(tx tracker.Tx) error {
				before, err := tx.Item("s1")
				if err != nil {
					return err
				}
				for range 2 {
					if err := tx.Claim("S-1", "tok"); err != nil {
						return err
					}
					same(t, root, "STATE.md", changed(t, claimed...))
				}
				it, err := tx.Item("S-1")
				if err != nil || it.Session != "tok" || it.Status != "in_progress" || it.Started != "2026-03-04" || it.Step != "none" || it.File != "" {
					t.Errorf("%+v, %v", it, err)
				}
				b := tracker.Before{Mark: plan.Mark{Status: before.Status, Step: before.Step, Session: before.Session}, Started: before.Started}
				for range 2 {
					if mark, err := tx.Settle("S-1", tt.effect, b); err != nil || mark != tt.mark {
						t.Errorf("%+v, %v", mark, err)
					}
				}
				return nil
			})
			text := changed(t, claimed...)
			text = strings.Replace(text, "| in_progress |", "| "+tt.status+" |", 1)
			text = strings.Replace(text, "S-1 in_progress", tt.last, 1)
			same(t, root, "STATE.md", text)
			side := get(t, root, "runs/legacy.json")
			if strings.Contains(side, "tok") || strings.Contains(side, "started") == (tt.effect == tracker.Restore) {
				t.Errorf("%s", side)
			}
		})
	}
}

func TestEdit(t *testing.T) {
	last := []string{"2026-01-01 -- S-3 complete", "2026-03-04 -- "}
	for _, tt := range []struct {
		name string
		id   string
		set  string // key=value, separated by commas
		want []string
		side string
	}{
		{"nothing", "S-2", "status=ready,tests=31,deps=S-1", nil, ""},
		{"a count", "S-2", "tests=40", []string{"31/31", "40", last[0], last[1] + "S-2 ready"}, ""},
		{"a dash", "S-1", "tests=2,deps=S-3", []string{"| - | -- |", "| 2 | S-3 |", last[0], last[1] + "S-1 pending"}, ""},
		{"a tight row", "S-3", "status=failed,tests=", []string{"|done|S-3|Three|3|", "|failed|S-3|Three|0|", last[0], last[1] + "S-3 failed"}, `"step": "complete"`},
		{"a name", "S-2", "name=x | y", []string{"| Two |", "| x \\| y |", last[0], last[1] + "S-2 ready"}, ""},
		{"deps go", "S-2", "deps=", []string{"31/31 | S-1", "31/31 | none", last[0], last[1] + "S-2 ready"}, ""},
		{"what has no column", "S-2", "waiting_for=a key,step=tests", nil, `"S-2"`},
		{"the step of the current slice", "S-3", "step=security", []string{"Step: complete", "Step: security", last[0], last[1] + "S-3 done"}, `"step": "security"`},
		{"begun", "S-2", "status=tests,session=tok", []string{"ready      ", "tests      ", "S-3 -- Three", "S-2 -- Two", "Step: complete", "Step: none", last[0], last[1] + "S-2 tests"}, "tok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, map[string]string{"STATE.md": legacyText})
			var want []string
			err := open(root).Edit(t.Context(), tt.id, func(f *slice.File) error {
				for _, kv := range strings.Split(tt.set, ",") {
					k, v, _ := strings.Cut(kv, "=")
					if k == "deps" {
						if err := f.SetList(k, strings.FieldsFunc(v, func(r rune) bool { return r == ',' })); err != nil {
							return err
						}
						continue
					}
					want = append(want, k, v)
					if err := f.Set(k, v); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			same(t, root, "STATE.md", changed(t, tt.want...))
			side, err := os.ReadFile(filepath.Join(root, ".greenlight", "runs/legacy.json"))
			if (err == nil) != (tt.side != "") || !strings.Contains(string(side), tt.side) {
				t.Errorf("side file: %s, %v", side, err)
			}
			f, err := Open(root).Read(tt.id)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(want); i += 2 {
				if got, _ := f.Get(want[i]); got != want[i+1] && want[i] != "tests" {
					t.Errorf("%s reads back as %q", want[i], got)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, edit := range map[string]func(*slice.File) error{
		"a key without a place": func(f *slice.File) error { return f.Set("milestone", "m") },
		"no such column":        func(f *slice.File) error { return f.Set("security_tests", "3") },
		"a section":             func(f *slice.File) error { return f.AppendToSection("Files", "x.go") },
		"not readable again":    func(f *slice.File) error { return f.Set("status", "**") },
	} {
		root := project(t, map[string]string{"STATE.md": legacyText})
		err := open(root).Edit(t.Context(), "S-2", func(f *slice.File) error { return errors.Join(f.Set("tests", "9"), edit(f)) })
		if err == nil || !strings.Contains(err.Error(), "gl migrate") || !strings.Contains(err.Error(), "S-2") {
			t.Errorf("%s: %v", name, err)
		}
		same(t, root, "STATE.md", legacyText)
	}
	root := project(t, map[string]string{"STATE.md": legacyText, "runs/legacy.json": "{"})
	err := open(root).Edit(t.Context(), "S-2", func(f *slice.File) error { return f.Set("session", "x") })
	if err == nil || !strings.Contains(err.Error(), "runs/legacy.json") || get(t, root, "runs/legacy.json") != "{" {
		t.Errorf("a bad side file: %v", err)
	}
	if c := load(t, root); len(c.Warnings) != 1 || len(c.Items) != 3 {
		t.Errorf("%v", c.Warnings)
	}
}

func TestDecisions(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText})
	note := func(text string) {
		t.Helper()
		if err := open(root).Edit(t.Context(), "S-2", func(f *slice.File) error { return f.AppendToSection("Decisions", text) }); err != nil {
			t.Fatal(err)
		}
	}
	note("one")
	note("two")
	note("one")
	same(t, root, "STATE.md", changed(t, "\r\nNone\r\n\r\n## Session", "\r\n- one (S-2)\r\n- two (S-2)\r\n\r\n## Session"))

	root = project(t, map[string]string{"STATE.md": "## Slices\n" + rows + "| S-2 | B | x | 0 | 0 | - |\n\n## Blockers\n\nNone\n"})
	note("one")
	same(t, root, "STATE.md", "## Slices\n"+rows+"| S-2 | B | x | 0 | 0 | - |\n\n## Decisions\n\n- one (S-2)\n\n## Blockers\n\nNone\n")
}

func TestLoad(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText + "",
		"runs/legacy.json": `{"S-1":{"session":"tok","step":"tests","started":"2026-01-02","waiting_for":"a key","changed":"2026-02-03T04:05:06Z"},"S-3":{"step":"old","changed":"2026-01-01T00:00:00Z"}}`})
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, ".greenlight/STATE.md"), at, at); err != nil {
		t.Fatal(err)
	}
	c := load(t, root)
	one, three := c.Items[0], c.Items[2]
	if one.Session != "tok" || one.Step != "tests" || one.Started != "2026-01-02" || one.WaitingFor != "a key" ||
		!one.Changed.Equal(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)) {
		t.Errorf("%+v", one)
	}
	// the Current section names it, and is newer
	if three.Step != "complete" || !three.Changed.Equal(at) {
		t.Errorf("%+v", three)
	}
}

// A slice that is only in the graph gets its row when it is claimed.
func TestClaimMakesTheRow(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText, "GRAPH.json": `{"slices":[{"id":"S-9","name":"Nine","deps":["S-2"]}]}`})
	do(t, open(root), func(tx tracker.Tx) error { return tx.Claim("s9", "tok") })
	same(t, root, "STATE.md", changed(t, "|done|S-3|Three|3||x|\r\n", "|done|S-3|Three|3||x|\r\n|in_progress|S-9|Nine|0| S-2 ||\r\n",
		"S-3 -- Three", "S-9 -- Nine", "Step: complete", "Step: none", "2026-01-01 -- S-3 complete", "2026-03-04 -- S-9 in_progress"))
}

func TestAdd(t *testing.T) {
	for _, tt := range []struct{ name, state, want string }{
		{"as the row before", legacyText, changed(t, "|done|S-3|Three|3||x|\r\n", "|done|S-3|Three|3||x|\r\n|pending|S-4|Four \\| 4|0| S-1, S-2 ||\r\n")},
		{"no line end", rows + "| S-1 | A | done | 0 | 0 | - |\n| S-2 | B | done | 0 | 0 | - |",
			rows + "| S-1 | A | done | 0 | 0 | - |\n| S-2 | B | done | 0 | 0 | - |\n| S-4 | Four \\| 4 | pending | 0 | 0 | S-1, S-2 |"},
		{"columns of one width", "| ID  | Status  |\n|-----|---------|\n| S-1 | ready   |\n| S-2 | ready   |\n\ntext",
			"| ID  | Status  |\n|-----|---------|\n| S-1 | ready   |\n| S-2 | ready   |\n| S-4 | pending |\n\ntext"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, map[string]string{"STATE.md": tt.state})
			n := slice.NewSlice{ID: "S-4", Name: "Four | 4", Deps: []string{"S-1", "s2"}, Why: "w", What: "x", Milestone: "m"}
			added, err := open(root).Add(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			same(t, root, "STATE.md", tt.want)
			if added.File != stateFile || added.Graph || strings.Join(added.Lost, " ") != "milestone what why" || strings.Join(added.Deps, " ") != "S-1 S-2" {
				t.Errorf("%+v", added)
			}
			n.ID = "s04"
			if _, err := open(root).Add(t.Context(), n); err == nil || !strings.Contains(err.Error(), "s04 reads the same as S-4") {
				t.Errorf("twice: %v", err)
			}
		})
	}
	root := project(t, map[string]string{"STATE.md": legacyText, "GRAPH.json": `{"slices":[]}`})
	added, err := open(root).Add(t.Context(), slice.NewSlice{Name: "Next", What: "x", Why: "w"})
	if err != nil || added.ID != "S-4" || !added.Graph || strings.Join(added.Lost, " ") != "why" || !strings.Contains(get(t, root, "GRAPH.json"), `"S-4"`) {
		t.Errorf("%+v, %v", added, err)
	}
	root = project(t, map[string]string{"STATE.md": rows})
	if _, err := open(root).Add(t.Context(), slice.NewSlice{ID: "S-1", Name: "a"}); err != nil {
		t.Error(err)
	}
	same(t, root, "STATE.md", rows+"| S-1 | a | pending | 0 | 0 | none |\n")
	if _, err := open(project(t, map[string]string{"slices/": ""})).Add(t.Context(), slice.NewSlice{ID: "S-1", Name: "a"}); err == nil {
		t.Error("a row in a project of slice files")
	}
}

func TestAgainstAWriterWithoutTheLock(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText})
	n := 0
	meddle := func(times int) error {
		n = 0
		return open(root).Edit(t.Context(), "S-1", func(f *slice.File) error {
			if n++; n <= times {
				put(t, root, "STATE.md", fmt.Sprintf("%s%d\n", legacyText, n))
			}
			return f.Set("status", "failed")
		})
	}
	if err := meddle(3); !errors.Is(err, tracker.ErrChanged) || !strings.Contains(err.Error(), "STATE.md") || n != 3 {
		t.Errorf("after %d tries: %v", n, err)
	}
	if err := meddle(2); err != nil || n != 3 || !strings.HasSuffix(get(t, root, "STATE.md"), "\n2\n") || !strings.Contains(get(t, root, "STATE.md"), "| failed | `S-1`") {
		t.Errorf("after %d tries: %v", n, err)
	}
}

// Errors name the file once, and relative to the root.
func TestWriteErrorsNameTheFileOnce(t *testing.T) {
	root := project(t, map[string]string{"STATE.md/x": ""})
	err := open(root).replace([]write{{name: "STATE.md", new: []byte("x")}})
	if want := "write .greenlight/STATE.md: not a regular file"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestTable(t *testing.T) {
	root := project(t, map[string]string{
		"STATE.md": "# Project State\n\n## Slices\n\n| Slice | Status | Name | Depends on |\n|--|--|--|--|\n" +
			"| `S-1` | **done** | One | — |\n| [S-2](x.md) | in-progress | A \\| B | S-1 |\n| S-10 | | Ten | S-1..S-2 |\n| not an id | x | y | z |\n",
		"GRAPH.json": `{"slices":[{"id":"S-2","deps":[]}]}`,
	})
	s := open(root)
	c, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"S-2 in-progress []", "S-1 done []", "S-10  [S-1 S-2]"}, brief(c)); diff != "" {
		t.Error(diff)
	}
	if c.Items[0].Name != "A | B" || c.Items[0].File != "" || s.Traits().Format != "legacy" || len(c.Warnings) > 0 {
		t.Errorf("%+v, %s, %v", c.Items[0], s.Traits().Format, c.Warnings)
	}
	before := get(t, root, "STATE.md")
	do(t, s, func(tx tracker.Tx) error {
		if it, err := tx.Item("s2"); err != nil || it.Status != "in-progress" {
			t.Errorf("%+v, %v", it, err)
		}
		return nil
	})
	if err := s.Refresh(t.Context()); err != nil || get(t, root, "STATE.md") != before {
		t.Errorf("refresh: %v", err)
	}
	const notes = "# Notes\n"
	if _, err := Open(project(t, map[string]string{"STATE.md": notes})).Load(); !errors.Is(err, slice.ErrNoTable) {
		t.Errorf("without a table: %v", err)
	}
	c = load(t, project(t, map[string]string{"STATE.md": notes, "GRAPH.json": `{"slices": {"S-1": {}}}`}))
	if len(c.Items) != 1 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Message, "no slice table") {
		t.Errorf("%v, %v", c.Items, c.Warnings)
	}
}
