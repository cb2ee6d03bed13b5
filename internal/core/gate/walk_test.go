package gate_test

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

	"greenlight/internal/base/testfiles"
)

// allowed lists the functions of the program that can move a ref or set a slice complete, each with
// the reason why it needs no pass; "gate" marks those that require one. Any other function fails
// the test: it has to go through the gate, or be listed because work doesn't land on its ref.
var allowed = map[string]string{
	"git.FastForward":                "gate",
	"worktree.Queue.Move":            "gate",
	"slice.File.Land":                "gate",
	"slice.File.Approve":             "gate",
	"git.ChangeRefs":                 "the tool itself: its callers are listed",
	"git.SetSymbolicRef":             "the tool itself: its callers are listed",
	"git.SymbolicRef":                "reads",
	"git.place.mergeBy":              "of FastForward",
	"git.moveBeside":                 "of FastForward",
	"git.CommitPaths":                "state files alone",
	"git.ChangeWhole":                "the tool itself: its callers are listed",
	"git.changeWhole":                "the tool itself: its callers are listed",
	"git.changeOnce":                 "the tool itself: its callers are listed",
	"git.Exclusive.MoveLost":         "the slice's own branch",
	"git.DropLost":                   "drops a ref that no git can read",
	"git.Rescue":                     "a ref of gl's, or a slice's branch, that no git can read",
	"git.keep":                       "snapshots",
	"git.Push":                       "pushes the merge queue's branch to its own name",
	"git.Exclusive.CommitAll":        "the slice's own branch",
	"git.Exclusive.Integrate":        "the slice's own branch",
	"git.Exclusive.Adopt":            "the slice's own branch",
	"git.Exclusive.setHead":          "a detached HEAD",
	"git.RestoreBranch":              "gl salvage --branch makes a branch",
	"git.CheckoutClone":              "a clone for gl verify --audit",
	"git.Clone":                      "a clone for a rehearsal",
	"git.cloneModule":                "a submodule in a slice's worktree",
	"git.CommitFiles":                "in a rehearsal, a scratch copy or gl demo",
	"git.CommitMerge":                "a rehearsal's",
	"git.Branch":                     "reads",
	"git.contained":                  "a word for people",
	"git.objects":                    "a kind of object",
	"git.objectStore.commit":         "reads",
	"git.place.holds":                "reads",
	"git.rejected":                   "a word for people",
	"worktree.Hold.makeBranch":       "makes a slice's branch",
	"worktree.Snapshots.thin":        "old snapshots",
	"cli.valuesOf":                   "words for completion",
	"rehearsal.sliceWorker.complete": "the stand-in for an agent",
	"worktree.target.record":         "names the target",
	"worktree.Queue.Tip":             "makes the merge queue's branch at the target, or where gl left it",
	"worktree.Queue.KeepNext":        "keeps what a record names, so that git removes nothing of it",
	"worktree.Archive.DropSpent":     "removes refs of complete slices whose content is elsewhere",
	"worktree.Snapshots.HandOver":    "tests that are handed over",
	"git.Exchange.Take":              "reads from the exchange repository into refs/gl/hub",
	"git.Exchange.Give":              "a worker's job in the exchange repository",
	"git.Exchange.Drop":              "the exchange repository",
	"git.FetchStream":                "a worker's own repository",
	"git.PushStream":                 "a worker's push, to the one ref that its lease names",
	"worktree.Repo.Carry":            "a slice's own branch, which a worker has moved on",
	"worktree.Snapshots.Spare":       "snapshots",
	"worktree.Hold.Continue":         "a slice's branch in a worker's own repository",
	"worktree.Cleaner.discardRefs":   "a worker's own repository",
	"away.server.collect":            "drops refs/gl/hub once the slice's branch has it",
	"away.server.spare":              "drops refs/gl/hub once it is a snapshot",
	"hands.repository.forget":        "a worker's own repository",
	"worktree.Queue.NoteLanded":      "a note of what landed",
	"worktree.Queue.NoteQueued":      "a note of the queue",
	"worktree.Queue.DropNote":        "a note of the queue",
}

// movers lists the git commands that move refs.
var movers = []string{"update-ref", "symbolic-ref", "merge", "commit", "reset", "push", "rebase", "cherry-pick", "am", "pull", "fetch", "revert", "branch"}

// tools lists gl's functions for that.
var tools = []string{"ChangeRefs", "SetSymbolicRef", "ChangeWhole", "changeWhole", "changeOnce", "moveBeside"}

// Only the listed functions move a ref or complete a slice, and those that move the branches that
// work lands on require a pass.
func TestOneGate(t *testing.T) {
	found := map[string]bool{}
	root := testfiles.Repository(t)
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
					strings.HasSuffix(path, "_test.go") {
					return err
				}
				file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
				if err == nil && file.Name.Name != "gate" {
					for _, decl := range file.Decls {
						look(t, file.Name.Name, decl, found)
					}
				}
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range found {
		if allowed[name] == "" {
			t.Errorf("%s moves a ref, or completes a slice, and isn't listed: have it ask for a gate.Pass", name)
		}
	}
	for name := range allowed {
		if !found[name] {
			t.Errorf("%s is listed, and does nothing of the kind", name)
		}
	}
}

// look records what a declaration can do.
func look(t *testing.T, pkg string, decl ast.Decl, found map[string]bool) {
	name, does, asks := pkg+"."+declared(decl), false, false
	words := map[string]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if typ := text(n.Type); slices.Contains([]string{"gate.Ruling", "gate.Answer"}, typ) ||
				typ == "gate.Pass" && len(n.Elts) > 0 {
				t.Errorf("%s makes a %s: only package gate does", name, typ)
			}
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				words[s] = true
			}
		case *ast.CallExpr:
			called := text(n.Fun)
			called = called[strings.LastIndexByte(called, '.')+1:]
			does = does || slices.Contains(tools, called)
			asks = asks || called == "Moves" || called == "Completes"
		}
		return true
	})
	if _, function := decl.(*ast.FuncDecl); !function {
		return
	}
	if pkg == "git" && slices.ContainsFunc(movers, func(w string) bool {
		return words[w]
	}) || words["status"] && words["complete"] {
		does = true
	}
	if does {
		found[name] = true
	}
	if allowed[name] == "gate" && !asks {
		t.Errorf("%s doesn't ask for a pass", name)
	}
}

// declared returns a function's name with its receiver's type.
func declared(decl ast.Decl) string {
	f, ok := decl.(*ast.FuncDecl)
	if !ok {
		return "(declarations)"
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(text(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

// text returns the source of an expression made of names alone.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + text(e.X)
	}
	return ""
}
