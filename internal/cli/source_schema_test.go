package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// goSources reads from this module's packages what package reflect doesn't have: comments and
// constants.
type goSources struct {
	t        *testing.T
	packages map[string]*goSource // by import path
}

type goSource struct {
	comments map[string]string // by "Type" and "Type.Field"
	blocks   [][]constant      // string constants, one list for each const declaration
}

type constant struct{ name, typ, value, comment string }

// comment returns the comment of a type, or of one of its fields; "" for types of other modules.
func (s goSources) comment(t reflect.Type, field string) string {
	if field == "" {
		return s.of(t.PkgPath()).comments[t.Name()]
	}
	return s.of(t.PkgPath()).comments[t.Name()+"."+field]
}

// constants returns the constants of a string type in the order of their declaration, nil for a
// type without any.
func (s goSources) constants(t reflect.Type) []constant {
	var all []constant
	if t.Kind() != reflect.String {
		return nil
	}
	for _, block := range s.of(t.PkgPath()).blocks {
		for _, c := range block {
			if c.typ == t.Name() {
				all = append(all, c)
			}
		}
	}
	return all
}

// block returns the constants declared together with the named one.
func (s goSources) block(path, name string) []constant {
	for _, block := range s.of(path).blocks {
		for _, c := range block {
			if c.name == name {
				return block
			}
		}
	}
	s.t.Errorf("%s has no constant %s", path, name)
	return nil
}

func (s goSources) of(path string) *goSource {
	module, _, _ := strings.Cut(reflect.TypeFor[goSource]().PkgPath(), "internal/")
	dir, ours := strings.CutPrefix(path, module)
	if !ours {
		return &goSource{}
	}
	if s.packages[path] == nil {
		s.packages[path] = readGoSource(s.t, filepath.Join("..", "..", filepath.FromSlash(dir)))
	}
	return s.packages[path]
}

func readGoSource(t *testing.T, dir string) *goSource {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	src := &goSource{comments: map[string]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				src.readTypes(d)
			} else if ok && d.Tok == token.CONST {
				src.readConstants(d)
			}
		}
	}
	return src
}

func (src *goSource) readTypes(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		typ := spec.(*ast.TypeSpec)
		doc := typ.Doc
		if doc == nil {
			doc = d.Doc
		}
		src.comments[typ.Name.Name] = aboutType(typ.Name.Name, oneComment(doc, nil))
		if s, ok := typ.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					src.comments[typ.Name.Name+"."+name.Name] = oneComment(f.Doc, f.Comment)
				}
			}
		}
	}
}

func (src *goSource) readConstants(d *ast.GenDecl) {
	var block []constant
	for _, spec := range d.Specs {
		s := spec.(*ast.ValueSpec)
		for i, name := range s.Names {
			if i >= len(s.Values) {
				break // the value is repeated, as with iota
			}
			lit, ok := s.Values[i].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			c := constant{name: name.Name, comment: oneComment(s.Doc, s.Comment)}
			c.value, _ = strconv.Unquote(lit.Value)
			if typ, ok := s.Type.(*ast.Ident); ok {
				c.typ = typ.Name
			}
			block = append(block, c)
		}
	}
	src.blocks = append(src.blocks, block)
}

// oneComment is the comment above a declaration, or else the one after it, in one line.
func oneComment(above, behind *ast.CommentGroup) string {
	text := above.Text()
	if text == "" {
		text = behind.Text()
	}
	return strings.Join(strings.Fields(text), " ")
}

// aboutType removes the name from a type's comment, because JSON doesn't show it: "A statusTask is
// an open attempt." becomes "an open attempt".
func aboutType(name, comment string) string {
	comment = regexp.MustCompile(`^(An? |The )?`+name+` (is|are) `).ReplaceAllString(comment, "")
	return strings.TrimSuffix(comment, ".")
}
