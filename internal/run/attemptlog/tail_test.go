package attemptlog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"greenlight/internal/base/text/lines"
)

// However a file grows, Lines returns every line once, whole and in order, and an incomplete
// one only at the end.
func TestTailHandsOutWholeLines(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "log")
		os.Remove(path)
		tl := NewTail(path)
		defer tl.Close()
		var got []string
		take := func(p lines.Piece) { got = append(got, string(p.Text)) }
		if err := tl.Lines(false, take); err != nil || got != nil {
			t.Fatalf("of a missing file: %q, %v", got, err)
		}
		parts := rapid.SliceOf(rapid.StringMatching(`[ab\n]{0,6}`)).Draw(t, "parts")
		written := ""
		for _, p := range parts {
			appendTo(t, path, p)
			written += p
			if err := tl.Lines(false, take); err != nil {
				t.Fatal(err)
			}
			if want := strings.Split(written, "\n"); len(got) != len(want)-1 {
				t.Fatalf("after %q: %q", written, got)
			}
		}
		if err := tl.Lines(true, take); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(written, "\n"); strings.Join(got, "\n") != want {
			t.Fatalf("got %q of %q", got, written)
		}
	})
}

func TestTailCopiesOnlyWhatIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	tl := NewTail(path)
	defer tl.Close()
	var out bytes.Buffer
	for _, part := range []string{"one\ntw", "o\n", "", "three"} {
		appendTo(t, path, part)
		before := out.Len()
		if err := tl.Copy(&out); err != nil {
			t.Fatal(err)
		}
		if got := out.String()[before:]; got != part {
			t.Errorf("got %q, want %q", got, part)
		}
	}
}

func appendTo(t interface{ Fatal(...any) }, path, text string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
