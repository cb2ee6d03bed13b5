package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"greenlight/internal/base/term"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	look "greenlight/internal/show/live"
	"greenlight/internal/show/view"
	"greenlight/internal/state/eta"
)

var now = time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC)

// everything returns all commands that have keys.
func everything() []string {
	var list []string
	for _, k := range keys {
		list = append(list, k.Command)
	}
	return list
}

func plain(_ term.Color, s string) string { return s }

// stopped adds a slice that a person stopped.
func stopped(s *plan.Snapshot) {
	s.Items = append(s.Items, &plan.Item{ID: "S-9", Status: "tests", Changed: now})
	s.Attempts["S-9"] = &plan.Attempt{N: 1, Phase: plan.Settled, Detail: "interrupted in tests", After: plan.Mark{Status: "tests"},
		Outcome: outcome.Interrupted.Traits().Plan()}
}

// fixture returns a board of a project with a slice in each group except Stopped, and this many
// more blocked ones.
func fixture(more int, with ...func(*plan.Snapshot)) *board {
	s := &plan.Snapshot{Noun: plan.Slice, Attempts: map[string]*plan.Attempt{
		"S-3": {N: 1, Phase: plan.Started, Agent: "claude", Started: now.Add(-4 * time.Minute), Heard: now.Add(-5 * time.Second)},
		"S-4": {N: 1, Phase: plan.Queued, Agent: "claude", Landing: "testing"},
	}}
	for _, it := range []plan.Item{
		{ID: "S-1", Name: "Project skeleton", Status: "complete"}, {ID: "S-2", Name: "注文履歴の表示と検索", Status: "failed"}, {ID: "S-3", Name: "Basket", Status: "tests", Deps: []string{"S-1"}},
		{ID: "S-4", Status: "complete"}, {ID: "S-5", Name: "Checkout"}, {ID: "S-6", Deps: []string{"S-5"}}, {ID: "S-7", Status: "verifying", WaitingFor: "a look"},
		{ID: "S-8", Status: "tests", WaitingFor: "which color?"},
	} {
		it.Changed = now
		s.Items = append(s.Items, &it)
	}
	for i := range more {
		s.Items = append(s.Items, &plan.Item{ID: fmt.Sprint("S-", 100+i), Name: "後で", Deps: []string{"S-5"}})
	}
	for _, add := range with {
		add(s)
	}
	b := newBoard(Config{Commands: everything(), Paint: plain, Self: "gl"})
	b.list.now = now
	b.Update(snapshot{model: view.New(plan.New(s, now, plan.Options{}), view.Facts{}, now)})
	return b
}

func (b *board) screen() string { return strings.Join(b.frame(), "\n") }

func press(b *board, names ...string) tea.Cmd {
	var cmd tea.Cmd
	for _, n := range names {
		k := tea.Key{Text: n}
		switch {
		case n == "enter":
			k = tea.Key{Code: tea.KeyEnter}
		case n == "esc":
			k = tea.Key{Code: tea.KeyEscape}
		case n == "tab":
			k = tea.Key{Code: tea.KeyTab}
		case n == "down":
			k = tea.Key{Code: tea.KeyDown}
		case n == "right":
			k = tea.Key{Code: tea.KeyRight}
		case n == "backspace":
			k = tea.Key{Code: tea.KeyBackspace}
		default:
			k.Code = []rune(n)[0]
		}
		_, cmd = b.Update(tea.KeyPressMsg(k))
	}
	return cmd
}

