package slice

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
)

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCorpusProject(t *testing.T) {
	root := t.TempDir()
	copyTree(t, testfiles.Corpus(t, "project")[0], root)
	c, err := Open(root).Load()
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, it := range c.Items {
		done[it.ID] = plan.Classify(it.Status) == plan.Done
	}
	n := 0
	var free []string
	for _, it := range c.Items {
		if done[it.ID] {
			n++
			continue
		}
		unmet := 0
		for _, d := range it.Deps {
			if !done[d] {
				unmet++
			}
		}
		if unmet == 0 {
			free = append(free, it.ID)
		}
	}
	if len(c.Items) != 46 || n != 36 {
		t.Errorf("%d items, %d done; want 46 and 36", len(c.Items), n)
	}
	if want := []string{"S-36", "S-40", "S-41", "S-43"}; !equal(free, want) {
		t.Errorf("free: %v, want %v", free, want)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
}

// Every file of the corpus is read, or rejected by name; refreshing it is stable.
func TestCorpusFiles(t *testing.T) {
	dir := testfiles.Corpus(t, "greenlight")[0]
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		data, err := os.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(d.Name(), "-")
		name = strings.Replace(name, ".reduced", "", 1)
		file := name
		if strings.HasPrefix(name, "S-") {
			file = "slices/" + name
			if f, err := ParseFile(data); err != nil || string(f.Bytes()) != string(data) {
				t.Errorf("%s: %v", d.Name(), err)
			}
		}
		root := project(t, map[string]string{"slices/": "", file: string(data)})
		c := load(t, root)
		if (name == "GRAPH.json" || file != name) && len(c.Items) == 0 {
			t.Errorf("%s: no items", d.Name())
		}
		if len(c.Warnings) > 0 {
			t.Errorf("%s: %v", d.Name(), c.Warnings)
		}
		if once := refreshed(t, root); once != refreshed(t, root) {
			t.Errorf("%s: a second refresh changes STATE.md", d.Name())
		}
	}
}
