package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// a holder changes a few files; if it takes longer it is stuck, which must be reported
	lockLimit = 30 * time.Second
	forever   = time.Duration(math.MaxInt64)

	maxCommand = 60 // characters of a command line shown to others
)

// ErrLocked is returned if another process has the lock. The error is a *LockedError, which
// names the holder.
var ErrLocked = errors.New("locked by another process")

// A LockedError names the holder of a lock that we wanted.
type LockedError struct {
	Path   string
	Holder string // for people: "pid 123 (gl slice)", or "another process"

	waited time.Duration // 0 if we didn't wait
}

func (e *LockedError) Error() string {
	if e.waited == 0 {
		return fmt.Sprintf("the lock %s is held by %s", e.Path, e.Holder)
	}
	return fmt.Sprintf("the project's lock %s has been held for %g s by %s", e.Path,
		e.waited.Seconds(), e.Holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// Held is a lock that we hold until Unlock or until the process ends, in any way. It excludes
// other processes and other holders in this process alike, but it guards files: use a mutex for
// memory. Child processes don't inherit it unless they get its File. Keep a reference: a Held
// that is garbage may be unlocked at any time.
type Held struct{ file *os.File }

// Lock waits for the exclusive advisory lock on the file, which it creates (0644 minus the
// umask) if missing and never removes. It gives up when ctx ends, with ctx's error, and after
// 30 s, with a *LockedError. On a file system without locks it succeeds at once: nothing is
// excluded there, and only Replace detects other writers.
func Lock(ctx context.Context, path string) (*Held, error) {
	told, patient := ctx.Value(patience{}).(func(*LockedError))
	if !patient {
		return lock(ctx, path, lockLimit, flock)
	}
	tell := time.AfterFunc(tellAfter, func() {
		if who, err := Holder(path); err == nil && who != "" {
			told(&LockedError{Path: path, Holder: who, waited: tellAfter})
		}
	})
	defer tell.Stop()
	return lock(ctx, path, forever, flock)
}

// Patiently returns a context under which Lock waits without a time limit, for callers that
// can't continue without the lock. After some seconds it calls told, if not nil, with the
// holder.
func Patiently(ctx context.Context, told func(*LockedError)) context.Context {
	if told == nil {
		told = func(*LockedError) {}
	}
	return context.WithValue(ctx, patience{}, told)
}

// patience is Patiently's context key.
type patience struct{}

const tellAfter = 3 * time.Second

// Await is Lock without a time limit, for callers that stand by until the holder is gone.
func Await(ctx context.Context, path string) (*Held, error) {
	return lock(ctx, path, forever, flock)
}

// TryLock is Lock without waiting: the error is a *LockedError if the lock is taken.
func TryLock(path string) (*Held, error) {
	return lock(context.Background(), path, 0, flock)
}

// Unlock releases the lock. Call it once.
func (h *Held) Unlock() error {
	if err := release(h.file); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

// Claim takes the kernel lock on an open file without waiting. It is for lock files of other
// programs, whose content isn't ours to write. Closing the file releases the lock. The error is
// ErrLocked if the lock is taken; a file system without locks isn't an error.
func Claim(f *os.File) error {
	err := flock(f, false)
	switch {
	case errors.Is(err, errBusy):
		return ErrLocked
	case err != nil && !unsupported(err):
		return named("lock", f.Name(), err)
	}
	return nil
}

// Unclaim releases the lock taken by Claim and leaves the file open.
func Unclaim(f *os.File) { unlock(f) }

// File returns the lock's open file. A process that inherits it shares the lock until Unlock,
// or until the last of these processes ends.
func (h *Held) File() *os.File { return h.file }

// A flocker is flock(2) on the file, waiting or not. It is a parameter so that a test can
// simulate a file system without locks.
type flocker func(f *os.File, wait bool) error

func lock(ctx context.Context, path string, limit time.Duration, flock flocker) (*Held, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, named("lock", path, err)
		}
		f, err := openLock(path)
		if err != nil {
			return nil, named("lock", path, err)
		}
		err = acquire(ctx, f, limit, flock)
		switch {
		case unsupported(err):
			return degraded(path)
		case errors.Is(err, ErrLocked):
			return nil, &LockedError{Path: path, Holder: holder(path), waited: limit}
		case err != nil:
			return nil, named("lock", path, err)
		}
		// The file may have been removed since we opened it (git clean does that). A lock on a
		// removed file doesn't exclude processes that open the new one.
		here, errHere := f.Stat()
		there, errThere := Stat(path)
		if errHere == nil && errThere == nil && os.SameFile(here, there) {
			sign(f, here.Size())
			return &Held{file: f}, nil
		}
		_ = release(f)
	}
}

// openLock opens the file for reading if it belongs to another user: flock works anyway.
func openLock(path string) (*os.File, error) {
	f, err := openFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		return f, nil
	}
	if f, errRead := Open(path); errRead == nil {
		return f, nil
	}
	return nil, err
}

