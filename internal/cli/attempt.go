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
	"sync"
	"syscall"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/wrapper"
	"greenlight/internal/show/attempttext"
)

// yield is the delay of STATE.md after an attempt's end: the process that fills the slot needs the
// lock at that moment.
const yield = 30 * time.Millisecond

// runAttempt is the wrapper: the process that runs one agent to its end. It is started by the
// run, not by people.
func runAttempt(ctx context.Context, app *cmdutil.App, args []string) error {
	o, err := wrapperArgs(app.IO, args)
	if err != nil {
		return err
	}
	stop := wrapperSignals()
	self, err := cmdutil.Self()
	if err != nil {
		return err
	}
	local := executor.NewLocal(self)
	if err := local.Ahead(attempt.Mark(o.token)); err != nil {
		return err
	}
	pr, rec, err := o.claimed()
	if err != nil {
		return err
	}
	show := func(line string) { fmt.Fprintln(app.IO.Out, line) }
	if o.pane {
		if app.Environ, err = pr.Runs.Files.TakeEnv(rec); err != nil {
			return errors.Join(wrapper.ErrLate, err)
		}
		v := newPaneView(app.IO.Out)
		defer v.close()
		show = v.show
		o.hearPane(ctx, app.IO.In, show)
	}
	w := newWrapper(app, pr, local, stop, show)
	final, err := w.Run(ctx, rec)
	local.Close()
	if err != nil {
		return err
	}
	if o.pane {
		show("\n" + sanitize.Text(lastLine(pr, final)))
	}
	if !rec.Life.LauncherLives() {
		// else it brings STATE.md up to date, once for all that ends together
		time.Sleep(yield)
		err = pr.Tracker.Refresh(ctx)
	}
	if final.Life.Phase == plan.Queued {
		return errors.Join(err, workLane(ctx, app, pr, final, show))
	}
	if !final.Judged.Outcome.Traits().Success {
		return errors.Join(&cmdutil.ExitError{Code: cmdutil.ExitFailed}, err)
	}
	return err
}

// wrapperOptions identify the attempt that a wrapper is for.
type wrapperOptions struct {
	root, id, token string
	n               int
	pane            bool // it runs in a pane
}

func wrapperArgs(out *iostreams.Streams, args []string) (o wrapperOptions, err error) {
	f := flag.NewFlagSet("attempt", flag.ContinueOnError)
	f.SetOutput(out.Err)
	f.StringVar(&o.root, "root", "", "")
	f.StringVar(&o.id, "slice", "", "")
	f.IntVar(&o.n, "n", 0, "")
	f.StringVar(&o.token, "token", "", "")
	f.BoolVar(&o.pane, strings.TrimLeft(runner.PaneFlag, "-"), false, "")
	if f.Parse(args) != nil { // the error was already printed
		return o, &cmdutil.ExitError{Code: cmdutil.ExitUsage}
	}
	return o, nil
}

// wrapperSignals are the signals that end the agent. Those of a vanishing terminal are caught and
// dropped rather than ignored, because the agent would inherit ignored ones.
func wrapperSignals() <-chan os.Signal {
	deaf := make(chan os.Signal, 1)
	// C-z in a pane would stop it forever
	signal.Notify(deaf, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTSTP)
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for range deaf {
		}
	}()
	return stop
}

func (o wrapperOptions) project() (*project.Project, error) {
	if attempt.IsTask(o.id) {
		return project.OpenRuns(o.root)
	}
	return project.Open(o.root)
}

// claimed returns the attempt if it is still ours to start.
func (o wrapperOptions) claimed() (*project.Project, *attempt.Record, error) {
	pr, err := o.project()
	if err != nil {
		return nil, nil, err
	}
	rec, err := pr.Runs.Get(o.id, o.n)
	if err != nil || rec.ID.Token != o.token || rec.Life.Phase != plan.Claimed {
		return nil, nil, &cmdutil.ExitError{Code: cmdutil.ExitFailed, Err: wrapper.ErrLate}
	}
	return pr.Whose(rec), rec, nil
}

// RemoteWrapper returns the wrapper of an attempt whose agent runs on a worker: it is a goroutine
// of gl serve, and prints nothing.
func RemoteWrapper(app *cmdutil.App, pr *project.Project) func(*attempt.Record, executor.Executor,
	<-chan os.Signal) *wrapper.Wrapper {
	return func(r *attempt.Record, x executor.Executor, stop <-chan os.Signal) *wrapper.Wrapper {
		return newWrapper(app, pr.Whose(r), x, stop, func(string) {})
	}
}

