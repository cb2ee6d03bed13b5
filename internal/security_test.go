package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of SECURITY.md names tests, and the tests exist.
func TestSecurityNamesTests(t *testing.T) {
	data, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, promises, _ := strings.Cut(text, "\n## What Greenlight protects against\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	bold := regexp.MustCompile(`(?m)^\*\*(.+?)\.\*\*`).FindAllStringSubmatch(promises, -1)
	if len(bold) < 10 {
		t.Errorf("only %d promises", len(bold))
	}
	for _, m := range bold {
		if !strings.Contains(text, "\n| "+m[1]+" | `") {
			t.Errorf("no row with the tests of %q", m[1])
		}
	}
	names := regexp.MustCompile("`(Test[A-Za-z]+|[a-z_0-9]+\\.txtar)`").FindAllStringSubmatch(string(data), -1)
	if len(names) < 20 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, m := range names {
		script := strings.HasSuffix(m[1], ".txtar")
		if found, _ := filepath.Glob(filepath.Join("..", "cmd", "gl", "scripts", "*", "testdata", m[1])); script && len(found) == 0 {
			t.Errorf("no script %s", m[1])
		}
		if !script && !strings.Contains(all.String(), "func "+m[1]+"(t *testing.T)") {
			t.Errorf("no test %s", m[1])
		}
	}
}
