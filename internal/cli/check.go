package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/install"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/run/project"
)

type checkOptions struct {
	placeFlags
	verify, json bool
}

func newCheck(app *cmdutil.App) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check",
		Short: "Show what is installed where, and what differs from this gl",
		Long: `Show where the commands and agents are installed, by which gl, and which files differ from this gl's: changed by you,
missing, or from another version. Global commands that hide the project's are listed, because Claude Code prefers them.
A plugin of Claude Code's that has them is named, and so is what answers the commands of Specwright and GSD in a project of theirs. Nothing is written. By default all places of all agents are checked; --global, --local and --agent select.

--verify is for scripts: it exits with 1 if anything differs or nothing is installed.

Exit codes: 0 shown; 1 with --verify, something differs or nothing is installed; 2 wrong usage.`,
		Example: "  gl check\n  gl check --local --verify\n  gl check --json | jq '.places[] | select(.installed)'",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("agent") {
				o.agent = ""
			}
			return runCheck(c.Context(), app, o)
		},
	}
	o.add(c)
	f := c.Flags()
	f.BoolVar(&o.verify, "verify", false, "exit with 1 if anything differs")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

type checkDoc struct {
	SchemaVersion int    `json:"schema_version"`
	Version       string `json:"version"`  // of this gl
	Commands      bool   `json:"commands"` // Claude Code finds /gl:slice from here
	// the name of our plugin as enabled in Claude Code from here; null for none
	Plugin *string      `json:"plugin"`
	Places []checkPlace `json:"places"`
	// the project's commands hidden by the user's own of the same name, relative to the root
	Shadowed []string `json:"shadowed"`
	// of the project's other systems
	Systems []checkSystem `json:"systems"`
	// something is installed, and nothing differs from what this gl installs
	Same bool `json:"same"`
}

type checkPlace struct {
	Agent     string `json:"agent"`
	Scope     string `json:"scope"`
	Dir       string `json:"dir"` // absolute path of the agent's directory
	Installed bool   `json:"installed"`
	// false if nothing is installed or an installation was interrupted; the next gl install
	// completes it
	Complete bool `json:"complete"`
	// of the gl that installed; null if nothing is installed
	Version *string `json:"version"`
	Files   int     `json:"files" jsonschema:"minimum=0"`
	// the file with our part of CLAUDE.md, relative to the root of the scope; null for none
	Memory *string `json:"memory"`
	// what was done about the user's own CLAUDE.md; null for no memory file
	MemoryMode  *string           `json:"memory_mode"`
	Hooks       bool              `json:"hooks"`
	StatusLine  bool              `json:"status_line"`
	Differences []checkDifference `json:"differences"`
	// files in the place of ours that gl hasn't installed
	Loose []string `json:"loose"`
}

type checkSystem struct {
	Name string `json:"name"`
	// the file or plugin that answers its commands; null if agents that gl starts get gl's
	Answered *string `json:"answered"`
	Original bool    `json:"original"` // that isn't gl's, and stays in charge
}

type checkDifference struct {
	Path string `json:"path"`
	What string `json:"what"`
}

