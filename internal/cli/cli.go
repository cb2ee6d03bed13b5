// Package cli is the command line: the commands, one file each, with their flags, output and exit
// codes. Only this package prints. The packages below do the work.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"greenlight/internal/base/command"
	"greenlight/internal/base/relay"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/runner"
)

// Main runs one command line of gl and returns its exit code. Standard input, output and error
// needn't be terminals or even files.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	environ []string) int {
	app := cmdutil.NewApp(stdin, stdout, stderr, environ)
	app.Args = args
	if socket := app.Getenv(relay.Variable); socket != "" && !staysLocal(args) {
		return cmdutil.Exit(app.IO, forward(ctx, socket, args, app.IO))
	}
	if code, ok := process(ctx, app, args); ok {
		return code
	}
	if compact, ok := statuslineArgs(args); ok {
		printStatusline(app, compact)
		return cmdutil.ExitOK
	}
	root := newGl(app, args)
	args, err := guessed(root, args)
	if err != nil {
		return cmdutil.Exit(app.IO, err)
	}
	return execute(ctx, app, root, args)
}

// process runs what gl starts itself with. It skips the commands, because a slot or an agent waits
// for it. ok is false if the arguments are a person's.
func process(ctx context.Context, app *cmdutil.App, args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case runner.WrapperCommand:
		return cmdutil.Exit(app.IO, runAttempt(ctx, app, args[1:])), true
	case runner.QueueCommand:
		return cmdutil.Exit(app.IO, runQueueWorker(ctx, app, args[1:])), true
	case rehearsal.Command:
		self, err := cmdutil.Self()
		if err != nil {
			return cmdutil.Exit(app.IO, err), true
		}
		return rehearsal.Main(ctx, self, args[1:], app.Getenv, app.IO, app.IO.Err), true
	case hookCommand:
		// runs at every edit of an agent; an unknown hook of a newer plugin must not refuse the
		// edit
		if len(args) > 1 && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
			return cmdutil.Exit(app.IO, runHook(app, args[1])), true
		}
	}
	return agentProcess(args)
}

// agentProcess runs what is started between gl and an agent. ok is false if the arguments aren't
// for it.
func agentProcess(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case command.GateArg:
		return command.Gate(args[1:]), true
	case command.InsideArg:
		return command.Inside(args[1:]), true
	}
	return 0, false
}

// execute runs a command line with the commands of root.
func execute(ctx context.Context, app *cmdutil.App, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if word, ok := strings.CutPrefix(fmt.Sprint(err), "unknown command "); ok &&
		!errors.As(err, new(*cmdutil.ExitError)) {
		if word, unquoteErr := strconv.QuotedPrefix(word); unquoteErr == nil {
			word, _ = strconv.Unquote(word)
			err = noSuchCommand(root, []string{word})
		}
	}
	// A run continues when its reader is gone, and its result is that of the work.
	if failed := app.IO.WriteError(); failed != nil && !errors.Is(failed, syscall.EPIPE) &&
		!errors.Is(err, failed) {
		return max(cmdutil.Exit(app.IO, failed), cmdutil.Exit(app.IO, err))
	}
	return cmdutil.Exit(app.IO, err)
}

const tagline = "Greenlight (gl) runs coding agents through your task graph, in parallel, and survives crashes."

const aboutGl = tagline + "\n\nCalled alone, gl shows where this project is and what comes next.\n" + cmdutil.ExitHelp + `

If its output is closed, gl ends by SIGPIPE like any Unix filter (141 in a shell), but gl slice keeps running and exits by
the result of the work. Output that can't be written for another reason is an error (1).`

// newGl returns the root command with what a command line of gl needs.
func newGl(app *cmdutil.App, args []string) *cobra.Command {
	groups, all := needed(commandGroups(), args)
	root := newRoot(app, groups)
	withFront(app, root)
	if all {
		root.AddCommand(topics()...)
	}
	return root
}

// newRoot returns the root command with these commands.
func newRoot(app *cmdutil.App, groups []commandGroup) *cobra.Command {
	root := &cobra.Command{
		Use:           "gl",
		Short:         "Run coding agents through a task graph, in parallel",
		Long:          aboutGl,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := app.CheckGlobals(); err != nil {
				return err
			}
			return permitted(c, app, args)
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true // gl completion is gl's own
	root.SetOut(app.IO)
	root.SetErr(app.IO.Err)
	root.SetIn(app.IO.In)
	root.SetFlagErrorFunc(cmdutil.FlagError)
	globalFlags(app, root)
	var order []*cobra.Command
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, entry := range g.commands {
			c := entry.make(app)
			c.GroupID = g.id
			root.AddCommand(c)
			order = append(order, c)
		}
	}
	root.Version = versionInfo().line()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp(app, root, order))
	root.SetHelpCommandGroupID(groupAdmin)
	return root
}

// hasCommand reports whether a word is one of gl's commands.
func hasCommand(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return c.Name() == word && c.GroupID != ""
	})
}

// globalFlags adds the flags of every command.
func globalFlags(app *cmdutil.App, root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVarP(&app.DirFlag, "directory", "C", "", "run as if started in `DIR`")
	f.StringVar(&app.ContextFlag, "context", "",
		"behave as if called from `WHERE`: shell or claude (default: detect)")
	f.StringVar(&app.SystemFlag, "system", "", "state `FORMAT` to use: greenlight, specwright or gsd (default: the first one found, in this order)")
	f.BoolVar(&app.IO.NoColor, "no-color", false, "no color")
	f.BoolVar(&app.IO.NoPager, "no-pager", false, "don't use a pager")
	f.BoolVarP(&app.IO.Quiet, "quiet", "q", false,
		"print only what was asked for, warnings and errors")
	f.BoolVarP(&app.IO.Verbose, "verbose", "v", false,
		"print each decision and command line to stderr")
	cmdutil.CompleteFlag(root, "context", cmdutil.Contexts)
	cmdutil.CompleteFlag(root, "system", app.Systems)
	_ = root.MarkPersistentFlagDirname("directory")
}
