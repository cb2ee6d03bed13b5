package logfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/base/text/lines"
)

// What comes while a line of stdout goes on waits for its end, so that the line stays whole; up to
// a limit.
func TestNotesWaitForTheEndOfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	w := create(t, path)
	l := NewLog(w)
	l.Stdout(lines.Piece{Text: []byte("a "), More: true})
	l.Note("stderr", "one")
	for range 3 {
		l.Note("stderr", strings.Repeat("x", heldBytes/2-100))
	}
	l.Stdout(lines.Piece{Text: []byte("long "), Rest: true, More: true})
	l.Stdout(lines.Piece{Text: []byte("line"), Rest: true})
	l.Note("stderr", "two")
	w.Close()
	data, err := os.ReadFile(path)
	testfiles.Check(t, err)
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if n, ok := ParseNote([]byte(line)); ok {
			line = n.From + ": " + n.Text[:min(len(n.Text), 40)]
		}
		got = append(got, line)
	}
	xs := "stderr: " + strings.Repeat("x", 40)
	lost := "note: " + "left out: 1 line of stderr that came while a line of stdout went on"[:40]
	want := []string{"a long line", "stderr: one", xs, xs, lost, "stderr: two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever text a note has, it is one line of the log that is read back as that note, and no line
// of an agent is one.
func TestLogNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	w := create(t, path)
	l := NewLog(w)
	texts := []string{"plain", "two\nlines", "ctrl \x1b[31m \x00", `{"gl":"note"}`, "", "\xff broken"}
	for _, text := range texts {
		l.Note("stderr", text)
	}
	l.Stdout(lines.Piece{Text: []byte(`{"gl":"fortune","text":"an agent's own"}`)})
	l.Stdout(lines.Piece{Text: []byte("cut short")})
	l.Stdout(lines.Piece{})
	w.Close()
	data, err := os.ReadFile(path)
	testfiles.Check(t, err)
	got := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if len(got) != len(texts)+3 {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(texts)+3, data)
	}
	for i, text := range texts {
		n, ok := ParseNote(got[i])
		if !ok || n.From != "stderr" || n.Text != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("%q is read back as %+v, %v", text, n, ok)
		}
	}
	for _, line := range got[len(texts):] {
		if _, ok := ParseNote(line); ok {
			t.Errorf("%q isn't gl's", line)
		}
	}
}
