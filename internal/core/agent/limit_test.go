package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A kind that LimitKinds lacks makes every record that has it unreadable.
func TestLimitKinds(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "limit.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !spec.Names[0].IsExported() {
			return true
		}
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, kind)
		return true
	})
	if diff := cmp.Diff(want, LimitKinds()); diff != "" {
		t.Errorf("LimitKinds doesn't list the exported constants of limit.go: add what is missing (-constants +listed):\n%s", diff)
	}
}
