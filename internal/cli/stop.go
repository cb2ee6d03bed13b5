package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
)

func newStop(app *cmdutil.App) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "stop [ID...]",
		Short: "End agents, keep their work",
		Long: `End the agents of the named slices, or all agents. What they wrote stays. A slice on which no step was reached is pending
again; any other is stalled until gl retry. A running gl slice --watch goes on with other slices; --all ends it, too.

Exit codes: 0 they have ended; 1 one of them isn't running, or can't be ended; 2 wrong usage.`,
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
	c.Flags().BoolVar(&all, "all", false, "all agents, and every gl slice with them")
	return c
}

func runStop(ctx context.Context, app *cmdutil.App, ids []string, all, asJSON bool) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if len(ids) == 0 && !all {
		return whichRunning(pr)
	}
	stop, err := ops.PrepareStop(ctx, pr, ids, all)
	if err != nil {
		return err
	}
	reportSettled(app.IO, stop.Settled, stop.SettleErr)
	for _, note := range stop.Notes {
		app.IO.Message("%s", note)
	}
	if all && len(stop.Attempts)+len(stop.Settled) == 0 && !asJSON {
		app.IO.Printf("nothing is running\n")
	}
	doc := stopDoc{1, []stoppedSlice{}}
	doc.addSettled(stop.Settled, ids, all)
	errs := []error{stop.Err, doc.end(ctx, app.IO, stop, asJSON)}
	if all {
		closeIdle(ctx, app, pr)
	}
	if asJSON {
		errs = append(errs, app.IO.JSON(doc))
	}
	return errors.Join(errs...)
}

// running are the slices that gl stop and gl attach are about.
func running(p *plan.Plan) []string { return p.Lists.Running }

// A stopDoc is how each attempt ended.
type stopDoc struct {
	SchemaVersion int            `json:"schema_version"`
	Slices        []stoppedSlice `json:"slices"`
}

type stoppedSlice struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt" jsonschema:"minimum=1"`
	// null if it couldn't be stopped, or another process settled it
	Outcome *outcome.Outcome `json:"outcome"`
	Detail  *string          `json:"detail"` // why, in a few words
	Error   *string          `json:"error"`
}

// addSettled adds the attempts that were found dead and settled, which stderr already names.
func (d *stopDoc) addSettled(settled []*attempt.Record, ids []string, all bool) {
	for _, r := range settled {
		if all || slices.Contains(ids, r.ID.Slice) || slices.Contains(ids, r.ID.Label()) {
			d.add(r, r, nil)
		}
	}
}

func (d *stopDoc) add(was, final *attempt.Record, err error) {
	s := stoppedSlice{ID: was.ID.Slice, Attempt: was.ID.N}
	if final != nil {
		s.Outcome, s.Detail = &final.Judged.Outcome, jsondoc.OrNull(final.Judged.Detail)
	}
	if err != nil {
		s.Error = jsondoc.OrNull(err.Error())
	}
	d.Slices = append(d.Slices, s)
}

// whichRunning returns the usage error that names what could be stopped.
func whichRunning(pr *project.Project) error {
	live, err := ops.Running(pr)
	if err != nil {
		return err
	}
	if len(live) == 0 {
		return cmdutil.Usage("no slice is running")
	}
	ids := make([]string, len(live))
	for i, r := range live {
		ids[i] = r.ID.Label()
	}
	return cmdutil.Usage("which slice? running: %s (gl stop --all ends all)",
		strings.Join(ids, ", "))
}

// reportSettled names the attempts that were settled because their gl process is gone. err, about
// those that can't be settled, is only a warning.
func reportSettled(io *iostreams.Streams, settled []*attempt.Record, err error) {
	for _, r := range settled {
		io.Message("%s %s (%s)", r.ID.Label(), r.Judged.Outcome.Traits().Shown.Words,
			r.Judged.Detail)
	}
	if err != nil {
		io.Message("warning: %v", err)
	}
}

// reportAside names the records that couldn't be used.
func reportAside(io *iostreams.Streams, aside []*attempt.Aside) {
	for _, a := range aside {
		io.Message("warning: %s", a)
	}
}

// end ends the attempts and reports each as it ends.
func (d *stopDoc) end(ctx context.Context, io *iostreams.Streams, stop *ops.Stop,
	quiet bool) error {
	busy := io.Progress("ending " + words.Count(len(stop.Attempts), "agent"))
	defer busy.Done()
	return stop.End(ctx, func(s ops.Stopped) {
		busy.Clear()
		d.add(s.Attempt, s.Final, s.Err)
		if s.Final != nil && !quiet {
			io.Printf("%s\n", attempttext.Stopped(s.Final))
		}
	})
}
