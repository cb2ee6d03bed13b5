package install

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/testfiles"
)

// contents returns two versions of a small plugin: the second changes a command, drops one,
// adds one, and has other hooks.
func contents(version string) Content {
	files := map[string]string{
		".claude-plugin/plugin.json": `{"name": "gl"}`,
		"isolation.json":             `{}`,
		"commands/slice.md":          "---\ndescription: \"Build: one \\\"slice\\\"\"\n---\n!`gl slice $ARGUMENTS || true`\n\nThen /gl:help $ARGUMENTS.\n",
		"commands/help.md":           "Help.\n",
		"agents/gl-tester.md":        "---\nname: gl-tester\ndescription: Writes tests\ntools: Read, Write\n---\nWrite tests. A \"\"\"quote\"\"\" and a \\ and !{x}.\n",
		"references/rules.md":        "# Rules\n",
		"hooks/hooks.json": `{"description": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gl hook stop"}]}],
			"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "gl hook guard"}]}]}}`,
	}
	memory := "# Standards\n\nBe good.\n"
	if version == "v2" {
		files["commands/slice.md"] += "More.\n"
		delete(files, "commands/help.md")
		files["commands/sub/new.md"] = "New.\n"
		files["hooks/hooks.json"] = strings.Replace(files["hooks/hooks.json"], "Edit|Write", "Edit|Write|Read", 1)
		memory += "Be better.\n"
	}
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Content{Plugin: m, Memory: []byte(memory)}
}

func local(t testing.TB, agent, root string) Target {
	t.Helper()
	tg, err := Find(agent, Local, root, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// plant writes files; a text "-> x" is a link to x, and a name that ends in / is an empty
// directory.
func plant(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if to, link := strings.CutPrefix(text, "-> "); link {
			must(t, os.Symlink(to, path))
		} else if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
		} else {
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns everything below a directory: directories, links, files with their content.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case d.IsDir():
			all[rel+"/"] = ""
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			all[rel] = "-> " + to
			return err
		default:
			data, err := os.ReadFile(path)
			all[rel] = string(data)
			return err
		}
		return nil
	}))
	return all
}

func same(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func put(t testing.TB, tg Target, version string, o Options) *Result {
	t.Helper()
	o.Version = version
	r, err := tg.Install(context.Background(), contents(version), o)
	must(t, err)
	return r
}

func takeOut(t testing.TB, tg Target) *Result {
	t.Helper()
	r, err := tg.Uninstall(context.Background(), false)
	must(t, err)
	return r
}

// deeds returns the actions on files, as "keep a/b.md".
func deeds(r *Result, do ...Deed) []string {
	var all []string
	for _, s := range r.Steps {
		for _, d := range do {
			if s.Do == d {
				all = append(all, string(d)+" "+s.Path)
			}
		}
	}
	return all
}

// operations are the operations of a killed process.
var operations = map[string]func(tg Target) error{
	"install v1": func(tg Target) error { return install(tg, "v1", Options{}) },
	"append v1": func(tg Target) error {
		return install(tg, "v1", Options{Conflict: Append, Hooks: true})
	},
	"replace v1": func(tg Target) error {
		return install(tg, "v1",
			Options{Conflict: Replace, Hooks: true, StatusLine: true, Force: true})
	},
	"upgrade": func(tg Target) error { return install(tg, "v2", Options{}) },
	"uninstall": func(tg Target) error {
		_, err := tg.Uninstall(context.Background(), false)
		return err
	},
}

func install(tg Target, version string, o Options) error {
	o.Version = version
	_, err := tg.Install(context.Background(), contents(version), o)
	return err
}

func TestMain(m *testing.M) {
	op, ok := operations[os.Getenv("GREENLIGHT_TEST_OP")]
	if !ok {
		os.Exit(testfiles.Run(m))
	}
	tg, err := Find(Claude, Local, os.Getenv("GREENLIGHT_TEST_ROOT"), os.Getenv)
	if err == nil {
		crashtest.Begin()
		err = op(tg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
