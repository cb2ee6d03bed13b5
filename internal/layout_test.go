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

// layers lists the packages from the top down; a package may import only those below it.
// docs/design.md describes each.
var layers = []string{
	// only for tests: it is above all packages that could import it
	"greenlight/internal/claudetest",
	"greenlight/cmd/gl",
	"greenlight/internal/cli",
	"greenlight/internal/cli/sw",
	"greenlight/internal/cli/gsd",
	"greenlight/internal/cli/cmdutil",
	"greenlight/internal/board",
	"greenlight/internal/iostreams",
	"greenlight/internal/report",
	"greenlight/internal/debugreport",
	"greenlight/internal/briefing",
	"greenlight/internal/ops",
	"greenlight/internal/doctor",
	"greenlight/internal/explain",
	"greenlight/internal/hook",
	"greenlight/internal/statusline",
	"greenlight/internal/changelog",
	"greenlight/internal/plugin",
	"greenlight/content",
	"greenlight/internal/facts",
	"greenlight/internal/rowlayout",
	"greenlight/internal/drain",
	"greenlight/internal/watch",
	"greenlight/internal/view",
	"greenlight/internal/lane",
	"greenlight/internal/runner",
	"greenlight/internal/project/projecttest",
	"greenlight/internal/project",
	"greenlight/internal/attemptlog",
	"greenlight/internal/attempt",
	"greenlight/internal/testrun",
	"greenlight/internal/drift",
	"greenlight/internal/site",
	"greenlight/internal/rehearsal",
	"greenlight/internal/guard",
	"greenlight/internal/specwright",
	"greenlight/internal/legacy",
	"greenlight/internal/slice",
	"greenlight/internal/gsd",
	"greenlight/internal/sliceid",
	"greenlight/internal/agent",
	"greenlight/internal/forecast",
	"greenlight/internal/scratch",
	"greenlight/internal/worktree",
	"greenlight/internal/include",
	"greenlight/internal/isolation",
	"greenlight/internal/sandbox",
	"greenlight/internal/ports",
	"greenlight/internal/git",
	"greenlight/internal/gh",
	"greenlight/internal/tmux",
	"greenlight/internal/install",
	"greenlight/internal/tracker/trackertest", // only for tests
	"greenlight/internal/tracker",
	"greenlight/internal/graphview",
	"greenlight/internal/notify",
	"greenlight/internal/eta",
	"greenlight/internal/roadmap",
	"greenlight/internal/contracts",
	"greenlight/internal/plan",
	"greenlight/internal/depgraph",
	"greenlight/internal/spending",
	"greenlight/internal/journal",
	"greenlight/internal/words",
	"greenlight/internal/command",
	"greenlight/internal/term",
	"greenlight/internal/sanitize",
	"greenlight/internal/scrub",
	"greenlight/internal/shellwords",
	"greenlight/internal/environ",
	"greenlight/internal/jsondoc",
	"greenlight/internal/suggest",
	"greenlight/internal/statedir",
	"greenlight/internal/trust",
	"greenlight/internal/logfile",
	"greenlight/internal/paths",
	"greenlight/internal/proc",
	"greenlight/internal/statcache",
	"greenlight/internal/dirlog",
	"greenlight/internal/durable",
	"greenlight/internal/gate",
	"greenlight/internal/text/frontmatter",
	"greenlight/internal/text/markdown",
	"greenlight/internal/text/jsonedit",
	"greenlight/internal/text/conflict",
	"greenlight/internal/text/lines",
	"greenlight/internal/text/textline",
	"greenlight/internal/text/moment",
	"greenlight/internal/uniq",
	"greenlight/internal/crashtest",
	"greenlight/internal/testfiles",
	"greenlight/internal/rapidtest",
}

// docs/design.md, which says where code belongs, lists every package, in the same order.
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

// face lists the packages that may use libraries; all others import only the standard library
// and each other.
var face = map[string]bool{
	"greenlight/cmd/gl":               true,
	"greenlight/internal/cli":         true,
	"greenlight/internal/cli/cmdutil": true,
	"greenlight/internal/cli/gsd":     true,
	"greenlight/internal/cli/sw":      true,
	"greenlight/internal/iostreams":   true, // x/term
	"greenlight/internal/board":       true, // bubbletea, and its cutting of lines
	"greenlight/internal/watch":       true, // fsnotify
	"greenlight/internal/term":        true, // displaywidth
	"greenlight/internal/guard":       true, // mvdan.cc/sh: parses shell commands
	"greenlight/internal/include":     true, // x/sys: FICLONE, clonefile
	"greenlight/internal/durable":     true, // x/sys: directory records
	"greenlight/internal/statcache":   true, // x/sys: fstatat
}

// testLibraries are only for _test files; no program contains them.
var testLibraries = []string{
	"github.com/google/go-cmp",
	"github.com/invopop/jsonschema",
	"github.com/rogpeppe/go-internal",
	"github.com/santhosh-tekuri/jsonschema",
	"pgregory.net/rapid",
}

// formats are the trackers that only the registry of formats and the commands of the format
// itself may name. Package ops and the rehearsal change Greenlight's own slices, in either of
// their formats; the rehearsal writes the files of GSD's phases.
var formats = map[string][]string{
	"greenlight/internal/legacy":     {"greenlight/internal/project", "greenlight/internal/rehearsal"},
	"greenlight/internal/specwright": {"greenlight/internal/project", "greenlight/internal/cli/sw"},
	"greenlight/internal/gsd":        {"greenlight/internal/project", "greenlight/internal/cli/gsd", "greenlight/internal/rehearsal"},
}

// Commands handle flags, words and exit codes: lower packages access the disk, processes and a
// format's files.
func TestCommandsDoNothingThemselves(t *testing.T) {
	below := []string{"greenlight/internal/durable", "greenlight/internal/proc", "greenlight/internal/text/jsonedit", "greenlight/internal/slice"}
	for _, p := range list(t) {
		if p.ImportPath != "greenlight/internal/cli" && p.ImportPath != "greenlight/internal/cli/cmdutil" {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(below, imp) {
				t.Errorf("%s imports %s: move what it does below the command", p.ImportPath, imp)
			}
		}
	}
}

func TestNothingNamesAFormat(t *testing.T) {
	for _, p := range list(t) {
		for _, imp := range p.Imports {
			if may, ok := formats[imp]; ok && !slices.Contains(may, p.ImportPath) {
				t.Errorf("%s imports the format %s: ask the tracker", p.ImportPath, imp)
			}
		}
	}
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

// The list has all direct and indirect imports, except by tests.
func TestNoProgramCarriesTestLibraries(t *testing.T) {
	for _, p := range list(t) {
		for _, lib := range testLibraries {
			if strings.HasPrefix(p.ImportPath+"/", lib+"/") {
				t.Errorf("%s is imported outside of tests: go mod why %[1]s", p.ImportPath)
			}
		}
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