// Each key of the board is a gl command on the slices it applies to, and on no others.
func TestKeys(t *testing.T) {
	b := fixture(0)
	type on = map[string]string // argv by selected slice
	for name, want := range map[string]on{
		"enter": {"S-1": "why S-1", "S-2": "why S-2", "S-3": "attach S-3", "S-4": "why S-4", "S-5": "why S-5", "S-6": "why S-6", "S-7": "why S-7", "S-8": "why S-8"},
		"d":     {"S-1": "diff S-1", "S-2": "diff S-2", "S-3": "diff S-3", "S-4": "diff S-4", "S-5": "diff S-5", "S-6": "diff S-6", "S-7": "diff S-7", "S-8": "diff S-8"},
		"a":     {"S-7": "accept S-7", "S-8": "answer S-8 x"},
		"x":     {"S-7": "reject S-7 x", "S-8": "reject S-8 x"},
		"r":     {"S-2": "retry S-2", "S-7": "retry S-7", "S-8": "retry S-8"},
		"s":     {"S-3": "stop S-3", "S-4": "stop S-4"},
		"u":     {"S-1": "undo S-1"},
		"m":     {"S-2": "say S-2 x", "S-3": "say S-3 x", "S-4": "say S-4 x", "S-5": "say S-5 x", "S-6": "say S-6 x", "S-7": "say S-7 x", "S-8": "say S-8 x"},
	} {
		for _, row := range b.list.rows() {
			got := ""
			for _, k := range b.keys {
				if k.Key != name {
					continue
				}
				text := ""
				if k.Asks != "" {
					text = "x"
				}
				if argv := k.Argv(&row, text); argv != nil {
					got += strings.Join(argv, " ")
				}
			}
			if got != want[row.ID] {
				t.Errorf("%s on %s (%s): %q, want %q", name, row.ID, row.Group, got, want[row.ID])
			}
		}
	}
	for _, k := range has([]string{"why", "logs"}) {
		if k.Command != "why" && k.Command != "logs" {
			t.Errorf("a key of a command that gl lacks: %v", k)
		}
	}
}

// A key asks for its input before it runs anything.
func TestAsking(t *testing.T) {
	b := fixture(0)
	b.list.selected = "S-3"
	if cmd := press(b, "s"); cmd != nil || !strings.Contains(b.screen(), "gl stop S-3? [y/n]") {
		t.Errorf("stop isn't asked about:\n%s", b.screen())
	}
	if cmd := press(b, "n"); cmd != nil || b.prompt.running != "" {
		t.Error("n stops it")
	}
	if cmd := press(b, "s", "y"); cmd == nil || b.prompt.running != "gl stop S-3" {
		t.Errorf("y runs %q", b.prompt.running)
	}
	b.Update(ran{what: "gl stop S-3", out: "S-3 stopped\n"})
	if !strings.HasSuffix(b.screen(), "S-3 stopped") {
		t.Errorf("what it said isn't there:\n%s", b.screen())
	}
	b.list.selected = "S-7"
	press(b, "x", "n", "o", "z", "backspace")
	if !strings.Contains(b.screen(), "why> no█") {
		t.Errorf("no line to type:\n%s", b.screen())
	}
	if cmd := press(b, "enter"); cmd == nil || b.prompt.running != "gl reject S-7 no" {
		t.Errorf("runs %q", b.prompt.running)
	}
	b.prompt.running = ""
	press(b, "s")
	if !strings.Contains(b.screen(), "not for S-7, which is waiting") {
		t.Errorf("nothing is said:\n%s", b.screen())
	}
	if cmd := press(b, ":", "r", "e", "t", "r", "y", "space", "esc"); cmd != nil || b.prompt.input != nil {
		t.Error("esc doesn't close the palette")
	}
	if cmd := press(b, "/", "b", "a", "s", "k", "enter"); cmd != nil || len(b.list.rows()) != 1 || b.list.row().ID != "S-3" {
		t.Errorf("filter: %d rows", len(b.list.rows()))
	}
	if press(b, "esc"); len(b.list.rows()) != 8 {
		t.Error("esc keeps the filter")
	}
	if press(b, "/", "s", "-", "5", "enter", "esc"); b.list.selected != "S-5" { // S-6 needs S-5
		t.Errorf("the filter selects %s", b.list.selected)
	}
	if cmd := press(b, "q"); cmd == nil {
		t.Error("q does nothing")
	} else if _, quit := cmd().(tea.QuitMsg); !quit {
		t.Error("q doesn't quit")
	}
}

