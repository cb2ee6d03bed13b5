package internal

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A type with more than these is two types. Embedding counts: what an embedded type has is
// promoted.
const (
	mostFields  = 20
	mostMethods = 40
)

// exempt lists the structs that mirror a document: they have a field for each of its keys.
var exempt = map[string]string{
	"internal/core/agent.cursorLine": "a line of Cursor's stream",
	"internal/core/agent.wire":       "a line of Claude Code's stream",
	"internal/core/plan.Item":        "a slice file's front matter: the table of fields in state/slice",
	"internal/core/plan.State":       "an Item, and what the plan makes of it",
	"internal/run/attempt.Landing":   "the landing in an attempt's record",
	"internal/run/attempt.document":  "an attempt's record, flat: see Record",
	"internal/show/status.Document":  "gl status --json",
	"internal/show/status.Slice":     "a slice of gl status --json",
	"internal/run/project.Config":    "config.json",
	"internal/run/testrun.Verdict":   "verdicts/HASH.json",
	"internal/show/report.Document":  "gl report --json",
	"internal/show/report.Landed":    "a slice of gl report --json",
	"internal/state/journal.Event":   "a line of journal.jsonl",
	"internal/state/journal.entry":   "a line of journal.jsonl, with its version and time",
	"internal/state/journal.wire":    "a line of journal.jsonl, as decoded",
}

// A width is how many fields and methods a type has, with those of the types it embeds.
type width struct{ fields, methods int }

func (w width) wide() bool { return w.fields > mostFields || w.methods > mostMethods }

// outside lists the types of other modules that may be embedded: their methods count as the
// type's own.
var outside = map[string]int{
	"net.Conn":        8,
	"os/exec.Cmd":     12,
	"strings.Builder": 10,
	"sync.Mutex":      3,
}

// Types have one job: none is wider than the limits. It reads the source alone, for all platforms.
func TestTypesHaveOneJob(t *testing.T) {
	found := map[string]bool{}
	m := parseModule(t)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w := m.widthOf(t, name)
		short := strings.TrimPrefix(name, modulePath+"/")
		why, free := exempt[short]
		found[short] = true
		switch {
		case !w.wide() && free:
			t.Errorf("%s isn't wide any more (%d fields, %d methods): take it off the list", short, w.fields, w.methods)
		case w.wide() && free && (why == "" || w.methods > mostMethods):
			t.Errorf("%s has %d methods; only its fields can be a document's, and the list has to say which", short, w.methods)
		case w.wide() && !free:
			t.Errorf("%s has %d fields and %d methods: give it one job", short, w.fields, w.methods)
		}
	}
	for short := range exempt {
		if !found[short] {
			t.Errorf("%s is listed, and there is no such type", short)
		}
	}
}

// A module maps types, as import/path.Name, to what the source says of them.
type module map[string]*typeSource

type typeSource struct {
	fields  map[string]bool
	methods map[string]bool
	embeds  []string // types of this module, as import/path.Name, or of another, as written
}

func parseModule(t *testing.T) module {
	t.Helper()
	m := module{}
	root := ".."
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != root) {
			return cmp.Or(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err == nil {
			rel, _ := filepath.Rel(root, filepath.Dir(file))
			m.add(path.Join(modulePath, filepath.ToSlash(rel)), f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m module) at(name string) *typeSource {
	if m[name] == nil {
		m[name] = &typeSource{fields: map[string]bool{}, methods: map[string]bool{}}
	}
	return m[name]
}

// add adds the types and methods of one file.
func (m module) add(pkg string, f *ast.File) {
	imports := map[string]string{}
	for _, i := range f.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = p
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				name := typeName(pkg, imports, d.Recv.List[0].Type)
				m.at(name).methods[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && !s.Assign.IsValid() {
					m.at(pkg+"."+s.Name.Name).declare(pkg, imports, s.Type)
				}
			}
		}
	}
}

func (ty *typeSource) declare(pkg string, imports map[string]string, x ast.Expr) {
	var list *ast.FieldList
	members := ty.fields
	switch x := x.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list, members = x.Methods, ty.methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			members[n.Name] = true
		}
		if name := typeName(pkg, imports, f.Type); len(f.Names) == 0 && name != "" {
			ty.embeds = append(ty.embeds, name)
			if _, isStruct := x.(*ast.StructType); isStruct {
				members[name] = true
			}
		}
	}
}

// typeName returns the named type of an expression as import/path.Name, "" for none.
func typeName(pkg string, imports map[string]string, x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return pkg + "." + x.Name
	case *ast.StarExpr:
		return typeName(pkg, imports, x.X)
	case *ast.IndexExpr:
		return typeName(pkg, imports, x.X)
	case *ast.IndexListExpr:
		return typeName(pkg, imports, x.X)
	case *ast.SelectorExpr:
		if p, ok := x.X.(*ast.Ident); ok {
			return imports[p.Name] + "." + x.Sel.Name
		}
	}
	return ""
}

// widthOf counts a type's fields and methods, and those that it promotes: each embedded field
// once for itself, and once more for each of its own.
func (m module) widthOf(t *testing.T, name string) width {
	t.Helper()
	methods := map[string]bool{}
	fields, more := m.gather(t, name, methods, 0)
	return width{fields, len(methods) + more}
}

func (m module) gather(t *testing.T, name string, methods map[string]bool, depth int) (fields, more int) {
	t.Helper()
	ty := m[name]
	if ty == nil || depth > 8 {
		return 0, 0
	}
	maps.Copy(methods, ty.methods)
	fields = len(ty.fields)
	for _, e := range ty.embeds {
		n, ok := outside[e]
		switch {
		case m[e] != nil:
			f, o := m.gather(t, e, methods, depth+1)
			fields, more = fields+f, more+o
		case ok:
			more += n
		case depth == 0 && !strings.HasPrefix(e, modulePath+"/"):
			t.Errorf("%s embeds %s: name the field, or count its methods in outside", name, e)
		}
	}
	return fields, more
}
