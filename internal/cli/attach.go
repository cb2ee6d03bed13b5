package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/tmux"
)

func newAttach(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "attach [ID]",
		Short: "Attach to the agents' tmux session, or to a slice's pane",
		Long: `Attach this terminal to the project's tmux session; detach with tmux's own key (C-b d).

Inside another tmux the session comes up in a popup, where all keys are the session's: C-b d closes it. A tmux before 3.2 has no
popups; there the session is nested, and gl says how to detach. Without a terminal, print the command that attaches.

A line that you type in a pane is said to its agent, as gl say does; C-c ends the agent.` + "\n" + cmdutil.ExitHelp,
		Example:           "  gl attach\n  gl attach S-07",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.CompleteSome(running),
		RunE: func(c *cobra.Command, ids []string) error {
			pr, err := app.Project()
			if err != nil {
				return err
			}
			if !tmux.Installed() {
				return fmt.Errorf("tmux is not on PATH: %s; gl logs ID shows what an agent does",
					tmux.InstallHint)
			}
			s := openSession(app, pr)
			panes, err := s.Panes(c.Context())
			if err != nil {
				return err
			}
			if len(panes) == 0 {
				return errors.New("no agent of this project runs in tmux: gl logs ID shows what an agent did")
			}
			if len(ids) > 0 {
				if err := selectPane(c.Context(), app, pr, s, panes, ids[0]); err != nil {
					return err
				}
			}
			return attach(c.Context(), app, pr, s, tmux.In(app.Environ))
		},
	}
}

// openSession returns the project's tmux session, whose server's environment lacks the marks of an
// agent's session.
func openSession(app *cmdutil.App, pr *project.Project) *tmux.Session {
	return tmux.Open(pr.Root, pr.Config.Prefix, agent.ScrubEnv(app.Environ))
}

// closeIdle ends the tmux session once everything in it is over, if no run is in progress to do so.
func closeIdle(ctx context.Context, app *cmdutil.App, pr *project.Project) {
	if tmux.Installed() {
		over := (&runner.Tmux{Runs: pr.Runs}).Over
		// an idle session is harmless, so errors are ignored
		_ = openSession(app, pr).CloseIdle(ctx, over)
	}
}

// selectPane brings the pane of a slice's latest attempt to the front.
func selectPane(ctx context.Context, app *cmdutil.App, pr *project.Project, s *tmux.Session,
	panes []tmux.Pane, id string) error {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	if id, err = app.Resolve(p, id); err != nil {
		return err
	}
	var best *tmux.Pane
	for i := range panes {
		if dot := strings.LastIndexByte(panes[i].Tag, '.'); dot > 0 && panes[i].Tag[:dot] == id {
			if best == nil || best.Dead {
				best = &panes[i]
			}
		}
	}
	if best == nil {
		return fmt.Errorf("%s has no pane: gl logs %s shows what its agent did", id, id)
	}
	return s.Select(ctx, *best)
}

// canAttach reports whether gl slice can hand its terminal to tmux: it has one that isn't in a tmux
// already, where a popup would cover the person's work.
func canAttach(app *cmdutil.App) bool { return hasTerminal(app) && app.Getenv("TMUX") == "" }

func hasTerminal(app *cmdutil.App) bool {
	return iostreams.IsTerminal(app.IO.In) && iostreams.IsTerminal(app.IO.Out)
}

// attach gives the terminal to tmux until the person detaches, or prints how to attach. outer is
// the tmux that gl runs in, nil for none.
func attach(ctx context.Context, app *cmdutil.App, pr *project.Project, s *tmux.Session,
	outer *tmux.Outer) error {
	if !hasTerminal(app) {
		app.IO.Printf("%s\n", shellLine(s.AttachArgv()))
		return nil
	}
	var err error
	switch {
	case outer.Has(s):
		app.IO.Message("this terminal is a pane of the session already")
		return nil
	case outer != nil && outer.Popup(ctx, s):
	case outer != nil:
		app.IO.Message("this tmux shows no popup, so the session is nested in it: detach with %s",
			outer.Detach(ctx, s))
		err = s.Attach(ctx, app.IO.In, app.IO.Out, app.IO.Err)
	default:
		err = s.Attach(ctx, app.IO.In, app.IO.Out, app.IO.Err)
	}
	panes, lookErr := s.Panes(ctx)
	gone := lookErr == nil && len(panes) == 0
	live, _, liveErr := pr.Runs.Live()
	switch {
	case gone && liveErr == nil && len(live) > 0: // the session was closed, or the server ended
		app.IO.Message("the tmux session is gone, but its agents are still running: gl status, gl logs -f %s", live[0].ID.Label())
		return nil
	case err != nil && !gone:
		return fmt.Errorf("%s: %w", shellLine(s.AttachArgv()), err)
	}
	return nil
}
