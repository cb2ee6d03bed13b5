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
	"greenlight/internal/cli/gsd"
	"greenlight/internal/cli/sw"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/runner"
)

// Main runs one command line and returns its exit code. Standard input, output and error needn't be
// terminals or even files.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	environ []string) int {
	app := cmdutil.NewApp(stdin, stdout, stderr, environ)
	app.Args = args
	if socket := app.Getenv(relay.Variable); socket != "" && !staysLocal(args) {
		return cmdutil.Exit(app.IO, forward(ctx, socket, args, app.IO))
	}
	if len(args) > 0 {
		switch args[0] {
		// the processes of an attempt skip the command tree, because a slot waits for them
		case command.GateArg:
			return command.Gate(args[1:])
		case command.InsideArg:
			return command.Inside(args[1:])
		case runner.WrapperCommand:
			return cmdutil.Exit(app.IO, runAttempt(ctx, app, args[1:]))
		case runner.QueueCommand:
			return cmdutil.Exit(app.IO, runQueueWorker(ctx, app, args[1:]))
		case rehearsal.Command:
			self, err := cmdutil.Self()
			if err != nil {
				return cmdutil.Exit(app.IO, err)
			}
			return rehearsal.Main(ctx, self, args[1:], app.Getenv, stdout, stderr)
		case hookCommand:
			// runs at every edit of an agent; an unknown hook of a newer plugin must not refuse the
			// edit
			if len(args) > 1 && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
				return cmdutil.Exit(app.IO, runHook(app, args[1]))
			}
		}
	}
	if compact, ok := statuslineArgs(args); ok {
		printStatusline(app, compact)
		return cmdutil.ExitOK
	}
	args, err := guessed(args)
	if err != nil {
		return cmdutil.Exit(app.IO, err)
	}
	root := newRoot(app, soleCommand(args))
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	if word, ok := strings.CutPrefix(fmt.Sprint(err), "unknown command "); ok &&
		!errors.As(err, new(*cmdutil.ExitError)) {
		if word, unquoteErr := strconv.QuotedPrefix(word); unquoteErr == nil {
			word, _ = strconv.Unquote(word)
			err = noSuchCommand(root, []string{word})
		}
	}
	// A drain continues when its reader is gone, and its result is that of the work.
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

// newRoot returns the root command with all commands, or with just the one named only, because
// creating all takes longer than most commands run.
func newRoot(app *cmdutil.App, only string) *cobra.Command {
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
	root.SetOut(app.IO)
	root.SetErr(app.IO.Err)
	root.SetIn(app.IO.In)
	root.SetFlagErrorFunc(cmdutil.FlagError)
	globalFlags(app, root)
	withFront(app, root)
	var order []*cobra.Command
	for _, g := range commandGroups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, maker := range g.commands {
			if only != "" && maker.name != only {
				continue
			}
			c := maker.make(app)
			c.GroupID = g.id
			root.AddCommand(c)
			order = append(order, c)
		}
	}
	if only == "" {
		root.AddCommand(topics()...)
		root.Version = versionInfo().line()
		root.SetVersionTemplate("{{.Version}}\n")
	}
	root.SetHelpCommand(newHelp(app, root, order))
	root.SetHelpCommandGroupID(groupAdmin)
	return root
}

// noCommand is what gl alone needs of the commands.
const noCommand = "-"

// soleCommand returns the command that the arguments certainly name, "" if only the whole tree can
// tell: for typing errors, leading flags, help and completions. Without it, every start makes all
// commands: 0.6 ms of CPU, of the 3 over a hello world that gl version may take.
func soleCommand(args []string) string {
	if len(args) == 0 {
		return noCommand
	}
	for _, g := range commandGroups() {
		for _, maker := range g.commands {
			if maker.name == args[0] {
				return args[0]
			}
		}
	}
	return ""
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

type commandGroup struct {
	id, title string
	commands  []maker
}

// A maker creates the command of that name.
type maker struct {
	name string
	make func(*cmdutil.App) *cobra.Command
}

func paged(f func(*cmdutil.App) *cobra.Command, flags ...string) func(*cmdutil.App) *cobra.Command {
	return func(app *cmdutil.App) *cobra.Command { return cmdutil.Paged(app, f(app), flags...) }
}

// changes and telling apply cmdutil.Changes and cmdutil.Telling to a command.
func changes(f func(*cmdutil.App) *cobra.Command) func(*cmdutil.App) *cobra.Command {
	return func(app *cmdutil.App) *cobra.Command { return cmdutil.Changes(app, f(app)) }
}

func telling(f func(*cmdutil.App) *cobra.Command) func(*cmdutil.App) *cobra.Command {
	return func(app *cmdutil.App) *cobra.Command { return cmdutil.Telling(app, f(app)) }
}

// groupAdmin is also the group of gl help, which cobra adds.
const groupAdmin = "admin"

// commandGroups returns the commands in the order of the help.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"begin", "Project lifecycle:", []maker{{"init", telling(newInit)}, {"design", newDesign},
			{"roadmap", paged(newRoadmap)}}},
		{"build", "Building:", []maker{{"slice", newSlice}, {"quick", newQuick},
			{"rehearse", newRehearse}, {"retry", telling(newRetry)}, {"edit", changes(newEdit)},
			{"remove", changes(newRemove)}, {"rename", changes(newRename)}}},
		{"review", "Review:", []maker{{"review", newReview}, {"diff", paged(newDiff, "tool")},
			{"accept", changes(newAccept)}, {"reject", changes(newReject)},
			{"answer", changes(newAnswer)}, {"verify", telling(newVerify)},
			{"land", changes(newLand)}, {"undo", changes(newUndo)},
			{"salvage", paged(newSalvage, "to", "branch")}, {"clean", newClean}}},
		{"state", "State and progress:", []maker{{"status", paged(newStatus, "watch")}, {"why",
			paged(newWhy)}, {"board", newBoard}, {"web", newWeb}, {"report", newReport}, {"graph", paged(newGraph)},
			{"events", paged(newEvents, "follow")}, {"cost", paged(newCost)}, {"budget", newBudget},
			{"logs", paged(newLogs, "follow")}, {"debug", paged(newDebug, "run-tests")},
			{"changelog", paged(newChangelog)},
			{"statusline", newStatusline}}},
		{"run", "Running sessions:", []maker{{"attach", newAttach}, {"say", changes(newSay)},
			{"do", newDo}, {"trust", newTrust}, {"stop", telling(newStop)}, {"hold", newHold}}},
		{"machines", "Other machines:", []maker{{"serve", newServe}, {"workers", paged(newWorkers)}, {"worker", newWorker}}},
		{"code", "Existing code:",
			[]maker{{"assess", newAssess}, {"map", newMap}, {"wrap", newWrap}}},
		{"release", "Release:", []maker{{"ship", newShip}}},
		{"session", "Session:", []maker{{"pause", telling(newPause)}, {"resume", newResume}}},
		{"files", "State, for slash commands and scripts:",
			[]maker{{"state", newState}, {"add-slice", newAddSlice},
				{"migrate", telling(newMigrate)}, {"settings", newSettings},
				{"doctor", newDoctor}}},
		{"siblings", "Sibling formats:", []maker{{"sw", sw.New}, {"gsd", gsd.New}}},
		{groupAdmin, "Admin:", []maker{{"install", changes(newInstall)},
			{"uninstall", changes(newUninstall)}, {"check", newCheck}, {"hook", newHook},
			{"ref", newRef}, {"demo", changes(newDemo)}, {"completion", newCompletion},
			{"version", newVersion}}},
	}
}
