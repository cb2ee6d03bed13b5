package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A project's state may have come with a clone and contain a link, a pipe or a device. Only
// package durable opens it safely, so packages that work on state must not open files in
// another way. The exceptions aren't state.
func TestStateIsOpenedByDurable(t *testing.T) {
	exceptions := map[string][]string{
		"state/slice/migrate.go": {`os.Mkdir(stage`},    // a directory that no other process knows yet
		"state/gsd/store.go":     {`os.ReadFile(file)`}, // a file that the command line names
		"workspace/worktree/make.go": {
			`os.MkdirAll(filepath.Dir(l.Path)`, // beside the repository
			`os.MkdirAll(h.at.Dir(l)`,
		},
		"workspace/worktree/save.go": {`os.MkdirAll(filepath.Dir(l.Path)`, `os.Mkdir(l.Path`},
		"cli/ops/scaffold.go": {
			`os.ReadFile(file)`,                     // the graph that the command line names
			`os.ReadFile(filepath.Join(staged, f))`, // just written to a private directory
		},
	}
	opens := regexp.MustCompile(`\bos\.(ReadFile|Open|OpenFile|Create|WriteFile|ReadDir|Mkdir|MkdirAll)\(`)
	packages := strings.Fields(`
		cli/ops cli/doctor cli/hook cli/debugreport
		show/changelog show/explain
		run/attempt run/attemptlog run/away run/project run/roster run/scheduler run/runner
		run/rehearsal run/workers
		workspace/scratch workspace/worktree
		state/slice state/legacy state/specwright state/gsd state/roadmap state/statedir`)
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pkg, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(data), "\n") {
				name := filepath.ToSlash(file)
				if opens.MatchString(line) && !slices.ContainsFunc(exceptions[name], func(call string) bool { return strings.Contains(line, call) }) {
					t.Errorf("internal/%s:%d: %s: open state through package durable", name, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
