package cli

import (
	"io"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/statusline"
)

// statuslineName is the command that Claude Code runs for every prompt, so it goes past the command
// tree.
const statuslineName = "statusline"

func newStatusline(app *cmdutil.App) *cobra.Command {
	compact := false
	c := &cobra.Command{
		Use:   statuslineName,
		Short: "Print one line for Claude Code's status line",
		Long: `Print one line for Claude Code: the model, the task in progress in this session's to-do list or else where the project
stands, the directory, and how full the context is. gl install --statusline adds it to Claude's settings. Claude passes its
JSON on stdin; without it the line is about the current directory.

A GSD project shows its milestone and phase, in few columns with --compact or "statusline.state_format": "compact" in
.planning/config.json; a Specwright project its work, unit, status, tasks and gates ("shop/cart verifying 2/2 · tests FAIL");
any other project its slices ("18/36 done | 4 running | 1 needs you"). In a project with several systems each has its part.
What takes too long to read is left out.

The command writes nothing and never fails. NO_COLOR is respected.

Exit codes: 0 printed; 2 wrong usage.`,
		Example: "  gl statusline\n  echo '{\"model\":{\"display_name\":\"Opus\"}}' | gl statusline",
		Args:    cmdutil.Args(cobra.NoArgs),
		// nothing here is a reason to fail
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			printStatusline(app, compact)
			return nil
		},
	}
	c.Flags().BoolVar(&compact, "compact", false, "the project's state in few columns")
	return c
}

// statuslineArgs parses the command line as Claude Code gives it; anything else is for the command
// tree.
func statuslineArgs(args []string) (compact, ok bool) {
	switch {
	case len(args) == 0 || args[0] != statuslineName || len(args) > 2:
		return false, false
	case len(args) == 2:
		return true, args[1] == "--compact"
	}
	return false, true
}

// printStatusline prints the line, whatever happens.
func printStatusline(app *cmdutil.App, compact bool) {
	defer func() {
		_ = recover() // a prompt must not show a stack trace: no line is better
	}()
	var in io.Reader
	if !iostreams.IsTerminal(app.IO.In) {
		in = app.IO.In
	}
	client := statusline.ReadClient(in)
	dir := client.Dir()
	if app.DirFlag != "" || dir == "" {
		dir, _ = app.Dir()
	}
	line := statusline.New(client,
		statusline.Options{Dir: dir, Compact: compact, Getenv: app.Getenv})
	// Claude Code reads from a pipe and shows colors
	color := app.IO.ColorsOn(client != nil || iostreams.IsTerminal(app.IO.Out))
	app.IO.Printf("%s\n", line.Render(color))
}
