package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/drain"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/tracker"
	"greenlight/internal/words"
)

func newStop(app *cmdutil.App) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:        "stop [ID...]",
		SuggestFor: []string{"kill", "cancel", "abort", "end"},
		Short:      "End agents, keep their work",
		Long: `End the agents of the named slices, or all. What they wrote stays. A slice on which no step was reached is pending
again, another one is stalled until gl retry. A gl slice --watch that runs goes on with other slices; --all ends it, too.

Exit codes: 0 they are ended; 1 one of them isn't running, or can't be ended; 2 wrong usage.`,
		Example:           "  gl stop S-07\n  gl stop @quick.2\n  gl stop --all",
		ValidArgsFunction: completeTasks(app, app.CompleteSome(running), true),
		RunE: func(c *cobra.Command, ids []string) error {
			if all && len(ids) > 0 {
				return cmdutil.Usage("give ids or --all, not both")
			}
			return runStop(c.Context(), app, ids, all, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().BoolVar(&all, "all", false, "all that run, and every gl slice with them")
	return c
}

func runStop(ctx context.Context, app *cmdutil.App, ids []string, all, asJSON bool) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if len(ids) == 0 && !all {
		return nothingNamed(pr)
	}
	if all { // before anything else: while the dead are settled, a drain could launch
		if err := putStopMark(ctx, pr); err != nil {
			return err
		}
	}
	dead := reconcile(ctx, app, pr)
	live, err := liveAttempts(pr)
	if err != nil {
		return err
	}
	recs, errs := chosen(app, pr, ids, live, dead)
	if all {
		recs = live
	}
	if all && len(recs)+len(dead) == 0 && !asJSON {
		app.IO.Printf("nothing is running\n")
	}
	doc := stopDoc{1, []stoppedSlice{}}
	doc.addDead(dead, ids, all)
	errs = append(errs, doc.stopAll(ctx, app, pr, recs, asJSON)...)
	if all {
		closeIdle(ctx, app, pr)
	}
	if asJSON {
		errs = append(errs, app.IO.JSON(doc))
	}
	return errors.Join(append(errs, pr.Tracker.Refresh(ctx))...)
}

// running are the slices that gl stop and gl attach are about.
func running(p *plan.Plan) []string { return p.Running }

// A stopDoc is how each attempt ended.
type stopDoc struct {
	SchemaVersion int            `json:"schema_version"`
	Slices        []stoppedSlice `json:"slices"`
}

type stoppedSlice struct {
	ID      string           `json:"id"`
	Attempt int              `json:"attempt" jsonschema:"minimum=1"`
	Outcome *attempt.Outcome `json:"outcome"` // null if it couldn't be stopped, or another process settled it
	Detail  *string          `json:"detail"`  // why, in a few words
	Error   *string          `json:"error"`
}

// addDead adds the attempts that were found dead and settled, which is told on stderr already.
func (d *stopDoc) addDead(dead []*attempt.Record, ids []string, all bool) {
	for _, r := range dead {
		if all || slices.Contains(ids, r.Slice) || slices.Contains(ids, r.Label()) {
			d.add(r, r, nil)
		}
	}
}

func (d *stopDoc) add(was, final *attempt.Record, err error) {
	s := stoppedSlice{ID: was.Slice, Attempt: was.N}
	if final != nil {
		s.Outcome, s.Detail = &final.Outcome, jsondoc.OrNull(final.Detail)
	}
	if err != nil {
		s.Error = jsondoc.OrNull(err.Error())
	}
	d.Slices = append(d.Slices, s)
}

// nothingNamed is the usage error that names what could be stopped.
func nothingNamed(pr *project.Project) error {
	live, err := liveAttempts(pr)
	if err != nil {
		return err
	}
	if len(live) == 0 {
		return cmdutil.Usage("which slice? none is running")
	}
	ids := make([]string, len(live))
	for i, r := range live {
		ids[i] = r.Label()
	}
	return cmdutil.Usage("which slice? running: %s (gl stop --all ends all)", strings.Join(ids, ", "))
}

// putStopMark ends all drains. A claim looks at the mark under the same lock, so what runs after it is all there is.
func putStopMark(ctx context.Context, pr *project.Project) error {
	return pr.Tracker.Do(ctx, func(tracker.Tx) error {
		if err := pr.Runs.Prepare(); err != nil {
			return err
		}
		return pr.Runs.PutStopMark(time.Now())
	})
}

