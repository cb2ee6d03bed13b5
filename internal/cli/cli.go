// Package cli is the command line: the commands, one file each, their flags, their words and their exit codes. It
// alone prints. What a command does is in the packages below.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/gsd"
	"greenlight/internal/cli/sw"
	"greenlight/internal/rehearsal"
	"greenlight/internal/runner"
)

// Main runs one command line and returns its exit code. Standard input, output and error needn't be terminals or
// even files.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	app := cmdutil.NewApp(stdin, stdout, stderr, environ)
	if len(args) > 0 {
		switch args[0] { // the processes of an attempt: a slot waits for them, so they need no command tree
		case attempt.GateArg:
			return attempt.Gate(args[1:])
		case runner.WrapperCommand:
			return cmdutil.Exit(app.IO, runAttempt(ctx, app, args[1:]))
		case rehearsal.Command:
			self, err := cmdutil.Self()
			if err != nil {
				return cmdutil.Exit(app.IO, err)
			}
			return rehearsal.Main(ctx, self, args[1:], app.Getenv, stdout, stderr)
		case hookCommand: // at every edit of an agent; a newer plugin's words that this gl doesn't know must not refuse it
			if len(args) > 1 && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
				return cmdutil.Exit(app.IO, runHook(app, args[1]))
			}
		}
	}
	if compact, ok := statuslineArgs(args); ok {
		printStatusline(app, compact)
		return cmdutil.ExitOK
	}
	debug.SetGCPercent(400) // most commands are over before collecting pays; a drain takes it back
	root := newRoot(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if word, ok := strings.CutPrefix(fmt.Sprint(err), "unknown command "); ok && !errors.As(err, new(*cmdutil.ExitError)) {
		if word, unquoteErr := strconv.QuotedPrefix(word); unquoteErr == nil {
			word, _ = strconv.Unquote(word)
			err = noSuchCommand(root, []string{word})
		}
	}
	// A drain goes on when its reader has gone away, and what became of the work is its result.
	if failed := app.IO.WriteError(); failed != nil && !errors.Is(failed, syscall.EPIPE) && !errors.Is(err, failed) {
		return max(cmdutil.Exit(app.IO, failed), cmdutil.Exit(app.IO, err))
	}
	return cmdutil.Exit(app.IO, err)
}

const aboutGl = `Greenlight runs coding agents through your task graph, in parallel, and survives crashes.` + "\n" + cmdutil.ExitHelp + `

If its output is closed, gl ends by SIGPIPE like any Unix filter (141 in a shell), but gl slice keeps running and exits by
the result of the work. Output that can't be written for another reason is an error (1).`

func newRoot(app *cmdutil.App) *cobra.Command {
	root := &cobra.Command{
		Use:               "gl",
		Short:             "Run coding agents through a task graph, in parallel",
		Long:              aboutGl,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return app.CheckGlobals() },
	}
	root.SetOut(app.IO)
	root.SetErr(app.IO.Err)
	root.SetIn(app.IO.In)
	root.SetFlagErrorFunc(cmdutil.FlagError)
	globalFlags(app, root)
	var order []*cobra.Command
	for _, g := range commandGroups(app, root) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
		order = append(order, g.commands...)
	}
	root.AddCommand(newEnvironment())
	root.SetHelpCommand(newHelp(app, root, order))
	root.SetHelpCommandGroupID(groupAdmin)
	return root
}

// globalFlags are those of every command.
func globalFlags(app *cmdutil.App, root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVarP(&app.DirFlag, "directory", "C", "", "run as if started in `DIR`")
	f.StringVar(&app.ContextFlag, "context", "", "behave as if called from `WHERE`: shell or claude (default: detect)")
	f.StringVar(&app.SystemFlag, "system", "", "state `FORMAT` to use: greenlight, specwright or gsd (default: the first one found, in this order)")
	f.BoolVar(&app.IO.NoColor, "no-color", false, "no color")
	f.BoolVar(&app.IO.NoPager, "no-pager", false, "don't use a pager")
	f.BoolVarP(&app.IO.Verbose, "verbose", "v", false, "print each decision and command line to stderr")
	cmdutil.CompleteFlag(root, "context", cmdutil.Contexts)
	cmdutil.CompleteFlag(root, "system", app.Systems)
	_ = root.MarkPersistentFlagDirname("directory")
}

type commandGroup struct {
	id, title string
	commands  []*cobra.Command
}

// groupAdmin is also that of gl help, which cobra adds by itself.
const groupAdmin = "admin"

// commandGroups are the commands in the order in which the help lists them.
func commandGroups(app *cmdutil.App, root *cobra.Command) []commandGroup {
	type list = []*cobra.Command
	return []commandGroup{
		{"begin", "Project lifecycle:", list{newInit(app), newDesign(app), cmdutil.Paged(app, newRoadmap(app))}},
		{"build", "Building:", list{newSlice(app), newQuick(app), newRehearse(app), newAccept(app), newReject(app), newRetry(app)}},
		{"state", "State and progress:", list{cmdutil.Paged(app, newStatus(app)), cmdutil.Paged(app, newWhy(app)), cmdutil.Paged(app, newGraph(app)),
			cmdutil.Paged(app, newLogs(app), "follow"), cmdutil.Paged(app, newDebug(app), "run-tests"), cmdutil.Paged(app, newChangelog(app)), newStatusline(app)}},
		{"run", "Running sessions:", list{newAttach(app), newTrust(app), newStop(app), newHold(app)}},
		{"code", "Existing code:", list{newAssess(app), newMap(app), newWrap(app)}},
		{"release", "Release:", list{newShip(app)}},
		{"session", "Session:", list{newPause(app), newResume(app)}},
		{"files", "State, for slash commands and scripts:",
			list{newState(app), newAddSlice(app), newMigrate(app), newSettings(app), newDoctor(app)}},
		{"siblings", "Sibling formats:", list{sw.New(app), gsd.New(app)}},
		{groupAdmin, "Admin:", list{newInstall(app), newUninstall(app), newCheck(app), newHook(app), newRef(app), newDemo(app),
			newCompletion(app, root), newVersion(app)}},
	}
}
