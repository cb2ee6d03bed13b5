package legacy

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/state/tracker"
)

const (
	now  = "2026-03-04T04:06:07Z"
	rows = "| ID | Name | Status | Tests | Security | Deps |\n|--|--|--|--|--|--|\n"
)

// open returns a store with a fixed clock.
func open(root string) *Store {
	s := Open(root)
	s.Dir.Now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("x", 3600)) }
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
	testfiles.Write(t, filepath.Join(root, ".greenlight"), files)
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	testfiles.Put(t, filepath.Join(root, ".greenlight"), name, text)
}

func get(t testing.TB, root, name string) string {
	t.Helper()
	return testfiles.Get(t, filepath.Join(root, ".greenlight"), name)
}

func same(t *testing.T, root, name, want string) {
	t.Helper()
	if diff := cmp.Diff(want, get(t, root, name)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// brief formats items as "id status [deps]".
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

// tree reads all files under .greenlight except the lock, the change counter and .gitignore.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	return testfiles.All(t, filepath.Join(root, ".greenlight"), ".lock", ".gitignore", "runs/view")
}
