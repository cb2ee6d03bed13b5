package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
)

type trustOptions struct{ yes, revoke, json bool }

func newTrust(app *cmdutil.App) *cobra.Command {
	var o trustOptions
	c := &cobra.Command{
		Use:   "trust",
		Short: "Allow the commands that this project's config names",
		Long: `Show the commands that .greenlight/config.json names (agents, arguments for claude, the test command, setup and teardown of
worktrees and their place, directories that a sandbox may write to), and the commands of gates in .specwright/config.json, and ask whether gl may run them. Where slices are built in worktrees, the filters in the
repository's .git/config are among them, because git runs those while it fills a worktree. A repository that you cloned can name any command there, even under the name claude; gl runs none of them before
you have allowed it, and asks again when it changes. Other settings may change freely, but for a sandbox that you have turned on. What you set with gl settings set is
allowed by that.

What you have allowed is kept in your own configuration directory ($XDG_CONFIG_HOME/greenlight or ~/.config/greenlight), by
the project's path. It covers the command lines, not what the programs do: a script in the repository can change without
being asked about.

Exit codes: 0 allowed, or nothing to allow; 1 not allowed, or it failed; 2 wrong usage.`,
		Example: "  gl trust\n  gl trust --yes        in CI, where no one can answer\n  gl trust --revoke",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.yes && o.revoke {
				return cmdutil.Usage("use --yes or --revoke, not both")
			}
			return runTrust(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "allow them without asking")
	f.BoolVar(&o.revoke, "revoke", false, "forget what you have allowed in this project")
	f.BoolVar(&o.json, "json", false, "print one JSON document, and ask nothing")
	return c
}

// A trustDoc is the commands of a project's configuration, and which of them this person has
// allowed, after the command.
type trustDoc struct {
	SchemaVersion int            `json:"schema_version"`
	Root          string         `json:"root"`
	Commands      []trustCommand `json:"commands"`
}

type trustCommand struct {
	Key     string `json:"key"`     // key of the setting
	Line    string `json:"line"`    // the command line
	Allowed bool   `json:"allowed"` // false if new or changed
}

func runTrust(ctx context.Context, app *cmdutil.App, o trustOptions) error {
	if o.yes || o.revoke {
		app.IO.Hush()
	}
	if app.Inside() {
		return errors.New("gl trust is for a person: run it in a terminal of your own")
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	store := trust.Open(app.Getenv)
	if o.revoke {
		return revoke(ctx, app, store, pr.Root, o.json)
	}
	commands, err := allCommands(ctx, app, pr)
	if err != nil {
		return err
	}
	pending, err := store.Pending(pr.Root, commands)
	if err != nil {
		return err
	}
	commands = slices.DeleteFunc(commands, func(c trust.Command) bool {
		return c.Free && !slices.Contains(pending, c)
	})
	if o.json {
		return trustJSON(ctx, app, pr, store, commands, pending, o.yes)
	}
	if len(commands) == 0 {
		app.IO.Printf("%s names no commands.\n", project.ConfigFile)
		return nil
	}
	app.IO.Printf("%s in %s name%s:\n", trust.Files(commands), sanitize.Text(pr.Root),
		singular(commands))
	printCommands(app, commands, pending)
	if len(pending) == 0 {
		app.IO.Printf("All of them are allowed.\n")
		return nil
	}
	if !o.yes && !app.Confirm("Allow gl to run "+them(pending)+"?") {
		if !app.IO.Interactive() {
			return errors.New("gl trust asks a question and needs a terminal: gl trust --yes allows what is listed without asking")
		}
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed, Err: errors.New("nothing was allowed")}
	}
	if err := allow(ctx, app, store, pr.Root, pending); err != nil {
		return err
	}
	return pr.Proposals().Decided(ctx, pending)
}

// revoke forgets what this person has allowed in the project.
func revoke(ctx context.Context, app *cmdutil.App, store trust.Store, root string,
	asJSON bool) error {
	if err := store.Revoke(ctx, root); err != nil {
		return err
	}
	if asJSON {
		return app.IO.JSON(trustDoc{1, root, []trustCommand{}})
	}
	app.IO.Printf("Nothing is allowed in %s now.\n", sanitize.Text(root))
	return nil
}

// allCommands returns the commands in the project's and its repository's configuration.
func allCommands(ctx context.Context, app *cmdutil.App,
	pr *project.Project) ([]trust.Command, error) {
	s, err := pr.Settings()
	if err != nil {
		return nil, err
	}
	commands, err := s.Commands()
	if err != nil { // unreadable commands aren't run
		app.IO.Message("warning: %s: %v", project.ConfigFile, err)
	}
	commands = append(commands, pr.MustAllow().ForGates()...)
	filters, err := pr.MustAllow().Filters(ctx)
	return append(commands, filters...), err
}

// trustJSON prints the commands; with yes it allows them first.
func trustJSON(ctx context.Context, app *cmdutil.App, pr *project.Project, store trust.Store,
	commands, pending []trust.Command, yes bool) error {
	if yes && len(pending) > 0 {
		if err := errors.Join(store.Allow(ctx, pr.Root, pending),
			pr.Proposals().Decided(ctx, pending)); err != nil {
			return err
		}
		pending = nil
	}
	doc := trustDoc{1, pr.Root, []trustCommand{}}
	for _, c := range commands {
		doc.Commands = append(doc.Commands,
			trustCommand{c.Key, c.Line, !slices.Contains(pending, c)})
	}
	if err := app.IO.JSON(doc); err != nil || len(pending) == 0 {
		return err
	}
	return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
}

// singular returns the ending of a verb whose subject is the files that name the commands.
func singular(commands []trust.Command) string {
	if strings.Contains(trust.Files(commands), " and ") {
		return ""
	}
	return "s"
}

// them returns the pronoun for some commands.
func them(commands []trust.Command) string {
	if len(commands) == 1 {
		return "it"
	}
	return "them"
}

// printCommands prints the commands in full, safe for a terminal: exactly these are allowed.
func printCommands(app *cmdutil.App, commands, pending []trust.Command) {
	for _, c := range commands {
		mark := ""
		if len(pending) < len(commands) && slices.Contains(pending, c) {
			mark = " (new or changed)"
		}
		app.IO.Printf("  %s%s: %s\n", plainLine(c.Key), mark, plainLine(c.Line))
	}
}

// plainLine returns the whole text on one line, with each character visible.
func plainLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(sanitize.Text(text))
}

