package testfiles

import (
	"os"
	"path/filepath"
	"testing"
)

// Repository returns the root of this repository: the directory with go.mod above the test's.
func Repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = up
	}
}

// Corpus returns the real state files and directories that match the patterns, such as
// "gsd/*.md", and skips the test if there are none. They aren't part of the repository:
// GREENLIGHT_CORPUS names their directory (default ../shared/corpus, relative to the
// repository's root).
func Corpus(t testing.TB, patterns ...string) []string {
	t.Helper()
	dir := os.Getenv("GREENLIGHT_CORPUS")
	if dir == "" {
		dir = filepath.Join(Repository(t), "..", "shared", "corpus")
	}
	var found []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, files...)
	}
	if len(found) == 0 {
		t.Skip("no corpus here")
	}
	return found
}
