package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// An attempt starts gl three times, and hooks start it all the time: values that only some of
// these processes need are created on demand.
func TestNothingIsCompiledAtStart(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if _, isFunc := decl.(*ast.FuncDecl); !isFunc {
				ast.Inspect(decl, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && compiles(call.Fun) {
						t.Errorf("%s compiles something each time gl starts: use sync.OnceValue", path)
					}
					_, later := n.(*ast.FuncLit)
					return !later
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// compiles reports whether the call takes a considerable part of gl's start.
func compiles(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	in, ok := sel.X.(*ast.Ident)
	return ok && (in.Name == "regexp" && strings.HasPrefix(sel.Sel.Name, "MustCompile") || in.Name == "crc32" && sel.Sel.Name == "MakeTable" || in.Name == "template" && sel.Sel.Name == "Must")
}
