package term

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// For any text and screen, no word is lost or broken, and a line that is too wide is a single
// word.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`( {0,30}[a-zé,]{1,12}){0,8} ?`).Draw(t, "line")
		width, hang := rapid.IntRange(-1, 60).Draw(t, "width"),
			rapid.IntRange(0, 30).Draw(t, "hang")
		got := Wrap(line, width, hang)
		if !slices.Equal(strings.Fields(got), strings.Fields(line)) {
			t.Fatalf("%q became %q", line, got)
		}
		for i, l := range strings.Split(got, "\n") {
			tooWide := width > 0 && Width(l) > width
			if tooWide && len(strings.Fields(l)) > 1 {
				t.Fatalf("%q is wider than %d", l, width)
			}
			if l != strings.TrimRight(l, " ") && i > 0 {
				t.Fatalf("%q ends in blanks", l)
			}
		}
	})
}

// Text without spaces in characters of two columns is broken between them, and no line is too
// wide.
func TestWrapWide(t *testing.T) {
	for _, tt := range []struct {
		line string
		want string
	}{
		{"S-2 failed: 注文履歴の表示と検索", "S-2 failed: 注文履歴\n  の表示と検索"},
		{"注文", "注文"},
		{"a 注文履歴の表示.go:12と検索と検索と検索", "a 注文履歴の表示\n  .go:12と検索と検索\n  と検索"},
	} {
		if got := Wrap(tt.line, 20, 2); got != tt.want {
			t.Errorf("%q became\n%q, want\n%q", tt.line, got, tt.want)
		}
	}
	if got, want := Wrap(" 日日日日日日", 12, 0), " 日日日日日\n日"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`( ?[日本é]{1,30}){0,8}`).Draw(t, "line")
		width, hang := rapid.IntRange(12, 40).Draw(t, "width"), rapid.IntRange(0, 2).Draw(t, "hang")
		got := Wrap(line, width, hang)
		if strings.Join(strings.Fields(strings.ReplaceAll(got, "\n", " ")),
			"") != strings.Join(strings.Fields(line), "") {
			t.Fatalf("%q became %q", line, got)
		}
		for l := range strings.SplitSeq(got, "\n") {
			if Width(l) > width && strings.Contains(l, "日") && !strings.Contains(l, "é") {
				t.Fatalf("%q is wider than %d", l, width)
			}
		}
	})
}

// Broken text is aligned in its column behind the lead; on a screen that is too narrow for
// that, it gets half.
func TestWrapColumn(t *testing.T) {
	const lead, text = "18:02  注文  ", "done: 6 tests,  verified"
	for width, want := range map[int]string{
		0:  "18:02  注文  done: 6 tests,  verified",
		40: "18:02  注文  done: 6 tests,  verified",
		30: "18:02  注文  done: 6 tests,\n             verified",
		20: "18:02  注文  done: 6\n          tests,\n          verified",
	} {
		if got := WrapColumn(lead, text, width); got != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", width, got, want)
		}
	}
}

// Lines end neither inside a command nor inside quotation marks, as long as that fits; a message
// keeps even a command that doesn't.
func TestWrapCommands(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"S-5 is blocked: run gl logs S-4, then gl retry S-4", "S-5 is blocked: run\n  gl logs S-4, then\n  gl retry S-4"},
		{"to see it, run gl why S-1 -C /srv to be sure of that", "to see it, run\n  gl why S-1 -C /srv\n  to be sure of that"},
		{"first run git init && git add . && git commit -m start, and so on",
			"first run\n  git init && git add . && git commit -m start,\n  and so on"},
		{"no tests: gl settings set test.command 'go test ./...' sets it",
			"no tests:\n  gl settings set test.command 'go test ./...'\n  sets it"},
		{`there is no setting "a b c d", do you mean "e f"?`, "there is no setting\n  \"a b c d\", do you\n  mean \"e f\"?"},
		{"or gl gsd todo add --title 'a b' keeps it", "or\n  gl gsd todo add --title 'a b'\n  keeps it"},
		{"say it: gl do 'fix the typo' 'add a test'", "say it:\n  gl do 'fix the typo' 'add a test'"},
		{"it doesn't work in the agent's own directory", "it doesn't work in the\n  agent's own\n  directory"},
		{"what gl isn't able to do, git might do", "what gl isn't able to\n  do, git might do"},
	} {
		if got := WrapMessage(tt.line, 22, 2); got != tt.want {
			t.Errorf("%q became\n%q\nwant\n%q", tt.line, got, tt.want)
		}
	}
	long := "no tests: gl settings set test.command 'go test ./...'"
	if got := Wrap(long, 22, 2); got != "no tests: gl settings\n  set test.command 'go\n  test ./...'" {
		t.Errorf("Wrap: %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`((gl|git|"|'|why |S-1|x\.|-C|&&|\(|[a-z]{1,3}|\.) ?){0,12}`).Draw(t, "line")
		width := rapid.IntRange(-1, 30).Draw(t, "width")
		for _, got := range []string{Wrap(line, width, 2), WrapMessage(line, width, 2)} {
			if !slices.Equal(strings.Fields(got), strings.Fields(line)) {
				t.Fatalf("%q became %q", line, got)
			}
		}
	})
}
