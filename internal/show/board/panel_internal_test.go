package board

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"greenlight/internal/base/term"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/show/view"
)

// numbered returns that many lines.
func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i+1)
	}
	return lines
}

// opened returns a board with an open panel that has those lines.
func opened(grows bool, lines []string) *board {
	b := fixture(0)
	b.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	b.list.selected = "S-1"
	b.panel = &panel{page: page{name: "x", grows: grows}, id: "S-1", title: "S-1: x"}
	b.panel.view.follow = grows
	b.panel.fill(lines)
	return b
}

// showing fails the test unless the screen has all texts.
func (b *board) showing(t *testing.T, texts ...string) {
	t.Helper()
	screen := b.screen() + "\n"
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			t.Errorf("no %q on\n%s", text, screen)
		}
	}
}

// A panel scrolls with the usual keys, follows what grows until it is scrolled, and is closed by q
// and Esc, which leave the board open.
func TestPanelScrolls(t *testing.T) {
	b := opened(true, numbered(100))
	b.showing(t, "line 100\n", "follows")
	b.panel.fill(numbered(101))
	b.showing(t, "line 101\n")
	press(b, "k")
	b.panel.fill(numbered(200))
	b.showing(t, "line 100\n", "81-100 of 200")
	for key, want := range map[string]string{"g": "line 1\n", "G": "line 200\n", "k": "line 199\n"} {
		press(b, "g", "G", key)
		b.showing(t, want)
	}
	press(b, "g", "j", "space")
	b.showing(t, "line 22\n", "22-41 of 200")
	press(b, "f")
	b.showing(t, "line 200\n", "follows")
	for _, key := range []string{"q", "esc"} {
		b := opened(false, numbered(3))
		b.showing(t, "line 3\n", " all ─")
		if cmd := press(b, key); cmd != nil || b.panel != nil {
			t.Errorf("%s doesn't close the panel alone", key)
		}
	}
}

// A search finds the next hit and the one before, in any case, and says when there is none.
func TestPanelSearch(t *testing.T) {
	b := opened(false, numbered(500))
	b.showing(t, "1-20 of 500")
	press(b, strings.Split("/LINE 40", "")...)
	press(b, "enter")
	b.showing(t, "line 40\n")
	for _, step := range []struct{ key, want string }{{"n", "line 400\n"}, {"n", "line 401\n"}, {"N", "line 400\n"}} {
		press(b, step.key)
		if b.showing(t, step.want); b.panel.view.lines[b.panel.found] != strings.TrimSpace(step.want) {
			t.Errorf("%s finds %q", step.key, b.panel.view.lines[b.panel.found])
		}
	}
	press(b, "G", "n")
	b.showing(t, `no more "LINE 40" in this direction`)
	press(b, "esc")
	if b.panel == nil || b.panel.search != "" {
		t.Error("the first Esc ends the search")
	}
}

// At any size a panel's lines fit the screen, and no text of any kind controls the terminal.
func TestPanelIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		b := fixture(0)
		w, h := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
		b.Update(tea.WindowSizeMsg{Width: w, Height: h})
		b.Update(ran{what: "gl x", out: "a\n" + text, typed: true})
		for _, l := range b.frame() {
			if term.Width(l) > w || strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
				t.Fatalf("%d columns: %q", w, l)
			}
		}
	})
}

// What a typed command printed is in a panel if it is more than a line; what a key's command
// printed is at the bottom, unless it failed.
func TestOutputOfCommands(t *testing.T) {
	for _, r := range []ran{
		{what: "gl why", out: "one\ntwo\n", typed: true},
		{what: "gl retry S-2", out: "one\ntwo\n", err: os.ErrInvalid},
	} {
		b := fixture(0)
		if b.Update(r); b.panel == nil {
			t.Errorf("%s: no panel", r.what)
		}
		b.showing(t, "─ "+r.what, "one\n", "two\n")
	}
	b := fixture(0)
	if b.Update(ran{what: "gl retry S-2", out: "one\ntwo\n"}); b.panel != nil || !strings.HasSuffix(b.screen(), "two") {
		t.Errorf("not at the bottom:\n%s", b.screen())
	}
	h := &head{rest: "gl logs S-1"}
	for range 3 {
		fmt.Fprint(h, strings.Repeat("x", mostBytes/2-1)+"\n")
	}
	if got := h.String(); len(got) > mostBytes+100 || !strings.HasSuffix(got, "x\n… there is more: gl logs S-1\n") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-40:])
	}
}

// A log of any size is read from its end, and what it has is escaped.
func TestLogPage(t *testing.T) {
	root := projecttest.Write(t, map[string]string{"slices/S-3.md": "---\nid: S-3\nstatus: tests\n---\n"})
	pr, err := project.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	b := fixture(0)
	b.cfg.Project = pr
	log := pr.Runs.Files.Log("S-3", 2)
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(log, strings.Repeat("old\n", 1<<18)+"\x1b[2J\ttab\nthe end\n")
	rec := &attempt.Record{}
	rec.ID.Slice, rec.ID.N, rec.Job.Agent = "S-3", 2, "claude"
	b.list.facts.Records = map[string][]*attempt.Record{"S-3": {rec}}
	b.list.selected = "S-3"
	press(b, "l")
	b.showing(t, "─ S-3: log of attempt 2, claude ─", `\x1b[2J    tab`, "the end\n", "follows")
	if n := len(b.panel.lines); n > most {
		t.Errorf("%d lines are kept", n)
	}
	write(log, "new\n")
	b.Update(tock(now))
	b.showing(t, "new\n")
	press(b, "t")
	b.showing(t, "─ S-3: tests of attempt 2 ─", "its tests haven't run yet")
	write(pr.Runs.Files.TestsLog("S-3", 2), "not ok 1\n")
	b.Update(tock(now))
	b.showing(t, "not ok 1\n")
	if press(b, "K"); b.panel.id != "S-8" || b.list.selected != "S-8" {
		t.Errorf("K shows %s", b.panel.id)
	}
	press(b, "q")
	b.Update(tea.WindowSizeMsg{Width: 160, Height: 30})
	b.list.selected = "S-3"
	b.Update(tock(now))
	b.showing(t, "│ new") // beside the list of a wide screen, without a key
}

