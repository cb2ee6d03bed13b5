package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/project"
)

// talkHelp is the help text shared by all commands that hand over to a conversation.
const talkHelp = `

The agent is Claude Code, started in this terminal as if you had typed claude %q yourself, plus what gl knows about the
project. Your own permission settings apply: the flags for headless runs (parallel.claude_flags) are not used. Inside an
agent nothing is started; what gl knows is printed.

Exit codes: the agent's own; 1 no terminal, %s; 2 wrong usage; 127 claude is not on PATH.`

func newDesign(app *cmdutil.App) *cobra.Command {
	const prompt = "/gl:design"
	return &cobra.Command{
		Use:   "design [TOPIC...]",
		Short: "Design the system, or a part of it, with the agent",
		Long: "Discuss the design of the system with the agent, or only of TOPIC: " + prompt +
			". A project isn't needed yet: a design\n" +
			"may come before gl init." + fmt.Sprintf(talkHelp, prompt, "or the directory is gone"),
		Example:           "  gl design\n  gl design how payments are retried",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions, // free text
		RunE: func(c *cobra.Command, a []string) error {
			return design(c.Context(), app, strings.Join(a, " "))
		},
	}
}

// design begins a conversation in a project or where one may begin.
func design(ctx context.Context, app *cmdutil.App, topic string) error {
	if topic != "" && !ops.IsLine(topic) {
		return cmdutil.Usage("TOPIC must be one line of text without control characters")
	}
	pr, root, err := talkProject(app)
	if err != nil {
		return err
	}
	return startTalk(ctx, app, talk{command: "gl design", name: "design",
		prompt: strings.TrimSpace("/gl:design " + topic), root: root, pr: pr})
}

// talkInProject begins a conversation that needs a project; words follow the slash command.
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
	if sibling(t.pr) && !app.Inside() {
		return fmt.Errorf("%s keeps its state in %s, and %s is about a roadmap of Greenlight's: %s", t.root, t.pr.System().Name,
			t.command, instead(app, t.pr, words))
	}
	return startTalk(ctx, app, t)
}

// sibling reports whether only another system keeps the project's state.
func sibling(pr *project.Project) bool {
	return pr != nil && !pr.Stateless() && pr.Slices == nil
}

// archiveCommand returns GSD's slash command that archives a milestone; "" in other systems.
func archiveCommand(app *cmdutil.App, pr *project.Project) string {
	if pr.Key() != "gsd" {
		return ""
	}
	return project.GSDCommand(pr.Root, "complete-milestone", app.Getenv)
}

// instead is what plans or archives a milestone in another system.
func instead(app *cmdutil.App, pr *project.Project, words string) string {
	switch archive := archiveCommand(app, pr); {
	case archive == "":
		return "type /sw-design in Claude Code to begin the next work"
	case words == "archive":
		return "type " + archive + " in Claude Code"
	}
	return "type " + project.GSDCommand(pr.Root, "new-milestone", app.Getenv) + " in Claude Code"
}
