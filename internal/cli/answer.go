package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
)

func newAnswer(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "answer ID TEXT",
		Short: "Answer a slice's question, so that it goes on",
		Long: `Answer the question of a waiting slice. The answer is added to the slice's decisions, and the slice keeps its step: the next or
running gl slice continues with the same agent, worktree and conversation, with the answer in the prompt.

Exit codes: 0 answered; 1 the slice has no question, or can't be written; 2 wrong usage; 3 it is being worked on.`,
		Example:           `  gl answer S-07 "Euro, and round to cents"`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(asking)),
		RunE: func(c *cobra.Command, a []string) error {
			return runAnswer(c.Context(), app, a[0], strings.Join(a[1:], " "))
		},
	}
}

// asking selects the slices that wait for an answer.
func asking(p *plan.Plan) []string {
	var ids []string
	for _, id := range p.Lists.Waiting {
		if p.State(id).Asks() {
			ids = append(ids, id)
		}
	}
	return ids
}

func runAnswer(ctx context.Context, app *cmdutil.App, id, text string) error {
	if !ops.IsLine(text) {
		return cmdutil.Usage("answer %s in one line of text without control characters", id)
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return cmdutil.Instead(err, "gl review lists what waits for you, with the command that helps")
	}
	a, err := ops.Answer(ctx, pr, id, strings.TrimSpace(text))
	if err != nil {
		return err
	}
	if a.Session != "" {
		app.IO.Printf("%s is answered; session %s has it\n", id, sanitize.Line(a.Session))
		return nil
	}
	app.IO.Printf("%s is answered and continues with %s\n", id, ops.NextRun(pr))
	return nil
}
