package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"greenlight/internal/agent"
	"greenlight/internal/attempt"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/runner"
)

// runAttempt is the wrapper: the process that runs one agent to its end. The drain starts it; nobody types it.
func runAttempt(ctx context.Context, e *env, args []string) error {
	var root, id, token string
	var n int
	var pane bool
	f := flag.NewFlagSet("attempt", flag.ContinueOnError)
	f.SetOutput(e.err)
	f.StringVar(&root, "root", "", "")
	f.StringVar(&id, "slice", "", "")
	f.IntVar(&n, "n", 0, "")
	f.StringVar(&token, "token", "", "")
	f.BoolVar(&pane, strings.TrimLeft(runner.PaneFlag, "-"), false, "")
	if err := f.Parse(args); err != nil {
		return &exitError{code: exitUsage}
	}
	// Notified and dropped rather than ignored: what is ignored, the agent would inherit.
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, syscall.SIGHUP, syscall.SIGPIPE)
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for range deaf {
		}
	}()
	pr, err := project.Open(root)
	if err != nil {
		return err
	}
	rec, err := pr.Runs.Get(id, n)
	if err != nil || rec.Token != token || rec.Phase != plan.Claimed {
		return &exitError{exitFailed, attempt.ErrLate}
	}
	if pane {
		if e.environ, err = pr.Runs.TakeEnv(rec); err != nil {
			return err
		}
	}
	parent, err := self()
	if err != nil {
		return err
	}
	w := &attempt.Wrapper{
		Settler: pr.Settler(), Root: pr.Root, Self: parent, Env: agent.ScrubEnv(e.environ), Stop: stop,
		Limits: attempt.Limits{Silent: pr.Config.Silent, Tool: pr.Config.Tool, Result: pr.Config.Result},
		Print:  func(ev agent.Event) { fmt.Fprintln(e.out, eventText(ev)) },
	}
	final, err := w.Run(ctx, rec)
	if err != nil {
		return err
	}
	if pane {
		e.print("\n%s\n", agent.Clean(endedText(final)))
	}
	err = pr.Tracker.Refresh(ctx)
	if final.Outcome != plan.Complete {
		return errors.Join(&exitError{code: exitFailed}, err)
	}
	return err
}