func newWrapper(app *cmdutil.App, pr *project.Project, x executor.Executor, stop <-chan os.Signal,
	show func(line string)) *wrapper.Wrapper {
	env, agentEnv := runner.TakeAgentEnv(app.Environ)
	os.Unsetenv(runner.AgentEnv) // git inherits ours
	settler := pr.Settler()
	settler.Executor = x
	config := pr.Config
	return &wrapper.Wrapper{Settler: settler, Options: wrapper.Options{
		Root: pr.Root, Env: append(agent.ScrubEnv(env), pr.AgentEnv()...),
		AgentEnv: agentEnv, Stop: stop,
		Limits:     wrapper.Limits{Silent: config.Silent, Tool: config.Tool, Result: config.Result},
		SetupLimit: config.Git.SetupLimit,
		Tests: wrapper.Tests{Limit: config.Test.Limit, Pattern: config.Test.Pattern,
			Removable: config.Test.Removable},
		Every: config.Git.SnapshotEvery, WindowPercent: config.WindowPercent,
		Confine: config.Sandbox == project.SandboxBwrap,
		Brief: func(r *attempt.Record) (string, string, error) {
			return newBrief(context.Background(), pr, r)
		},
		Print: func(ev agent.Event) { show(attemptlog.EventText(ev)) },
	}}
}

// lastLine describes the result of the attempt, and what happens to it in the merge queue.
func lastLine(pr *project.Project, r *attempt.Record) string {
	if r.Life.Phase == plan.Queued {
		return r.ID.Label() + " is in the merge queue: " + pr.QueueText(r)
	}
	return attempttext.Ended(r, pr.Flags())
}

// A paneView shows lines in a pane without ever waiting for it: C-s or a stopped tmux server blocks
// writes to a terminal, which must not block the agent. Lines that don't fit the buffer are
// dropped; the log has all.
type paneView struct {
	lines chan string
	done  chan struct{}

	// the agent's lines and the answers to typed lines come from different goroutines
	mu      sync.Mutex
	skipped int
	closed  bool
}

const (
	viewRoom = 1000            // size of the buffer, in lines
	viewWait = 2 * time.Second // time for the last lines
)

func newPaneView(out io.Writer) *paneView {
	v := &paneView{lines: make(chan string, viewRoom), done: make(chan struct{})}
	go func() {
		defer close(v.done)
		for l := range v.lines {
			fmt.Fprintln(out, l)
		}
	}()
	return v
}

func (v *paneView) show(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	if v.skipped > 0 && len(v.lines) < viewRoom/2 {
		v.lines <- fmt.Sprintf("(%s left out here)", words.Count(v.skipped, "line"))
		v.skipped = 0
	}
	select {
	case v.lines <- line:
	default:
		v.skipped++
	}
}

// close waits for the buffered lines, but not forever.
func (v *paneView) close() {
	v.mu.Lock()
	v.closed = true
	close(v.lines)
	v.mu.Unlock()
	select {
	case <-v.done:
	case <-time.After(viewWait):
	}
}

// workLane works the lane where the gl that launched the attempt is gone, and no other works on the
// project.
func workLane(ctx context.Context, app *cmdutil.App, pr *project.Project, rec *attempt.Record,
	show func(line string)) error {
	if leader, err := pr.Runs.Control.Leader(); err != nil || leader != "" ||
		rec.Life.LauncherLives() {
		return err
	}
	l, err := openLane(ctx, app, pr, pr.Root)
	if err != nil {
		return err
	}
	l.Told = show
	_, err = ops.WorkQueue(ctx, l)
	return err
}

// runQueueWorker is a process that works the merge queue where no run does: gl web starts it for
// what a person has accepted. With --asked it does what gl land does.
func runQueueWorker(ctx context.Context, app *cmdutil.App, args []string) error {
	f := flag.NewFlagSet(runner.QueueCommand, flag.ContinueOnError)
	f.SetOutput(app.IO.Err)
	root, asked := f.String("root", "", ""), f.Bool("asked", false, "")
	if f.Parse(args) != nil { // the error was already printed
		return &cmdutil.ExitError{Code: cmdutil.ExitUsage}
	}
	pr, err := project.Open(*root)
	if err != nil {
		return err
	}
	l, err := openLane(ctx, app, pr, pr.Root)
	if err != nil {
		return err
	}
	if *asked {
		if caller := app.Caller(); caller != nil {
			return fmt.Errorf("only a person asks for that, and this is %s", caller)
		}
		return ops.LandNow(ctx, l)
	}
	_, err = ops.WorkQueue(ctx, l)
	return err
}
