package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/moment"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

func newHold(app *cmdutil.App) *cobra.Command {
	var o holdOptions
	c := &cobra.Command{
		Use:   "hold [T]",
		Short: "Pause launching agents, or lift a hold",
		Long: `Show whether launching is paused, pause it until T (for 2h, until 18:30), or lift the holds (--lift, or gl hold off).
While the project is held, nothing is launched; running agents continue. With --agent, only that agent is held.

gl itself holds an agent when it meets a rate limit, an empty account, a failed login or a service that doesn't answer, and when
its client says that parallel.window_percent of a usage window is used. Agents with other accounts go on: gl slice --agent
claude,codex builds with codex meanwhile. After such a hold one attempt is launched first; when it has met no limit for a minute
another one, then two, four, and so on. When five slices in a row fail within two minutes of their start and in the same way, the
project is held until you lift the hold. parallel.curfew has the times of day in which nothing is launched.

Exit codes: 0 done; 1 it failed; 2 wrong usage.`,
		Example: "  gl hold\n  gl hold 2h\n  gl hold 18:30\n  gl hold --until 07:00 --agent claude\n  gl hold --lift",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			put := c.Flags().Changed("until")
			switch {
			case len(a) > 0 && put:
				return cmdutil.Usage("give %q or --until, not both", a[0])
			case len(a) > 0 && slices.Contains(liftWords(), a[0]):
				o.lift = true
			case len(a) > 0:
				o.until, put = a[0], true
			}
			if o.lift && put {
				return cmdutil.Usage("give a time or --lift, not both")
			}
			return runHold(c.Context(), app, o, put)
		},
	}
	c.Flags().StringVar(&o.until, "until", "",
		"launch nothing until `T`: 18:30, 2h, or 2026-03-01T18:30")
	c.Flags().BoolVar(&o.lift, "lift", false, "end the holds")
	c.Flags().StringVar(&o.agent, "agent", "", "only the holds of the agent `NAME`")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	return c
}

// liftWords are what a person may type instead of a time to end a hold.
func liftWords() []string { return []string{"lift", "off", "end", "none"} }

type holdOptions struct {
	until      string
	agent      string
	lift, json bool
}

// A holdDoc is the project's holds after the command.
type holdDoc struct {
	SchemaVersion int `json:"schema_version"`
	// nothing is launched until it ends; null if launches are allowed
	Hold *plan.Hold `json:"hold"`
	// all current ones: for all agents, and for single agents
	Holds []*plan.Hold `json:"holds"`
}

func runHold(ctx context.Context, app *cmdutil.App, o holdOptions, put bool) error {
	now := time.Now()
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if put || o.lift {
		app.IO.Hush()
	}
	var of *plan.Account
	if o.agent != "" {
		a, err := findAgent(pr, o.agent)
		if err != nil {
			return err
		}
		of = &plan.Account{Agent: a.Name, ID: a.Account(app.Getenv)}
	}
	var lifted []*plan.Hold
	switch {
	case put:
		var until time.Time
		if until, err = moment.Until(o.until, now); err != nil {
			return cmdutil.Usage("%w", err)
		}
		err = ops.PutHold(ctx, pr, o.agent, until, now)
	case o.lift:
		lifted, err = ops.LiftHolds(ctx, pr, of, now)
	}
	if err != nil {
		return err
	}
	holds, err := pr.Runs.HoldFile.Read()
	p := plan.New(&plan.Snapshot{Hold: holds.Everybody(), Holds: holds.Single()}, now, pr.Options())
	list := slices.DeleteFunc(slices.Clone(p.InEffect()), func(h *plan.Hold) bool {
		return of != nil && !h.Holds(*of)
	})
	switch {
	case o.json:
		return app.IO.JSON(holdDoc{1, p.Hold, jsondoc.OrEmpty(list)})
	case err != nil:
		if bad := new(attempt.BadRecord); errors.As(err, &bad) {
			return errors.New(bad.WithHelp())
		}
		return err
	}
	for _, h := range lifted {
		app.IO.Printf("lifted, so agents start again: %s\n", sanitize.Line(h.Lifted(now)))
	}
	for _, h := range list {
		app.IO.Printf("%s\n", sanitize.Line(h.Sentence(now)))
	}
	if put {
		app.IO.Printf("agents that run go on; gl hold --lift ends the hold\n")
	}
	if len(lifted)+len(list) == 0 {
		app.IO.Printf("nothing is held\n")
	}
	return nil
}

// findAgent finds an agent by its name.
func findAgent(pr *project.Project, name string) (agent.Agent, error) {
	self, err := cmdutil.Self()
	if err != nil {
		return agent.Agent{}, err
	}
	a, err := pr.Config.FindAgent(name, self)
	if err != nil {
		err = &cmdutil.ExitError{Code: cmdutil.ExitUsage, Err: err}
	}
	return a, err
}
