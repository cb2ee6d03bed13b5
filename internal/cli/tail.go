package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"greenlight/internal/attempt"
)

// logPoll is how often a followed log is looked at even if no event came: not every file system has events.
const logPoll = 500 * time.Millisecond

// A tail reads a growing file, each byte once.
type tail struct {
	path string
	f    *os.File // nil until the file is there
	rest []byte   // the start of a line whose end hasn't come yet
}

func (t *tail) open() (bool, error) {
	if t.f != nil {
		return true, nil
	}
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	t.f = f
	return err == nil, err
}

func (t *tail) close() {
	if t.f != nil {
		t.f.Close()
	}
}

// copy writes what is new to w.
func (t *tail) copy(w io.Writer) error {
	if ok, err := t.open(); !ok {
		return err
	}
	_, err := io.Copy(w, t.f)
	return err
}

// lines hands out the lines that are new, without their line ends. A last line that isn't whole is kept for the next
// time, or handed out when there is none.
func (t *tail) lines(last bool, f func(line []byte)) error {
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

func (t *tail) split(data []byte, f func([]byte)) {
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

// watchLog tells when the attempt's log or record may have changed, at least once in logPoll; stop ends that.
func watchLog(s *attempt.Store, r *attempt.Record) (news <-chan struct{}, stop func()) {
	c, done := make(chan struct{}, 1), make(chan struct{})
	log := s.LogPath(r.Slice, r.N)
	var events chan fsnotify.Event
	var errs chan error
	w, err := fsnotify.NewWatcher()
	if err == nil {
		// What can't be watched is polled.
		_ = w.Add(filepath.Dir(log))
		_ = w.Add(s.LiveDir())
		events, errs = w.Events, w.Errors
	}
	go func() {
		poll := time.NewTicker(logPoll)
		defer poll.Stop()
		for {
			select {
			case <-done:
				return
			case <-poll.C:
			case e := <-events:
				if filepath.Dir(e.Name) == filepath.Dir(log) && filepath.Base(e.Name) != filepath.Base(log) {
					continue
				}
			case <-errs:
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return c, func() {
		close(done)
		if w != nil {
			w.Close()
		}
	}
}