// The output of a page's command replaces that of the last time; the panel stays where it is.
func TestCommandPage(t *testing.T) {
	b := fixture(0)
	b.list.selected = "S-1"
	if cmd := press(b, "d"); cmd == nil || !b.panel.busy {
		t.Fatal("gl diff isn't run")
	}
	b.showing(t, "─ S-1 Project skeleton: diff ─")
	p := b.panel
	b.Update(filled{p, []string{"+added"}})
	b.showing(t, "+added\n")
	if b.take(b.list.snapshot) == nil || !p.busy {
		t.Error("a change of the project doesn't run it again")
	}
	press(b, "w")
	if b.Update(filled{p, []string{"+later"}}); strings.Contains(b.screen(), "+later") {
		t.Error("a page shows what belongs to another")
	}
}

// The selected row is a bar over the width of the list.
func TestSelectionBar(t *testing.T) {
	b := fixture(0)
	b.cfg.Paint, b.canvas.paint = term.Color.Paint, term.Color.Paint
	b.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	b.list.selected = "S-3"
	bars := 0
	for _, l := range b.frame() {
		if bar, ok := strings.CutPrefix(l, "\x1b[7m> S-3  Basket"); ok {
			bars++
			if bar, _, _ = strings.Cut(bar, "\x1b[0m"); term.Width("> S-3  Basket"+bar) != 70 || strings.Contains(bar, "\x1b") {
				t.Errorf("%d columns: %q", term.Width("> S-3  Basket"+bar), bar)
			}
		}
	}
	if bars != 1 {
		t.Errorf("%d bars", bars)
	}
}

const long = "Is a budget per month or per year? Sales count in quarters, and the finance team closes its books in March. Both are in the exports: budget.csv has months, plan.csv has years. Which of the two decides?"

// A question is on the screen in full with the line for its answer, at every size that has room, in
// every view.
func TestWholeQuestion(t *testing.T) {
	for _, size := range [][2]int{{60, 24}, {80, 24}, {120, 40}, {200, 50}} {
		for view := range views {
			b := fixture(0, func(s *plan.Snapshot) {
				s.Items = append(s.Items, &plan.Item{ID: "S-9", Status: "tests", WaitingFor: long, Changed: now})
			})
			b.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			b.view, b.list.selected = view, "S-9"
			press(b, "a", "y")
			lines := b.frame()
			text := strings.Builder{}
			for _, l := range lines {
				if _, right, ok := strings.Cut(l, "│"); ok {
					l = right
				}
				text.WriteString(" " + l)
			}
			flat := strings.Join(strings.Fields(text.String()), " ")
			if !strings.Contains(flat, "S-9 asks: "+long) || !strings.Contains(flat, "answer> y█") {
				t.Errorf("%v, view %d:\n%s", size, view, strings.Join(lines, "\n"))
			}
		}
	}
}

// A slice that goes on after red tests says so, on its row and beside it: what was put right isn't
// hidden.
func TestSentBack(t *testing.T) {
	b := fixture(0)
	red, again := &attempt.Record{}, &attempt.Record{}
	red.Judged.Outcome, red.Judged.Detail = outcome.Red, "exit 1: 2 failed"
	f := view.Facts{Records: map[string][]*attempt.Record{"S-3": {red, again}, "S-1": {red, again}}}
	b.Update(snapshot{model: view.New(b.list.model.Plan, f, now), facts: f})
	b.Update(tea.WindowSizeMsg{Width: 100, Height: 40})
	b.showing(t, "tests, after red: exit 1: 2 failed")
	b.list.selected = "S-1"
	b.showing(t, " sent back: red: exit 1: 2 failed")
}

// The wheel scrolls what is under the mouse: on a wide screen the panel or the list beside it.
func TestWheel(t *testing.T) {
	for width, wants := range map[int][2]bool{200: {false, true}, 100: {true, true}} { // scrolled at the left, at the right
		for i, x := range []int{3, width - 3} {
			b := fixture(60)
			b.Update(tea.WindowSizeMsg{Width: width, Height: 24})
			b.panel = &panel{page: output}
			b.panel.fill(strings.Split(strings.Repeat("line\n", 100), "\n"))
			b.frame()
			top, selected := b.panel.view.top, b.list.selected
			b.Update(tea.MouseWheelMsg{X: x, Y: 5, Button: tea.MouseWheelDown})
			scrolled, moved := b.panel.view.top != top, b.list.selected != selected
			if scrolled != wants[i] || moved == wants[i] {
				t.Errorf("%d columns, at %d: scrolled %v, moved %v", width, x, scrolled, moved)
			}
		}
	}
}
