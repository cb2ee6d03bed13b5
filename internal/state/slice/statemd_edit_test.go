package slice

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
)

const wildText = "\ufeff# Project State\r\n\r\n## Slices\r\n\r\n" +
	"| Status      | ID   | Name | Tests | Deps | Owner |\r\n|---|---|---|---|---|---|\r\n" +
	"| **pending** | `S-1` | A \\| B | - | -- | ann |\r\n" +
	"| ready       | S-2 | Two | 31/31 | S-1 |\r\n" +
	"|done|S-3|Three|3||x|\r\n\r\n" +
	"Progress: 1/3\r\n\r\n## Current\r\n\r\nSlice: S-3 -- Three\r\nStep: complete\r\nLast activity: 2026-01-01 -- S-3 complete\r\n\r\n" +
	"## Decisions\r\n\r\nNone\r\n\r\n## Session\r\n\r\nResume file: None\r\n"

// In a table of any form, editing a row changes only cells of that row and lines of the Current
// section.
func TestRowChangeKeepsTheRest(t *testing.T) {
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
		m := ReadStateMD([]byte(text))
		r, ok := m.Row(fmt.Sprintf("S-%d", rapid.IntRange(0, n-1).Draw(rt, "row")))
		if !ok {
			rt.Fatal("no row")
		}
		want, tests := status.Draw(rt, "status"), rapid.IntRange(0, 99).Draw(rt, "tests")
		changed, err := m.With(RowChange{ID: r.ID, Cells: map[string]string{"status": want, "tests": fmt.Sprint(tests)},
			Begun: rapid.Bool().Draw(rt, "begun"), Step: "s", StepChanged: true, Day: "2026-03-04", Activity: "x"})
		if err != nil {
			rt.Fatal(err)
		}
		next := string(changed.Bytes())
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
		ws, is2 := markdown.CellSpans(was), markdown.CellSpans(is)
		for i := range ws {
			if i != r.cols.status && i != r.cols.tests && was[ws[i][0]:ws[i][1]] != is[is2[i][0]:is2[i][1]] {
				rt.Fatalf("cell %d of %q became %q", i, was, is)
			}
		}
		if before[line][len(was):] != after[line][len(is):] {
			rt.Fatalf("the end of %q became %q", before[line], after[line])
		}
		got, ok := changed.Row(r.ID)
		if !ok || got.Status != want || got.Tests != tests {
			rt.Fatalf("%q: %+v", next, got)
		}
	})
}

// For any STATE.md, editing its first row is rejected, or changes only that row's line and
// those of the Current section.
func FuzzRowChange(f *testing.F) {
	f.Add(wildText, "in_progress", "7")
	f.Add(tableText, "a | b", "")
	f.Add("|ID|State|\n|-|-|\n|a|", "x\\", "1")
	f.Fuzz(func(t *testing.T, text, status, tests string) {
		m := ReadStateMD([]byte(text))
		if len(m.Rows()) == 0 {
			return
		}
		text = m.text
		r := m.Rows()[0]
		cells := map[string]string{"status": status}
		if r.cols.tests >= 0 {
			cells["tests"] = tests
		}
		changed, err := m.With(RowChange{ID: r.ID, Cells: cells, Begun: true, Step: "s", StepChanged: true, Day: "2026-03-04", Activity: "x"})
		if err != nil {
			return
		}
		next := changed.text
		got, ok := changed.Row(r.ID)
		if !ok || got.Status != status || r.cols.tests >= 0 && got.Tests != count(tests) {
			t.Fatalf("%q: %q became %+v", text, status, got)
		}
		c := m.Current()
		var kept []string
		from := 0
		end := r.at + len(textline.Chomp(textline.First(text[r.at:])))
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

func TestWithRow(t *testing.T) {
	m := ReadStateMD([]byte("\ufeff" + rows + "| S-1 | A | ready | 0 | 0 | -- |\n"))
	if m, err := m.WithRow(NewRow{ID: "S-2"}); err != nil || string(m.Bytes()) != "\ufeff"+rows+"| S-1 | A | ready | 0 | 0 | -- |\n| S-2 |  | pending | 0 | 0 | -- |\n" {
		t.Errorf("%q, %v", m.Bytes(), err)
	}
	if _, err := m.WithRow(NewRow{ID: "s01"}); err == nil || !strings.Contains(err.Error(), "has S-1 already") {
		t.Errorf("twice: %v", err)
	}
}
