package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/hook"
)

const hookCommand = "hook"

// newHook is only for help: Main calls runHook without the command tree, because a hook runs at
// every edit.
func newHook(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:    hookCommand + " " + strings.Join(hook.Names(), "|"),
		Short:  "Answer Claude Code's hooks",
		Hidden: true,
		Long: `Answer one of Claude Code's hooks, with its JSON document on stdin. Outside a project, and if the document can't be read,
nothing is printed and everything is allowed.

session-start prints where the project stands, which becomes part of the conversation. A session that gl started also gets the engineering
standards, and subagent-start gives them to its subagents, unless they read them in a CLAUDE.md.
guard refuses (exit 2) to write the frontmatter of slice files, GRAPH.json, config.json, a generated STATE.md and anything below
.greenlight/runs, and keeps agents from files that their isolation doesn't allow them.
after-tool, subagent-stop and stop tell an agent in a worktree which tests and contracts were changed since they were handed over.
stop also asks a session once about a slice that it has claimed and leaves in progress.

Exit codes: 0 allowed; 2 refused, with the reason on stderr.`,
		Example:   "  gl hook guard < call.json",
		ValidArgs: hook.Names(),
		Args:      cmdutil.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(_ *cobra.Command, a []string) error {
			return runHook(app, a[0])
		},
	}
}

// runHook answers one call. A panic would exit with 2, which the client takes for a refusal, so it
// is caught.
func runHook(app *cmdutil.App, name string) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	answer := hook.Run(name, app.IO.In, app.Getenv, time.Now())
	switch {
	case answer.Refusal != nil:
		return &cmdutil.ExitError{Code: cmdutil.ExitUsage, Err: answer.Refusal}
	case answer.Block != nil:
		return app.IO.JSON(answer.Block)
	case answer.Context != nil:
		return app.IO.JSON(answer.Context)
	}
	app.IO.Printf("%s", answer.Text)
	return nil
}
