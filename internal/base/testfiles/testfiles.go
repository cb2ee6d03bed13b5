// Package testfiles writes and reads trees of files. Only tests use it.
package testfiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Make writes files, by their slash-separated paths, into a new directory and returns it.
func Make(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	Write(t, root, files)
	return root
}

// Write writes files below a directory.
func Write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		Put(t, root, name, text)
	}
}

// Put writes a file below a directory, or creates a directory if the name ends in a slash.
func Put(t testing.TB, root, name, text string) {
	t.Helper()
	if err := put(root, name, text); err != nil {
		t.Fatal(err)
	}
}

func put(root, name, text string) error {
	path := filepath.Join(root, filepath.FromSlash(name))
	if strings.HasSuffix(name, "/") {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Get reads a file below a directory.
func Get(t testing.TB, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// All reads all files below a directory except but, by their slash-separated paths.
func All(t testing.TB, root string, but ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if name := filepath.ToSlash(rel); err == nil && !slices.Contains(but, name) {
			files[name] = Get(t, root, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
