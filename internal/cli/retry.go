package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/agent"
	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/tracker"
)

func newRetry(app *cmdutil.App) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:        "retry ID...",
		SuggestFor: []string{"rerun", "redo", "again", "restart"},
		Short:      "Put a failed or stalled slice back",
		Long: `Put failed and stalled slices back: they are pending, and the next gl slice, or one that runs, launches them. What the
agent wrote stays. A hold because nobody was logged in ends.

Exit codes: 0 they are pending; 1 one is done, or waits for a person, or can't be read; 2 wrong usage; 3 one is being
worked on.`,
		Example:           "  gl retry S-07\n  gl retry --all-failed",
		ValidArgsFunction: app.CompleteSome(broken),
		RunE: func(c *cobra.Command, ids []string) error {
			if all && len(ids) > 0 {
				return cmdutil.Usage("give ids or --all-failed, not both")
			}
			return runRetry(c.Context(), app, ids, all, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().BoolVar(&all, "all-failed", false, "all that failed or stalled")
	return c
}

// broken are the slices that wait for gl retry.
func broken(p *plan.Plan) []string { return slices.Concat(p.Failed, p.Stalled) }

func runRetry(ctx context.Context, app *cmdutil.App, ids []string, all, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	dead := reconcile(ctx, app, pr)
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	if all {
		ids = broken(p)
	} else if len(ids) == 0 {
		return whichBroken(broken(p))
	}
	doc := retryDoc{1, []retrySlice{}}
	errs := doc.retryAll(ctx, app, pr, p, ids)
	if len(dead)+len(ids) > 0 {
		errs = append(errs, pr.Tracker.Refresh(ctx))
	}
	errs = append(errs, liftLogin(pr))
	switch {
	case asJSON:
		errs = append(errs, app.IO.JSON(doc))
	case all && len(ids) == 0:
		app.IO.Printf("no slice has failed or stalled\n")
	default:
		app.IO.Printf("%s", doc.text())
	}
	return errors.Join(errs...)
}

// whichBroken is the usage error that names what could be put back.
func whichBroken(ids []string) error {
	if len(ids) == 0 {
		return cmdutil.Usage("which slice? none has failed or stalled")
	}
	return cmdutil.Usage("which slice? failed or stalled: %s (gl retry --all-failed takes all)", strings.Join(ids, ", "))
}

// A retryDoc is what became of each slice; its text is made from it.
type retryDoc struct {
	SchemaVersion int          `json:"schema_version"`
	Slices        []retrySlice `json:"slices"`
}

type retrySlice struct {
	ID      string           `json:"id"`
	Changed bool             `json:"changed"` // it is pending now; false if it was already, or if error says why not
	Error   *string          `json:"error"`
	Attempt *int             `json:"attempt" jsonschema:"minimum=1"` // number of the attempt that is retried; null if none is known
	Outcome *attempt.Outcome `json:"outcome"`                        // of that attempt
	Detail  *string          `json:"detail"`                         // why, in a few words
}

// retryAll puts the slices back; one that can't be is no reason to leave the others.
func (d *retryDoc) retryAll(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan, ids []string) []error {
	var errs []error
	for _, id := range ids {
		id, err := app.Resolve(p, id)
		if err == nil {
			var was plan.State
			was, err = retry(ctx, pr, id)
			d.add(id, was, err)
		}
		if !errors.Is(err, errAvailable) {
			errs = append(errs, err)
		}
	}
	return errs
}

func (d *retryDoc) add(id string, was plan.State, err error) {
	s := retrySlice{ID: id, Changed: err == nil}
	if err != nil && !errors.Is(err, errAvailable) {
		s.Error = jsondoc.OrNull(err.Error())
	}
	if a := was.Attempt; a != nil && !a.Open() {
		outcome := attempt.Outcome(a.Outcome.Name)
		s.Attempt, s.Outcome, s.Detail = &a.N, &outcome, jsondoc.OrNull(a.Detail)
	}
	d.Slices = append(d.Slices, s)
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

// lastAttempt tells what is being tried again: " (attempt 2 failed: exit 7)"; "" where no attempt is known.
func (s *retrySlice) lastAttempt() string {
	if s.Attempt == nil {
		return ""
	}
	detail := ""
	if s.Detail != nil {
		detail = *s.Detail
	}
	return fmt.Sprintf(" (attempt %d %s)", *s.Attempt, s.Outcome.Text(detail))
}

// errAvailable ends an edit that has nothing to do.
var errAvailable = errors.New("available already")

// retry puts one item back and returns what it was; errAvailable means that nothing was to be done.
func retry(ctx context.Context, pr *project.Project, id string) (was plan.State, err error) {
	const tries = 3 // against somebody who writes without the lock
	err = pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		for range tries {
			if was, err = putBack(pr, tx, id); !errors.Is(err, tracker.ErrChanged) {
				break
			}
		}
		if err != nil {
			return err
		}
		// After the item's file: a kill between the two leaves an item that is pending, or stalled as before; the other way
		// round it could look as if somebody worked on it.
		return pr.Runs.MarkRetried(id)
	})
	return was, err
}

// putBack has an item start over, if it is one that may.
func putBack(pr *project.Project, tx tracker.Tx, id string) (was plan.State, err error) {
	now := time.Now()
	s, err := pr.Snapshot(tx.Load)
	if err != nil {
		return was, err
	}
	p := plan.New(s, now, pr.Options())
	st := p.State(id)
	if st == nil { // somebody has just removed it
		return was, fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
	}
	if err := mayPutBack(p, st, now); err != nil {
		return *st, err
	}
	return *st, tx.PutBack(id, plan.Mark{Status: st.Status, Step: st.Step, Session: st.Session})
}

// mayPutBack refuses what isn't to be put back.
func mayPutBack(p *plan.Plan, st *plan.State, now time.Time) error {
	why := p.Why(st.ID, now)
	switch {
	case st.Attempt.Open(), st.Class == plan.Active:
		return cmdutil.Taken("%s", why)
	case st.Class == plan.Available:
		return errAvailable
	case st.Class != plan.Failed && st.Class != plan.Stalled:
		return fmt.Errorf("%s can't be put back: %s", st.ID, why)
	}
	return nil
}

// liftLogin ends a hold that waits for somebody to log in: whoever retries has done so.
func liftLogin(pr *project.Project) error {
	if h := pr.Runs.Hold(); h != nil && h.Kind == agent.Login {
		return pr.Runs.LiftHold()
	}
	return nil
}
