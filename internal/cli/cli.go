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
	"greenlight/internal/rehearsal"
	"greenlight/internal/runner"
	"greenlight/internal/sanitize"
)

// The exit codes; each command's help names those it can give.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitClaimed = 3
	exitMissing = 127
	exitSignal  = 128 // plus the signal's number
)

const exitHelp = `
Exit codes: 0 done; 1 it failed, or slices are left that aren't done; 2 wrong usage; 3 claimed by another session;
127 the agent's program is not on PATH; 130, 143 interrupted.`

// Main runs one command line and returns its exit code. Standard input, output and error needn't be terminals or
// even files.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	e := newEnv(stdin, stdout, stderr, environ)
	if len(args) > 0 {
		switch args[0] { // the processes of an attempt: a slot waits for them, so they need no command tree
		case attempt.GateArg:
			return attempt.Gate(args[1:])
		case runner.WrapperCommand:
			return e.exit(runAttempt(ctx, e, args[1:]))
		case rehearsal.Command:
			return rehearsal.Main(ctx, args[1:], e.getenv, stdout, stderr)
		case hookCommand: // at every edit of an agent; a newer plugin's words that this gl doesn't know must not refuse it
			if len(args) > 1 && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
				return e.exit(runHook(e, args[1]))
			}
		}
	}
	if compact, ok := statuslineArgs(args); ok {
		printStatusline(e, compact)
		return exitOK
	}
	debug.SetGCPercent(400) // most commands are over before collecting pays; a drain takes it back
	root := newRoot(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if word, ok := strings.CutPrefix(fmt.Sprint(err), "unknown command "); ok && !errors.As(err, new(*exitError)) {
		if word, unquoteErr := strconv.QuotedPrefix(word); unquoteErr == nil {
			word, _ = strconv.Unquote(word)
			err = noSuchCommand(root, []string{word})
		}
	}
	// A drain goes on when its reader has gone away, and what became of the work is its result.
	if failed := e.data.err; failed != nil && !errors.Is(failed, syscall.EPIPE) && !errors.Is(err, failed) {
		return max(e.exit(failed), e.exit(err))
	}
	return e.exit(err)
}

// An exitError carries an exit code; a nil err has been told already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, a ...any) error { return &exitError{exitUsage, fmt.Errorf(format, a...)} }

// exit prints what is left to say and maps an error to its code, here and nowhere else.
func (e *env) exit(err error) int {
	var exit *exitError
	var admit *attempt.AdmitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit) && exit.err == nil:
		return exit.code
	}
	fmt.Fprintf(e.err, "gl: %s\n", sanitize.Text(strings.TrimSpace(err.Error())))
	switch {
	case exit != nil:
		return exit.code
	case errors.As(err, &admit) && admit.Taken:
		return exitClaimed
	}
	return exitFailed
}

const aboutGl = `Greenlight keeps the state of agent-driven software work where no session can corrupt it, and runs coding
agents in parallel over a dependency graph until everything is green.` + "\n" + exitHelp + `

Where nobody reads its output any more gl ends as every Unix filter does, by SIGPIPE (141 in a shell); a gl slice goes on,
and ends by what became of the work. Output that can't be written for another reason is an error (1).`

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:               "gl",
		Short:             "Keep the state of agent-driven work, and run agents over its dependency graph",
		Long:              aboutGl,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return e.prepare() },
	}
	root.SetOut(e.data)
	root.SetErr(e.err)
	root.SetIn(e.in)
	root.SetFlagErrorFunc(flagError)
	globalFlags(e, root)
	var order []*cobra.Command
	for _, g := range commandGroups(e, root) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
		order = append(order, g.commands...)
	}
	root.AddCommand(newEnvironment())
	root.SetHelpCommand(newHelp(e, root, order))
	root.SetHelpCommandGroupID(groupAdmin)
	return root
}

