package internal

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// areas lists the folders of the program from the top down. A package may import the packages of
// its own area and of those below. docs/design.md describes them, and each package.
var areas = []string{
	"greenlight/cmd",
	"greenlight/internal/cli",
	"greenlight/internal/show",
	"greenlight/internal/run",
	"greenlight/internal/workspace",
	"greenlight/internal/state",
	"greenlight/internal/core",
	"greenlight/internal/base",
	"greenlight/content",
	"greenlight/docs",
}

// areaOf returns the index of a package's area, or -1 for a package outside of all areas.
func areaOf(path string) int {
	return slices.IndexFunc(areas, func(area string) bool {
		return strings.HasPrefix(path+"/", area+"/")
	})
}

// docs/design.md, which says where code belongs, lists every area in this order and every package.
func TestDesignListsThePackages(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, layout, _ := strings.Cut(string(data), "\n## Layout")
	layout, _, _ = strings.Cut(layout, "\n## ")
	var toldAreas, told []string
	row := regexp.MustCompile("(?m)^(?:### `([a-z/]+)`|    ((?:cmd|internal|content|docs)[a-z/-]*)/ +[a-zA-Z])")
	for _, m := range row.FindAllStringSubmatch(layout, -1) {
		if m[1] != "" {
			toldAreas = append(toldAreas, modulePath+"/"+m[1])
			continue
		}
		path := modulePath + "/" + m[2]
		if area := areaOf(path); area != len(toldAreas)-1 {
			t.Errorf("docs/design.md lists %s under %q", path, toldAreas)
		}
		told = append(told, path)
	}
	if !slices.Equal(toldAreas, areas) {
		t.Errorf("docs/design.md has the areas\n%q\nthe test has\n%q", toldAreas, areas)
	}
	for _, p := range list(t) {
		if i := slices.Index(told, p.ImportPath); i >= 0 {
			told = slices.Delete(told, i, i+1)
		} else if areaOf(p.ImportPath) >= 0 {
			t.Errorf("docs/design.md doesn't list %s", p.ImportPath)
		}
	}
	if len(told) > 0 {
		t.Errorf("docs/design.md lists %q: they don't exist, or are listed twice", told)
	}
}

// face lists the packages that may use libraries; all others import only the standard library
// and each other.
var face = map[string]bool{
	"greenlight/cmd/gl":                     true,
	"greenlight/cmd/gl/scripts":             true, // testscript: only tests import it
	"greenlight/internal/cli":               true,
	"greenlight/internal/cli/cmdutil":       true,
	"greenlight/internal/cli/gsd":           true,
	"greenlight/internal/cli/sw":            true,
	"greenlight/internal/cli/iostreams":     true, // x/term
	"greenlight/internal/show/board":        true, // bubbletea, and its cutting of lines
	"greenlight/internal/run/hub":           true, // nats-server, nats.go, nkeys, x/time/rate
	"greenlight/internal/run/watch":         true, // fsnotify
	"greenlight/internal/base/term":         true, // displaywidth
	"greenlight/internal/state/guard":       true, // mvdan.cc/sh: parses shell commands
	"greenlight/internal/workspace/include": true, // x/sys: FICLONE, clonefile
	"greenlight/internal/base/proc":         true, // x/sys: waitid, prctl
	"greenlight/internal/base/statcache":    true, // x/sys: fstatat
	"greenlight/internal/base/crashtest":    true, // x/sys: seccomp
}

// testLibraries are only for tests; no program contains them.
var testLibraries = []string{
	"github.com/chromedp",
	"github.com/google/go-cmp",
	"github.com/invopop/jsonschema",
	"github.com/rogpeppe/go-internal",
	"github.com/santhosh-tekuri/jsonschema",
	"pgregory.net/rapid",
}

// formats are the trackers that only the registry of formats and the commands of the format
// itself may name. Package ops and the rehearsal change Greenlight's own slices, in either of
// their formats; the rehearsal writes the files of GSD's phases and reads Specwright's
// configuration, as an agent does.
var formats = map[string][]string{
	"greenlight/internal/state/legacy":     {"greenlight/internal/run/project", "greenlight/internal/run/rehearsal"},
	"greenlight/internal/state/specwright": {"greenlight/internal/run/project", "greenlight/internal/cli/sw", "greenlight/internal/run/rehearsal"},
	"greenlight/internal/state/gsd":        {"greenlight/internal/run/project", "greenlight/internal/cli/gsd", "greenlight/internal/run/rehearsal"},
}

// Commands handle flags, words and exit codes: lower packages access the disk, processes and a
// format's files.
func TestCommandsDoNothingThemselves(t *testing.T) {
	below := []string{"greenlight/internal/base/durable", "greenlight/internal/base/proc", "greenlight/internal/base/text/jsonedit", "greenlight/internal/state/slice"}
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
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "-deps", modulePath+"/...").Output()
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

// The list has all direct and indirect imports of the programs.
func TestNoProgramCarriesTestLibraries(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", modulePath+"/cmd/gl", modulePath+"/cmd/gl-remote").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		for _, lib := range testLibraries {
			if strings.HasPrefix(path+"/", lib+"/") {
				t.Errorf("a program imports %s: go mod why %[1]s", path)
			}
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	standard := make(map[string]bool)
	all := list(t)
	for _, p := range all {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range all {
		if !strings.HasPrefix(p.ImportPath, modulePath+"/") || p.ImportPath == "greenlight/internal" {
			continue
		}
		own := areaOf(p.ImportPath)
		if own < 0 {
			t.Errorf("%s is in none of the areas", p.ImportPath)
		}
		for _, imp := range p.Imports {
			switch area := areaOf(imp); {
			case area >= 0 && area < own:
				t.Errorf("%s imports %s, which is in an area above", p.ImportPath, imp)
			case area < 0 && !standard[imp] && !face[p.ImportPath]:
				t.Errorf("%s imports %s, and only the face may use libraries", p.ImportPath, imp)
			}
		}
	}
}

// gl starts fast and is small because the network is in gl-remote alone.
func TestGlHasNoNetwork(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "greenlight/cmd/gl").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"greenlight/internal/run/hub", "greenlight/internal/run/hands",
		"greenlight/internal/run/away", "greenlight/internal/cli/network"} {
		if slices.Contains(strings.Fields(string(out)), p) {
			t.Errorf("gl imports %s", p)
		}
	}
}

// Besides the areas, internal has only the tests of the whole repository.
func TestOnlyAreasInInternal(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		area := slices.Contains(areas, "greenlight/internal/"+e.Name())
		if area != e.IsDir() || !area && !strings.HasSuffix(e.Name(), "_test.go") {
			t.Errorf("internal/%s is neither an area nor a test", e.Name())
		}
	}
}

// What core decides can be tested without a disk, a process or a network.
func TestCoreIsPure(t *testing.T) {
	impure := []string{"io/fs", "net", "net/http", "os", "os/exec", "path/filepath", "syscall"}
	for _, p := range list(t) {
		if !strings.HasPrefix(p.ImportPath, "greenlight/internal/core/") {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(impure, imp) {
				t.Errorf("%s imports %s", p.ImportPath, imp)
			}
		}
	}
}

// Comments on lines of their own have at most 100 columns, with tabs of four.
func TestCommentsAreNarrow(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.Name() == ".git":
			return cmp.Or(err, fs.SkipDir)
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			comment := strings.TrimLeft(line, "\t")
			if strings.HasPrefix(comment, "// ") &&
				utf8.RuneCountInString(line)+3*(len(line)-len(comment)) > 100 {
				t.Errorf("%s:%d: a comment of more than 100 columns", path, i+1)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