func allow(ctx context.Context, app *cmdutil.App, store trust.Store, root string,
	commands []trust.Command) error {
	if err := store.Allow(ctx, root, commands); err != nil {
		return err
	}
	app.IO.Printf("Allowed %s in %s.\n", words.Count(len(commands), "command"), sanitize.Text(root))
	return nil
}

// permit returns an error unless this person has allowed the commands of the project at root that
// are about to run. On a terminal it asks.
func permit(ctx context.Context, app *cmdutil.App, root string, commands []trust.Command) error {
	store := trust.Open(app.Getenv)
	pending, err := store.Pending(root, commands)
	if err != nil || len(pending) == 0 {
		return err
	}
	if !app.Inside() && app.IO.Interactive() {
		app.IO.Printf("%s in %s name%s what you haven't allowed yet:\n", trust.Files(pending),
			sanitize.Text(root), singular(pending))
		printCommands(app, pending, pending)
		if app.Confirm("Allow gl to run " + them(pending) + "?") {
			return allow(ctx, app, store, root, pending)
		}
	}
	return &trust.Error{Commands: pending}
}

// remember records a person's choice, so that the repository can't undo it.
func remember(ctx context.Context, app *cmdutil.App, root string, choice trust.Command) error {
	store := trust.Open(app.Getenv)
	if store.Recorded(root, choice) {
		return nil
	}
	return store.Allow(ctx, root, []trust.Command{choice})
}

// noteTrust notes in a dry run that the agent's command isn't allowed yet.
func noteTrust(ctx context.Context, app *cmdutil.App, pr *project.Project, agents ...agent.Agent) {
	commands, err := pr.MustAllow().ForAgents(ctx, agents...)
	if err != nil { // the run reports it
		return
	}
	pending, err := trust.Open(app.Getenv).Pending(pr.Root, commands)
	if err != nil || len(pending) == 0 {
		return
	}
	verb := "aren't"
	if len(pending) == 1 {
		verb = "isn't"
	}
	app.IO.Message("%s %s allowed yet: gl trust shows %s and asks", trust.Keys(pending), verb,
		them(pending))
}
