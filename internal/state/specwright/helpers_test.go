package specwright

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// base is the time of the tests.
var base = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func fixed() time.Time { return base }

// project writes a state, and gates.enabled if gates are given, and returns its store with the
// clock fixed at base.
func project(t testing.TB, state string, gates ...string) *Store {
	t.Helper()
	s := Open(t.TempDir())
	s.Now = fixed
	put(t, s, StateFile, state)
	if len(gates) > 0 {
		put(t, s, configFile, `{"gates": {"enabled": ["`+strings.Join(gates, `", "`)+`"]}}`)
	}
	return s
}

func put(t testing.TB, s *Store, name, text string) {
	t.Helper()
	path := filepath.Join(s.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	touch(t, s)
}

// touch sets the file's modification time to the store's now.
func touch(t testing.TB, s *Store) {
	t.Helper()
	if err := os.Chtimes(s.path(), s.Now(), s.Now()); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func text(t testing.TB, s *Store) string {
	t.Helper()
	data, err := os.ReadFile(s.path())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// update makes a change that must succeed.
func update(t testing.TB, s *Store, who Caller, f func(*Edit) error) *Edit {
	t.Helper()
	e, err := s.Update(context.Background(), who, f)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// memDir returns a directory in memory, if the system has one: thousands of writes don't need a
// disk.
func memDir(t testing.TB) string {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "gl-specwright-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
