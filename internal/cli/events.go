package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/text/moment"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/show/eventtext"
	"greenlight/internal/state/journal"
)

type eventsOptions struct {
	follow bool
	since  string
	slice  string
	json   bool
}

func newEvents(app *cmdutil.App) *cobra.Command {
	var o eventsOptions
	c := &cobra.Command{
		Use:   "events",
		Short: "Show what happened",
		Long: `Show the project's journal, one line per event: what gl and its agents did, and what people decided. Times are local.

--since takes how long ago (2h, 7d), a time of day (22:30), a day (2026-03-01) or a time (2026-03-01T22:30:00Z).
With --json, each line is one JSON document, as in the journal itself: .greenlight/runs/journal.jsonl.

Exit codes: 0 shown; 1 it failed; 2 wrong usage; 130, 143 interrupted.`,
		Example: `  gl events --since 22:30
  gl events -f                 keep printing as they come
  gl events --slice S-07
  gl events --json | jq -r 'select(.kind == "settled") | .slice + " " + .outcome'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runEvents(c.Context(), app, o) },
	}
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "keep printing events as they come")
	f.StringVar(&o.since, "since", "",
		"only events since `WHEN`: how long ago, a time of day, a day, or a time")
	f.StringVar(&o.slice, "slice", "", "only events of slice or task `ID`")
	f.BoolVar(&o.json, "json", false, "print one JSON document per event")
	_ = c.RegisterFlagCompletionFunc("slice", app.CompleteIDs) // fails only for an unknown flag
	return c
}

// sinceFlag returns the time that a flag --since names, the zero time for none.
func sinceFlag(value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	since, err := moment.Since(value, now)
	if err != nil {
		return time.Time{}, cmdutil.Usage("--since %w", err)
	}
	return since, nil
}

func runEvents(ctx context.Context, app *cmdutil.App, o eventsOptions) error {
	since, err := sinceFlag(o.since, time.Now())
	if err != nil {
		return err
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if o.slice != "" && !attempt.IsTask(o.slice) {
		if o.slice, err = journalID(app, pr, o.slice); err != nil {
			return err
		}
	}
	r := pr.Runs.Journal().Reader(since)
	defer r.Close()
	show := eventPrinter(app.IO, o.json)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := r.All()
	caught := make(chan os.Signal, 1)
	if o.follow {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
		defer signal.Stop(signals)
		go func() {
			select {
			case sig := <-signals:
				caught <- sig
				cancel()
			case <-ctx.Done():
			}
		}()
		events = r.Follow(ctx)
	}
	none := true
	for e, err := range events {
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		none = false
		if o.slice == "" || e.Slice == o.slice {
			if err := show(e); err != nil {
				return err
			}
		}
	}
	if none && since.IsZero() && !o.follow {
		app.IO.Message("no events yet")
	}
	if n := r.Skipped(); n > 0 {
		app.IO.Message("warning: %s of the journal can't be read, and left out",
			words.Count(n, "line"))
	}
	select {
	case sig := <-caught:
		return &cmdutil.ExitError{Code: cmdutil.ExitSignal + int(sig.(syscall.Signal))}
	default:
		return nil
	}
}

// journalID returns the id of the slice that a person means: one in the plan or, if it has none, in
// the journal.
func journalID(app *cmdutil.App, pr *project.Project, id string) (string, error) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return "", err
	}
	match, err := app.Resolve(p, id)
	if err == nil {
		return match, nil
	}
	for e := range pr.Runs.Journal().Events(time.Time{}) {
		if e.Slice == id {
			return id, nil
		}
	}
	return "", err
}

// eventPrinter prints events as lines for people, or as JSON.
func eventPrinter(out *iostreams.Streams, asJSON bool) func(journal.Event) error {
	return func(e journal.Event) error {
		switch {
		case !asJSON && e.Kind == journal.Told: // a note of gl's own
			return nil
		case !asJSON:
			_, err := fmt.Fprintln(out, eventLine(e, time.Now(), out.Width()))
			return err
		}
		line, err := e.Line()
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		return err
	}
}

// eventLine returns an event for people: "02:13  S-3  failed: exit 7 (attempt 2, 12s, 3 turns,
// $0.42)".
func eventLine(e journal.Event, now time.Time, width int) string {
	lead := plan.At(e.Time, now, "15:04") + "  "
	if e.Slice != "" {
		lead += sanitize.Line(e.Slice) + "  "
	}
	return term.WrapColumn(lead, sanitize.Line(eventtext.Of(e)), width)
}

// An eventStream prints the events of a run to stdout as they happen.
type eventStream struct {
	reader *journal.Reader
	show   func(journal.Event) error
	cancel context.CancelFunc
	done   chan error
}

// streamEvents returns a stream of the events from now on.
func streamEvents(ctx context.Context, pr *project.Project,
	out *iostreams.Streams) (*eventStream, error) {
	r, err := pr.Runs.Journal().ReaderAtEnd()
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &eventStream{reader: r, show: eventPrinter(out, true), cancel: cancel,
		done: make(chan error, 1)}
	go func() {
		for e, err := range r.Follow(ctx) {
			if err == nil {
				err = s.show(e)
			}
			if err != nil && !errors.Is(err, syscall.EPIPE) { // the run continues without a reader
				s.done <- err
				return
			}
		}
		s.done <- nil
	}()
	return s, nil
}

// close prints the rest.
func (s *eventStream) close() error {
	s.cancel()
	err := <-s.done
	for err == nil {
		var e journal.Event
		if e, err = s.reader.Next(); err == nil {
			err = s.show(e)
		}
	}
	s.reader.Close()
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
