package gsd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
)

// GSD's own tools lock with a file that exists while its owner works and contains the owner's
// pid. gl follows the same rules, so that gl and GSD exclude each other; between two gl
// processes, a kernel lock on the same file makes the exclusion exact.
const (
	lockBudget = 30 * time.Second // how long a writer waits
	deadman    = 60 * time.Second // after this, the pid in a lock may have been reused
	// a lock this young may lack a pid because it is being created
	freshFloor = time.Second
	// between two tries, plus up to as much jitter; GSD's is 200 ms
	maxPause = 20 * time.Millisecond
)

// A heldLock is a lock file that we created.
type heldLock struct {
	path string
	file *os.File // open, with the kernel lock
}

// A busyError names the holder of a lock.
type busyError struct{ path, holder string }

func (e *busyError) Error() string {
	return fmt.Sprintf("the lock %s is held by %s", e.path, e.holder)
}

// lockState takes STATE.md.lock and, for a writer that touches more than STATE.md,
// .planning/.lock. GSD takes these two in the opposite order, so waiting for the second while
// holding the first could deadlock: if the second is taken, lockState releases both.
func lockState(ctx context.Context, state string, also bool) (release func(), err error) {
	pid := strconv.Itoa(os.Getpid())
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		first, err := tryLock(state+".lock", pid)
		if err == nil && !also {
			return first.release, nil
		}
		if err == nil {
			var second *heldLock
			if second, err = tryLock(filepath.Join(filepath.Dir(state), ".lock"),
				planningBody(state)); err == nil {
				return func() { second.release(); first.release() }, nil
			}
			first.release()
		}
		var busy *busyError
		if !errors.As(err, &busy) {
			return nil, err
		}
		if waited := time.Since(began); waited > lockBudget {
			return nil, fmt.Errorf("waited %d s: %w. Remove it if nothing is working on this project",
				int(lockBudget.Seconds()), err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause + rand.N(pause)):
		}
	}
}

// planningBody returns the content that GSD writes to .planning/.lock and reads the holder's
// pid from.
func planningBody(state string) string {
	body, _ := json.Marshal(struct {
		PID      int    `json:"pid"`
		Cwd      string `json:"cwd"`
		Acquired string `json:"acquired"`
	}{os.Getpid(), filepath.Dir(filepath.Dir(state)), isoTime(time.Now())})
	return string(body)
}

// tryLock creates the lock file unless a live process holds it. The error is a *busyError if
// the lock is held, or if the file system reports a transient error.
func tryLock(path, body string) (*heldLock, error) {
	for {
		f, err := durable.Create(path, 0o644)
		switch {
		case err == nil:
			return sign(path, f, body)
		case errors.Is(err, fs.ErrExist):
			if err := clearStale(path); err != nil {
				return nil, err
			}
		case transient(err):
			return nil, &busyError{path, "the file system: " + err.Error()}
		default:
			return nil, err
		}
	}
}

// transient reports whether err is one after which GSD tries again: overlay and network file
// systems return these in a race.
func transient(err error) bool {
	for _, e := range []error{syscall.EBUSY, syscall.EAGAIN, syscall.EINTR, syscall.EINVAL,
		syscall.EIO, syscall.ESTALE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// sign fills a lock file that we created. Until it has content it looks abandoned, and after a
// second another process may remove it, so sign finally checks that it is still ours.
func sign(path string, f *os.File, body string) (*heldLock, error) {
	l := &heldLock{path, f}
	if _, err := f.WriteString(body); err != nil {
		l.release()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if err := durable.Claim(f); err != nil {
		l.release()
		return nil, &busyError{path, "a process that clears it"}
	}
	if !l.ours() {
		f.Close()
		return nil, &busyError{path, "a process that was faster"}
	}
	return l, nil
}

// ours reports whether the file at the path is the one we have open.
func (l *heldLock) ours() bool {
	here, errHere := l.file.Stat()
	there, errThere := os.Lstat(l.path)
	return errHere == nil && errThere == nil && os.SameFile(here, there)
}

// release gives up the lock. If the lock was stolen, the file belongs to another process and
// stays.
func (l *heldLock) release() {
	if l.ours() {
		os.Remove(l.path)
	}
	l.file.Close()
}

// clearStale removes a lock file that is stale by GSD's rules. It returns nil if the caller may
// try again, and a *busyError if the lock is held.
func clearStale(path string) error {
	f, err := durable.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, new(*durable.LinkError)) || errors.Is(err, durable.ErrIrregular):
		return err // it will never become a lock
	case err != nil:
		return clearUnreadable(path, err)
	}
	defer f.Close()
	if err := durable.Claim(f); errors.Is(err, durable.ErrLocked) {
		// regardless of the pid in the file, which may be from another container
		return &busyError{path, "another gl"}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return &busyError{path, "an unknown process: " + err.Error()}
	}
	if holder := holderOf(body, time.Since(info.ModTime())); holder != "" {
		return &busyError{path, holder}
	}
	return remove(path, info, body)
}

func clearUnreadable(path string, cause error) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || time.Since(info.ModTime()) <= deadman {
		return &busyError{path, "an unknown process: " + cause.Error()}
	}
	return remove(path, info, nil)
}

// holderOf describes the holder of a lock with this body and age; "" for a stale lock.
func holderOf(body []byte, age time.Duration) string {
	pid := holderPID(body)
	switch {
	case pid == 0 && age <= freshFloor:
		return "a process that has just begun"
	case pid != 0 && age <= deadman && lives(pid):
		return fmt.Sprintf("process %d", pid)
	}
	return ""
}

// holderPID parses both of GSD's forms: a bare pid, and JSON with a pid. It returns 0 for none.
func holderPID(body []byte) int {
	text := strings.TrimSpace(string(body))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil && strconv.FormatUint(n, 10) == text {
		return int(n)
	}
	var doc struct{ PID int }
	if json.Unmarshal(body, &doc) == nil && doc.PID > 0 {
		return doc.PID
	}
	return 0
}

func lives(pid int) bool {
	id, err := proc.Of(pid)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return !id.Dead()
}

// remove deletes the lock file that was examined, and only that one: another process may have
// removed it and created its own meanwhile. A rename can't compare, so the renamed file is
// examined once more and put back if it is the wrong one.
func remove(path string, seen fs.FileInfo, body []byte) error {
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, seen) {
		return nil
	}
	if now, err := durable.ReadFile(path); body != nil && (err != nil || !bytes.Equal(now, body)) {
		return nil
	}
	away := fmt.Sprintf("%s.stale-%d-%d", path, os.Getpid(), time.Now().UnixNano())
	if err := os.Rename(path, away); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer os.Remove(away)
	if now, err := os.Lstat(away); err == nil && !os.SameFile(now, seen) {
		_ = os.Link(away, path) // fails if there is a new one already
		return &busyError{path, "a process that was faster"}
	}
	return nil
}