// A question is about the slice that was selected when it was asked, even if another one is
// selected when the answer comes.
func TestAskingIsAboutOneSlice(t *testing.T) {
	b := fixture(0)
	b.list.selected = "S-3"
	press(b, "m", "h", "i")
	b.list.selected = "S-8"
	if press(b, "enter"); b.prompt.running != "gl say S-3 hi" {
		t.Errorf("runs %q", b.prompt.running)
	}
	b.prompt.running, b.list.selected = "", "S-3"
	if press(b, "m", "-", "v", "enter"); b.prompt.running != "gl say S-3 -- -v" {
		t.Errorf("runs %q", b.prompt.running)
	}
	b.prompt.running = ""
	press(b, "s")
	b.list.selected = "S-4"
	if screen := b.screen(); !strings.Contains(screen, "gl stop S-3? [y/n]") {
		t.Errorf("asks about another one:\n%s", screen)
	}
	if press(b, "y"); b.prompt.running != "gl stop S-3" {
		t.Errorf("runs %q", b.prompt.running)
	}
}

// Below the log in the peek view is a line to type an answer in: gl say, or gl answer to a
// question. It is visible at every size; if the text is longer than the line, its end is
// visible.
func TestAnswerInPeek(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {60, 24}, {80, 24}, {200, 50}} {
		b := fixture(0)
		b.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		b.list.selected = "S-3"
		if !b.logShown() {
			press(b, "space")
		}
		b.peekText = []string{"reading the basket", strings.Repeat("a long line ", 30), "the last line"}
		if screen := b.screen(); !strings.Contains(screen, "the last line") || !strings.Contains(screen, "m> say something to its agent") {
			t.Errorf("%v: no log with a line to answer:\n%s", size, screen)
		}
		press(b, strings.Split("m"+strings.Repeat("use cents ", 12)+"please", "")...)
		lines := b.frame()
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "cents please█") })
		if at < 1 || at == len(lines)-1 || !strings.Contains(lines[at-1], "the last line") {
			t.Errorf("%v: what is typed isn't below the log:\n%s", size, strings.Join(lines, "\n"))
		}
		if press(b, "enter"); !strings.HasPrefix(b.prompt.running, "gl say S-3 use cents") || b.prompt.input != nil {
			t.Errorf("%v: runs %q", size, b.prompt.running)
		}
	}
	b := fixture(0)
	b.list.selected = "S-8"
	if press(b, "space"); !strings.Contains(b.screen(), "a> answer its question") {
		t.Errorf("a question has no line to answer:\n%s", b.screen())
	}
	b.list.selected = "S-1"
	if screen := b.screen(); strings.Contains(screen, "m> ") {
		t.Errorf("what is done has a line to answer:\n%s", screen)
	}
}

// The help has every key at every size, by scrolling if needed.
func TestHelpHasEveryKey(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
		b := fixture(0)
		b.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		press(b, "?")
		seen := b.screen()
		for range 40 {
			press(b, "down")
			seen += b.screen()
		}
		for _, k := range b.keys {
			if !strings.Contains(seen, k.Key+strings.Repeat(" ", 9-len(k.Key))+"gl "+k.Command) {
				t.Errorf("%v: no key %s for gl %s", size, k.Key, k.Command)
			}
		}
		if press(b, "x"); b.help.open || b.prompt.input != nil {
			t.Errorf("%v: x doesn't close the help alone", size)
		}
	}
}