// globalFlags are those of every command.
func globalFlags(e *env, root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVarP(&e.dirFlag, "directory", "C", "", "run as if started in `DIR`")
	f.StringVar(&e.contextFlag, "context", "", "behave as in `WHERE`: shell or claude (default: by the environment)")
	f.StringVar(&e.systemFlag, "system", "", "`WHICH` of a project's systems of state counts: greenlight, specwright or gsd (default: in this order)")
	f.BoolVar(&e.noColor, "no-color", false, "no colour")
	f.BoolVar(&e.noPager, "no-pager", false, "print long texts as they are")
	f.BoolVarP(&e.verbose, "verbose", "v", false, "tell each decision and command line on stderr")
	completeFlag(root, "context", contexts)
	completeFlag(root, "system", e.systems)
	_ = root.MarkPersistentFlagDirname("directory")
}

type commandGroup struct {
	id, title string
	commands  []*cobra.Command
}

// groupAdmin is also that of gl help, which cobra adds by itself.
const groupAdmin = "admin"

// commandGroups are the commands in the order in which the help lists them.
func commandGroups(e *env, root *cobra.Command) []commandGroup {
	type list = []*cobra.Command
	return []commandGroup{
		{"begin", "Project lifecycle:", list{newInit(e), newDesign(e), paged(e, newRoadmap(e))}},
		{"build", "Building:", list{newSlice(e), newQuick(e), newAccept(e), newReject(e), newRetry(e)}},
		{"state", "State and progress:", list{paged(e, newStatus(e)), paged(e, newWhy(e)), paged(e, newGraph(e)),
			paged(e, newLogs(e), "follow"), paged(e, newDebug(e), "run-tests"), paged(e, newChangelog(e)), newStatusline(e)}},
		{"run", "Running sessions:", list{newAttach(e), newStop(e)}},
		{"code", "Existing code:", list{newAssess(e), newMap(e), newWrap(e)}},
		{"release", "Release:", list{newShip(e)}},
		{"session", "Session:", list{newPause(e), newResume(e)}},
		{"files", "State, for slash commands and scripts:",
			list{newState(e), newAddSlice(e), newMigrate(e), newSettings(e), newDoctor(e)}},
		{"siblings", "Sibling formats:", list{newSpecwright(e), newGsd(e)}},
		{groupAdmin, "Admin:", list{newInstall(e), newUninstall(e), newCheck(e), newHook(e), newRef(e), newDemo(e),
			newCompletion(e, root), newVersion(e)}},
	}
}

// flagError makes a bad flag a usage error, with the flag that was meant.
func flagError(c *cobra.Command, err error) error {
	msg, _, _ := strings.Cut(err.Error(), ": strconv.") // whose words are for programmers
	if bad, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		switch near := nearFlag(c, bad); {
		case strings.Contains(bad, " "):
			msg += ": before a value that begins with a dash put --"
		case near != "":
			msg += fmt.Sprintf(", did you mean --%s?", near)
		}
	}
	return usage("%s (gl %s --help)", msg, strings.TrimPrefix(c.CommandPath(), "gl "))
}

// args wraps an argument check so that its error is a usage error, in the words of the command's usage line: cobra's are
// for programmers.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		err := check(c, a)
		if err == nil {
			return nil
		}
		var takes, needs []string
		for _, word := range strings.Fields(c.Use)[1:] {
			if strings.HasPrefix(word, "-") {
				continue
			}
			takes = append(takes, word)
			if !strings.HasPrefix(word, "[") && !strings.HasSuffix(word, "]") {
				needs = append(needs, strings.TrimSuffix(word, "..."))
			}
		}
		switch {
		case len(takes) == 0:
			err = fmt.Errorf("%s takes no arguments, but was given %q", c.CommandPath(), a[0])
		case len(a) < len(needs):
			err = fmt.Errorf("%s needs %s", c.CommandPath(), strings.Join(needs[len(a):], " and "))
		case len(a) > len(takes):
			err = fmt.Errorf("%s: one argument too many: %q", c.CommandPath(), a[len(takes)])
		}
		return usage("%s (usage: %s)", err, c.UseLine())
	}
}

// family makes the command one that only holds others: alone it shows its help.
func family(c *cobra.Command, members ...*cobra.Command) *cobra.Command {
	c.Args = onlySubcommands
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(members...)
	return c
}
