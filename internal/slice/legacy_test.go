package slice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/plan"
	"greenlight/internal/tracker"
)

const legacyText = "\ufeff# Project State\r\n\r\n## Slices\r\n\r\n" +
	"| Status      | ID   | Name | Tests | Deps | Owner |\r\n|---|---|---|---|---|---|\r\n" +
	"| **pending** | `S-1` | A \\| B | - | -- | ann |\r\n" +
	"| ready       | S-2 | Two | 31/31 | S-1 |\r\n" +
	"|done|S-3|Three|3||x|\r\n\r\n" +
	"Progress: 1/3\r\n\r\n## Current\r\n\r\nSlice: S-3 -- Three\r\nStep: complete\r\nLast activity: 2026-01-01 -- S-3 complete\r\n\r\n" +
	"## Decisions\r\n\r\nNone\r\n\r\n## Session\r\n\r\nResume file: None\r\n"

// changed replaces stretches of legacyText, each of which must be there.
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

func same(t *testing.T, root, name, want string) {
	t.Helper()
	if diff := cmp.Diff(want, get(t, root, name)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func TestLegacyClaimAndSettle(t *testing.T) {
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
			side := get(t, root, legacyFile)
			if strings.Contains(side, "tok") || strings.Contains(side, "started") == (tt.effect == tracker.Restore) {
				t.Errorf("%s", side)
			}
		})
	}
}

