package cli

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

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
		Long: `Put a sentence into the conversation of a slice's agent. Claude Code reads it when the tool call ends that it is in. Where the agent takes no
messages while it works, isn't running, or ends first, the sentence is kept for the slice's next start, and gl says so. The message is kept until an
agent has it; one that may have been read before says so. When the slice is complete before that, it is dropped, and you are told.

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
	if !sayable(text) {
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
	out, who := app.IO, sanitize.Line(id)
	switch {
	case how == ops.Heard:
		out.Printf("%s has it\n", who)
	case how == ops.Dropped:
		return fmt.Errorf("%s was complete before its agent could read it: gl undo %s takes it back, and gl add-slice adds another one", who, who)
	case how == ops.Handed:
		out.Printf("said to %s: its agent reads it when its tool call ends\n", who)
	case how == ops.Ended:
		out.Printf("%s ended before it could read this; it gets it when it starts again\n", who)
	case s.Running == nil:
		out.Printf("%s isn't running; its agent gets this when it starts\n", who)
	case !s.Running.Talk.Talks:
		out.Printf("%s can't read messages while it works; %s gets this one when it starts again\n",
			sanitize.Line(s.Running.Job.Agent), who)
	default:
		out.Printf("%s gets it as soon as its agent runs\n", who)
	}
	return err
}

// sayable reports whether the text can be given to an agent.
func sayable(text string) bool {
	return text != "" && len(text) <= maxText && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	})
}
