package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/inbox"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/workspace/git"
)

func newReview(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "review [ID...]",
		Short: "Go through what waits for you: questions, work, failures",
		Long: `Go through what waits for you, one after the other: questions, slices to approve, and those whose last attempt failed.
For each, gl review shows what was done (summary, changed files, tests, the agent's last words, commands that it proposes to set), and
asks what to do: accept, reject with a comment, answer, retry, look at the diff, skip, or quit.

Without a terminal it lists them, each with the commands that answer it; with an ID, it prints what it would show.

Exit codes: 0 done or nothing waits; 1 it failed; 2 wrong usage.`,
		Example:           "  gl review\n  gl review S-07\n  gl review --json | jq -r '.items[].commands[0]'",
		ValidArgsFunction: app.CompleteSome(pending),
		RunE: func(c *cobra.Command, ids []string) error {
			return runReview(c.Context(), app, ids, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// pending returns the slices that wait for a person.
func pending(p *plan.Plan) []string {
	return slices.Concat(p.Lists.Waiting, p.Lists.TroubledIDs(), p.Lists.Unknown)
}

// A reviewer goes through everything that waits for a person.
type reviewer struct {
	app   *cmdutil.App
	pr    *project.Project
	inbox *inbox.Reader
}

func runReview(ctx context.Context, app *cmdutil.App, ids []string, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	r := &reviewer{app: app, pr: pr}
	told := func(text string) { app.IO.Detail("%s", text) }
	if len(ids) > 0 {
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			return err
		}
		for i := range ids {
			if ids[i], err = app.Resolve(p, ids[i]); err != nil {
				return err
			}
		}
	}
	r.inbox = inbox.NewReader(ctx, pr, told)
	list, err := ops.ToReview(pr, time.Now(), ids...)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		doc := inbox.NewDocument()
		for i := range list {
			doc.Items = append(doc.Items, r.inbox.Item(ctx, &list[i]))
		}
		return app.IO.JSON(doc)
	case len(list) == 0 && len(ids) > 0:
		app.IO.Printf("%s: nothing waits for you\n", strings.Join(ids, ", "))
		return nil
	case len(list) == 0:
		app.IO.Printf("nothing waits for you\n")
		return nil
	case !app.IO.Interactive() || app.Inside():
		for i := range list {
			if len(ids) > 0 {
				r.show(ctx, &list[i], "")
				app.IO.Printf("  %s\n", sanitize.Line(list[i].CommandText()))
				continue
			}
			r.list(&list[i])
		}
		return nil
	}
	return r.goThrough(ctx, list)
}

// list prints one entry and its commands.
func (r *reviewer) list(w *ops.Pending) {
	r.app.IO.Printf("%s\n", term.Wrap(sanitize.Line(inbox.Title(w)), r.app.IO.Width(), 2))
	r.app.IO.Printf("    %s\n", sanitize.Line(w.CommandText()))
	for _, q := range w.Proposals {
		r.app.IO.Printf("    proposed: %s\n", q.Command())
	}
}

// show prints everything that is known about an entry.
func (r *reviewer) show(ctx context.Context, w *ops.Pending, place string) {
	out := r.app.IO
	line := func(indent int, text string) {
		out.Printf("%s\n", term.Wrap(strings.Repeat(" ", indent)+text, out.Width(), indent+2))
	}
	line(0, out.Paint(term.Bold, sanitize.Line(inbox.Title(w)))+place)
	f := r.inbox.Facts(ctx, w)
	if w.Last != nil {
		line(2, sanitize.Line(attempttext.Line(nil, w.Last, time.Now())))
		for _, text := range slices.Concat(attempttext.Proof(w.Last, lane.Status{}), attempttext.Trouble(w.Last)) {
			line(2, sanitize.Line(text))
		}
	}
	if f.Summary != "" {
		line(2, sanitize.Line(f.Summary))
	}
	if len(f.LookAt) > 0 {
		line(2, "Its contracts ask you to look at:")
		for _, text := range f.LookAt {
			line(4, sanitize.Line(text))
		}
	}
	if d := f.Diff; d != nil {
		where := ""
		if d.Uncommitted {
			where = ", not all of it committed"
		}
		line(2, changeText(d.Stat)+where)
		var stat bytes.Buffer
		width := defaultWidth
		if out.Width() > 0 {
			width = out.Width()
		}
		if err := r.inbox.Patch(ctx, d.From, d.To, git.DiffOptions{Stat: width - 4}, &stat); err == nil {
			lines := strings.Split(strings.TrimRight(stat.String(), "\n"), "\n")
			for i, l := range lines[:max(0, len(lines)-1)] { // the last one is the sum
				if i == inbox.SaidLines {
					out.Printf("    … %d more\n", len(lines)-1-i)
					break
				}
				out.Printf("   %s\n", paintDiffLine(out, sanitize.Text(l), true))
			}
		}
	}
	if len(f.Said) > 0 {
		line(2, "Its last words:")
		for _, l := range f.Said {
			out.Printf("    %s\n", out.Paint(term.Dim, sanitize.Text(l)))
		}
	}
	for _, q := range w.Proposals {
		line(2, "Its session proposes: "+q.Command())
	}
}

// A choice is a way to decide an entry.
type choice struct {
	key, word string
	do        func(ctx context.Context, id, text string) error
	ask       string // for a line of text first
}

// choices returns those for a kind.
func (r *reviewer) choices(w *ops.Pending) []choice {
	accept := choice{"a", "accept", func(ctx context.Context, id, _ string) error {
		return runAccept(ctx, r.app, id, ops.Approval{})
	}, ""}
	reject := choice{"r", "reject", func(ctx context.Context, id, text string) error {
		return runReject(ctx, r.app, id, text, nil, false)
	}, "What is wrong? "}
	answer := choice{"a", "answer", func(ctx context.Context, id, text string) error {
		return runAnswer(ctx, r.app, id, text)
	}, "Your answer: "}
	switch w.Kind {
	case ops.PendingQuestion:
		return []choice{answer, reject}
	case ops.PendingReview, ops.PendingEmpty:
		if !r.pr.Tracker.Traits().Managed {
			return nil
		}
		return []choice{accept, reject}
	case ops.PendingRed, ops.PendingConflict, ops.PendingFailed, ops.PendingStalled,
		ops.PendingInterrupted:
		return r.repairs(w, accept)
	case ops.PendingPaused:
		return []choice{{"e", "resume", func(ctx context.Context, id, _ string) error {
			return runResume(ctx, r.app, id, false, false)
		}, ""}}
	case ops.PendingUndelivered:
		if !slices.Contains(w.Commands, "gl land") { // what takes merged work out isn't for a single key
			return nil
		}
		return []choice{{"l", "land", func(ctx context.Context, _, _ string) error {
			return runLand(ctx, r.app, false)
		}, ""}}
	case ops.PendingHeld:
		return []choice{{"l", "lift", func(ctx context.Context, _, _ string) error {
			return runHold(ctx, r.app, holdOptions{lift: true}, false)
		}, ""}}
	case ops.PendingUnknown, ops.PendingBudget, ops.PendingProposal, ops.PendingTests:
	}
	return nil
}

// repairs returns the choices for work that didn't come out right.
func (r *reviewer) repairs(w *ops.Pending, accept choice) []choice {
	retry := choice{"t", "retry", func(ctx context.Context, id, _ string) error {
		return runRetry(ctx, r.app, []string{id}, retryOptions{})
	}, ""}
	fresh := choice{"f", "retry fresh", func(ctx context.Context, id, _ string) error {
		return runRetry(ctx, r.app, []string{id}, retryOptions{fresh: true})
	}, ""}
	fixed := choice{"a", "accept what is fixed", accept.do, ""}
	byHand := slices.Contains(w.Commands, "gl accept "+w.ID)
	switch red := w.Kind == ops.PendingRed; {
	case red && ops.TestsToAccept(r.pr, w.ID) == nil:
		tests := choice{"a", "show and accept its tests",
			func(ctx context.Context, id, _ string) error {
				return r.acceptTests(ctx, id)
			}, ""}
		return []choice{tests, retry, fresh}
	case !r.pr.Tracker.Traits().Completes && red: // nothing of it can begin anew
		return []choice{fixed, retry}
	case !r.pr.Tracker.Traits().Completes:
		return []choice{retry}
	case byHand:
		return []choice{retry, fixed, fresh}
	}
	return []choice{retry, fresh}
}

// acceptTests shows how a red slice changed its tests, and accepts the change if the person agrees.
func (r *reviewer) acceptTests(ctx context.Context, id string) error {
	if err := showTests(ctx, r.app, id); err != nil {
		return err
	}
	if word, ok := r.app.IO.Ask("  Accept these tests? [y] yes  [n] no: "); !ok ||
		word != "y" && word != "yes" {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return runAccept(ctx, r.app, id, ops.Approval{Tests: true})
}

// errQuit ends the questions.
var errQuit = errors.New("quit")

// goThrough asks about each entry.
func (r *reviewer) goThrough(ctx context.Context, list []ops.Pending) error {
	done := 0
	for i := range list {
		w := &list[i]
		r.show(ctx, w, fmt.Sprintf("  (%d of %d)", i+1, len(list)))
		decided, err := r.ask(ctx, w)
		if errors.Is(err, errQuit) {
			break
		}
		if err != nil {
			return err
		}
		if decided {
			done++
		}
		r.app.IO.Printf("\n")
	}
	if left := len(list) - done; left > 0 {
		r.app.IO.Printf("%d of %d decided\n", done, len(list))
	}
	return nil
}

// explain says what each key does, and that it needs Enter.
func (r *reviewer) explain(choices []choice, diff bool) {
	out := r.app.IO
	line := func(key, text string) {
		out.Printf("%s\n", term.Wrap("    "+key+" - "+text, out.Width(), 8))
	}
	out.Printf("  Type a key, or the word, and press Enter:\n")
	for _, c := range choices {
		line(c.key, cmp.Or(aboutChoice[c.word], c.word))
	}
	if diff {
		line("d", "show what it changed")
	}
	line("s", "leave it as it is, and go to the next one")
	line("q", "leave all that are left as they are")
}

// aboutChoice says what the choices do.
var aboutChoice = map[string]string{
	"accept":                    "approve it; it is tested and merged",
	"reject":                    "send it back to its agent, with what is wrong",
	"answer":                    "answer its question; it goes on where it stopped",
	"retry":                     "go on with it: on its branch and, if the agent can, in the same conversation",
	"retry fresh":               "start over on a new branch; the work so far is kept",
	"show and accept its tests": "show how it changed its tests, and accept that",
	"accept what is fixed":      "approve what you have fixed yourself",
	"resume":                    "print its hand-off, and let it go on",
	"land":                      "merge what had to wait",
	"lift":                      "launch agents again",
}

// ask asks about one entry until it is decided or skipped.
func (r *reviewer) ask(ctx context.Context, w *ops.Pending) (decided bool, err error) {
	choices := r.choices(w)
	if len(choices) == 0 {
		r.app.IO.Printf("  %s\n", sanitize.Line(w.CommandText()))
	}
	var words []string
	for _, c := range choices {
		words = append(words, "["+c.key+"] "+c.word)
	}
	if w.ID != "" && r.inbox.Diffs() {
		words = append(words, "[d] diff")
	}
	words = append(words, "[s] skip", "[q] quit")
	for {
		word, ok := r.app.IO.Ask("  " + strings.Join(words, "  ") + ": ")
		if !ok {
			r.app.IO.Printf("\n")
			return false, errQuit
		}
		key, text, _ := strings.Cut(word, " ")
		switch i := slices.IndexFunc(choices, func(c choice) bool {
			return key == c.key || key == c.word
		}); {
		case key == "q" || key == "quit":
			return false, errQuit
		case key == "s" || key == "skip":
			return false, nil
		case (key == "d" || key == "diff") && w.ID != "" && r.inbox.Diffs():
			err = r.app.Page(func() error { return runDiff(ctx, r.app, w.ID, diffOptions{}) })
		case i < 0:
			r.explain(choices, w.ID != "" && r.inbox.Diffs())
			continue
		default:
			c := choices[i]
			if c.ask != "" && text == "" {
				if text, ok = r.app.IO.Ask("  " + c.ask); !ok || text == "" {
					continue
				}
			}
			if err = c.do(ctx, w.ID, text); err == nil {
				return true, nil
			}
		}
		if err != nil { // what can't be done is said, and asked again
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if exit := new(cmdutil.ExitError); !errors.As(err, &exit) || exit.Err != nil {
				r.app.IO.Message("gl: %v", err)
			}
		}
	}
}
