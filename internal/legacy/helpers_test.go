package legacy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/tracker"
)

const (
	now  = "2026-03-04T04:06:07Z"
	rows = "| ID | Name | Status | Tests | Security | Deps |\n|--|--|--|--|--|--|\n"
)

// open returns a store whose clock stands still.
func open(root string) *Store {
	s := Open(root)
	s.Now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("x", 3600)) }
	return s
}

func do(t *testing.T, s *Store, f func(tracker.Tx) error) {
	t.Helper()
	if err := s.Do(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, root string) *tracker.Contents {
	t.Helper()
	c, err := Open(root).Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// project writes the files of a project, by their path under .greenlight, and returns its root.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, ".greenlight", name)
	dir, isDir := filepath.Dir(path), strings.HasSuffix(name, "/")
	if isDir {
		dir = path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if isDir {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, ".greenlight", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func same(t *testing.T, root, name, want string) {
	t.Helper()
	if diff := cmp.Diff(want, get(t, root, name)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// brief writes items as "id status [deps]".
func brief(c *tracker.Contents) []string {
	var all []string
	for _, it := range c.Items {
		status := it.Status
		if it.Corrupt != "" {
			status = "corrupt"
		}
		all = append(all, fmt.Sprintf("%s %s %v", it.ID, status, it.Deps))
	}
	return all
}

// tree reads all files under .greenlight but the lock, the count of changes and .gitignore.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	base := filepath.Join(root, ".greenlight")
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(base, path)
		if rel == ".lock" || rel == ".gitignore" || rel == "runs/view" {
			return nil
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
