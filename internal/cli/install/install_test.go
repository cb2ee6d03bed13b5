package install

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// theirs are original files of the user, by path.
var theirs = map[string][]string{
	"CLAUDE.md": {"", "# Mine\n", "no line end", "a\r\nb\r\n", "a\r\nb", "\ufeffbom\n", "one\n\n\n", "x\n<!-- greenlight:end -->\n", "-> dot/claude.md"},
	".claude/commands/gl/slice.md": {"mine\n", "-> ../../../dot/slice.md",
		"---\ndescription: \"Build: one \\\"slice\\\"\"\n---\n!`gl slice $ARGUMENTS || true`\n\nThen /gl:help $ARGUMENTS.\n"},
	".claude/agents/":       {""},
	".claude/agents/own.md": {"own\n"},
	"CLAUDE_GREENLIGHT.md":  {"odd\n"},
	"CLAUDE.md.backup":      {"an older one\n"},
	".claude/settings.json": {"{}", "", "\n", `{"a": 1}`, "{\"statusLine\" : {\"type\":\"command\",  \"command\": \"mine\"}}", "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t}\n}\n",
		"{\r\n  \"hooks\": {}\r\n}\r\n", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gl hook stop"}]}]}}`},
}

// For any original files, and any sequence of installations, uninstall restores the originals.
func TestUninstallLeavesWhatWasThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root := t.TempDir()
		files := map[string]string{}
		for name, texts := range theirs {
			if i := rapid.IntRange(-2, len(texts)-1).Draw(rt, name); i >= 0 {
				files[name] = texts[i]
			}
		}
		plant(t, root, map[string]string{"dot/claude.md": "dotfiles\n", "dot/slice.md": "dotfiles\n"})
		plant(t, root, files)
		before := tree(t, root)
		tg := local(t, Claude, root)
		for i := range rapid.IntRange(1, 3).Draw(rt, "installs") {
			version := rapid.SampledFrom([]string{"v1", "v2"}).Draw(rt, "version")
			o := Options{Conflict: rapid.SampledFrom([]Conflict{AsBefore, Theirs, Append,
				Replace}).Draw(rt, "conflict"),
				Hooks: rapid.Bool().Draw(rt, "hooks"), StatusLine: rapid.Bool().Draw(rt, "line"),
				Force: rapid.Bool().Draw(rt, "force")}
			put(t, tg, version, o)
			installed := tree(t, root)
			if r := put(t, tg, version, o); r.Changed() > 0 ||
				!cmp.Equal(installed, tree(t, root)) {
				rt.Fatalf("the %d. install changes something the second time: %v", i, r.Steps)
			}
			st, err := tg.Check(contents(version))
			if err != nil || !st.Same && len(deeds(put(t, tg, version, o), Keep)) == 0 {
				rt.Fatalf("check: %v %+v", err, st)
			}
		}
		takeOut(t, tg)
		if diff := cmp.Diff(before, tree(t, root)); diff != "" {
			rt.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

func TestNothingIsWrittenTwice(t *testing.T) {
	root := t.TempDir()
	tg := local(t, Claude, root)
	put(t, tg, "v1", Options{Hooks: true})
	info := func() (all []string) {
		for name := range tree(t, root) {
			st, err := os.Lstat(filepath.Join(root, name))
			must(t, err)
			all = append(all, name+" "+st.ModTime().String())
		}
		return all
	}
	sorted := cmp.Transformer("sort", func(in []string) map[string]bool {
		m := map[string]bool{}
		for _, s := range in {
			m[s] = true
		}
		return m
	})
	before := info()
	put(t, tg, "v1", Options{})
	put(t, tg, "v1", Options{DryRun: true, Force: true})
	if diff := cmp.Diff(before, info(), sorted); diff != "" {
		t.Error(diff)
	}
}

// A file that the user has modified stays, through upgrades and removal, unless forced; then a
// copy stays.
func TestChangedByTheUser(t *testing.T) {
	root := t.TempDir()
	tg := local(t, Claude, root)
	put(t, tg, "v1", Options{})
	const slice, help = ".claude/commands/gl/slice.md", ".claude/commands/gl/help.md"
	plant(t, root, map[string]string{slice: "changed\n", help: "changed, too\n"})
	text := tree(t, root)["CLAUDE.md"]
	plant(t, root, map[string]string{"CLAUDE.md": "above\n" + text + "below\n"})

	r := put(t, tg, "v2", Options{})
	want := []string{"keep " + slice, "keep " + help}
	if diff := cmp.Diff(want, deeds(r, Keep)); diff != "" {
		t.Error(diff)
	}
	now := tree(t, root)
	if now[slice] != "changed\n" || now[help] != "changed, too\n" {
		t.Error("what was changed wasn't kept")
	}
	if m := now["CLAUDE.md"]; !strings.HasPrefix(m, "above\n<!--") ||
		!strings.HasSuffix(m, "-->\nbelow\n") || !strings.Contains(m, "better") {
		t.Errorf("CLAUDE.md is %q", m)
	}
	st, err := tg.Check(contents("v2"))
	must(t, err)
	if diff := cmp.Diff([]Difference{{slice, Changed}}, st.Diffs); diff != "" {
		t.Error(diff)
	}

	put(t, tg, "v2", Options{Force: true})
	now = tree(t, root)
	if !strings.HasSuffix(now[slice], "More.\n") || now[".claude/greenlight/backup/commands/gl/slice.md"] != "changed\n" {
		t.Errorf("forced: %q", now)
	}
	plant(t, root, map[string]string{slice: "again\n"})
	r = takeOut(t, tg)
	if diff := cmp.Diff([]string{"keep " + slice}, deeds(r, Keep)); diff != "" {
		t.Error(diff)
	}
	same(t, "after uninstall", map[string]string{".claude/": "", ".claude/commands/": "", ".claude/commands/gl/": "", slice: "again\n",
		help: "changed, too\n", "CLAUDE.md": "above\nbelow\n", ".claude/greenlight/": "", ".claude/greenlight/backup/": "",
		".claude/greenlight/backup/commands/": "", ".claude/greenlight/backup/commands/gl/": "",
		".claude/greenlight/backup/commands/gl/slice.md": "changed\n"}, tree(t, root))
}

func TestOurPartChanged(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"CLAUDE.md": "mine\n"})
	tg := local(t, Claude, root)
	put(t, tg, "v1", Options{Conflict: Append})
	edited := strings.Replace(tree(t, root)["CLAUDE.md"], "good", "evil", 1)
	plant(t, root, map[string]string{"CLAUDE.md": edited})
	for _, o := range []Options{{}, {Conflict: Replace}} {
		if r := put(t, tg, "v2", o); !cmp.Equal(deeds(r, Keep), []string{"keep CLAUDE.md"}) ||
			tree(t, root)["CLAUDE.md"] != edited {
			t.Errorf("not kept: %v", r.Steps)
		}
	}
	put(t, tg, "v2", Options{Force: true})
	if now := tree(t, root); now["CLAUDE.md.backup"] != edited ||
		!strings.Contains(now["CLAUDE.md"], "better") {
		t.Errorf("forced: %q", now)
	}
	takeOut(t, tg)
	same(t, "after uninstall", map[string]string{"CLAUDE.md": "mine\n", "CLAUDE.md.backup": edited}, tree(t, root))
}

