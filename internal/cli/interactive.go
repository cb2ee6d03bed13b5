package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/run/wrapper"
	"greenlight/internal/workspace/git"
)

// A talk is a command that hands over to a conversation with the agent.
type talk struct {
	command string           // "gl init"
	name    string           // name of the slash command: "init"
	prompt  string           // "/gl:init"
	root    string           // its working directory
	pr      *project.Project // nil if there is none yet
}

// startTalk replaces gl by the conversation: terminal, signals and exit code are the agent's from
// here on. Inside an agent it starts nothing and prints what the slash command needs.
func startTalk(ctx context.Context, app *cmdutil.App, t talk) error {
	facts := projectFacts(ctx, app.IO, t.root, t.pr)
	if app.Inside() {
		pairs(app.IO, append([]keyValue{headless(app)}, facts...))
		return nil
	}
	if !app.IO.Interactive() {
		return fmt.Errorf("%s is a conversation and needs a terminal on stdin and stdout",
			t.command)
	}
	a, _ := agent.Talk("", "", "")
	if err := notOnPath(a, t.root); err != nil {
		return err
	}
	plugin, err := talkPlugin(app, t, a)
	if err != nil {
		return err
	}
	path, err := paths.Program(a.Program, t.root)
	if err != nil {
		return err
	}
	_, argv := agent.Talk(t.prompt, factText(t, facts), plugin)
	app.IO.Detail("in %s: %s", t.root, shellLine(shortened(argv)))
	if err := os.Chdir(t.root); err != nil {
		return err
	}
	env := append(agent.ScrubEnv(app.Environ), "PWD="+t.root)
	if self, err := os.Executable(); err == nil {
		if env, err = wrapper.WithGL(env, self); err != nil {
			return err
		}
	}
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, argv, env))
}

// talkPlugin returns the plugin's directory as for any attempt. Without a project there is no
// directory runs to unpack it into, and creating one would look like a project, so it is unpacked
// into the user's cache.
func talkPlugin(app *cmdutil.App, t talk, a agent.Agent) (string, error) {
	if t.pr != nil {
		return plugin.Dir(t.root, t.pr.Runs.Files.Dir(), a, t.name, app.Getenv)
	}
	cache := app.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(app.Getenv("HOME"), ".cache")
	}
	if !filepath.IsAbs(cache) {
		// a world-writable directory isn't trusted with what an agent loads
		return "", errors.New("HOME or XDG_CACHE_HOME must name an absolute directory, for the plugin with /gl:" + t.name)
	}
	return plugin.Dir(t.root, filepath.Join(cache, "greenlight"), a, t.name, app.Getenv)
}

// factText tells the model what gl knows, so that it needn't find it out first.
func factText(t talk, facts []keyValue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This session was started by `%s`. What gl knows of the place:\n", t.command)
	for _, f := range facts {
		if f.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.key, sanitize.Line(f.value))
		}
	}
	return b.String()
}

// projectFacts returns what gl knows about a place: the state, the documents, the code and git. pr
// is nil if there is no project.
func projectFacts(ctx context.Context, out *iostreams.Streams, root string,
	pr *project.Project) []keyValue {
	lines := []keyValue{{"root", root}, {"project", "none: gl init begins one"}}
	if pr != nil && !pr.Stateless() {
		lines[1].value = pr.Tracker.Traits().Format
		lines = append(lines, planFacts(pr)...)
	}
	lines = append(lines,
		keyValue{"documents",
			strings.Join(there(root, ".greenlight/DESIGN.md", ".greenlight/CONTRACTS.md",
				".greenlight/GRAPH.json", ".greenlight/ROADMAP.md", ".greenlight/ASSESS.md",
				".greenlight/codebase", "DESIGN.md", "CLAUDE.md", "AGENTS.md"), ", ")},
		keyValue{"readme",
			strings.Join(there(root, "README.md", "README.rst", "README.txt", "README"), ", ")},
		keyValue{"manifests", strings.Join(there(root, manifests()...), ", ")})
	return append(lines, gitFacts(ctx, root)...)
}

// planFacts returns the project's progress.
func planFacts(pr *project.Project) []keyValue {
	p, err := shownPlan(pr, time.Now(), "")
	if err != nil {
		return []keyValue{{"slices", "can't be read: " + err.Error()}}
	}
	lines := []keyValue{{"slices", totals(p)}}
	add := func(key string, ids []string) { lines = append(lines, keyValue{key, words.Some(ids)}) }
	add("running", underWay(p))
	add("merging", p.Lists.Landing)
	add("ready", p.Lists.Ready)
	add("blocked", p.Lists.Blocked)
	for _, g := range p.Lists.Troubled() {
		add(string(g.Class), g.IDs)
	}
	add("waiting", p.Lists.Waiting)
	if n := len(p.Warnings); n > 0 {
		lines = append(lines, keyValue{"warnings", fmt.Sprintf("%d (gl doctor)", n)})
	}
	return lines
}

// manifests are files at the top of a checkout that tell its language and build.
func manifests() []string {
	return []string{"go.mod", "package.json", "tsconfig.json", "deno.json", "pyproject.toml",
		"setup.py", "requirements.txt", "Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts",
		"Gemfile", "composer.json", "mix.exs", "pubspec.yaml", "Package.swift", "CMakeLists.txt",
		"Makefile", "justfile", "Dockerfile", "flake.nix"}
}

// there returns which of the names exist below root.
func there(root string, names ...string) []string {
	var found []string
	for _, p := range names {
		if paths.Exists(filepath.Join(root, filepath.FromSlash(p))) {
			found = append(found, p)
		}
	}
	return found
}

// gitFacts returns what git knows about the checkout.
func gitFacts(ctx context.Context, root string) []keyValue {
	branch, err := git.Branch(ctx, root)
	if err != nil {
		return []keyValue{{"git", "no repository"}}
	}
	text := "branch " + branch
	if branch == "" {
		text = "no branch is checked out"
	}
	if dirty, err := git.Dirty(ctx, root, ".greenlight"); err == nil {
		text += ", " + words.Count(len(dirty), "changed file")
	}
	if commits, err := git.Log(ctx, root, 1); err == nil && len(commits) == 0 {
		text += ", no commit yet"
	} else if err == nil {
		text += fmt.Sprintf(", last commit %s %s", commits[0].Hash, commits[0].Subject)
	}
	lines := []keyValue{{"git", text}}
	if files, err := git.Tracked(ctx, root); err == nil {
		lines = append(lines, keyValue{"files", words.Count(len(files), "tracked file")})
	}
	return lines
}

// talkProject returns the project to talk about; nil, with the directory, if there is none.
func talkProject(app *cmdutil.App) (*project.Project, string, error) {
	pr, err := app.AnyProject()
	if err == nil {
		return pr, pr.Root, nil
	}
	if !errors.Is(err, project.ErrNoProject) {
		return nil, "", err
	}
	dir, err := app.Dir()
	if err != nil {
		return nil, "", err
	}
	dir, err = filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is gone: %w", dir, err)
	}
	return nil, dir, err
}
