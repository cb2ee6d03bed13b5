package status

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/show/view"

	"pgregory.net/rapid"
)

func TestHang(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"S-1, S-2", 0, "Ready:    S-1, S-2"},
		{"S-1, S-2, S-3", 10, "Ready:    S-1, S-2, S-3"}, // too narrow to do anything about it
		{"S-1, S-2, S-3, S-4", 23, "Ready:    S-1, S-2,\n          S-3, S-4"},
		{"S-1 (needs S-0), S-2", 26, "Ready:    S-1 (needs S-0),\n          S-2"},
		{"S-1 (needs S-0), S-2", 24, "Ready:    S-1 (needs\n          S-0), S-2"},
		{"S-123456789012345678, S-2", 20, "Ready:    S-123456789012345678,\n          S-2"},
		{"ääää, öööö, S-3", 21, "Ready:    ääää, öööö,\n          S-3"},
	} {
		if got := Hang("Ready:", c.text, c.width); got != c.want {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", c.text, c.width, got, c.want)
		}
	}
}

// Whatever the width, no word is lost, and a line is too long only because of one word that is.
func TestHangOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zä(),]{1,15}`), 1, 20).Draw(t, "words")
		width := rapid.IntRange(2*labelWidth, 60).Draw(t, "width")
		text := strings.Join(words, " ")
		got := Hang("Label:", text, width)
		if again := strings.Join(strings.Fields(got), " "); again != "Label: "+text {
			t.Fatalf("%q lost something of %q", again, text)
		}
		for i, line := range strings.Split(got, "\n") {
			if i > 0 && !strings.HasPrefix(line, strings.Repeat(" ", labelWidth)) {
				t.Fatalf("line %q isn't indented", line)
			}
			if utf8.RuneCountInString(line) > width && len(strings.Fields(line[labelWidth:])) > 1 {
				t.Fatalf("line %q is longer than %d", line, width)
			}
		}
	})
}

// A screen shows every group that has items, is never wider than the terminal, and keeps ids,
// causes and commands as far as there is room.
func TestScreen(t *testing.T) {
	now := time.Now()
	s := &plan.Snapshot{Noun: plan.Slice, Attempts: map[string]*plan.Attempt{
		"S-3": {N: 1, Phase: plan.Started, Agent: "claude", Started: now.Add(-4 * time.Minute), Heard: now.Add(-5 * time.Second)},
	}}
	for i, name := range []string{"Project skeleton", "注文履歴の表示と検索と並べ替え", "Search the catalog 🙂 and all that is in it", "S-4"} {
		s.Items = append(s.Items, &plan.Item{ID: fmt.Sprint("S-", i+1), Name: name, Status: [...]string{"failed", "verifying", "tests", "complete"}[i], Changed: now})
	}
	s.Items[1].WaitingFor = "a look at the colors of the checkout page, on a phone too"
	for i := range 30 {
		s.Items = append(s.Items, &plan.Item{ID: fmt.Sprint("S-", i+10), Name: "後で", Deps: []string{"S-1"}})
	}
	m := view.New(plan.New(s, now, plan.Options{}), view.Facts{}, now)
	for _, paint := range []func(term.Color, string) string{func(_ term.Color, s string) string { return s }, term.Color.Paint} {
		for width := 10; width <= 210; width++ {
			for _, l := range (Screen{Width: width, Paint: paint}).Lines(m) {
				if term.Width(l) > width {
					t.Fatalf("%d columns in %d: %q", term.Width(l), width, l)
				}
				if width >= 40 && strings.HasSuffix(l, " ") {
					t.Errorf("%q ends in a space", l)
				}
			}
		}
	}
	plain := Screen{Width: 120, Paint: func(_ term.Color, s string) string { return s }}
	got := strings.Join(plain.Lines(m), "\n")
	want := `[....................] 1/34 slices

Needs you (1)
  S-2   注文履歴の表示と検索と並べ替え  waiting for a look at the colors of the checkout page, on a phon…  gl accept S-2

Failed (1)
  S-1   Project skeleton  failed  gl retry S-1

Running (1)
  S-3   Search the catalog 🙂 and all that is in it  tests  5s ago  claude

Blocked (30)
  S-10  後で  needs S-1
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("in 120 columns:\n%s\nwant:\n%s", got, want)
	}
	if !strings.Contains(got, "\n  and 24 more: gl status --all\n") {
		t.Errorf("not folded:\n%s", got)
	}
	plain.All = true
	if all := strings.Join(plain.Lines(m), "\n"); !strings.Contains(all, "S-39") || !strings.Contains(all, "Done (1)\n  S-4") {
		t.Errorf("--all:\n%s", all)
	}
}