func TestLegacyEdit(t *testing.T) {
	last := []string{"2026-01-01 -- S-3 complete", "2026-03-04 -- "}
	for _, tt := range []struct {
		name string
		id   string
		set  string // key=value, comma
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
			err := open(root).Edit(t.Context(), tt.id, func(f *File) error {
				for _, kv := range strings.Split(tt.set, ",") {
					k, v, _ := strings.Cut(kv, "=")
					if k == "deps" {
						if err := f.SetList(k, splitList(v)); err != nil {
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
			side, err := os.ReadFile(filepath.Join(root, ".greenlight", legacyFile))
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

func TestLegacyRefusals(t *testing.T) {
	for name, edit := range map[string]func(*File) error{
		"a key without a place": func(f *File) error { return f.Set("milestone", "m") },
		"no such column":        func(f *File) error { return f.Set("security_tests", "3") },
		"a section":             func(f *File) error { return f.AppendToSection("Files", "x.go") },
		"not readable again":    func(f *File) error { return f.Set("status", "**") },
	} {
		root := project(t, map[string]string{"STATE.md": legacyText})
		err := open(root).Edit(t.Context(), "S-2", func(f *File) error { return errors.Join(f.Set("tests", "9"), edit(f)) })
		if err == nil || !strings.Contains(err.Error(), "gl migrate") || !strings.Contains(err.Error(), "S-2") {
			t.Errorf("%s: %v", name, err)
		}
		same(t, root, "STATE.md", legacyText)
	}
	root := project(t, map[string]string{"STATE.md": legacyText, legacyFile: "{"})
	err := open(root).Edit(t.Context(), "S-2", func(f *File) error { return f.Set("session", "x") })
	if err == nil || !strings.Contains(err.Error(), legacyFile) || get(t, root, legacyFile) != "{" {
		t.Errorf("a bad side file: %v", err)
	}
	if c := load(t, root); len(c.Warnings) != 1 || len(c.Items) != 3 {
		t.Errorf("%v", c.Warnings)
	}
}

func TestLegacyDecisions(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText})
	note := func(text string) {
		t.Helper()
		if err := open(root).Edit(t.Context(), "S-2", func(f *File) error { return f.AppendToSection("Decisions", text) }); err != nil {
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

func TestLegacyLoad(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText + "",
		legacyFile: `{"S-1":{"session":"tok","step":"tests","started":"2026-01-02","waiting_for":"a key","changed":"2026-02-03T04:05:06Z"},"S-3":{"step":"old","changed":"2026-01-01T00:00:00Z"}}`})
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
	if three.Step != "complete" || !three.Changed.Equal(at) { // the Current section names it, and is newer
		t.Errorf("%+v", three)
	}
}

// A slice that is only in the graph gets its row when it is claimed.
func TestLegacyClaimMakesTheRow(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText, "GRAPH.json": `{"slices":[{"id":"S-9","name":"Nine","deps":["S-2"]}]}`})
	do(t, open(root), func(tx tracker.Tx) error { return tx.Claim("s9", "tok") })
	same(t, root, "STATE.md", changed(t, "|done|S-3|Three|3||x|\r\n", "|done|S-3|Three|3||x|\r\n|in_progress|S-9|Nine|0| S-2 ||\r\n",
		"S-3 -- Three", "S-9 -- Nine", "Step: complete", "Step: none", "2026-01-01 -- S-3 complete", "2026-03-04 -- S-9 in_progress"))
}

func TestAddRow(t *testing.T) {
	for _, tt := range []struct{ name, state, want string }{
		{"as the row before", legacyText, changed(t, "|done|S-3|Three|3||x|\r\n", "|done|S-3|Three|3||x|\r\n|pending|S-4|Four \\| 4|0| S-1, S-2 ||\r\n")},
		{"no rows yet", rows, rows + "| S-4 | Four \\| 4 | pending | 0 | 0 | S-1, S-2 |\n"},
		{"no line end", strings.TrimSuffix(rows, "\n"), rows + "| S-4 | Four \\| 4 | pending | 0 | 0 | S-1, S-2 |"},
		{"columns of one width", "| ID  | Status  |\n|-----|---------|\n| S-1 | ready   |\n\ntext", "| ID  | Status  |\n|-----|---------|\n| S-1 | ready   |\n| S-4 | pending |\n\ntext"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, map[string]string{"STATE.md": tt.state})
			r := NewRow{ID: "S-4", Name: "Four | 4", Deps: []string{"S-1", "S-2"}}
			if err := open(root).AddRow(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			same(t, root, "STATE.md", tt.want)
			r.ID = "s04"
			if err := open(root).AddRow(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has S-4 already") {
				t.Errorf("twice: %v", err)
			}
		})
	}
	if err := open(project(t, map[string]string{"slices/": ""})).AddRow(t.Context(), NewRow{ID: "S-1"}); err == nil {
		t.Error("a row in a project of slice files")
	}
	if text, err := addRow(rows+"| S-1 | A | ready | 0 | 0 | -- |\n", NewRow{ID: "S-2"}); err != nil || !strings.HasSuffix(text, "| S-2 |  | pending | 0 | 0 | -- |\n") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestLegacyAgainstAWriterWithoutTheLock(t *testing.T) {
	root := project(t, map[string]string{"STATE.md": legacyText})
	n := 0
	meddle := func(times int) error {
		n = 0
		return open(root).Edit(t.Context(), "S-1", func(f *File) error {
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

// An edit of a row, whatever the table looks like, changes cells of that row and lines of the Current section alone.
func TestLegacyEditKeepsTheRest(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "x", "pending", "**done**", "✅ complete", "a \\| b", "31/31", "none", "--", "S-2, S-3", "S-4..S-6", "é"})
	blanks := rapid.SampledFrom([]string{"", " ", "  ", "     "})
	status := rapid.SampledFrom([]string{"pending", "in_progress", "complete", "failed", "tests", ""})
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"Name", "Status", "Tests", "Security", "Deps", "Owner"}
		names = rapid.Permutation(names).Draw(rt, "columns")
		text := "# x\n\n## Slices\n\n| ID | " + strings.Join(names, " | ") + " |\n|--|--|--|--|--|--|--|\n"
		n := rapid.IntRange(1, 4).Draw(rt, "rows")
		for i := range n {
			text += fmt.Sprintf("|%sS-%d%s|", blanks.Draw(rt, "b"), i, blanks.Draw(rt, "b"))
			for range rapid.IntRange(2, len(names)).Draw(rt, "cells") {
				text += blanks.Draw(rt, "b") + word.Draw(rt, "w") + blanks.Draw(rt, "b") + "|"
			}
			text += rapid.SampledFrom([]string{"\n", " \n", "\r\n"}).Draw(rt, "end")
		}
		tail := "\ntext | S-0 | x\n\n## Current\nSlice: S-1 — x\nStep: y\n\n## Mine\n| S-0 | pending |\n"
		text += tail
		r, ok := rowOf(text, fmt.Sprintf("S-%d", rapid.IntRange(0, n-1).Draw(rt, "row")))
		if !ok {
			rt.Fatal("no row")
		}
		want, tests := status.Draw(rt, "status"), rapid.IntRange(0, 99).Draw(rt, "tests")
		e, err := editRow(r, parseCurrent(text), legacyEntry{}, func(f *File) error {
			return errors.Join(f.Set("status", want), f.Set("tests", fmt.Sprint(tests)))
		})
		if err != nil {
			rt.Fatal(err)
		}
		next, err := e.intoText(text, r, time.Now())
		if err != nil {
			rt.Fatal(err)
		}
		before, after := strings.SplitAfter(text, "\n"), strings.SplitAfter(next, "\n")
		if len(before) != len(after) {
			rt.Fatalf("%q became %q", text, next)
		}
		line := strings.Count(text[:r.at], "\n")
		for i := range before {
			current := strings.HasPrefix(before[i], "Slice:") || strings.HasPrefix(before[i], "Step:")
			if i != line && !current && before[i] != after[i] {
				rt.Fatalf("line %q became %q", before[i], after[i])
			}
		}
		was, is := strings.TrimRight(before[line], " \r\n"), strings.TrimRight(after[line], " \r\n")
		ws, is2 := spans(was), spans(is)
		for i := range ws {
			if i != r.cols.status && i != r.cols.tests && was[ws[i][0]:ws[i][1]] != is[is2[i][0]:is2[i][1]] {
				rt.Fatalf("cell %d of %q became %q", i, was, is)
			}
		}
		if before[line][len(was):] != after[line][len(is):] {
			rt.Fatalf("the end of %q became %q", before[line], after[line])
		}
		got, ok := rowOf(next, r.id)
		if !ok || got.status != want || got.tests != tests {
			rt.Fatalf("%q: %+v", next, got)
		}
	})
}

// Whatever STATE.md has in it: an edit of its first row is refused, or changes no other line than the row's and those of
// the Current section.
func FuzzLegacyEdit(f *testing.F) {
	f.Add(legacyText, "in_progress", "7")
	f.Add(migrateText, "a | b", "")
	f.Add("|ID|State|\n|-|-|\n|a|", "x\\", "1")
	f.Fuzz(func(t *testing.T, text, status, tests string) {
		rows, _ := parseRows(text)
		if len(rows) == 0 {
			return
		}
		r := rows[0]
		e, err := editRow(r, parseCurrent(text), legacyEntry{}, func(f *File) error {
			return errors.Join(f.Set("status", status), f.Set("tests", tests), f.Set("step", "s"))
		})
		if err != nil {
			return
		}
		next, err := e.intoText(text, r, noon)
		if err != nil {
			return
		}
		got, ok := rowOf(next, r.id)
		if !ok || got.status != status || r.cols.tests >= 0 && got.tests != count(tests) {
			t.Fatalf("%q: %q became %+v", text, status, got)
		}
		c := parseCurrent(text)
		var kept []string
		from := 0
		end := r.at + len(chomp(nextLine(text[r.at:])))
		for _, s := range []stretch{{r.at, text[r.at:end]}, c.slice, c.step, c.activity} {
			if s.from >= from {
				kept = append(kept, text[from:s.from])
				from = s.to()
			}
		}
		at := 0
		for _, k := range append(kept, text[from:]) {
			i := strings.Index(next[at:], k)
			if i < 0 {
				t.Fatalf("%q lost %q: %q", text, k, next)
			}
			at += i + len(k)
		}
	})
}

// Errors name the file once, and as the user sees it: relative to the root.
func TestWriteErrorsNameTheFileOnce(t *testing.T) {
	root := project(t, map[string]string{"STATE.md/x": ""})
	err := open(root).replaceAll([]fileWrite{{name: "STATE.md", new: []byte("x")}})
	if want := "write .greenlight/STATE.md: not a regular file"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
