package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/scratch"
)

func newRehearse(app *cmdutil.App) *cobra.Command {
	var spec string
	o := sliceOptions{watch: true, copy: true}
	c := &cobra.Command{
		Use:   "rehearse [ID...]",
		Short: "Try a run in a scratch copy, with the built-in agent",
		Long: `Build a scratch copy of the project with the built-in rehearsal agent: no model, no cost, invented results. The project
itself isn't changed.

The copy is a local clone of what is checked out, without remotes, in a temporary directory; the state is copied as it
is on disk, without attempts, and what stalled halfway is put back. In a project without git, the files are copied, up to 512 MB. Links that lead out of the project
are left out. The agent commits a small file for each slice. The copy stays until you remove it; gl -C DIR looks at it.

It is the same as gl slice --watch --agent rehearsal:SPEC. SPEC is a list such as seed=1,step=200ms,crash=5%,hang=S-3.
red=S-3#1 has its first attempt leave broken work, and clash=S-5+S-6 has both change the same line.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl rehearse
  gl rehearse --spec step=100ms,fail=10%,limit=5%   with faults
  gl rehearse S-07                                  only this slice`,
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, ids []string) error {
			o.agent = "rehearsal"
			if spec != "" {
				o.agent += ":" + strings.TrimPrefix(strings.TrimPrefix(spec, "rehearsal"), ":")
			}
			if err := o.check(c); err != nil {
				return err
			}
			if o.runner == "" && app.Inside() { // agents can't look at panes
				o.runner = "process"
			}
			return runSlice(c.Context(), app, o, ids)
		},
	}
	f := c.Flags()
	f.StringVar(&spec, "spec", "",
		"what happens, as a `SPEC`: seed, step, jitter, faults and their chances")
	f.IntVar(&o.max, "max", 0, "run at most `N` agents at once (default 4)")
	f.StringVar(&o.runner, "runner", "",
		"run agents in parallel `HOW`: tmux or process (default tmux if installed)")
	f.BoolVar(&o.json, "json", false,
		"print events as they come, one JSON document a line, and messages to stderr")
	cmdutil.CompleteFlag(c, "runner", runners)
	return c
}

// noteTargets names targets of faults that the rehearsal doesn't have: nothing else would report
// them.
func (j *job) noteTargets(p *plan.Plan) {
	if j.rehearsal == nil {
		return
	}
	for _, id := range j.rehearsal.Slices() {
		if p.State(id) != nil {
			continue
		}
		hint := ""
		if match, _, err := project.Resolve(p, id); err == nil {
			hint = ", did you mean " + match + "?"
		}
		j.app.IO.Message("warning: there is no slice %s to rehearse a fault of%s", id, hint)
	}
}

// copies reports whether the slices are built in a scratch copy: a rehearsal writes invented
// results into the state.
func (j *job) copies() bool {
	return j.rehearsal != nil &&
		(j.o.copy || !j.rehearsal.Here && !j.pr.IsDemo() && !scratch.Is(j.pr.Root))
}

// runInCopy runs a scratch copy of the project. The copy is removed if nothing was started in it.
func (j *job) runInCopy(ctx context.Context) error {
	if j.o.copy && j.rehearsal.Here {
		return cmdutil.Usage("here can't be in --spec, because gl rehearse works in a copy: run gl slice --watch --agent %s", shellwords.Quote(j.first().Name))
	}
	c, err := makeCopy(ctx, j.app, j.pr.Root)
	if err != nil {
		return err
	}
	in, err := j.moved(c)
	if err == nil {
		if err = ops.PutBackIn(ctx, in.pr, j.pr); err == nil {
			err = in.run(ctx)
		}
	}
	if in == nil || !in.pr.Away {
		err = errors.Join(err, os.RemoveAll(c.Dir))
	}
	return err
}

// makeCopy creates the copy. A signal ends it, and leaves nothing behind.
func makeCopy(ctx context.Context, app *cmdutil.App, root string) (*scratch.Copy, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	caught := make(chan syscall.Signal, 1)
	go func() {
		select {
		case s := <-signals:
			number, _ := s.(syscall.Signal)
			caught <- number
			cancel()
		case <-ctx.Done():
		}
	}()
	busy := app.IO.Progress("copying the project")
	c, err := scratch.Make(ctx, root)
	busy.Done()
	if err == nil {
		return c, nil
	}
	select {
	case number := <-caught:
		return nil, &cmdutil.ExitError{Code: cmdutil.ExitSignal + int(number)}
	default:
		return nil, err
	}
}

// moved returns the same job for the copy.
func (j *job) moved(c *scratch.Copy) (*job, error) {
	pr, err := project.Open(c.Root)
	if err != nil {
		return nil, err
	}
	in, err := newJob(j.app, pr.View(j.pr.System().Key), j.o, j.name)
	if err != nil {
		return nil, err
	}
	in.ids, in.copy, in.events = j.ids, c, j.events
	return in, nil
}

// arrive prints where the copy is, and makes hints name it.
func (j *job) arrive() {
	if j.copy == nil {
		return
	}
	j.pr.Away = true
	how := "a clone of this project"
	if !j.copy.Cloned {
		how = "a copy of this project's files"
	}
	j.app.IO.Printf("rehearsal in %s, %s\n", shellLine([]string{j.copy.Root}), how)
	j.app.IO.Printf("   remove it with: %s\n", shellLine([]string{"rm", "-rf", j.copy.Dir}))
	if len(j.copy.Left) > 0 {
		j.app.IO.Message("warning: not copied: %s", j.copy.Leftovers())
	}
}
