package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/project"
)

// talkHelp is the same for all commands that hand over to a conversation.
const talkHelp = `

The agent is Claude Code, started in this terminal as if you had typed claude %q yourself, plus what gl knows about the
project. Your own permission settings apply: the flags for headless runs (parallel.claude_flags) are not used. Inside an
agent nothing is started; what gl knows is printed.

Exit codes: the agent's own; 1 no terminal, %s; 2 wrong usage; 127 claude is not on PATH.`

func newDesign(app *cmdutil.App) *cobra.Command {
	const prompt = "/gl:design"
	return &cobra.Command{
		Use:     "design",
		Short:   "Design the system with the agent",
		Long:    "Discuss the design of the system with the agent: " + prompt + "." + fmt.Sprintf(talkHelp, prompt, "or no project"),
		Example: "  gl design",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return talkInProject(c.Context(), app, "design", "")
		},
	}
}

// talkInProject is a conversation that needs a project; words follow the slash command.
func talkInProject(ctx context.Context, app *cmdutil.App, name, words string) error {
	t := talk{command: "gl " + name, name: name, prompt: "/gl:" + name}
	if words != "" {
		t.command += " " + words
		t.prompt += " " + words
	}
	var err error
	t.pr, t.root, err = talkProject(app)
	if err != nil {
		return err
	}
	if !app.Inside() && (t.pr == nil || t.pr.Stateless()) {
		return fmt.Errorf("%s: %w", t.root, project.ErrNoProject)
	}
	return startTalk(ctx, app, t)
}
