package shellwords

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{" \t\n", nil},
		{"--dangerously-skip-permissions --max-turns 200", []string{"--dangerously-skip-permissions", "--max-turns", "200"}},
		{`--allowedTools "Bash(git *)" 'Edit'`, []string{"--allowedTools", "Bash(git *)", "Edit"}},
		{`a''b "" ''`, []string{"ab", "", ""}},
		{`a"b c"'d e'f`, []string{"ab cd ef"}},
		{`"\$\` + "`" + `\"\\\a"`, []string{`$` + "`" + `"\\a`}},
		{`'\'`, []string{`\`}},
		{`\a\ b\'`, []string{`a b'`}},
		{"a\\\nb \\\n c", []string{"ab", "c"}},
		{"\"a\\\nb\"", []string{"ab"}},
		{"$HOME ~ * # x;y|z", []string{"$HOME", "~", "*", "#", "x;y|z"}},
		{"é\u00a0ü", []string{"é\u00a0ü"}},
		{"a\rb", []string{"a\rb"}},
	} {
		got, err := Split(tt.in)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for in, want := range map[string]string{
		`a 'b`:    "the single quote at byte 3",
		`a "b\"`:  "the double quote at byte 3",
		`"\`:      "the double quote at byte 1",
		`a\`:      "backslash at the end",
		"a\x00b":  "NUL",
		`'a' "b'`: "the double quote at byte 5",
	} {
		if got, err := Split(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want an error with %q", in, got, err, want)
		}
	}
}

// quoteWord quotes a word in one of the ways a shell understands.
func quoteWord(t *rapid.T, word string) string {
	switch rapid.IntRange(0, 2).Draw(t, "style") {
	case 0:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	case 1:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`).Replace(word) + `"`
	}
	var b strings.Builder
	for i := range len(word) {
		if word[i] == '\n' {
			b.WriteString("'\n'") // a backslash would join the lines
			continue
		}
		b.WriteByte('\\')
		b.WriteByte(word[i])
	}
	if word == "" {
		return "''"
	}
	return b.String()
}

func TestSplitUndoesQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("ab '\"\\$`\n\t*é{}")))).Draw(t, "words")
		var line strings.Builder
		for _, w := range words {
			line.WriteString(quoteWord(t, w))
			line.WriteString(rapid.SampledFrom([]string{" ", "\n", "\t  "}).Draw(t, "gap"))
		}
		got, err := Split(line.String())
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q: %q, %v; want %q", line.String(), got, err, words)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "a b", `"a b" 'c'`, `\`, `'`, `"\"`, "a\\\nb", "\x00",
		"--x=\"y z\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := Split(s)
		if err != nil {
			if words != nil {
				t.Errorf("%q: words %q beside the error %v", s, words, err)
			}
			return
		}
		var line []string
		for _, w := range words {
			line = append(line, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		if again, err := Split(strings.Join(line, " ")); err != nil || !slices.Equal(again, words) {
			t.Errorf("%q: %q, quoted and split again %q, %v", s, words, again, err)
		}
	})
}
