// Package logfile keeps logs of bounded size: of a long log it keeps the head and the tail,
// because a program may write for days and its beginning and end matter most.
//
// A log is a file and, once that is full, parts beside it: NAME.log holds the head,
// NAME.log.33554432 the bytes from that offset on. Parts are never renamed or rewritten, so a
// reader that follows the log needs no lock; when a new part begins, the oldest is removed.
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

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// These bound a log to 64 MiB. Tests lower them.
var (
	head int64 = 32 << 20
	part int64 = 16 << 20
)

const parts = 2 // besides the head; the last is being written

// A Note is a line of the log other than the program's stdout: a line of its stderr, or a
// message of gl.
type Note struct {
	From string `json:"gl"` // one of the sources below
	Text string `json:"text"`
}

// The sources of notes.
const (
	Stderr   = "stderr"   // the program's stderr
	Gl       = "note"     // a message of gl
	Worktree = "worktree" // a message of gl about the worktree
	// a message of gl: the program is started again, and earlier output doesn't count
	Anew = "anew"
)

const noteStart = `{"gl":"`

// ParseNote parses a line of the log as a Note. It returns false for a line of stdout.
func ParseNote(line []byte) (Note, bool) {
	var n Note
	if !bytes.HasPrefix(line, []byte(noteStart)) || json.Unmarshal(line, &n) != nil {
		return Note{}, false
	}
	return n, slices.Contains([]string{Stderr, Gl, Worktree, Anew}, n.From)
}

// Line returns the note as a line of the log, without the newline.
func (n Note) Line() []byte {
	line, _ := json.Marshal(n) // two strings always marshal
	return line
}

// A Writer appends to a log. A log has one Writer at a time.
type Writer struct {
	path   string
	f      *os.File
	start  int64   // offset of the part being written
	size   int64   // size of that part
	starts []int64 // offsets of all parts besides the head
}

// Create opens the log for appending, and creates it if it doesn't exist.
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

// Write writes p in one piece: a reader never sees half of it unless the disk is full. p is at
// most half a part long.
func (w *Writer) Write(p []byte) (int, error) {
	if w.size > 0 && w.size+int64(len(p)) > limit(w.start) {
		w.next()
	}
	n, err := w.f.Write(p)
	w.size += int64(n)
	return n, err
}

// next begins a new part. If that fails, the log continues in the old one, which is better than
// losing output.
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
		_ = durable.Unlink(partPath(w.path, w.starts[0])) // a part that stays does no harm
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

// listParts returns the offsets of the parts besides the head, in order.
func listParts(path string) ([]int64, error) {
	names, err := filepath.Glob(paths.EscapeGlob(path) + ".*")
	if err != nil {
		return nil, err
	}
	var starts []int64
	for _, name := range names {
		if start, err := strconv.ParseInt(strings.TrimPrefix(name, path+"."), 10, 64); err == nil &&
			start > 0 {
			starts = append(starts, start)
		}
	}
	slices.Sort(starts)
	return starts, nil
}

// Changed returns the time of the last write to the log; ok is false if the log is missing or
// empty.
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
		if info, err := durable.Stat(partPath(path, start)); err == nil &&
			info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at, true
}

// leftOut returns the note that a reader inserts where parts of the log were removed.
func leftOut(bytes int64) Note {
	return Note{"note", fmt.Sprintf("%d MiB left out of the log here", max(1, bytes>>20))}
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
