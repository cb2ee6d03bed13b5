package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/show/linecolor"
)

type logsOptions struct {
	follow bool
	n      int
	raw    bool
	json   bool
}

func newLogs(app *cmdutil.App) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:   "logs ID",
		Short: "Show what the agent did and said",
		Long: `Show what the agent did and said in a slice's last attempt, one line per event:

  - started    > tool call    ! tool failed    ~ rate limit or retried request    = ended

Lines without a mark are what the agent said, or what it wrote outside its event stream. A bar and a name in front are a
sub-agent's: | gl-test-writer > Bash: go test.

Exit codes: 0 shown; 1 there is no such attempt; 2 wrong usage; 130, 143 interrupted.`,
		Example: `  gl logs S-07
  gl logs -f S-07              follow it until the attempt ends
  gl logs S-07 --attempt 2
  gl logs @quick               the last quick task; @quick.2 is the second
  gl logs S-07 --raw | jq .    the agent's stream, unchanged
  gl logs S-07 --json | jq -r '.events[] | select(.kind == "tool") | .text'`,
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.Complete(completeFirstAttempt),
		RunE: func(c *cobra.Command, a []string) error {
			if c.Flags().Changed("attempt") && o.n < 1 {
				return cmdutil.Usage("--attempt must be 1 or more, not %d", o.n)
			}
			if o.json && (o.follow || o.raw) {
				return cmdutil.Usage("--json can't be combined with --follow or --raw")
			}
			if len(a) == 0 {
				return whichLogs(app)
			}
			return runLogs(c.Context(), app, a[0], o)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "keep printing until the attempt ends")
	f.IntVar(&o.n, "attempt", 0, "show attempt `N` (default: the last one)")
	f.BoolVar(&o.raw, "raw", false, "print the log file unchanged")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	// It fails only if the flag doesn't exist.
	_ = c.RegisterFlagCompletionFunc("attempt", app.Complete(completeAttempt))
	return c
}

// whichLogs returns the usage error that names what has been attempted.
func whichLogs(app *cmdutil.App) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	tried, err := pr.Runs.Index()
	if err != nil {
		return err
	}
	if len(tried) == 0 {
		return cmdutil.Usage("which slice? none has been attempted yet")
	}
	return cmdutil.Usage("which slice? gl logs ID shows one of %s", words.Some(slices.Sorted(maps.Keys(tried))))
}

func runLogs(ctx context.Context, app *cmdutil.App, id string, o logsOptions) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if task, n, ok := attempt.SplitTask(id); ok {
		id = task
		if o.n == 0 {
			o.n = n
		}
	}
	rec, err := findAttempt(app, pr, id, o.n)
	if err != nil {
		return err
	}
	if o.json {
		return logsJSON(app.IO, pr, rec)
	}
	out := bufio.NewWriter(app.IO)
	l := &logView{pr: pr, rec: rec, raw: o.raw, out: out, streams: app.IO,
		dec:  agent.NewDecoder(rec.Job.Stream),
		tail: attemptlog.NewTail(pr.Runs.Files.Log(rec.ID.Slice, rec.ID.N))}
	defer l.tail.Close()
	defer out.Flush()
	l.head()
	if o.follow {
		return l.follow(ctx, app.IO)
	}
	return l.once()
}

// findAttempt returns the record of attempt n of the slice, of the last one for n 0.
func findAttempt(app *cmdutil.App, pr *project.Project, id string, n int) (*attempt.Record, error) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	all, err := pr.Runs.Index()
	if err != nil {
		return nil, err
	}
	if attempt.IsTask(id) && len(all[id]) == 0 {
		return nil, fmt.Errorf("no attempt is named %s%s", id, tasksIn(all))
	}
	if len(all[id]) == 0 {
		// otherwise its slice may be gone, but its log still exists
		if id, err = app.Resolve(p, id); err != nil {
			return nil, err
		}
	}
	entries := all[id]
	if st := p.State(id); st != nil && len(entries) == 0 {
		// it may have been attempted under an earlier id
		for _, name := range st.Was {
			if len(all[name]) > 0 {
				id, entries = name, all[name]
			}
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s has no attempts yet. %s", id, p.Why(id, time.Now()))
	}
	last := entries[len(entries)-1].N
	if n == 0 {
		n = last
	}
	rec, err := pr.Runs.Get(id, n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no attempt %d: the last one is %d", id, n, last)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of attempt %d of %s: %w", n, id, err)
	}
	return rec, nil
}

// tasksIn names the tasks with attempts: " (there are: @map, @quick)".
func tasksIn(all map[string][]attempt.Entry) string {
	ids := taskIDs(all)
	if len(ids) == 0 {
		return ""
	}
	return " (known: " + strings.Join(ids, ", ") + ")"
}

