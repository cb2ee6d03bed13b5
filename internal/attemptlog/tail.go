// Package attemptlog reads the logs of attempts: as they grow, and as text for people. The wrapper of an attempt, in
// package attempt, writes them.
package attemptlog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"greenlight/internal/durable"
)

// A Tail reads a growing file, each byte once. The file needn't exist yet.
type Tail struct {
	path string
	f    *os.File // nil until the file is there
	rest []byte   // the start of a line whose end hasn't come yet
}

// NewTail returns a Tail that begins at the start of the file.
func NewTail(path string) *Tail { return &Tail{path: path} }

func (t *Tail) open() (bool, error) {
	if t.f != nil {
		return true, nil
	}
	f, err := durable.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	t.f = f
	return err == nil, err
}

// Close closes the file.
func (t *Tail) Close() {
	if t.f != nil {
		t.f.Close()
	}
}

// Copy writes what is new to w.
func (t *Tail) Copy(w io.Writer) error {
	if ok, err := t.open(); !ok {
		return err
	}
	_, err := io.Copy(w, t.f)
	return err
}

// Lines calls f with each new line, without its line end. An incomplete last line is kept for the next call, unless this
// is the last one.
func (t *Tail) Lines(last bool, f func(line []byte)) error {
	if ok, err := t.open(); !ok {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := t.f.Read(buf)
		t.split(buf[:n], f)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if last && len(t.rest) > 0 {
		f(t.rest)
		t.rest = nil
	}
	return nil
}

func (t *Tail) split(data []byte, f func([]byte)) {
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			t.rest = append(t.rest, data...)
			return
		}
		line := data[:i]
		if len(t.rest) > 0 {
			line = append(t.rest, line...)
		}
		f(line)
		t.rest, data = t.rest[:0], data[i+1:]
	}
}