// The first line has only whole facts, as many as fit. States are readable without colors.
func TestPlainFacts(t *testing.T) {
	b := fixture(0)
	b.list.facts.Slots, b.list.leader = 4, "1 gl slice --watch"
	for width, want := range map[int]string{
		200: "1/8 done | 1 running | 1 merging | 1 failed | 2 need you | run active | up to 4 agents",
		70:  "1/8 done | 1 running | 1 merging | 1 failed | 2 need you | run active",
		60:  "1/8 done | 1 running | 1 merging | 1 failed | 2 need you",
		52:  "1/8 | 1 running | 1 merging | 1 failed | 2 need you",
		40:  "1/8 | 1 running | 1 failed | 2 need you",
		20:  "1/8 | 2 need you",
		8:   "2 need …",
	} {
		b.Update(tea.WindowSizeMsg{Width: width, Height: 30})
		if got := b.list.firstLine(b.width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	b.view = slices.Index(views, "graph")
	b.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	for _, want := range []string{"S-2 注文履歴の表示と検索  failed", "S-3 Basket  running ← S-1"} {
		if !strings.Contains(b.screen(), want) {
			t.Errorf("no %q in\n%s", want, b.screen())
		}
	}
}

// A deletion waits for half a minute, in which u undoes it. + and - change the number of slots.
func TestRegret(t *testing.T) {
	b := fixture(0)
	b.list.facts.Slots = 3
	typed := func(line string) tea.Cmd {
		press(b, ":")
		for _, r := range line {
			press(b, string(r))
		}
		return press(b, "enter")
	}
	if cmd := typed("remove S-5"); cmd == nil || b.prompt.running != "" || !strings.Contains(b.screen(), "gl remove S-5 at ") {
		t.Errorf("it runs at once, or not at all:\n%s", b.screen())
	}
	first := b.prompt.doomed
	if cmd := press(b, "u"); cmd != nil || b.prompt.doomed != nil {
		t.Error("u doesn't take it back")
	}
	if _, cmd := b.Update(due{first}); cmd != nil || b.prompt.running != "" {
		t.Error("what was taken back runs")
	}
	typed("gl remove S-5")
	b.Update(due{first})
	if b.prompt.running != "" {
		t.Error("it runs early")
	}
	if b.Update(due{b.prompt.doomed}); b.prompt.running != "gl remove S-5" {
		t.Errorf("it never runs: %q", b.prompt.running)
	}
	b.prompt.running = ""
	typed("remove S-5")
	first = b.prompt.doomed
	if typed("remove S-6"); b.prompt.running != "gl remove S-5" || !strings.Contains(b.screen(), "gl remove S-6 at ") {
		t.Errorf("a second deletion drops the first, or doesn't wait: %q\n%s", b.prompt.running, b.screen())
	}
	b.prompt.running = ""
	if b.Update(due{first}); b.prompt.running != "" {
		t.Errorf("it runs twice: %q", b.prompt.running)
	}
	press(b, "u")
	for key, want := range map[string]string{"+": "4", "=": "4", "-": "2"} {
		if press(b, key); b.prompt.running != "gl settings set parallel.max "+want {
			t.Errorf("%s runs %q", key, b.prompt.running)
		}
	}
	b.list.facts.Slots = 1
	if press(b, "-"); b.prompt.running != "gl settings set parallel.max 1" {
		t.Errorf("- runs %q", b.prompt.running)
	}
}

// At any size, in any view and with anything open, the frame fits the screen, the selected slice is
// visible, and so is the way out.
func TestFrameFits(t *testing.T) {
	b := fixture(500)
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
		b.Update(tea.WindowSizeMsg{Width: w, Height: h})
		b.view, b.peek, b.help.open = rapid.IntRange(0, len(views)-1).Draw(t, "view"), rapid.Bool().Draw(t, "peek"), rapid.IntRange(0, 9).Draw(t, "help") == 0
		press(b, rapid.SampledFrom([]string{"down", "g", "G", "right", "j", "k"}).Draw(t, "key"))
		lines := b.frame()
		if len(lines) > h {
			t.Fatalf("%d lines in %d rows", len(lines), h)
		}
		for _, l := range lines {
			if term.Width(l) > w || strings.Contains(l, "\n") {
				t.Fatalf("%d columns in %d: %q", term.Width(l), w, l)
			}
		}
		if h >= 10 && b.view < 2 && !b.help.open && !slices.Contains(b.lineOf, b.list.selected) {
			t.Fatalf("%s isn't on the screen of %dx%d:\n%s", b.list.selected, w, h, strings.Join(lines, "\n"))
		}
		if last := lines[len(lines)-1]; h >= 5 && w >= 19 && !b.help.open && !strings.HasSuffix(last, "? help  q quit") {
			t.Fatalf("%d columns: the last line is %q", w, last)
		}
	})
}

// Where nothing moves, the board begins at what a person can move on.
func TestBeginsAtTheFailed(t *testing.T) {
	b := fixture(0)
	b.list.model.Rows = slices.DeleteFunc(b.list.model.Rows, func(r view.Row) bool {
		return r.Group == view.NeedsYou || r.Group == view.Running || r.Group == view.Merging
	})
	b.list.selected = ""
	b.list.settle()
	if r := b.list.row(); r == nil || r.Group != view.Failed {
		t.Errorf("%q is selected", b.list.selected)
	}
}