func degraded(path string) (*Held, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, named("lock", path, err)
	}
	return &Held{f}, nil
}

// acquire gets the lock on the open file: at once if it is free, otherwise by waiting in the
// kernel, up to limit. On an error the file is closed, or will be. A wait can't be canceled,
// only abandoned: the lock is released when it arrives, and a thread waits until then.
func acquire(ctx context.Context, f *os.File, limit time.Duration, flock flocker) error {
	err := flock(f, false)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errBusy) || limit == 0 {
		f.Close()
		if errors.Is(err, errBusy) {
			return ErrLocked
		}
		return err
	}
	got := make(chan error, 1)
	go func() { got <- flock(f, true) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-got:
		if err != nil {
			f.Close()
		}
		return err
	case <-timer.C:
		err = ErrLocked
	case <-ctx.Done():
		err = ctx.Err()
	}
	go func() {
		<-got //nolint:errcheck // locked or not, it is closed
		_ = release(f)
	}()
	return err
}

// release unlocks before closing. Closing alone would leave the lock with a child that was
// forked meanwhile and hasn't called exec yet, because it shares the open file.
func release(f *os.File) error {
	unlock(f)
	return f.Close()
}

// sign writes the holder into the lock file, for other processes' errors. It is best effort:
// there is no fsync, and no decision depends on it. It writes the text before it truncates a
// longer one, so that the first line is always right.
func sign(f *os.File, size int64) {
	text := signature()
	n, err := f.WriteAt(text, 0)
	if err == nil && size > int64(n) {
		_ = f.Truncate(int64(n))
	}
}

// signature returns "pid command\non host\n".
var signature = sync.OnceValue(func() []byte {
	words := append([]string{}, os.Args...)
	if len(words) > 0 {
		words[0] = filepath.Base(words[0])
	}
	return fmt.Appendf(nil, "%d %s\non %s\n", os.Getpid(), shorten(strings.Join(words, " ")),
		shorten(hostname()))
})

// shorten returns one printable line of at most maxCommand characters.
func shorten(command string) string {
	line := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, command))
	if len(line) > maxCommand {
		line = append(line[:maxCommand-1], '…')
	}
	return string(line)
}

// holder reads what sign wrote.
func holder(path string) string {
	const unknown = "another process"
	f, err := Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	buf := make([]byte, 512)
	n, _ := f.ReadAt(buf, 0)
	line, rest, ok := bytes.Cut(buf[:n], []byte("\n"))
	pid, command, found := strings.Cut(string(line), " ")
	if _, err := strconv.ParseUint(pid, 10, 31); err != nil || !ok || !found {
		return unknown
	}
	line, _, ok = bytes.Cut(rest, []byte("\n"))
	if host, found := strings.CutPrefix(string(line), "on "); ok && found &&
		host != shorten(hostname()) {
		return fmt.Sprintf("pid %s on host %s (%s)", pid, shorten(host), shorten(command))
	}
	return fmt.Sprintf("pid %s (%s)", pid, shorten(command))
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // "" if unknown
	return name
})