func taskIDs(all map[string][]attempt.Entry) []string {
	var ids []string
	for id := range all {
		if attempt.IsTask(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// A logView shows the log of one attempt.
type logView struct {
	pr   *project.Project
	rec  *attempt.Record
	raw  bool
	out  *bufio.Writer
	dec  *agent.Decoder
	tail *attemptlog.Tail

	streams *iostreams.Streams // out has its width and colors
}

// head prints the line before the log.
func (l *logView) head() {
	if l.raw {
		return
	}
	started := "not started yet"
	if l.rec.Accepted() {
		started = "accepted " + l.rec.Life.ClaimedAt.Local().Format(time.DateTime)
	} else if l.rec.Life.StartedAt != nil {
		started = "started " + l.rec.Life.StartedAt.Local().Format(time.DateTime)
	}
	l.line(term.Dim,
		fmt.Sprintf("attempt %d of %s with %s, %s", l.rec.ID.N, l.rec.ID.Slice,
			strings.TrimSuffix(l.rec.Job.Agent+" on worker "+l.rec.Life.Remote.Label(), " on worker "), started))
}

// once shows the log so far.
func (l *logView) once() error {
	over := l.rec.Life.Phase == plan.Settled
	if err := l.more(over); err != nil {
		return err
	}
	if over {
		l.end()
	}
	return nil
}

// follow shows new lines until the attempt is over.
func (l *logView) follow(ctx context.Context, streams *iostreams.Streams) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	news, stop := watchLog(l.pr.Runs, l.rec)
	defer stop()
	for {
		over, word := l.over() // before reading, so that the end isn't missed
		if err := errors.Join(l.more(over), l.out.Flush()); err != nil {
			return err
		}
		if over {
			if word != "" {
				streams.Message("%s", word)
				return nil
			}
			l.end()
			return nil
		}
		select {
		case <-news:
		case sig := <-signals:
			return &cmdutil.ExitError{Code: cmdutil.ExitSignal + int(sig.(syscall.Signal))}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// over reports whether the log has ended; word is the message if the attempt isn't settled.
func (l *logView) over() (over bool, word string) {
	rec, err := l.pr.Runs.Get(l.rec.ID.Slice, l.rec.ID.N)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !l.rec.Life.Phase.Begun():
		return true, fmt.Sprintf("attempt %d of %s was canceled before its agent started",
			l.rec.ID.N, l.rec.ID.Slice)
	case err != nil:
		// being rewritten, or cleaned up: the wrapper writes it again when it settles
		rec = l.rec
	}
	l.rec = rec
	if rec.Life.Phase != plan.Settled && rec.Life.Dead() {
		if again, err := l.pr.Runs.Get(rec.ID.Slice, rec.ID.N); err == nil &&
			again.Life.Phase == plan.Settled {
			l.rec = again
			return true, ""
		}
		settle := "gl retry " + rec.ID.Slice
		if rec.ID.IsTask() {
			settle = "gl stop " + rec.ID.Label()
		}
		return true, fmt.Sprintf("attempt %d of %s isn't settled, but its gl process is gone: run %s to settle it", rec.ID.N, rec.ID.Slice, settle)
	}
	return rec.Life.Phase == plan.Settled, ""
}

// more shows what was written since the last time; an incomplete last line only at the end.
func (l *logView) more(over bool) error {
	if l.raw {
		return l.tail.Copy(l.out)
	}
	return l.tail.Lines(over, func(p lines.Piece) {
		for _, text := range attemptlog.Text(l.dec, p) {
			l.event(text)
		}
	})
}

// event shows an event. A sub-agent's bar and name have their own color, the rest that of its mark.
func (l *logView) event(text string) {
	c := linecolor.Log(text)
	if !strings.HasPrefix(text, linecolor.SubAgent) {
		l.line(c, text)
		return
	}
	for line := range strings.SplitSeq(term.Wrap(text, l.streams.Width(), len("|   ")), "\n") {
		if !strings.HasPrefix(line, linecolor.SubAgent) {
			line = "|   " + strings.TrimLeft(line, " ")
		}
		_, _ = l.out.WriteString(l.streams.Paint(c, line[:1]) + line[1:] + "\n")
	}
}

// line shows a text in a color; on a terminal, no line is wider than that.
func (l *logView) line(c term.Color, text string) {
	for line := range strings.SplitSeq(sanitize.Text(text), "\n") {
		lead := len(line) - len(strings.TrimLeft(line, " "))
		for part := range strings.SplitSeq(term.Wrap(line, l.streams.Width(), lead+2), "\n") {
			body := strings.TrimLeft(part, " ")
			_, _ = l.out.WriteString(part[:len(part)-len(body)] + l.streams.Paint(c, body) + "\n")
		}
	}
}

// end prints the line after the log of a settled attempt: "failed: exit 7, after 12s, 3 turns,
// $0.42".
func (l *logView) end() {
	if l.raw {
		return
	}
	if text := attempttext.Verdict(l.rec); text != "" {
		l.line("", text)
	}
	for _, text := range attempttext.Output(l.rec) {
		l.line(term.Dim, "    "+text)
	}
	l.line(outcomeColor(l.rec), attempttext.WithCost(l.rec.Judged.Outcome.Text(l.rec.Judged.Detail),
		l.rec))
	for _, text := range attempttext.Work(l.rec) {
		l.line("", text)
	}
	if v := l.rec.Judged.Verdict; v != nil && v.Log != "" {
		l.line("", "its tests: "+v.Log)
	}
}
