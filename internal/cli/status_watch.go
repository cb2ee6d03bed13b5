package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project"
	"greenlight/internal/run/watch"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
)

// agesEvery is the interval for redrawing without changes, because ages grow.
const agesEvery = 5 * time.Second

// watchStatus shows the progress until Ctrl-C: in place on a terminal, elsewhere a line for each
// change.
func watchStatus(ctx context.Context, app *cmdutil.App, pr *project.Project,
	o statusOptions) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	w := watch.New(pr.Runs, pr.Tracker.Watch(), app.IO.Detail)
	defer w.Close()
	tick := time.NewTicker(agesEvery)
	defer tick.Stop()
	reader := facts.NewReader(pr)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	last := ""
	if tty := app.IO.Terminal(); tty != nil {
		fmt.Fprint(tty, "\x1b[2J")
	}
	for {
		text, err := watchedText(app, pr, o, reader)
		if err != nil {
			return err
		}
		if tty := app.IO.Terminal(); tty != nil {
			fmt.Fprint(tty, text)
		} else if text != last {
			app.IO.Printf("%s\n", text)
		}
		last = text
		select {
		case <-w.News:
		case <-tick.C:
			w.Renew(pr.Runs)
		case <-resized:
		case sig := <-signals:
			return &cmdutil.ExitError{Code: cmdutil.ExitSignal + int(sig.(syscall.Signal))}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchedText returns the current text: on a terminal the screen, with the sequences that replace
// the last one.
func watchedText(app *cmdutil.App, pr *project.Project, o statusOptions,
	reader *facts.Reader) (string, error) {
	now := time.Now()
	p, err := shownPlan(pr, now, o.milestone)
	if err != nil {
		return "", err
	}
	tty := app.IO.Terminal()
	if tty == nil {
		return view.Count(p, facts.Lane(pr, p)).Bar(p, now), nil
	}
	f, err := reader.All(p)
	if err != nil {
		return "", err
	}
	width, height := app.IO.Size()
	screen := status.Screen{Width: max(width, 10), All: o.all, Paint: app.IO.Paint}
	lines := screen.Lines(view.New(p, f, now))
	if n := len(lines) - height + 1; height > 1 && n > 0 {
		more := term.Truncate(fmt.Sprintf("… %d more lines", n+1), screen.Width)
		lines = append(lines[:height-2], app.IO.Paint(term.Dim, more))
	}
	// Home; clear the rest of each line, and everything below.
	return "\x1b[H" + strings.Join(lines, "\x1b[K\n") + "\x1b[K\n\x1b[J", nil
}
