package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/scheduler"
)

func newRetry(app *cmdutil.App) *cobra.Command {
	var o retryOptions
	c := &cobra.Command{
		Use:   "retry ID...",
		Short: "Continue failed or stalled slices",
		Long: `Continue failed, red, conflicting, interrupted or stalled slices, and those whose approved work couldn't be merged: they are pending
again at the step that they had reached, and the next gl slice, or one that is running, launches them. A hold because of a missing
login ends.

A slice that is built in a worktree goes on in it: on the same branch and, if the client can, in the same conversation. With --fresh it
starts over: on a new branch, in a new worktree. The old ones stay, and gl salvage lists them.

An attempt on another host or in another container counts as running, because gl can't see it. If that host or container
is gone, use --abandon to give the attempt up first. If it isn't gone, two agents may work on the slice. If no agent is at
work on the slice, --abandon gives up the work so far, as --fresh does.

Exit codes: 0 they are pending; 1 one is done, is waiting for a person, or can't be read; 2 wrong usage; 3 one is being
worked on.`,
		Example:           "  gl retry S-07\n  gl retry --all-failed\n  gl retry --abandon S-07\n  gl retry --fresh S-07",
		ValidArgsFunction: app.CompleteSome(broken),
		RunE: func(c *cobra.Command, ids []string) error {
			switch {
			case o.all && len(ids) > 0:
				return cmdutil.Usage("give ids or --all-failed, not both")
			case o.abandon && len(ids) == 0:
				return cmdutil.Usage("--abandon requires the ids of the slices whose host is gone")
			}
			return runRetry(c.Context(), app, ids, o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	c.Flags().BoolVar(&o.all, "all-failed", false, "all slices that failed or stalled")
	c.Flags().BoolVar(&o.fresh, "fresh", false,
		"begin a new branch and worktree; the old ones stay")
	c.Flags().BoolVar(&o.abandon, "abandon", false, "give up attempts whose host or container is gone, or the work of a slice that isn't being worked on")
	return c
}

// retryOptions are the flags of gl retry.
type retryOptions struct{ all, abandon, fresh, json bool }

// broken selects the slices that wait for gl retry.
func broken(p *plan.Plan) []string {
	ids := p.Lists.TroubledIDs()
	for _, id := range p.Lists.Waiting {
		if p.State(id).HeldBack {
			ids = append(ids, id)
		}
	}
	return ids
}

func runRetry(ctx context.Context, app *cmdutil.App, ids []string, o retryOptions) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	open := openSlices(pr)
	found, err := scheduler.Reconcile(ctx, pr)
	reportAside(app.IO, found.Aside)
	reportSettled(app.IO, found.Settled, err)
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	if o.all {
		ids = broken(p)
	} else if len(ids) == 0 {
		return whichBroken(broken(p))
	}
	doc := retryDoc{1, []retrySlice{}}
	var errs []error
	var given []string // abandoned: the rest of them is to begin anew
	if o.abandon {
		ids, given, errs = abandonAll(ctx, app, pr, p, ids)
	}
	if o.fresh {
		given = ids
	}
	// First, because a run in progress launches a slice as soon as it is pending.
	fresh, more := beginAnew(ctx, app, pr, p, given)
	errs = append(errs, more...)
	for id := range openSlices(pr) {
		delete(open, id)
	}
	errs = append(errs, doc.retryAll(ctx, app, pr, p, ids, open, fresh)...)
	if len(found.Settled)+len(ids) > 0 {
		errs = append(errs, pr.Tracker.Refresh(ctx))
	}
	errs = append(errs, ops.LiftLogin(pr))
	if now, err := pr.Plan(time.Now(), pr.Options()); err == nil && now.Hold != nil &&
		len(ids) > 0 {
		app.IO.Message("launches are held %s; gl slice ID --force goes past that",
			heldText(now.Hold, time.Now()))
	}
	switch {
	case o.json:
		errs = append(errs, app.IO.JSON(doc))
	case o.all && len(ids) == 0:
		app.IO.Printf("nothing has failed or stalled\n")
	default:
		app.IO.Printf("%s", doc.text())
		if doc.changed() {
			app.IO.Message("%s", startText(pr, "it"))
		}
	}
	return errors.Join(errs...)
}

// beginAnew makes the next attempts at the slices begin new branches, and names the old ones.
// Slices that can't be retried are reported later.
func beginAnew(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan,
	ids []string) (anew map[string]bool, errs []error) {
	anew = map[string]bool{}
	for _, id := range ids {
		id, err := app.Resolve(p, id)
		if err != nil {
			continue
		}
		st := p.State(id)
		if !st.Class.Troubled() && st.Class != plan.Available && st.Reverted == nil {
			continue
		}
		was, err := ops.Fresh(ctx, pr, id)
		switch anew[id] = err == nil; {
		case err != nil:
			errs = append(errs, err)
		case was.Branch != "":
			app.IO.Message("%s starts over; its work so far stays on %s: gl salvage %s lists it",
				id, sanitize.Text(was.Branch), id)
		case was.Undone:
			app.IO.Message("%s starts over, without the work that was taken back", id)
		}
	}
	return anew, errs
}

// openSlices returns the slices with an unsettled attempt.
func openSlices(pr *project.Project) map[string]bool {
	open := map[string]bool{}
	live, _, _ := pr.Runs.Live() // settling them reports what is wrong
	for _, r := range live {
		open[r.ID.Slice] = true
	}
	return open
}

// abandonAll gives up the attempts at the slices and tasks, and returns the slices to retry: tasks
// aren't put back, and a slice may turn out complete by what its agent wrote last. A slice without
// an open attempt is itself given up.
func abandonAll(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan,
	ids []string) (retry, given []string, errs []error) {
	for _, id := range ids {
		var err error
		if !attempt.IsTask(id) {
			id, err = app.Resolve(p, id)
		}
		var settled []*attempt.Record
		if err == nil {
			settled, err = ops.Abandon(ctx, pr, id)
		}
		reportSettled(app.IO, settled, nil)
		switch {
		case errors.Is(err, ops.ErrNothingToDo) && attempt.IsTask(id):
			errs = append(errs, fmt.Errorf("%s isn't running", id))
		case err != nil && !errors.Is(err, ops.ErrNothingToDo):
			errs = append(errs, err)
		case !attempt.IsTask(id) && !slices.ContainsFunc(settled,
			func(r *attempt.Record) bool { return r.Judged.Outcome.Traits().Success }):
			retry = append(retry, id)
			if errors.Is(err, ops.ErrNothingToDo) {
				given = append(given, id)
			}
		}
	}
	return retry, given, errs
}

// whichBroken returns the usage error that names what could be put back.
func whichBroken(ids []string) error {
	if len(ids) == 0 {
		return cmdutil.Usage("nothing has failed or stalled")
	}
	return cmdutil.Usage("which slice? failed or stalled: %s (gl retry --all-failed takes all)",
		strings.Join(ids, ", "))
}

// A retryDoc is the result for each slice; the text for people is made from it, too.
type retryDoc struct {
	SchemaVersion int          `json:"schema_version"`
	Slices        []retrySlice `json:"slices"`
}

type retrySlice struct {
	ID string `json:"id"`
	// it is pending now; false if it was before, or if error has the reason
	Changed bool    `json:"changed"`
	Error   *string `json:"error"`
	// number of the retried attempt; null if unknown
	Attempt *int             `json:"attempt" jsonschema:"minimum=1"`
	Outcome *outcome.Outcome `json:"outcome"` // of that attempt
	Detail  *string          `json:"detail"`  // why, in a few words
}

// retryAll puts the slices back. If one can't be put back, the others are anyway. That isn't a
// failure if this command has just settled its attempt: retryAll then prints what is left to do.
func (d *retryDoc) retryAll(ctx context.Context, app *cmdutil.App, pr *project.Project,
	p *plan.Plan, ids []string, settled, fresh map[string]bool) []error {
	var errs []error
	for _, id := range ids {
		id, err := app.Resolve(p, id)
		if err == nil {
			var was plan.State
			was, err = ops.Retry(ctx, pr, id, fresh[id])
			d.add(id, was, err)
		}
		switch {
		case errors.Is(err, ops.ErrNothingToDo):
		case err != nil && settled[id]:
			app.IO.Message("%s", sanitize.Text(err.Error()))
		default:
			errs = append(errs, err)
		}
	}
	return errs
}

func (d *retryDoc) add(id string, was plan.State, err error) {
	s := retrySlice{ID: id, Changed: err == nil}
	if err != nil && !errors.Is(err, ops.ErrNothingToDo) {
		s.Error = jsondoc.OrNull(err.Error())
	}
	if a := was.Attempt; a != nil && !a.Open() {
		ended := outcome.Outcome(a.Outcome.Name)
		s.Attempt, s.Outcome, s.Detail = &a.N, &ended, jsondoc.OrNull(a.Detail)
	}
	d.Slices = append(d.Slices, s)
}

// startText says what starts a pending slice: a run that is under way, or the command for one.
func startText(pr *project.Project, it string) string {
	if leader, err := pr.Runs.Control.Leader(); err == nil && leader != "" {
		return "the run under way starts " + it
	}
	return "gl slice --watch" + pr.Flags() + " starts " + it
}

// changed reports whether a slice is pending now that wasn't.
func (d *retryDoc) changed() bool {
	return slices.ContainsFunc(d.Slices, func(s retrySlice) bool { return s.Changed })
}

func (d *retryDoc) text() string {
	var b strings.Builder
	for _, s := range d.Slices {
		switch {
		case s.Changed:
			b.WriteString(sanitize.Text(s.ID+" is pending again"+s.lastAttempt()) + "\n")
		case s.Error == nil:
			b.WriteString(s.ID + " is pending already\n")
		}
	}
	return b.String()
}

// lastAttempt describes the retried attempt: " (attempt 2 failed: exit 7)"; "" if none is known.
func (s *retrySlice) lastAttempt() string {
	if s.Attempt == nil {
		return ""
	}
	detail := ""
	if s.Detail != nil {
		detail = *s.Detail
	}
	if s.Outcome.Traits().Asks {
		return fmt.Sprintf(" (attempt %d ended waiting for %s)", *s.Attempt, detail)
	}
	return fmt.Sprintf(" (attempt %d %s)", *s.Attempt, s.Outcome.Text(detail))
}