func runCheck(ctx context.Context, app *cmdutil.App, o checkOptions) error {
	if o.agent != "" {
		if err := knownAgent(o.agent); err != nil {
			return err
		}
	}
	states, shadowed, err := o.look(ctx, app)
	if err != nil {
		return err
	}
	doc := newCheckDoc(states, shadowed)
	t, err := place(ctx, app, install.Claude, install.Local)
	if err != nil {
		return err
	}
	doc.Plugin = jsondoc.OrNull(install.Plugin(t.Root, app.Getenv))
	if doc.Systems, err = answeredSystems(t.Root, app); err != nil {
		return err
	}
	doc.Commands = doc.Plugin != nil || install.Has(t.Root, "slice", app.Getenv)
	if o.json {
		err = app.IO.JSON(doc)
	} else {
		pr, _ := project.Open(t.Root)
		tellCheck(app, doc, states, sibling(pr))
	}
	if err == nil && o.verify && !doc.Same {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return err
}

// systemStates adds the places of other systems' commands that are installed beside a place.
func (o checkOptions) systemStates(states []*install.State, t install.Target,
	app *cmdutil.App) ([]*install.State, error) {
	if t.Agent != install.Claude {
		return states, nil
	}
	for _, name := range install.Systems() {
		at, err := install.FindSystem(name, t.Scope, t.Root, app.Getenv)
		if err != nil {
			return nil, err
		}
		st, err := at.Check(plugin.ShippedSystem(name))
		if err != nil {
			return nil, err
		}
		if st.Installed {
			states = append(states, st)
		}
	}
	return states, nil
}

// answeredSystems returns what answers the commands of the project's other systems.
func answeredSystems(root string, app *cmdutil.App) ([]checkSystem, error) {
	list := []checkSystem{}
	pr, err := project.Open(root)
	if err != nil {
		return list, nil // no project
	}
	for _, view := range pr.Views() {
		name := view.System().Key
		if !slices.Contains(install.Systems(), name) {
			continue
		}
		answer, err := install.Answers(name, root, app.Getenv)
		if err != nil {
			return nil, err
		}
		list = append(list, checkSystem{name, jsondoc.OrNull(answer.Where),
			answer.Where != "" && !answer.Ours})
	}
	return list, nil
}

// systemText describes what answers a system's commands in one line.
func systemText(app *cmdutil.App, s checkSystem) string {
	switch {
	case s.Answered == nil:
		return s.Name + ": Claude Code finds no commands of its own here. Agents that gl starts get gl's; for your own sessions: gl install --local --system " + s.Name
	case s.Original:
		return s.Name + ": " + short(app, *s.Answered) + " answers its commands, and stays in charge"
	}
	return s.Name + ": gl's commands, in " + short(app, filepath.Dir(filepath.Dir(*s.Answered)))
}

// look checks all places that the flags select. Without a home directory, the user has no places.
func (o checkOptions) look(ctx context.Context,
	app *cmdutil.App) ([]*install.State, []string, error) {
	var states []*install.State
	both := map[install.Scope]install.Target{}
	for _, name := range install.Agents() {
		for _, scope := range []install.Scope{install.Local, install.Global} {
			if o.agent != "" && o.agent != name ||
				o.global != o.local && o.global != (scope == install.Global) {
				continue
			}
			t, err := place(ctx, app, name, scope)
			if err != nil {
				if scope == install.Global && !o.global {
					continue
				}
				return nil, nil, err
			}
			st, err := t.Check(shipped())
			if err != nil {
				return nil, nil, err
			}
			if name == install.Claude {
				both[scope] = t
			}
			states = append(states, st)
			if states, err = o.systemStates(states, t, app); err != nil {
				return nil, nil, err
			}
		}
	}
	var shadowed []string
	if len(both) == 2 {
		shadowed = install.Shadowed(both[install.Global], both[install.Local])
	}
	return states, shadowed, nil
}

func newCheckDoc(states []*install.State, shadowed []string) *checkDoc {
	doc := &checkDoc{SchemaVersion: 1, Version: release(), Places: []checkPlace{},
		Shadowed: jsondoc.OrEmpty(shadowed)}
	count, same := 0, true
	for _, st := range states {
		p := checkPlace{Agent: st.Target.Agent, Scope: string(st.Target.Scope),
			Dir: st.Target.Dir(), Installed: st.Installed, Complete: st.Complete, Files: st.Files,
			Memory: jsondoc.OrNull(st.Memory), MemoryMode: jsondoc.OrNull(st.Mode), Hooks: st.Hooks,
			StatusLine: st.Line, Differences: []checkDifference{}, Loose: jsondoc.OrEmpty(st.Loose)}
		if st.Installed {
			p.Version = &st.Version
			count++
			same = same && st.Same
		}
		for _, d := range st.Diffs {
			p.Differences = append(p.Differences, checkDifference(d))
		}
		doc.Places = append(doc.Places, p)
	}
	doc.Same = count > 0 && same
	return doc
}

// tellCheck prints what was found. others means that only other systems keep the project's state.
func tellCheck(app *cmdutil.App, doc *checkDoc, states []*install.State, others bool) {
	told := false
	for _, st := range states {
		if !st.Installed && len(st.Loose) == 0 {
			continue
		}
		told = true
		app.IO.Printf("%s\n", sanitize.Text(placeText(app, st)))
		for _, d := range st.Diffs {
			app.IO.Printf("  %-8s %s\n", d.What, sanitize.Text(short(app, st.Target.Path(d.Path))))
		}
	}
	if n := len(doc.Shadowed); n > 0 {
		app.IO.Printf("%s%s hidden by yours of the same name in %s\n",
			sanitize.Text(doc.Shadowed[0]), words.MoreAre(n-1),
			sanitize.Text(short(app, personal(app))))
	}
	for _, s := range doc.Systems {
		app.IO.Printf("%s\n", sanitize.Text(systemText(app, s)))
	}
	if doc.Plugin != nil {
		app.IO.Printf("claude, plugin %s: switched on\n", sanitize.Line(*doc.Plugin))
	}
	if others { // /gl: commands are about slices of Greenlight's
		return
	}
	if !told && doc.Plugin == nil {
		app.IO.Printf("Nothing is installed.\n")
	}
	if !doc.Commands {
		app.IO.Printf("%s\n", wrapped(app.IO, "", "Claude Code finds no /gl: commands here. Agents that gl starts get this gl's anyway; "+
			"gl install --global is for your own sessions", 2))
	}
}

func personal(app *cmdutil.App) string {
	t, err := install.Find(install.Claude, install.Global, "", app.Getenv)
	if err != nil {
		return ""
	}
	return t.Dir()
}

// placeText describes a place in one line: "claude, local: .claude: gl 1.2, 34 files, hooks: 2
// files differ".
func placeText(app *cmdutil.App, st *install.State) string {
	t := st.Target
	text := fmt.Sprintf("%s, %s, %s: ", t.Agent, t.Scope, short(app, t.Dir()))
	if t.System != "" {
		text += t.System + "'s commands, "
	}
	if !st.Installed {
		return text + fmt.Sprintf("%s with these names, not installed by gl: %s saves them and writes its own",
			words.Count(len(st.Loose), "file"), t.Command())
	}
	text += fmt.Sprintf("gl %s, %s", st.Version, words.Count(st.Files, "file"))
	if st.Memory != "" {
		text += ", " + short(app, t.Path(st.Memory))
	}
	if st.Hooks {
		text += ", hooks"
	}
	if st.Line {
		text += ", status line"
	}
	switch {
	case !st.Complete:
		return text + "; cut short: run " + t.Command() + " again"
	case st.Version != release() && !st.Same:
		return text + fmt.Sprintf("; this is gl %s: %s", release(), t.Command())
	case !st.Same:
		return text + fmt.Sprintf("; %s from this gl's: %s", differ(len(st.Diffs)), t.Command())
	}
	return text
}

func differ(n int) string {
	if n == 1 {
		return "1 file differs"
	}
	return words.Count(n, "file") + " differ"
}