// Each key of the document is shown by one field, or is for programs only. Each group of rows
// shows a field.
func TestFieldsAreTheDocument(t *testing.T) {
	shown := map[string]int{}
	for _, key := range jsonOnly {
		shown[key]++
	}
	groups := map[view.Group]bool{view.Done: true} // that --all lists
	for _, f := range fields {
		for _, key := range f.keys {
			shown[key]++
		}
		for _, g := range f.groups {
			groups[g] = true
		}
		if (f.text == nil) != (f.label == "") || (f.place == rows) != (len(f.groups) > 0) {
			t.Errorf("%q, %q: text without a label, or rows without groups", f.keys, f.label)
		}
		if (f.place == head || f.place == foot) && (f.words == nil || f.color == nil) {
			t.Errorf("%q, %q: no words or color for a terminal", f.keys, f.label)
		}
	}
	for i := range reflect.TypeFor[Document]().NumField() {
		key, _, _ := strings.Cut(reflect.TypeFor[Document]().Field(i).Tag.Get("json"), ",")
		if shown[key] != 1 {
			t.Errorf("%q is in %d fields, want 1, or in jsonOnly", key, shown[key])
		}
		delete(shown, key)
	}
	if len(shown) > 0 {
		t.Errorf("the document has none of %v", shown)
	}
	for _, g := range view.Groups() {
		if !groups[g] {
			t.Errorf("no field is in the group %s", g)
		}
	}
}

// A long reason that slices share is told once, and on one line whatever git has said; a short
// one, or one that a slice has alone, stays with its slice.
func TestSharedReason(t *testing.T) {
	now := time.Now()
	const moved = "work doesn't contain f60c0e834f any more:\nit was reset. Run gl land --reset"
	model := func(undelivered string, causes ...string) *view.Model {
		s := &plan.Snapshot{Noun: plan.Slice, Attempts: map[string]*plan.Attempt{}}
		for i, cause := range causes {
			id := fmt.Sprint("S-", i+3)
			s.Items = append(s.Items, &plan.Item{ID: id, Status: "tests"})
			s.Attempts[id] = &plan.Attempt{N: 1, Phase: plan.Queued, Landing: cause}
		}
		status := lane.Status{Known: true, Reason: undelivered}
		if undelivered != "" {
			status.Undelivered = []string{"S-1"}
		}
		return view.New(plan.New(s, now, plan.Options{}), view.Facts{Lane: status}, now)
	}
	for _, c := range []struct {
		m    *view.Model
		want []string
	}{
		{model(moved, moved, "testing", moved), []string{"Unmerged: S-1", "Merging:  S-3, S-4 (testing), S-5",
			"Because:  S-1, S-3, S-5: work doesn't contain f60c0e834f any more: it was reset. Run gl land --reset"}},
		{model("", moved, moved), []string{"Merging:  S-3, S-4",
			"Because:  S-3, S-4: work doesn't contain f60c0e834f any more: it was reset. Run gl land --reset"}},
		{model("dirty is in the way", "testing", "testing"), []string{"Unmerged: S-1 (dirty is in the way, gl land)", "Merging:  S-3 (testing), S-4 (testing)"}},
		{model(moved, "testing"), []string{"Unmerged: S-1 (work doesn't contain f60c0e834f any more: it was reset. Run gl land --reset)", "Merging:  S-3 (testing)"}},
	} {
		var got []string
		for _, line := range Pipe(c.m) {
			for _, label := range []string{"Unmerged:", "Merging:", "Because:"} {
				if strings.HasPrefix(line, label) {
					got = append(got, line)
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Tests that fail whatever the slices do are said in both forms, with the command that looks again.
func TestRedBaseIsSaid(t *testing.T) {
	now := time.Now()
	for status, where := range map[string]string{"complete": "on what was merged", "pending": "without any slice's work"} {
		s := &plan.Snapshot{Noun: plan.Slice, Items: []*plan.Item{{ID: "S-1", Status: status}}, Ran: plan.LastRun{Suite: &plan.Suite{Red: true, Failed: 2, Commit: "413d763f1400"}}}
		m := view.New(plan.New(s, now, plan.Options{}), view.Facts{}, now)
		want := "the tests fail " + where + " (2 failing, at 413d763f14): fix them, or the test command, then run gl verify"
		screen := Screen{Width: 120, Paint: func(_ term.Color, s string) string { return s }}
		for _, lines := range [][]string{Pipe(m), screen.Lines(m)} {
			if text := strings.Join(lines, "\n"); !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}
