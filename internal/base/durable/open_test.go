package durable

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operations are all operations on a path; none of them changes a link's target.
var operations = map[string]func(path string) error{
	"Open":       func(path string) error { return closed(Open(path)) },
	"OpenAppend": func(path string) error { return closed(OpenAppend(path, 0o600)) },
	"ReadFile":   func(path string) error { _, err := ReadFile(path); return err },
	"Overwrite":  func(path string) error { return Overwrite(path, []byte("new"), 0o600) },
	"ReadDir":    func(path string) error { _, err := ReadDir(path); return err },
	"Stat":       func(path string) error { _, err := Stat(path); return err },
	"MkdirAll":   func(path string) error { return MkdirAll(filepath.Join(path, "x"), 0o755) },
	"Private":    func(path string) error { return MkdirPrivate(filepath.Join(path, "x")) },
	"WriteFile":  func(path string) error { return WriteFile(path, []byte("new"), 0o644) },
	"Replace":    func(path string) error { return Replace(path, nil, []byte("new")) },
	"MoveDir":    func(path string) error { return MoveDir(filepath.Dir(path), path) },
	"Sweep":      func(path string) error { return Sweep(path, time.Now()) },
	"Holder":     func(path string) error { _, err := Holder(path); return err },
	"TryLock":    func(path string) error { _, err := TryLock(path); return err },
	"Lock": func(path string) error {
		_, err := Lock(context.Background(), path)
		return err
	},
}

func closed(f *os.File, err error) error {
	if err == nil {
		f.Close()
	}
	return err
}

// No operation follows a link in a state directory, at the end of the path or on the way,
// whatever its target; the error names it.
func TestLinksInTheState(t *testing.T) {
	for _, tt := range []struct{ link, path, to, says string }{
		{".greenlight/f", ".greenlight/f", "file", ".greenlight/f is a symbolic link"},
		{".greenlight/f", ".greenlight/f", "none", ".greenlight/f is a symbolic link"},
		{".greenlight/f", ".greenlight/f", "dir", ".greenlight/f is a symbolic link"},
		{".greenlight/runs", ".greenlight/runs/live/f", "dir", ".greenlight/runs is a symbolic link"},
		{".greenlight/runs/live", ".greenlight/runs/live/f", "dir/live", ".greenlight/runs/live is a symbolic link"},
		{".planning", ".planning/live/f", "dir", ".planning is a symbolic link; gl follows it only if you set GREENLIGHT_ROOT="},
		{".specwright/state", ".specwright/state/live/f", "dir", ".specwright/state is a symbolic link"},
		{".planning/.greenlight", ".planning/.greenlight/live/f", "dir", ".greenlight is a symbolic link; gl follows it only"},
	} {
		for name, op := range operations {
			base := t.TempDir()
			out := filepath.Join(base, "out")
			for _, dir := range []string{"dir/live", "dir/f"} {
				ok(t, os.MkdirAll(filepath.Join(out, dir), 0o755))
			}
			seed(t, filepath.Join(out, "file"), "old")
			seed(t, filepath.Join(out, "dir/live/f"), "old")
			ok(t, os.MkdirAll(filepath.Dir(filepath.Join(base, tt.link)), 0o755))
			ok(t, os.Symlink(filepath.Join(out, tt.to), filepath.Join(base, tt.link)))

			err := op(filepath.Join(base, tt.path))
			if !errors.As(err, new(*LinkError)) || !strings.HasPrefix(err.Error(), tt.says) {
				t.Errorf("%s of %s, a link to %s: %v", name, tt.path, tt.to, err)
			}
			only(t, out, "dir", "file")
			only(t, filepath.Join(out, "dir/live"), "f")
			if read(t, filepath.Join(out, "file")) != "old" ||
				read(t, filepath.Join(out, "dir/live/f")) != "old" {
				t.Errorf("%s of %s, a link to %s, changed what is outside", name, tt.path, tt.to)
			}
		}
	}
}

