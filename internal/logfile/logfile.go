// Package logfile keeps logs that can't fill the disk: of a long one the head and the tail. Programs may write for days, and
// what matters is how they began and how they ended.
//
// A log is a file and, once that is full, parts beside it: NAME.log holds the head, NAME.log.33554432 what came from that
// byte on. No part is ever renamed or rewritten, so a reader that follows needs no lock; the oldest part goes when a
// new one is begun.
package logfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

// A log takes 64 MiB at most. Tests make it smaller.
var (
	head int64 = 32 << 20
	part int64 = 16 << 20
)

const parts = 2 // besides the head; the last one is being written

// A Note is a line of the log that isn't the program's stdout: its stderr, or a word of gl's own.
type Note struct {
	From string `json:"gl"` // one of the sources
	Text string `json:"text"`
}

// The sources of notes.
const (
	Stderr   = "stderr"   // what the program wrote there
	Gl       = "note"     // gl's own
	Worktree = "worktree" // gl's own, about the worktree
	Anew     = "anew"     // gl's own: the program is started again, and what came before doesn't count
)

const noteStart = `{"gl":"`

// ParseNote tells a Note from a line of stdout.
func ParseNote(line []byte) (Note, bool) {
	var n Note
	if !bytes.HasPrefix(line, []byte(noteStart)) || json.Unmarshal(line, &n) != nil {
		return Note{}, false
	}
	return n, slices.Contains([]string{Stderr, Gl, Worktree, Anew}, n.From)
}

// Line is the note as a line of the log, without its end.
func (n Note) Line() []byte {
	line, _ := json.Marshal(n) // two strings always can
	return line
}

// A Writer appends to a log. Nobody else may.
type Writer struct {
	path   string
	f      *os.File
	start  int64   // of the part that is being written
	size   int64   // of it
	starts []int64 // of all parts besides the head
}

// Create opens the log for writing at its end, and makes it if it isn't there.
func Create(path string) (*Writer, error) {
	w := &Writer{path: path}
	var err error
	if w.starts, err = listParts(path); err != nil {
		return nil, err
	}
	if n := len(w.starts); n > 0 {
		w.start = w.starts[n-1]
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Writer) open() error {
	f, err := durable.OpenAppend(partPath(w.path, w.start), 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	w.f, w.size = f, info.Size()
	return nil
}

// Write writes p in one piece: a reader never sees half of it, unless the disk is full. It is no longer than half a part.
func (w *Writer) Write(p []byte) (int, error) {
	if w.size > 0 && w.size+int64(len(p)) > limit(w.start) {
		w.next()
	}
	n, err := w.f.Write(p)
	w.size += int64(n)
	return n, err
}

// next begins a new part. Where that fails, the log goes on in the old one: losing what comes would be worse.
func (w *Writer) next() {
	old, was := w.f, *w
	w.start += w.size
	if err := w.open(); err != nil {
		*w = was
		return
	}
	old.Close()
	w.starts = append(w.starts, w.start)
	for len(w.starts) > parts {
		_ = durable.Unlink(partPath(w.path, w.starts[0])) // if it stays, it is only untidy
		w.starts = w.starts[1:]
	}
}

// Close closes the log.
func (w *Writer) Close() error { return w.f.Close() }

func limit(start int64) int64 {
	if start == 0 {
		return head
	}
	return part
}

func partPath(path string, start int64) string {
	if start == 0 {
		return path
	}
	return path + "." + strconv.FormatInt(start, 10)
}

// listParts returns where the parts besides the head start, in order.
func listParts(path string) ([]int64, error) {
	names, err := filepath.Glob(paths.EscapeGlob(path) + ".*")
	if err != nil {
		return nil, err
	}
	var starts []int64
	for _, name := range names {
		if start, err := strconv.ParseInt(strings.TrimPrefix(name, path+"."), 10, 64); err == nil && start > 0 {
			starts = append(starts, start)
		}
	}
	slices.Sort(starts)
	return starts, nil
}

// Changed says when the log was last written to; ok is false for one that is missing or empty.
func Changed(path string) (at time.Time, ok bool) {
	info, err := durable.Stat(path)
	if err != nil || info.Size() == 0 {
		return at, false
	}
	at = info.ModTime()
	if info.Size() < head/2 {
		return at, true
	}
	starts, _ := listParts(path)
	for _, start := range starts {
		if info, err := durable.Stat(partPath(path, start)); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at, true
}

// leftOut is what a reader puts where parts of the log are gone.
func leftOut(bytes int64) Note {
	return Note{"note", fmt.Sprintf("%d MiB left out of the log here", max(1, bytes>>20))}
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