// Dotfiles: a link stays a link, and its target is written.
func TestLinks(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"dot/claude/": "", ".claude": "-> dot/claude", "CLAUDE.md": "-> dot/none.md"})
	before := tree(t, root)
	tg := local(t, Claude, root)
	put(t, tg, "v1", Options{Hooks: true})
	now := tree(t, root)
	if now[".claude"] != "-> dot/claude" || now["CLAUDE.md"] != "-> dot/none.md" || now["dot/claude/commands/gl/help.md"] == "" || now["dot/none.md"] == "" {
		t.Errorf("%q", now)
	}
	takeOut(t, tg)
	same(t, "after uninstall", before, tree(t, root))
}

// A manifest may come from a clone: it must not lead gl to files that it never writes.
func TestForgedManifest(t *testing.T) {
	for _, path := range []string{"../outside.md", "/etc/passwd", "src/main.go", ".claude/commands/mine.md", ".claude/agents/mine.md",
		".claude/greenlight/../settings.json", ".claude/commands/gl/../../../README.md", ".claude/settings.json", "CLAUDE.md/x", ""} {
		root := t.TempDir()
		m := manifest{SchemaVersion: 1, Agent: Claude, State: installed,
			Files: []entry{{Path: path, SHA256: hash([]byte("x"))}}}
		plant(t, root, map[string]string{".claude/greenlight/manifest.json": string(m.text()), "src/main.go": "x", ".claude/agents/mine.md": "x"})
		before := tree(t, root)
		tg := local(t, Claude, root)
		_, err := tg.Uninstall(context.Background(), false)
		if err == nil || !strings.Contains(err.Error(), "never installs") {
			t.Errorf("%q: %v", path, err)
		}
		if err := install(tg, "v1", Options{}); err == nil {
			t.Errorf("%q: installed over it", path)
		}
		same(t, path, before, tree(t, root))
	}
}

