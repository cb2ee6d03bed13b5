// Package projecttest creates projects of files for tests.
package projecttest

import (
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/run/project"
)

// Write writes a project's files, given by their paths under .greenlight, and returns its root.
// Without a STATE.md it is a project of slice files.
func Write(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	_, legacy := files["STATE.md"]
	_, sibling := files["../.planning/STATE.md"]
	if !legacy && !sibling {
		check(t, os.MkdirAll(filepath.Join(root, ".greenlight", "slices"), 0o755))
	}
	for name, text := range files {
		path := filepath.Join(root, ".greenlight", filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

// Open opens the project that Write creates.
func Open(t testing.TB, files map[string]string) *project.Project {
	t.Helper()
	pr, err := project.Open(Write(t, files))
	check(t, err)
	return pr
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
