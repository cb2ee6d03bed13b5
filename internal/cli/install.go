package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/content"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/suggest"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/install"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
)

// placeFlags are the flags for the place of content, shared by gl install, uninstall and check.
type placeFlags struct {
	global, local bool
	agent, system string
}

type installOptions struct {
	placeFlags
	conflict string
	force    bool
	hooks    bool
	line     bool
	rules    bool
	dryRun   bool
}

func newInstall(app *cmdutil.App) *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:   "install --global|--local",
		Short: "Install the slash commands and agents",
		Long: `Install the /gl: commands, their agents and the texts they refer to where Claude Code finds them: for you in all projects
(--global: ~/.claude or CLAUDE_CONFIG_DIR), or in this project (--local: .claude at the root of the git checkout, or in
this directory if there is none). Agents that gl starts don't need this.

Running it again updates files that you haven't changed. Files that you have changed are kept and listed; --force
overwrites them and keeps a copy. Files of yours with the same names are saved first. gl uninstall restores everything.
If gl install is killed, run it again to finish.

If you have a CLAUDE.md, --on-conflict=keep leaves it alone and writes ours beside it as CLAUDE_GREENLIGHT.md, append adds
ours at its end between markers, and replace saves yours as CLAUDE.md.backup. Without a CLAUDE.md, ours is written.

--hooks adds our hooks to settings.json: sessions start with the project's state, writes to files that belong to gl are
refused, and a session that leaves its slice in progress is asked why. --statusline sets statusLine to gl statusline; a
status line of yours is kept unless you use --force, and gl uninstall restores it.

--permissions adds rules to settings.json, so that a session isn't asked about every call of gl, about the /gl: commands that it may start by
itself and, with --local, about the project's test command. What a command allows itself lapses after its first turn.

--system specwright|gsd installs that system's commands instead (/sw-build, /gsd-plan-phase and the others), for projects where the original
isn't installed; where it is found, gl installs nothing.

--agent codex|gemini|opencode installs the same commands in that agent's format. With --local, Codex reads them only in
projects it trusts, and Gemini CLI asks about them once.

Exit codes: 0 installed, or nothing to do; 1 it failed; 2 wrong usage.`,
		Example: "  gl install --global\n  gl install --local --hooks --on-conflict=append\n  gl install --global --agent gemini\n" +
			"  gl install --local --dry-run",
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runInstall(c.Context(), app, o) },
	}
	f := c.Flags()
	o.placeFlags.add(c)
	o.placeFlags.addSystem(c)
	f.StringVar(&o.conflict, "on-conflict", "", "if you have a CLAUDE.md, `WAY` is keep, append or replace (default: as installed before, else keep)")
	f.BoolVar(&o.force, "force", false, "overwrite files that you have changed, keeping a copy")
	f.BoolVar(&o.hooks, "hooks", false, "add the hooks to settings.json")
	f.BoolVar(&o.rules, "permissions", false, "allow gl and the test command in settings.json")
	f.BoolVar(&o.line, "statusline", false, "set the status line in settings.json")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done without doing it")
	_ = c.RegisterFlagCompletionFunc("on-conflict",
		cobra.FixedCompletions(conflicts(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (p *placeFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&p.global, "global", false, "for you, in all projects")
	f.BoolVar(&p.local, "local", false, "for this project")
	f.StringVar(&p.agent, "agent", install.Claude,
		"for the agent `NAME`: "+strings.Join(install.Agents(), ", "))
	_ = c.RegisterFlagCompletionFunc("agent",
		cobra.FixedCompletions(install.Agents(), cobra.ShellCompDirectiveNoFileComp))
}

func (p *placeFlags) addSystem(c *cobra.Command) {
	c.Flags().StringVar(&p.system, "system", "", "the commands of the system `NAME` instead: "+
		strings.Join(install.Systems(), ", "))
	_ = c.RegisterFlagCompletionFunc("system",
		cobra.FixedCompletions(install.Systems(), cobra.ShellCompDirectiveNoFileComp))
}

func conflicts() []string {
	return []string{string(install.Theirs), string(install.Append), string(install.Replace)}
}

// target returns the place that the flags name.
func (p placeFlags) target(ctx context.Context, app *cmdutil.App,
	verb string) (install.Target, error) {
	if p.global == p.local {
		return install.Target{}, cmdutil.Usage("use gl %s --global (for you, in all projects) or gl %s --local (for this project)", verb, verb)
	}
	if err := knownAgent(p.agent); err != nil {
		return install.Target{}, err
	}
	if err := p.knownSystem(); err != nil {
		return install.Target{}, err
	}
	scope := install.Local
	if p.global {
		scope = install.Global
	}
	t, err := place(ctx, app, p.agent, scope)
	if err == nil && p.local {
		global, errGlobal := place(ctx, app, p.agent, install.Global)
		if errGlobal == nil && global.Path(global.Home) == t.Path(t.Home) {
			return t, cmdutil.Usage("%s holds your own configuration, it isn't a project: use gl %s --global", t.Root, verb)
		}
	}
	if err == nil && p.system != "" {
		root := t.Root
		if p.global {
			root = ""
		}
		return install.FindSystem(p.system, scope, root, app.Getenv)
	}
	return t, err
}

// knownSystem checks --system.
func (p placeFlags) knownSystem() error {
	switch {
	case p.system == "":
		return nil
	case !slices.Contains(install.Systems(), p.system):
		return cmdutil.Usage("--system must be %s", cmdutil.MustBe(p.system, install.Systems()))
	case p.agent != install.Claude:
		return cmdutil.Usage("--system is only for %s: other agents have no slash commands of other systems",
			install.Claude)
	}
	return nil
}

func knownAgent(name string) error {
	if slices.Contains(install.Agents(), name) {
		return nil
	}
	text := fmt.Sprintf("--agent must be one of %s, not %q",
		strings.Join(install.Agents(), ", "), name)
	if meant := suggest.Match(name, install.Agents()); meant != "" {
		text += fmt.Sprintf(", did you mean %s?", meant)
	}
	return cmdutil.Usage("%s", text)
}

// place returns where an agent's content goes; locally that is the root of the checkout, or of the
// project, or the current directory.
func place(ctx context.Context, app *cmdutil.App, name string,
	scope install.Scope) (install.Target, error) {
	root := ""
	if scope == install.Local {
		dir, err := app.Dir()
		if err != nil {
			return install.Target{}, err
		}
		if root, err = git.Root(ctx, dir); err != nil {
			if root, err = project.Find(dir, app.Getenv); err != nil {
				root = dir
			}
		}
	}
	return install.Find(name, scope, root, app.Getenv)
}

// shipped returns the content of this gl.
func shipped() install.Content {
	plugin, _ := fs.Sub(content.Plugin, "plugin") // embedded, so it exists
	return install.Content{Plugin: plugin, Memory: []byte(content.Standards)}
}

func runInstall(ctx context.Context, app *cmdutil.App, o installOptions) error {
	if o.conflict != "" && !slices.Contains(conflicts(), o.conflict) {
		return cmdutil.Usage("--on-conflict must be %s, not %q",
			strings.Join(conflicts(), ", "), o.conflict)
	}
	t, err := o.target(ctx, app, "install")
	if err != nil {
		return err
	}
	if t.System != "" && o.conflict != "" {
		return cmdutil.Usage("--on-conflict isn't for --system, which writes no CLAUDE.md")
	}
	if t.Settings == "" && (o.hooks || o.line || o.rules) {
		return cmdutil.Usage("--hooks, --permissions and --statusline are only for %s",
			install.Claude)
	}
	rules, err := o.permissions(app)
	if err != nil {
		return err
	}
	what := shipped()
	if t.System != "" {
		what = plugin.ShippedSystem(t.System)
		if err := notAnswered(app, t); err != nil {
			return err
		}
	}
	r, err := t.Install(ctx, what,
		install.Options{Version: release(), Conflict: install.Conflict(o.conflict), Force: o.force,
			Hooks: o.hooks, StatusLine: o.line, Permissions: rules, DryRun: o.dryRun})
	if err != nil {
		return err
	}
	tellSteps(app, t, r, o.dryRun)
	where := sanitize.Text(short(app, t.Dir()))
	switch n := r.Changed(); {
	case o.dryRun && n == 0, n == 0:
		app.IO.Printf("Nothing to do: %s matches gl %s\n", where, release())
	case o.dryRun:
		app.IO.Printf("Would change %s for %s in %s\n", words.Count(n, "file"), t.Agent, where)
	case !r.Found:
		app.IO.Printf("Installed gl %s for %s into %s (%s)\n", release(), t.Agent, where,
			words.Count(n, "file"))
	case r.From != release():
		app.IO.Printf("Updated %s from gl %s to %s (%s)\n", where, sanitize.Text(r.From), release(),
			words.Count(n, "file"))
	default:
		app.IO.Printf("Updated %s (%s)\n", where, words.Count(n, "file"))
	}
	hintMemory(app.IO, t, r)
	if !r.Found && t.Settings != "" && !o.rules && !o.dryRun {
		app.IO.Message("your own sessions ask before they call gl: %s --permissions lets them",
			t.Command())
	}
	return nil
}

// notAnswered returns an error if something other than gl answers the commands of the target's
// system: the original stays in charge.
func notAnswered(app *cmdutil.App, t install.Target) error {
	dir, err := app.Dir()
	if err != nil {
		return err
	}
	if t.Scope == install.Local {
		dir = t.Root
	}
	answer, err := install.Answers(t.System, dir, app.Getenv)
	if err == nil && answer.Where != "" && !answer.Ours {
		err = fmt.Errorf("%s answers %s's commands here, and stays in charge: nothing was installed",
			short(app, answer.Where), project.SystemName(t.System))
	}
	return err
}

// permissions returns the rules to install; none if they aren't wanted.
func (o installOptions) permissions(app *cmdutil.App) ([]string, error) {
	if !o.rules {
		return nil, nil
	}
	var more []string
	if pr, err := app.Project(); o.local && err == nil && pr.Config.Test.Command.IsSet() {
		more = append(more, pr.Config.Test.Command.Line)
	}
	return install.Rules(shipped(), more...)
}

// tellSteps prints what was done beyond writing our own files; everything for a dry run and with
// --verbose.
func tellSteps(app *cmdutil.App, t install.Target, r *install.Result, all bool) {
	for _, s := range r.Steps {
		plainWrite := (s.Do == install.Write || s.Do == install.Upgrade ||
			s.Do == install.Remove) && s.Note == ""
		if plainWrite && !all && !app.IO.Verbose {
			continue
		}
		line := fmt.Sprintf("%-8s %s", s.Do, short(app, t.Path(s.Path)))
		if s.Note != "" {
			line += ": " + s.Note
		}
		app.IO.Printf("%s\n", sanitize.Text(line))
	}
	if kept := slices.ContainsFunc(r.Steps, func(s install.Step) bool {
		return s.Do == install.Keep
	}); kept {
		app.IO.Message("files that you changed were kept: %s --force overwrites them and keeps copies", t.Command())
	}
}

// hintMemory prints what is left to do if ours is next to the user's CLAUDE.md.
func hintMemory(out *iostreams.Streams, t install.Target, r *install.Result) {
	for _, s := range r.Steps {
		if name, ours := strings.CutSuffix(filepath.Base(s.Path), "_GREENLIGHT.md"); ours &&
			s.Do == install.Write {
			out.Message("your %s.md wasn't changed. To include ours, add the line @%s to it, or run %s --on-conflict=append",
				name, filepath.Base(s.Path), t.Command())
		}
	}
}

// short returns a path in the short form: with ~, or relative to the current directory.
func short(app *cmdutil.App, path string) string {
	dir, _ := app.Dir() // if the directory is gone, no path is relative to it
	return paths.Short(path, dir, app.Getenv("HOME"))
}
