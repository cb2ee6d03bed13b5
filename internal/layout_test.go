package internal

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers is the house from the top down; a package may import only what stands below it. docs/design.md says what each is for.
var layers = []string{
	"greenlight/internal/claudetest", // for tests alone: it stands above all that could import it
	"greenlight/cmd/gl",
	"greenlight/internal/cli",
	"greenlight/content",
	"greenlight/internal/drain",
	"greenlight/internal/runner",
	"greenlight/internal/project",
	"greenlight/internal/attempt",
	"greenlight/internal/rehearsal",
	"greenlight/internal/guard",
	"greenlight/internal/specwright",
	"greenlight/internal/slice",
	"greenlight/internal/gsd",
	"greenlight/internal/agent",
	"greenlight/internal/git",
	"greenlight/internal/tmux",
	"greenlight/internal/install",
	"greenlight/internal/tracker",
	"greenlight/internal/graphview",
	"greenlight/internal/plan",
	"greenlight/internal/near",
	"greenlight/internal/fold",
	"greenlight/internal/statedir",
	"greenlight/internal/proc",
	"greenlight/internal/durable",
	"greenlight/internal/text/frontmatter",
	"greenlight/internal/text/markdown",
	"greenlight/internal/text/jsonedit",
	"greenlight/internal/text/conflict",
	"greenlight/internal/text/textline",
	"greenlight/internal/crashtest",
}

// The page that tells where a thing belongs tells of every package, in the same order.
func TestDesignListsTheLayers(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile(`(?m)^    ((?:cmd|internal|content)[a-z/]*)/ +[a-zA-Z]`).FindAllStringSubmatch(string(data), -1) {
		told = append(told, "greenlight/"+m[1])
	}
	if !slices.Equal(told, layers) {
		t.Errorf("docs/design.md lists\n%q\nthe layers are\n%q", told, layers)
	}
}

// face are the packages that may use libraries; all others import the standard library and each other alone.
var face = map[string]bool{
	"greenlight/cmd/gl":         true,
	"greenlight/internal/cli":   true,
	"greenlight/internal/drain": true, // fsnotify, in the watch loop
}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "-deps", "greenlight/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	height := make(map[string]int, len(layers))
	for i, path := range layers {
		height[path] = i
	}
	standard := make(map[string]bool)
	all := list(t)
	for _, p := range all {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range all {
		if !strings.HasPrefix(p.ImportPath, "greenlight") || p.ImportPath == "greenlight/internal" {
			continue
		}
		own, ok := height[p.ImportPath]
		if !ok {
			t.Errorf("%s stands nowhere in the list of layers", p.ImportPath)
		}
		for _, imp := range p.Imports {
			switch h, ours := height[imp]; {
			case ours && h <= own:
				t.Errorf("%s imports %s, which stands above it", p.ImportPath, imp)
			case !ours && !standard[imp] && !face[p.ImportPath]:
				t.Errorf("%s imports %s, and only the face may use libraries", p.ImportPath, imp)
			}
		}
	}
}
