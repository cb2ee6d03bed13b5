package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
)

func newSay(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "say ID TEXT",
		Short: "Say something to an agent while it works",
		Long: `Send a message to a slice's agent, as part of its conversation. Claude Code reads it when its current tool call ends. If the agent takes no
messages while it works, isn't running, or ends first, the message is kept for the slice's next start, and gl says so. If it may have been read
already, it is sent again with a note of that. If the slice is complete before an agent has read it, it is dropped, and gl tells you.

Exit codes: 0 said, or kept; 1 the slice is complete or doesn't exist, or it can't be written; 2 wrong usage.`,
		Example: "  gl say S-07 \"use the cents column, not the euros\"\n  gl say @quick.2 \"only the login page\"",
		Args:    cmdutil.Args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: completeTasks(app,
			cmdutil.CompleteFirst(app.CompleteSome(running)), true),
		RunE: func(c *cobra.Command, a []string) error {
			return runSay(c.Context(), app, a[0], strings.Join(a[1:], " "))
		},
	}
}

func runSay(ctx context.Context, app *cmdutil.App, id, text string) error {
	text = strings.TrimSpace(text)
	if !ops.Sayable(text) {
		return cmdutil.Usage("say %s something: up to 64 KB of text without control characters", id)
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if !attempt.IsTask(id) {
		if pr, err = app.Project(); err != nil {
			return err
		}
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			return err
		}
		if id, err = app.Resolve(p, id); err != nil {
			return err
		}
		app.About(pr, p, id)
	}
	s, err := ops.Say(ctx, pr, id, text, time.Now())
	if err != nil {
		return err
	}
	how, err := s.Arrive(ctx)
	if how == ops.Dropped {
		return errors.New(s.Told(how))
	}
	app.IO.Printf("%s\n", sanitize.Line(s.Told(how)))
	return err
}