// A file that can't be read or written is named, and the next run repairs anything left half
// done.
func TestInTheWay(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"commands": {".claude/commands": "a file\n"},
		"slice.md": {".claude/commands/gl/slice.md/": ""},
		"settings": {".claude/settings.json": "{broken"},
		"manifest": {".claude/greenlight/manifest.json": "{"},
	} {
		root := t.TempDir()
		plant(t, root, files)
		before := tree(t, root)
		err := install(local(t, Claude, root), "v1", Options{Hooks: true})
		if err == nil || !strings.Contains(err.Error(), ".claude/"+
			strings.TrimSuffix(strings.TrimPrefix(name, "slice.md"), "")) &&
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, before, tree(t, root))
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		agent string
		scope Scope
		env   map[string]string
		dir   string // "" for an error
		path  string // of a command
	}{
		{Claude, Local, nil, "/p/.claude", "/p/.claude/commands/gl/slice.md"},
		{Claude, Global, map[string]string{"HOME": "/h"}, "/h/.claude", "/h/.claude/commands/gl/slice.md"},
		{Claude, Global, map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c/x/"}, "/c/x", "/c/x/commands/gl/slice.md"},
		{Claude, Local, map[string]string{"CLAUDE_CONFIG_DIR": "/c/x"}, "/p/.claude", "/p/.claude/commands/gl/slice.md"},
		{Claude, Global, nil, "", ""},
		{Claude, Global, map[string]string{"HOME": "relative"}, "", ""},
		{Claude, Global, map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "c"}, "", ""},
		{"codex", Global, map[string]string{"HOME": "/h"}, "/h/.codex", "/h/.agents/skills/gl-slice/SKILL.md"},
		{"codex", Global, map[string]string{"HOME": "/h", "CODEX_HOME": "/x/codex"}, "/x/codex", "/x/codex/skills/gl-slice/SKILL.md"},
		{"gemini", Local, nil, "/p/.gemini", "/p/.gemini/commands/gl/slice.toml"},
		{"opencode", Local, nil, "/p/.opencode", "/p/.opencode/commands/gl-slice.md"},
		{"opencode", Global, map[string]string{"HOME": "/h"}, "/h/.config/opencode", "/h/.config/opencode/commands/gl-slice.md"},
		{"opencode", Global, map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x/c"}, "/x/c/opencode", "/x/c/opencode/commands/gl-slice.md"},
		{"emacs", Local, nil, "", ""},
	} {
		tg, err := Find(c.agent, c.scope, "/p", func(key string) string { return c.env[key] })
		if c.dir == "" {
			if err == nil {
				t.Errorf("%v: found %v", c, tg)
			}
			continue
		}
		must(t, err)
		files, err := tg.Files(contents("v1"))
		must(t, err)
		found := false
		for _, f := range files {
			found = found || tg.Path(f.Path) == c.path
		}
		if tg.Dir() != c.dir || !found {
			t.Errorf("%v: %s, %v", c, tg.Dir(), files)
		}
	}
}

func TestCheckOfAnotherVersion(t *testing.T) {
	root := t.TempDir()
	tg := local(t, Claude, root)
	put(t, tg, "v1", Options{Hooks: true})
	must(t, os.Remove(filepath.Join(root, ".claude/agents/gl-tester.md")))
	st, err := tg.Check(contents("v2"))
	must(t, err)
	want := []Difference{{".claude/agents/gl-tester.md", Missing}, {".claude/commands/gl/help.md", Dropped},
		{".claude/commands/gl/slice.md", Outdated}, {".claude/commands/gl/sub/new.md", New}, {".claude/settings.json", Outdated},
		{"CLAUDE.md", Outdated}}
	if diff := cmp.Diff(want, st.Diffs); diff != "" || st.Same || st.Version != "v1" {
		t.Errorf("%+v\n%s", st, diff)
	}
}

// Removing our part restores any text.
func TestOurPartComesOutAgain(t *testing.T) {
	lines := rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "a\r", "\r", "# b", endMark,
		" " + beginMark, "\ufeff"}))
	rapid.Check(t, func(t *rapid.T) {
		theirs := []byte(strings.Join(lines.Draw(t, "theirs"), "\n"))
		after := strings.Join(lines.Draw(t, "written behind it"), "\n")
		eol := lineEnd(theirs)
		glue := joint(theirs, eol)
		text := slices.Concat(theirs, []byte(glue), wrapBlock([]byte("ours\n"), eol))
		from, to, ok := findBlock(text)
		if !ok || string(cut(text, from, to, glue)) != string(theirs) ||
			string(inner(text[from:to])) != "ours\n" {
			t.Fatalf("%q", text)
		}
		text = append(text, after...)
		want := string(theirs) + after
		if n := len(theirs); n > 0 && theirs[n-1] != '\n' && after != "" {
			want = string(theirs) + eol + after
		}
		if got := string(cut(text, from, to, glue)); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