// Removing a file removes a link in its place, and nothing behind a directory's link.
func TestRemovalOfLinksInTheState(t *testing.T) {
	for name, op := range map[string]func(string) error{"Remove": Remove, "Unlink": Unlink} {
		base := t.TempDir()
		seed(t, filepath.Join(base, "f"), "old")
		state := filepath.Join(base, ".greenlight")
		ok(t, os.Mkdir(state, 0o755))
		ok(t, os.Symlink("../f", filepath.Join(state, "f")))
		ok(t, os.Symlink("..", filepath.Join(state, "d")))
		ok(t, op(filepath.Join(state, "f")))
		if err := op(filepath.Join(state, "d", "f")); !errors.As(err, new(*LinkError)) {
			t.Errorf("%s: %v", name, err)
		}
		only(t, state, "d")
		only(t, base, ".greenlight", "f")
	}
}

// The person who names a project's root may have linked its state directory; links inside it
// aren't theirs.
func TestFollowRoot(t *testing.T) {
	base := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(base, "real"), 0o755))
	ok(t, os.Symlink("real", filepath.Join(base, ".greenlight")))
	ok(t, os.Symlink("../f", filepath.Join(base, "real", "link")))
	FollowRoot(base + "/")
	ok(t, WriteFile(filepath.Join(base, ".greenlight", "f"), []byte("x"), 0o644))
	if list, err := ReadDir(filepath.Join(base, ".greenlight")); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := WriteFile(filepath.Join(base, ".greenlight", "link"), nil, 0o644); !errors.As(err,
		new(*LinkError)) {
		t.Error(err)
	}
}

// Directories above the state are the person's, and files outside the state may be links.
func TestLinksOutsideOfTheState(t *testing.T) {
	base := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(base, "real", ".greenlight"), 0o755))
	ok(t, os.Symlink("real", filepath.Join(base, "link")))
	ok(t, os.Mkdir(filepath.Join(base, ".planning"), 0o755))
	ok(t, os.Symlink("../real", filepath.Join(base, ".planning", "clone")))
	for _, path := range []string{"link/.greenlight/f", ".planning/clone/.greenlight/f"} {
		ok(t, WriteFile(filepath.Join(base, path), []byte("x"), 0o644))
		if data, err := ReadFile(filepath.Join(base, path)); err != nil || string(data) != "x" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
}

// A pipe blocks no operation, in the state and elsewhere.
func TestPipes(t *testing.T) {
	for _, dir := range []string{".greenlight", "elsewhere"} {
		path := filepath.Join(t.TempDir(), dir, "pipe")
		ok(t, os.Mkdir(filepath.Dir(path), 0o755))
		ok(t, syscall.Mkfifo(path, 0o644))
		for _, name := range []string{"Open", "ReadFile", "OpenAppend", "Overwrite", "WriteFile", "Replace", "TryLock", "Holder", "ReadDir"} {
			if err := operations[name](path); err == nil {
				t.Errorf("%s in %s: no error", name, dir)
			}
		}
	}
}

func TestMkdirPrivate(t *testing.T) {
	base := t.TempDir()
	old := filepath.Join(base, ".greenlight", "runs")
	ok(t, os.MkdirAll(old, 0o755))
	ok(t, MkdirPrivate(filepath.Join(old, "live")))
	ok(t, MkdirPrivate(filepath.Join(base, "new", ".greenlight", "runs")))
	for path, want := range map[string]fs.FileMode{
		".greenlight": 0o755, ".greenlight/runs": 0o700, ".greenlight/runs/live": 0o700,
		"new/.greenlight": 0o755, "new/.greenlight/runs": 0o700,
	} {
		info, err := os.Stat(filepath.Join(base, path))
		if err != nil || info.Mode().Perm()&^want != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestReadFileOfEverySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, n := range []int{0, 1, 511, 512, 513, 4096, 100_000} {
		seed(t, path, strings.Repeat("x", n))
		if data, err := ReadFile(path); err != nil || len(data) != n || data == nil {
			t.Errorf("%d bytes: %d, %v", n, len(data), err)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