// The board, the counts of gl status, and the groups agree.
func TestBoardShowsAllGroups(t *testing.T) {
	b := fixture(0, stopped)
	b.Update(tea.WindowSizeMsg{Width: 100, Height: 40})
	screen := b.screen()
	for _, g := range view.BoardGroups() {
		if want := fmt.Sprintf("%s (%d)", g, b.list.model.Counts.Of(g)); !strings.Contains(screen, want) {
			t.Errorf("no %q on\n%s", want, screen)
		}
	}
	if !strings.HasPrefix(screen, b.list.model.Counts.Bar(&plan.Plan{Snapshot: &plan.Snapshot{}}, now)) {
		t.Errorf("the first line isn't the status bar's:\n%s", screen)
	}
	b.list.selected, b.view = "S-5", 1
	if screen := b.screen(); !strings.Contains(screen, "S-6  blocked ← S-5  (needs S-5)") {
		t.Errorf("what needs S-5 isn't lit:\n%s", screen)
	}
}

// The board shows an agent without output as silent, without an end; one in a tool with the
// tool, its age and its end.
func TestBoardShowsSilence(t *testing.T) {
	for tool, want := range map[string]string{"": "silent for 3m", "Bash: make": "for 3m in Bash: make"} {
		for _, width := range []int{45, 70, 120} {
			b := fixture(0)
			p := b.list.model.Plan
			a := p.State("S-3").Attempt
			a.Heard, a.Tool = now.Add(-3*time.Minute), tool
			b.Update(snapshot{model: view.New(p, view.Facts{Pace: eta.Of(time.Hour, time.Hour, time.Hour), Slots: 1}, now)})
			b.Update(tea.WindowSizeMsg{Width: width, Height: 60})
			b.list.selected = "S-3"
			screen := strings.Join(strings.Fields(b.screen()), " ")
			if !strings.Contains(screen, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, b.screen())
			}
			if ends := strings.Contains(screen, "~56m"); width >= 70 && ends != (tool != "") {
				t.Errorf("%d columns, tool %q: end %v\n%s", width, tool, ends, b.screen())
			}
		}
	}
}

// BenchmarkFirstFrame measures the time to the first frame of a project of a thousand slices.
func BenchmarkFirstFrame(b *testing.B) {
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("slices/S-%d.md", i+1)] = fmt.Sprintf("---\nid: S-%d\nname: Slice %d\nstatus: pending\ndeps: S-%d\n---\n", i+1, i+1, max(i, 1))
	}
	root := projecttest.Write(b, files)
	for b.Loop() {
		pr, err := project.Open(root)
		if err != nil {
			b.Fatal(err)
		}
		cfg := Config{Project: pr, Paint: plain, Plan: func(now time.Time) (*plan.Plan, error) { return pr.Plan(now, pr.Options()) }}
		fresh := newBoard(cfg)
		fresh.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		fresh.Update(snapshotOf(look.Glance(cfg.source())))
		if frame := fresh.screen(); !strings.Contains(frame, "Blocked (99") {
			b.Fatal(frame)
		}
	}
}

// A slice in the merge queue says where it is there and since when, and its text is worth more than
// the name of its agent. While that goes on and nothing is ready, "no run" would say that it
// doesn't.
func TestBoardShowsTheTrain(t *testing.T) {
	b := fixture(0, func(s *plan.Snapshot) {
		a := s.Attempts["S-4"]
		a.Landing, a.Heard = "testing on top of S-1, S-2; about 4s", now.Add(-time.Minute)
		a.Train = &plan.InTrain{Position: 3, On: []string{"S-1", "S-2"}, Since: now.Add(-4 * time.Second)}
	})
	b.list.selected = "S-4"
	for _, width := range []int{80, 120, 200} {
		b.Update(tea.WindowSizeMsg{Width: width, Height: 40})
		b.peek = width >= wide // its facts
		screen := strings.Join(strings.Fields(b.screen()), " ")
		for _, want := range []string{"> S-4 testing on top of S-1, S-2; about 4s for 4s", "merge queue: place 3, for 4s"} {
			if !strings.Contains(screen, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, b.screen())
			}
		}
	}
	for ready, want := range map[int]bool{0: false, 1: true} {
		b.list.model.Counts.Ready = ready
		if got := strings.Contains(b.list.firstLine(200), "no run"); got != want {
			t.Errorf("%d ready: no run is said: %v", ready, got)
		}
	}
}
