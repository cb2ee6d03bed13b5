package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tempSuffix = ".tmp"
	tempAge    = time.Hour // no write takes that long: the writer of an older file is gone

	// A name may have 255 bytes. The dots, the pid, the random part and the suffix take 34 of
	// them.
	maxTempBase = 128
	maxTempHost = 64
)

// Sweep removes the temporary files of dead writers: ours whose process on this host is dead,
// and any *.tmp file last written more than an hour before now. Everything else stays,
// including locked files. A missing directory is clean. The error joins all failed removals;
// the other files are removed anyway.
func Sweep(dir string, now time.Time) error {
	paths, err := Abandoned(dir, now)
	errs := []error{err}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, named("sweep", path, err))
		}
	}
	return errors.Join(errs...)
}

// Abandoned lists the temporary files that Sweep would remove.
func Abandoned(dir string, now time.Time) (paths []string, err error) {
	entries, err := readDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.HasSuffix(e.Name(), tempSuffix)
	})
	slices.SortFunc(entries, byName)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type().IsRegular() && abandoned(e, now) && !beingWritten(path) {
			paths = append(paths, path)
		}
	}
	return paths, named("sweep", dir, err)
}

func abandoned(e fs.DirEntry, now time.Time) bool {
	if host, pid, ok := parseTemp(e.Name()); ok && host == thisHost() && !exists(pid) {
		return true
	}
	info, err := e.Info()
	return err == nil && now.Sub(info.ModTime()) > tempAge
}

// beingWritten reports whether the temporary file's writer is alive. The lock tells this even
// when the pid and the time don't, for a writer in another PID namespace or after the clock was
// set.
func beingWritten(path string) bool {
	f, err := Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	busy, err := Busy(f)
	return err == nil && busy
}

// createTemp creates a new file beside path for this call alone. It stays locked until it is
// closed.
func createTemp(path string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	for range 10 {
		name := tempName(base, thisHost(), os.Getpid(), rand.Uint64())
		f, err := os.OpenFile(dir+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			_ = Claim(f) // for beingWritten
		}
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, errors.New("no free name for a temporary file")
}

// tempName returns .{base}.{host}.{pid}.{random}.tmp. The host has no dots, so that the name
// can be parsed from its end.
func tempName(base, host string, pid int, random uint64) string {
	if len(base) > maxTempBase {
		base = strings.ToValidUTF8(base[:maxTempBase], "") // APFS rejects a partial character
	}
	return fmt.Sprintf(".%s.%s.%d.%016x%s", base, host, pid, random, tempSuffix)
}

// parseTemp returns the host and pid from a temporary file's name; ok is false for names that
// tempName doesn't produce.
func parseTemp(name string) (host string, pid int, ok bool) {
	parts := strings.Split(name, ".")
	n := len(parts)
	if n < 6 || parts[0] != "" || "."+parts[n-1] != tempSuffix {
		return "", 0, false
	}
	host, random := parts[n-4], parts[n-2]
	id, err := strconv.ParseUint(parts[n-3], 10, 31)
	if err != nil || id == 0 || host != plainHost(host) {
		return "", 0, false
	}
	if x, err := strconv.ParseUint(random, 16, 64); err != nil ||
		random != fmt.Sprintf("%016x", x) {
		return "", 0, false
	}
	return host, int(id), true
}

var thisHost = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	return plainHost(name)
})

// plainHost makes a host name suitable for a file name: letters, digits and hyphens stay, all
// else becomes underscores.
func plainHost(name string) string {
	if name == "" {
		return "unknown"
	}
	plain := []byte(name[:min(len(name), maxTempHost)])
	for i, c := range plain {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			plain[i] = '_'
		}
	}
	return string(plain)
}
