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
	lockLimit = 30 * time.Second // a holder changes some files; one that takes longer is stuck, and somebody must know
	forever   = time.Duration(math.MaxInt64)

	maxCommand = 60 // characters of a command line that are told to others
)

// ErrLocked: somebody else has the lock. The error is a *LockedError, which says who.
var ErrLocked = errors.New("locked by another process")

// A LockedError says who has a lock that we wanted.
type LockedError struct {
	Path   string
	Holder string // as people read it: "pid 123 (gl slice)", or "another process"

	waited time.Duration // 0: not at all
}

func (e *LockedError) Error() string {
	if e.waited == 0 {
		return fmt.Sprintf("the lock %s is held by %s", e.Path, e.Holder)
	}
	return fmt.Sprintf("the project's lock %s has been held for %g s by %s", e.Path, e.waited.Seconds(), e.Holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// Held is a lock that we have, until Unlock or until the process is gone, however it went. It excludes other processes
// and other holders in this process alike, but it guards files: for memory take a mutex as well. Child processes don't
// inherit it unless they get its File. Don't drop it: a Held that is garbage is unlocked at any time.
type Held struct{ file *os.File }

// Lock waits for the exclusive advisory lock on the file, which is made (0644 less the umask) where it is missing and
// never removed. It gives up when ctx ends, with ctx's error, and after 30 s, with a *LockedError. On a file system
// without locks it succeeds at once: there nobody is excluded, and only Replace notices others.
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

// Patiently returns a context under which Lock waits without a limit of time, for who can't go on without the lock. After
// some seconds it calls told, which may be nil, with who has it.
func Patiently(ctx context.Context, told func(*LockedError)) context.Context {
	if told == nil {
		told = func(*LockedError) {}
	}
	return context.WithValue(ctx, patience{}, told)
}

// patience is the key of Patiently in a context.
type patience struct{}

const tellAfter = 3 * time.Second

// Await is Lock without a limit of time: for who stands by until the holder is gone.
func Await(ctx context.Context, path string) (*Held, error) {
	return lock(ctx, path, forever, flock)
}

// TryLock is Lock without waiting: the error is a *LockedError where somebody has the lock.
func TryLock(path string) (*Held, error) {
	return lock(context.Background(), path, 0, flock)
}

// Unlock gives the lock back. Call it once.
func (h *Held) Unlock() error {
	if err := release(h.file); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

// Claim takes the kernel lock on an open file without waiting: for the lock files of other programs, whose content isn't
// ours to write. Closing the file gives it back. The error is ErrLocked where somebody has it; a file system without
// locks is no error.
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

// Unclaim gives back what Claim took, and leaves the file open.
func Unclaim(f *os.File) { unlock(f) }

// File is the lock's open file. A process that inherits it has the lock, too: until Unlock, or until the last of them all is
// gone.
func (h *Held) File() *os.File { return h.file }

// A flocker is flock(2) on the file, waiting or not: a parameter, so that a test can have a file system without locks.
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
		// Somebody may have removed the file since we opened it (git clean does): a lock on what is no longer there
		// excludes nobody who opens the new one.
		here, errHere := f.Stat()
		there, errThere := Stat(path)
		if errHere == nil && errThere == nil && os.SameFile(here, there) {
			sign(f, here.Size())
			return &Held{file: f}, nil
		}
		release(f)
	}
}

// openLock settles for reading where the file is somebody else's: flock doesn't mind.
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

// acquire gets the lock on the open file: at once where it is free, else by waiting in the kernel, up to limit. On an
// error the file is closed, or will be. A wait can't be called off, only left behind: then the lock is released when
// it comes after all, and a thread waits until then.
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
		<-got
		release(f)
	}()
	return err
}

// release unlocks before it closes: closing alone leaves the lock with a child that was forked meanwhile and has yet to
// exec, which has the same open file.
func release(f *os.File) error {
	unlock(f)
	return f.Close()
}

// sign writes into the lock file who has it, for the errors of others. Best effort: no fsync, and nobody decides by it.
// The text goes first and the rest of a longer one after it, so that the first line is always right.
func sign(f *os.File, size int64) {
	text := signature()
	n, err := f.WriteAt(text, 0)
	if err == nil && size > int64(n) {
		f.Truncate(int64(n))
	}
}

// signature is "pid command\non host\n".
var signature = sync.OnceValue(func() []byte {
	words := append([]string{}, os.Args...)
	if len(words) > 0 {
		words[0] = filepath.Base(words[0])
	}
	return fmt.Appendf(nil, "%d %s\non %s\n", os.Getpid(), shorten(strings.Join(words, " ")), shorten(hostname()))
})

// shorten makes one printable line of at most maxCommand characters.
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
	if host, found := strings.CutPrefix(string(line), "on "); ok && found && host != shorten(hostname()) {
		return fmt.Sprintf("pid %s on host %s (%s)", pid, shorten(host), shorten(command))
	}
	return fmt.Sprintf("pid %s (%s)", pid, shorten(command))
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // "" for unknown
	return name
})
