package internal

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// modulePath is the path of the module, which make module changes.
var modulePath, _, _ = strings.Cut(reflect.TypeFor[pkg]().PkgPath(), "/internal")

// The module's path is in go.mod and in Go files alone, where make module changes it: scripts,
// workflows and documents do without.
func TestOnlyGoNamesTheModule(t *testing.T) {
	names := regexp.MustCompile(`(^|[^A-Za-z0-9_./~-])` + regexp.QuoteMeta(modulePath) +
		`/(cmd|content|docs|internal)\b`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist"):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if found := names.Find(text); found != nil {
			t.Errorf("%s names the module: %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestModuleIsRenamed(t *testing.T) {
	testfiles.Slow(t)
	tool, err := filepath.Abs("../tools/module.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module old/name\n\ngo 1.26.0\n",
		"cmd/tool/main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\n\t\"old/name/internal/a\"\n)\n\n" +
			"// See old/name/internal/a, not .old/name/internal.\nfunc main() { fmt.Fprintln(os.Stdout, a.Where) }\n",
		"internal/a/a.go": "package a\n\nconst Where = \"old/name/internal/a /x/old/name/cmd old/name/other\"\n",
		"README.md":       "old/name\n",
	})
	rename := func(path string) (string, error) {
		c := exec.Command("go", "run", tool, path)
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, bad := range []string{"", "https://example.com/x", "Example.com/x", "example.com//x", "-x"} {
		if out, err := rename(bad); err == nil {
			t.Errorf("%q was taken: %s", bad, out)
		}
	}
	if out, err := rename("example.com/Some-One/name"); err != nil {
		t.Fatal(err, out)
	}
	c := exec.Command("go", "run", "./cmd/tool")
	c.Dir = dir
	out, err := c.CombinedOutput()
	want := "example.com/Some-One/name/internal/a /x/old/name/cmd old/name/other\n"
	if err != nil || string(out) != want {
		t.Errorf("got %v %q, want %q", err, out, want)
	}
	main, err := os.ReadFile(filepath.Join(dir, "cmd", "tool", "main.go"))
	if err != nil || !strings.Contains(string(main), "// See example.com/Some-One/name/internal/a, not .old/name/internal.\n") {
		t.Errorf("%v\n%s", err, main)
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
