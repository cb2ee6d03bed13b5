package scheduler

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
)

var update = flag.Bool("update", false, "write the table of states into docs/design.md anew")

var design = filepath.Join("..", "..", "..", "docs", "design.md")

// reference matches FILE:FUNCTION, below internal/.
var reference = regexp.MustCompile(`([a-z/]+\.go):(\w+)`)

// functions returns the names of a file's functions and methods.
func functions(t *testing.T, name string) (list []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			list = append(list, f.Name.Name)
		}
	}
	return list
}

// Every function that the table names is where the table says.
func TestLifeNamesFunctions(t *testing.T) {
	known := map[string][]string{}
	for _, s := range life {
		for _, in := range append(slices.Clone(s.in), s.kill) {
			for _, m := range reference.FindAllStringSubmatch(in, -1) {
				file, name := m[1], m[2]
				if known[file] == nil {
					known[file] = functions(t, file)
				}
				if !slices.Contains(known[file], name) {
					t.Errorf("%s: internal/%s has no function %s", s.name, file, name)
				}
			}
		}
		for _, in := range s.in {
			if reference.FindString(in) != in {
				t.Errorf("%s: %q isn't FILE:FUNCTION", s.name, in)
			}
		}
	}
}

// places returns the functions as the page shows them, those of one file together.
func (s *state) places() string {
	var list []string
	last := ""
	for _, in := range s.in {
		file, name, _ := strings.Cut(in, ":")
		if file == last {
			list[len(list)-1] += ", " + name
			continue
		}
		last = file
		list = append(list, fmt.Sprintf("`%s`: %s", file, name))
	}
	return strings.Join(list, "; ")
}

// table is life as Markdown.
func table() string {
	var b strings.Builder
	b.WriteString("| state | phase | moved on by | in | a kill leaves |\n|---|---|---|---|---|\n")
	for _, s := range life {
		phase := s.phase
		if phase == "" {
			phase = "–"
		}
		kill := reference.ReplaceAllString(s.kill, "`$0`")
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.name, phase, s.by, s.places(), kill)
	}
	return b.String()
}

// diagram returns the diagram of the package comment, as it stands in the page.
func diagram(t *testing.T) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "life.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(f.Doc.Text()) {
		if text, ok := strings.CutPrefix(line, "\t"); ok {
			lines = append(lines, "    "+text)
		}
	}
	return strings.Join(lines, "")
}

// docs/design.md opens with the diagram and the table of the scheduler.
func TestDesignShowsLife(t *testing.T) {
	data, err := os.ReadFile(design)
	if err != nil {
		t.Fatal(err)
	}
	page, want := string(data), table()
	if *update {
		page = regexp.MustCompile(`(?m)^\| state \| phase .*\n(\|.*\n)*`).ReplaceAllLiteralString(page, want)
		if err := os.WriteFile(design, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(page, want) {
		t.Errorf("docs/design.md hasn't the table of states in life.go; to write it: go test ./internal/run/scheduler -run DesignShowsLife -update")
	}
	if d := diagram(t); d == "" || !strings.Contains(page, d) {
		t.Errorf("docs/design.md hasn't the diagram of the package comment:\n%s", d)
	}
}

// The table has a row for each outcome. Successful work is complete: that is the row "merged".
func TestLifeHasEveryOutcome(t *testing.T) {
	var named []string
	for _, s := range life {
		if s.phase == "settled" {
			named = append(named, strings.Split(s.name, ", ")...)
		}
	}
	for _, o := range outcome.All() {
		if !slices.Contains(named, string(o)) && !o.Traits().Success {
			t.Errorf("no row is about outcome %s", o)
		}
	}
}
