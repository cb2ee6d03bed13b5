package cli

import (
	"strings"
	"testing"

	"greenlight/internal/cli/cmdutil"

	"pgregory.net/rapid"
)

func TestHasWord(t *testing.T) {
	for s, want := range map[string]bool{
		"greenlight/checkpoint/S-1": true, "checkpoint-s-1-red": true, "S-1": true, "S-1.": true, "S-10": false, "S-1.2": false,
		"XS-1": false, "S-10, S-1": true, "": false, "C: S-1: x": true, "öS-1": false,
	} {
		if got := hasWord(s, "S-1"); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestFirstWord(t *testing.T) {
	for s, want := range map[string]string{"`a b.go` (new)": "a b.go", "a.go (new)": "a.go", "`a": "a", "": ""} {
		if got := firstWord(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// However the output of the tests comes in pieces, its lines are the same.
func TestLineWriterOfAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[a-z\x1b ]{0,8}`), 0, 6).Draw(t, "lines")
		text := strings.Join(want, "\r\n")
		var got []string
		w := &lineWriter{line: func(l string) { got = append(got, l) }}
		for text != "" {
			n := rapid.IntRange(1, len(text)).Draw(t, "piece")
			if k, err := w.Write([]byte(text[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			text = text[n:]
		}
		w.flush()
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "\x1b", `\x1b`)
		}
		if n := len(want); n > 0 && want[n-1] == "" {
			want = want[:n-1] // what has no line end and no text is no line
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestLineWriterCutsEndlessLines(t *testing.T) {
	n := 0
	w := &lineWriter{line: func(l string) { n += len(l) }}
	for range 100 {
		w.Write([]byte(strings.Repeat("x", 1000)))
		if len(w.rest) > maxLine {
			t.Fatalf("%d bytes are kept", len(w.rest))
		}
	}
	if n == 0 {
		t.Error("nothing was told")
	}
}

func TestNoShell(t *testing.T) {
	for command, ok := range map[string]bool{"go test ./...": true, "make && make test": false, "a | b": false, "": false, "a 2>&1": true} {
		if err := noShell(strings.Fields(command)); (err == nil) != ok {
			t.Errorf("%q: %v", command, err)
		}
	}
}

func TestUTF8Locale(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false}, {[]string{"LANG=de_DE.UTF-8"}, true}, {[]string{"LANG=C.utf8"}, true}, {[]string{"LANG=de_DE.UTF-8", "LC_ALL=C"}, false},
		{[]string{"LC_CTYPE=en_US.UTF-8", "LANG=C"}, true}, {[]string{"LC_ALL=", "LANG=en_US.UTF-8"}, true},
	} {
		if got := isUTF8(&cmdutil.App{Environ: c.environ}); got != c.want {
			t.Errorf("%v: %v", c.environ, got)
		}
	}
}