// reconcile settles the attempts whose gl process is gone, and says so. One that can't be settled is only told: it mustn't
// keep the others from what is to be done with them.
func reconcile(ctx context.Context, app *cmdutil.App, pr *project.Project) []*attempt.Record {
	settled, err := drain.Reconcile(ctx, pr)
	for _, r := range settled {
		app.IO.Message("%s %s (%s)", r.Label(), r.Outcome.Traits().Words, r.Detail)
	}
	if err != nil {
		app.IO.Message("warning: %v", err)
	}
	return settled
}

// liveAttempts are the open attempts; the leftover of one that is settled is none.
func liveAttempts(pr *project.Project) ([]*attempt.Record, error) {
	recs, _, err := pr.Runs.Live()
	var live []*attempt.Record
	for _, r := range recs {
		if now, err := pr.Runs.Get(r.Slice, r.N); err == nil && now.Phase != plan.Settled {
			live = append(live, now)
		}
	}
	return live, err
}

// chosen finds the attempts of the ids. One whose gl process was found dead just now is ended already.
func chosen(app *cmdutil.App, pr *project.Project, ids []string, live, dead []*attempt.Record) ([]*attempt.Record, []error) {
	if len(ids) == 0 {
		return nil, nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, []error{err}
	}
	live = slices.DeleteFunc(slices.Clone(live), func(r *attempt.Record) bool { // another system's of the same id
		return !pr.Has(r) && p.State(r.Slice) != nil
	})
	var recs []*attempt.Record
	var errs []error
	for _, id := range ids {
		if attempt.IsTask(id) {
			mine := tasksCalled(id, live)
			if len(mine)+len(tasksCalled(id, dead)) == 0 {
				errs = append(errs, fmt.Errorf("%s isn't running", id))
			}
			recs = append(recs, mine...)
			continue
		}
		id, err := resolveRunning(app, p, id, live)
		switch {
		case err != nil:
			errs = append(errs, err)
		case recordOf(recs, id) != nil || recordOf(dead, id) != nil:
		case recordOf(live, id) == nil:
			errs = append(errs, fmt.Errorf("%s isn't running. %s", id, p.Why(id, time.Now())))
		default:
			recs = append(recs, recordOf(live, id))
		}
	}
	return recs, errs
}

// tasksCalled are the attempts at tasks that the id means: one by its name, or all of the kind.
func tasksCalled(id string, recs []*attempt.Record) []*attempt.Record {
	var mine []*attempt.Record
	for _, r := range recs {
		if r.IsTask() && (r.Slice == id || r.Name() == id) {
			mine = append(mine, r)
		}
	}
	return mine
}

// resolveRunning also knows the agents whose slice was taken out of the project.
func resolveRunning(app *cmdutil.App, p *plan.Plan, id string, live []*attempt.Record) (string, error) {
	ids := p.IDs()
	for _, r := range live {
		if p.State(r.Slice) == nil {
			ids = append(ids, r.Slice)
		}
	}
	match, note, err := slice.Resolve(id, ids)
	if note != "" {
		app.IO.Message("%s", note)
	}
	return match, err
}

// recordOf is the record of the slice among recs, nil for none.
func recordOf(recs []*attempt.Record, id string) *attempt.Record {
	for _, r := range recs {
		if r.Slice == id {
			return r
		}
	}
	return nil
}

// stopAll ends the attempts side by side and tells of each as it ends: every one may take its grace.
func (d *stopDoc) stopAll(ctx context.Context, app *cmdutil.App, pr *project.Project, recs []*attempt.Record, quiet bool) []error {
	type result struct {
		was, final *attempt.Record
		err        error
	}
	results := make(chan result)
	for _, r := range recs {
		settler := pr.Whose(r).Settler()
		go func() {
			final, err := settler.Stop(ctx, r)
			results <- result{r, final, err}
		}()
	}
	busy := app.IO.Progress("ending " + words.Count(len(recs), "agent"))
	defer busy.Done()
	var errs []error
	for range recs {
		r := <-results
		busy.Clear()
		if r.err != nil {
			r.final, errs = nil, append(errs, fmt.Errorf("stop %s: %w", r.was.Label(), r.err))
		}
		d.add(r.was, r.final, r.err)
		if r.final != nil && !quiet {
			app.IO.Printf("%s\n", stoppedText(r.final))
		}
	}
	return errs
}

// stoppedText is how the attempt ended, which may have been by itself.
func stoppedText(r *attempt.Record) string {
	ended := r.Outcome.Traits().Stop
	switch {
	case ended != "" && r.Detail != "":
		return fmt.Sprintf("%s %s (%s)", r.Label(), ended, r.Detail)
	case ended != "":
		return r.Label() + " " + ended
	}
	return fmt.Sprintf("%s had ended already: %s", r.Label(), r.Outcome.Text(r.Detail))
}
