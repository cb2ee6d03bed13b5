package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
)

// giving lists the packages that give attempts their outcomes, and so name them; and one with the
// words of test runners, some of which are the same.
var giving = []string{"core/outcome", "run/attempt", "run/lane", "run/testrun"}

// An outcome that is listed outside of its table has to be added to each of the lists, and one is
// forgotten. So packages that don't give outcomes name none: they read the table's columns. A
// package that gives one may compare with it.
func TestOutcomesAreListedInTheirTable(t *testing.T) {
	constants := outcomeConstants(t)
	if len(constants) != len(outcome.All()) {
		t.Errorf("the constants %q aren't the rows %q", constants, outcome.All())
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if slices.Contains(giving, filepath.ToSlash(filepath.Dir(path))) {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range outcomesIn(f, constants) {
			t.Errorf("%s names an outcome: give the table a column for what it means here", files.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// outcomeConstants returns the names of the constants in the table's file.
func outcomeConstants(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("core", "outcome", "table.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Outcome" {
				names = append(names, spec.Names[0].Name)
			}
		}
		return true
	})
	return names
}

// outcomesIn returns where a file names outcomes: by a constant, by a string that something called
// an outcome is compared with, or by a string in a list, a map or a case that is nothing else's
// name.
func outcomesIn(f *ast.File, constants []string) (at []token.Pos) {
	only := []string{"advanced", "crashed", "hung", "interrupted"} // nothing else is called so
	note := func(names []string, list ...ast.Expr) {
		for _, e := range list {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Key
			}
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(names, s) {
					at = append(at, lit.Pos())
				}
			}
		}
	}
	var all []string
	for _, o := range outcome.All() {
		all = append(all, string(o))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && (x.Name == "outcome" || x.Name == "attempt") && slices.Contains(constants, n.Sel.Name) {
				at = append(at, n.Pos())
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && isOutcome(n.X) {
				note(all, n.Y)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && isOutcome(n.Tag) {
				for _, c := range n.Body.List {
					note(all, c.(*ast.CaseClause).List...)
				}
			}
		case *ast.CaseClause:
			note(only, n.List...)
		case *ast.CompositeLit:
			note(only, n.Elts...)
		}
		return true
	})
	return at
}

// isOutcome reports whether an expression is called an outcome.
func isOutcome(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(e.Name), "outcome")
	case *ast.SelectorExpr:
		return e.Sel.Name == "Outcome" || e.Sel.Name == "Name" && isOutcome(e.X)
	}
	return false
}

// The test above finds each way to name an outcome.
func TestOutcomesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		`var x = []string{"failed", "crashed"}`:                     1,
		`var x = map[string]int{"hung": 1, "other": 2}`:             1,
		`var x = e.Outcome == "done"`:                               1,
		`var x = a.Outcome.Name != "red"`:                           1,
		`var x = r.Outcome == attempt.Held`:                         1,
		`var x = outcome.Done`:                                      1,
		`func f() { switch e.Outcome { case "red", "done": } }`:     2,
		`func f() { switch x { case "red", "done": } }`:             0,
		`var x = plan.Done`:                                         0,
		`var x = e.Outcome == ""`:                                   0,
		`var x = outcome.Of(e.Outcome).Worth == outcome.Repairable`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(outcomesIn(f, []string{"Done", "Held"})); got != want {
			t.Errorf("%s: %d found, want %d", text, got, want)
		}
	}
}
