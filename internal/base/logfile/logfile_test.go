package logfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func small(t *testing.T) string {
	t.Helper()
	wasHead, wasPart := head, part
	head, part = 400, 200
	t.Cleanup(func() { head, part = wasHead, wasPart })
	return filepath.Join(t.TempDir(), "S-1.1.log")
}

type fataler interface{ Fatal(...any) }

func create(t fataler, path string) *Writer {
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func readAll(t fataler, r io.Reader) string {
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A log of any length stays below its limit, and a reader gets its first lines, a note about
// removed parts, and its last lines; only whole lines, in order. A new writer continues where
// the last one ended.
func TestHeadAndTailAreKept(t *testing.T) {
	path := small(t)
	rapid.Check(t, func(t *rapid.T) {
		clear(t, path)
		w := create(t, path)
		lines := rapid.IntRange(0, 200).Draw(t, "lines")
		for i := range lines {
			if rapid.IntRange(0, 20).Draw(t, "again") == 0 {
				w.Close()
				w = create(t, path)
			}
			fmt.Fprintf(w, "%d %s\n", i,
				strings.Repeat("x", rapid.IntRange(0, 60).Draw(t, "length")))
		}
		w.Close()
		if n := onDisk(t, path); n > head+2*part {
			t.Fatalf("%d lines take %d bytes", lines, n)
		}
		got := readAll(t, NewReader(path))
		next, notes := 0, 0
		for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
			if _, ok := ParseNote([]byte(line)); ok {
				notes++
				continue
			}
			if lines == 0 {
				continue
			}
			var i int
			if _, err := fmt.Sscan(line, &i); err != nil || i < next || i > next && notes == 0 {
				t.Fatalf("line %q follows %d in\n%s", line, next-1, got)
			}
			next = i + 1
		}
		if next != lines || notes > 1 {
			t.Fatalf("ends after %d of %d lines, with %d notes:\n%s", next, lines, notes, got)
		}
	})
}

// A reader that keeps up gets everything, even if parts are removed behind it.
func TestFollowing(t *testing.T) {
	path := small(t)
	rapid.Check(t, func(t *rapid.T) {
		clear(t, path)
		r := NewReader(path)
		defer r.Close()
		var got, want bytes.Buffer
		w := create(t, path)
		defer w.Close()
		for i := range 100 {
			line := fmt.Sprintf("%d %s\n", i,
				strings.Repeat("x", rapid.IntRange(0, 60).Draw(t, "length")))
			io.WriteString(w, line)
			want.WriteString(line)
			if rapid.Bool().Draw(t, "read") || i%3 == 0 {
				got.WriteString(readAll(t, r))
			}
		}
		got.WriteString(readAll(t, r))
		if got.String() != want.String() {
			t.Fatalf("got\n%s\nof\n%s", got.String(), want.String())
		}
	})
}

// A reader that falls behind gets one note, and continues with a whole line, even if a part
// begins in the middle of one.
func TestFallingBehind(t *testing.T) {
	path := small(t)
	w := create(t, path)
	defer w.Close()
	io.WriteString(w, "first\nsecond is cut ")
	for range 30 {
		io.WriteString(w, strings.Repeat("x", 90))
	}
	r := NewReader(path)
	defer r.Close()
	io.WriteString(w, "\nlast\n")
	got := readAll(t, r)
	if !strings.HasPrefix(got, "first\nsecond is cut xxx") || !strings.HasSuffix(got, "xxx\n{\"gl\":\"note\",\"text\":\"1 MiB left out of the log here\"}\nlast\n") {
		t.Errorf("got %q", got)
	}
}

func TestToEnd(t *testing.T) {
	path := small(t)
	w := create(t, path)
	defer w.Close()
	for i := range 200 {
		fmt.Fprintf(w, "%d\n", i)
	}
	for n, want := range map[int64]string{9: "198\n199\n", 4: "", 100: "176\n"} {
		r := NewReader(path)
		if err := r.ToEnd(n); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, r); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("the last %d bytes: %q, want %q", n, got, want)
		}
		r.Close()
	}
	r := NewReader(filepath.Join(t.TempDir(), "none"))
	if err := r.ToEnd(9); err != nil || readAll(t, r) != "" {
		t.Errorf("of no log: %v", err)
	}
}

// A log that can't begin a new part continues in the old one.
func TestNoPartCanBeBegun(t *testing.T) {
	path := small(t)
	w := create(t, path)
	defer w.Close()
	line := strings.Repeat("x", 199) + "\n"
	io.WriteString(w, line)
	io.WriteString(w, line)
	if err := os.Mkdir(path+".400", 0o755); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "last\n")
	data, err := os.ReadFile(path)
	if err != nil || string(data) != line+line+"last\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func clear(t fataler, path string) {
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		os.Remove(name)
	}
}

func onDisk(t fataler, path string) (n int64) {
	names, _ := filepath.Glob(path + "*")
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func FuzzParseNote(f *testing.F) {
	for _, s := range []string{`{"gl":"stderr","text":"x"}`, `{"gl":"note","text":""}`, `{"gl":"x"}`, `{"gl":`, `{"type":"result"}`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if n, ok := ParseNote(line); ok &&
			!slices.Contains([]string{Stderr, Gl, Worktree, Anew}, n.From) {
			t.Errorf("%q is a note from %q", line, n.From)
		}
	})
}
