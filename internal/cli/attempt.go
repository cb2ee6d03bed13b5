package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/attempt"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/runner"
)

// yield is how long STATE.md waits after an attempt's end: whoever fills the slot needs the lock at that moment.
const yield = 30 * time.Millisecond

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
	signal.Notify(deaf, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTSTP) // C-z in a pane would stop it for ever
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for range deaf {
		}
	}()
	open := project.Open
	if attempt.IsTask(id) {
		open = project.OpenRuns
	}
	pr, err := open(root)
	if err != nil {
		return err
	}
	rec, err := pr.Runs.Get(id, n)
	if err != nil || rec.Token != token || rec.Phase != plan.Claimed {
		return &exitError{exitFailed, attempt.ErrLate}
	}
	pr = pr.View(rec.System)
	show := func(line string) { fmt.Fprintln(e.out, line) }
	if pane {
		if e.environ, err = pr.Runs.TakeEnv(rec); err != nil {
			return errors.Join(attempt.ErrLate, err)
		}
		v := newView(e.out)
		defer v.close()
		show = v.show
	}
	parent, err := self()
	if err != nil {
		return err
	}
	w := &attempt.Wrapper{
		Settler: pr.Settler(), Root: pr.Root, Self: parent, Env: agent.ScrubEnv(e.environ), Stop: stop,
		Limits: attempt.Limits{Silent: pr.Config.Silent, Tool: pr.Config.Tool, Result: pr.Config.Result},
		Print:  func(ev agent.Event) { show(eventText(ev)) },
	}
	final, err := w.Run(ctx, rec)
	if err != nil {
		return err
	}
	if pane {
		show("\n" + agent.Clean(endedText(final)))
	}
	time.Sleep(yield)
	err = pr.Tracker.Refresh(ctx)
	if final.Outcome != plan.Complete {
		return errors.Join(&exitError{code: exitFailed}, err)
	}
	return err
}

// A view shows lines in a pane without ever waiting for it: C-s, or a tmux server that is stopped, keeps a terminal from
// taking more, and that must not keep an agent from its work. Lines that find no room are left out; the log has all.
type view struct {
	lines   chan string
	done    chan struct{}
	skipped int
}

const (
	viewRoom = 1000            // lines that wait
	viewWait = 2 * time.Second // for the last words
)

func newView(out io.Writer) *view {
	v := &view{lines: make(chan string, viewRoom), done: make(chan struct{})}
	go func() {
		defer close(v.done)
		for l := range v.lines {
			fmt.Fprintln(out, l)
		}
	}()
	return v
}

func (v *view) show(line string) {
	if v.skipped > 0 && len(v.lines) < viewRoom/2 {
		v.lines <- fmt.Sprintf("(%s left out here)", plan.Count(v.skipped, "line"))
		v.skipped = 0
	}
	select {
	case v.lines <- line:
	default:
		v.skipped++
	}
}

// close waits for what is still to be shown, but not for ever.
func (v *view) close() {
	close(v.lines)
	select {
	case <-v.done:
	case <-time.After(viewWait):
	}
}
