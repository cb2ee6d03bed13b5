package drift

import (
	"strings"
	"testing"

	"greenlight/internal/core/gate"
	"greenlight/internal/state/guard"
	"greenlight/internal/workspace/git"
)

// A script that the test command named before there was one decides what every later slice's
// "verified" says: a person is asked about it, once. A test that the command names is a test like
// any other, and new ones may come.
func TestCommandNamesNewFile(t *testing.T) {
	for _, c := range []struct{ command, added, want string }{
		{"sh t.sh", "t.sh", "a file of the test command changed: t.sh"},
		{"sh t.sh", "other.sh", ""},
		{"pytest tests/test_a.py", "tests/test_a.py", ""},
		{"go test ./x", "x/x_test.go", ""},
		{"go test ./x", "x/x.go", ""},
		{"make check", "Makefile", "a file of the test command changed: Makefile"},
	} {
		now := &State{Files: Files{c.added: git.File{Mode: "100644", ID: "1"}},
			Texts: map[string][]byte{"1": []byte("true\n")}}
		compare := &Comparer{Command: c.command, Read: Texts(now)}
		if err := compare.UseCommand(t.Context(), Files{}, now.Files); err != nil {
			t.Fatal(err)
		}
		found, err := compare.Find(t.Context(), &Promise{Want: Files{}, Free: map[string]bool{}},
			Files{}, now.Files, []string{c.added}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := gate.ItemsText(found); got != c.want {
			t.Errorf("%s, and an agent adds %s: %q, want %q", c.command, c.added, got, c.want)
		}
	}
}

// What a program reads by default, and what that runs, is asked about where it changes what the
// test command does, and nowhere else.
func TestCommandRunsChangedFile(t *testing.T) {
	const makefile = ".PHONY: test\nFLAGS = -v\ntest: unit\n\tgo vet\nunit:\n\tgo test $(FLAGS)\nclean:\n\trm -r x\n"
	const scripts = `{"scripts": {"test": "sh run.sh", "build": "tsc"}}`
	for _, c := range []struct{ command, file, was, is, want string }{
		{"make test", "Makefile", makefile, strings.Replace(makefile, "go test", "true", 1), "Makefile"},
		{"make test", "Makefile", makefile, strings.Replace(makefile, "-v", "-run none", 1), "Makefile"},
		{"make test", "Makefile", makefile, strings.Replace(makefile, "test: unit", "test:", 1), "Makefile"},
		{"make test", "Makefile", makefile, strings.Replace(makefile, "rm -r", "rm -fr", 1), ""},
		{"make", "Makefile", "all: a\na:\n\tx\nb:\n\ty\n", "all: a\na:\n\ttrue\nb:\n\ty\n", "Makefile"},
		{"make", "Makefile", "all: a\na:\n\tx\nb:\n\ty\n", "all: a\na:\n\tx\nb:\n\ttrue\n", ""},
		{"just test", "justfile", "test:\n  x\n", "test:\n  true\n", "justfile"},
		{"task test", "Taskfile.yml", "a", "b", "Taskfile.yml"},
		{"sh -c 'cd web && mise run test'", "web/mise.toml", "a", "b", "web/mise.toml"},
		{"npm test", "package.json", scripts, strings.Replace(scripts, "sh run.sh", "true", 1), "package.json"},
		{"npm test", "package.json", scripts, strings.Replace(scripts, "tsc", "vite", 1), ""},
		{"npm test", "run.sh", "a", "b", "run.sh"},
		{"sh test.sh", "run.sh", "a", "b", "run.sh"},
		{"sh test.sh", "Makefile", "x:\n\ty\n", "x:\n\ttrue\n", "Makefile"},
	} {
		was, is := Files{}, Files{}
		texts := map[string][]byte{"package": []byte(scripts), "script": []byte("# tests\nsh run.sh\nmake x\n"),
			"was": []byte(c.was), "is": []byte(c.is)}
		for name, id := range map[string]string{"package.json": "package", "test.sh": "script"} {
			was[name], is[name] = git.File{Mode: "100644", ID: id}, git.File{Mode: "100644", ID: id}
		}
		was[c.file], is[c.file] = git.File{Mode: "100644", ID: "was"}, git.File{Mode: "100644", ID: "is"}
		compare := &Comparer{Command: c.command, Read: Texts(&State{Files: is, Texts: texts})}
		if err := compare.UseCommand(t.Context(), was, is); err != nil {
			t.Fatal(err)
		}
		found, err := compare.Find(t.Context(), &Promise{Want: was, Free: map[string]bool{}}, was, is,
			[]string{c.file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := c.want
		if want == guard.PackageFile {
			want = "the test runner's configuration changed: " + want
		} else if want != "" {
			want = "a file of the test command changed: " + want
		}
		if got := gate.ItemsText(found); got != want {
			t.Errorf("%s, and an agent changes %s to %q: %q, want %q", c.command, c.file, c.is, got, want)
		}
	}
}
