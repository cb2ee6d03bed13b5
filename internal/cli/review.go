package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
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

// A reviewDoc is what gl review --json prints.
type reviewDoc struct {
	SchemaVersion int          `json:"schema_version"`
	Items         []reviewItem `json:"items"`
}

type reviewItem struct {
	Kind       ops.PendingKind `json:"kind" jsonschema:"enum=question,enum=review,enum=empty,enum=red,enum=conflict,enum=failed,enum=stalled,enum=interrupted,enum=paused,enum=unknown,enum=undelivered,enum=held,enum=proposal"`
	ID         *string         `json:"id"`   // null for what is about the project
	Name       *string         `json:"name"` // null for what is about the project
	Why        string          `json:"why"`
	Commands   []string        `json:"commands"`   // that answer it, the usual one first
	Attempt    *attempt.Info   `json:"attempt"`    // the last one; null if there was none
	Summary    *string         `json:"summary"`    // what its session wrote for people
	Files      *int            `json:"files"`      // changed; null if git doesn't tell
	Insertions *int            `json:"insertions"` // null if git doesn't tell
	Deletions  *int            `json:"deletions"`  // null if git doesn't tell
	Said       []string        `json:"said"`       // the end of what its agent wrote
	// what its contracts ask a person to look at, of one that awaits review
	LookAt    []string         `json:"look_at"`
	Proposals []reviewProposal `json:"proposals"` // commands that its sessions wanted to set
}

type reviewProposal struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Command string `json:"command"`
}

// saidLines is the number of lines shown of an agent's words.
const saidLines = 12

// A reviewer goes through everything that waits for a person.
type reviewer struct {
	app  *cmdutil.App
	pr   *project.Project
	lane *lane.Queue // nil where slices are built in the checkout
}

func runReview(ctx context.Context, app *cmdutil.App, ids []string, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	r := &reviewer{app: app, pr: pr}
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
	if pr.Tracker.Traits().Lands {
		r.lane, _ = openLane(ctx, app, pr, pr.Root) // without one, there is no diff to show
	}
	list, err := ops.ToReview(pr, time.Now(), ids...)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		doc := reviewDoc{1, []reviewItem{}}
		for i := range list {
			doc.Items = append(doc.Items, r.item(ctx, &list[i]))
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
				app.IO.Printf("  %s\n", sanitize.Line(strings.Join(list[i].Commands, ", or ")))
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
	r.app.IO.Printf("%s\n", term.Wrap(sanitize.Line(title(w)), r.app.IO.Width(), 2))
	r.app.IO.Printf("    %s\n", sanitize.Line(strings.Join(w.Commands, ", or ")))
	for _, q := range w.Proposals {
		r.app.IO.Printf("    proposed: %s\n", q.Command())
	}
}

// title returns an entry on one line: "S-3 (Mail) asks: which currency?".
func title(w *ops.Pending) string {
	subject := w.ID
	if w.Name != "" && w.Name != w.ID {
		subject += " (" + w.Name + ")"
	}
	switch w.Kind {
	case ops.PendingProposal, ops.PendingUndelivered, ops.PendingHeld:
		return w.Why
	case ops.PendingQuestion:
		return subject + " asks: " + w.Why
	case ops.PendingReview:
		why := strings.TrimPrefix(strings.TrimPrefix(w.Why, "for "), "review: ")
		return subject + " awaits review: " + why
	case ops.PendingConflict:
		return subject + " is in conflict: " + w.Why
	case ops.PendingFailed:
		return subject + " failed: " + w.Why
	case ops.PendingInterrupted:
		if said := string(w.Kind); !strings.HasPrefix(w.Why, said) {
			return subject + " was " + said + ": " + w.Why
		}
		return subject + " was " + w.Why
	case ops.PendingEmpty, ops.PendingRed, ops.PendingStalled, ops.PendingPaused,
		ops.PendingUnknown:
	}
	text := subject + " is " + string(w.Kind)
	if w.Why != "" && w.Why != string(w.Kind) {
		text += ": " + w.Why
	}
	return text
}

// facts returns what gl knows about a slice's work.
func (r *reviewer) facts(ctx context.Context,
	w *ops.Pending) (summary string, d *lane.Diff, said []string) {
	if w.ID == "" {
		return "", nil, nil
	}
	summary, err := ops.Summary(ctx, r.pr, w.ID)
	if err != nil {
		r.app.IO.Detail("%s: %v", w.ID, err)
	}
	if r.lane != nil {
		if d, err = r.lane.Reader.Diff(ctx, w.ID); err != nil {
			r.app.IO.Detail("%s: %v", w.ID, err)
			d = nil
		}
	}
	if w.Built != nil {
		said = attemptlog.Said(w.Built.Life.Log, w.Built.Job.Stream, saidLines)
	}
	return summary, d, said
}

// toLookAt returns what the contracts of a slice in review ask a person to look at.
func (r *reviewer) toLookAt(ctx context.Context, w *ops.Pending) []string {
	if w.Kind != ops.PendingReview {
		return nil
	}
	return ops.ToLookAt(ctx, r.pr, w.ID)
}

func (r *reviewer) item(ctx context.Context, w *ops.Pending) reviewItem {
	summary, d, said := r.facts(ctx, w)
	it := reviewItem{Kind: w.Kind, ID: jsondoc.OrNull(w.ID), Name: jsondoc.OrNull(w.Name),
		Why: w.Why, Commands: w.Commands,
		Summary: jsondoc.OrNull(summary), Said: jsondoc.OrEmpty(said),
		LookAt: jsondoc.OrEmpty(r.toLookAt(ctx, w)), Proposals: []reviewProposal{}}
	if w.Last != nil {
		info := w.Last.Info()
		it.Attempt = &info
	}
	if d != nil {
		it.Files, it.Insertions, it.Deletions = &d.Stat.Files, &d.Stat.Insertions, &d.Stat.Deletions
	}
	for _, q := range w.Proposals {
		it.Proposals = append(it.Proposals, reviewProposal{q.Key, q.Value, q.Command()})
	}
	return it
}

// show prints everything that is known about an entry.
func (r *reviewer) show(ctx context.Context, w *ops.Pending, place string) {
	out := r.app.IO
	line := func(indent int, text string) {
		out.Printf("%s\n", term.Wrap(strings.Repeat(" ", indent)+text, out.Width(), indent+2))
	}
	line(0, out.Paint(term.Bold, sanitize.Line(title(w)))+place)
	summary, d, said := r.facts(ctx, w)
	if w.Last != nil {
		line(2, sanitize.Line(attemptText(nil, w.Last, time.Now())))
		for _, text := range slices.Concat(proofText(w.Last), troubleText(w.Last)) {
			line(2, sanitize.Line(text))
		}
	}
	if summary != "" {
		line(2, sanitize.Line(summary))
	}
	if list := r.toLookAt(ctx, w); len(list) > 0 {
		line(2, "Its contracts ask you to look at:")
		for _, text := range list {
			line(4, sanitize.Line(text))
		}
	}
	if d != nil {
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
		if err := git.Diff(ctx, r.lane.Repo.Git.Common, d.From, d.To,
			git.DiffOptions{Stat: width - 4}, &stat); err == nil {
			lines := strings.Split(strings.TrimRight(stat.String(), "\n"), "\n")
			for i, l := range lines[:max(0, len(lines)-1)] { // the last one is the sum
				if i == saidLines {
					out.Printf("    … %d more\n", len(lines)-1-i)
					break
				}
				out.Printf("   %s\n", paintDiffLine(out, sanitize.Text(l), true))
			}
		}
	}
	if len(said) > 0 {
		line(2, "Its last words:")
		for _, l := range said {
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
		return runAccept(ctx, r.app, id, false, false)
	}, ""}
	reject := choice{"r", "reject", func(ctx context.Context, id, text string) error {
		return runReject(ctx, r.app, id, text, nil, false)
	}, "What is wrong? "}
	answer := choice{"a", "answer", func(ctx context.Context, id, text string) error {
		return runAnswer(ctx, r.app, id, text)
	}, "Your answer: "}
	retry := choice{"t", "retry", func(ctx context.Context, id, _ string) error {
		return runRetry(ctx, r.app, []string{id}, retryOptions{})
	}, ""}
	fresh := choice{"f", "retry fresh", func(ctx context.Context, id, _ string) error {
		return runRetry(ctx, r.app, []string{id}, retryOptions{fresh: true})
	}, ""}
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
		if w.Kind == ops.PendingRed && ops.TestsToAccept(r.pr, w.ID) == nil {
			tests := choice{"a", "show and accept its tests",
				func(ctx context.Context, id, _ string) error {
					return r.acceptTests(ctx, id)
				}, ""}
			return []choice{tests, retry, fresh}
		}
		return []choice{retry, fresh}
	case ops.PendingPaused:
		return []choice{{"e", "resume", func(ctx context.Context, id, _ string) error {
			return runResume(ctx, r.app, id, false, false)
		}, ""}}
	case ops.PendingUndelivered:
		return []choice{{"l", "land", func(ctx context.Context, _, _ string) error {
			return runLand(ctx, r.app, false)
		}, ""}}
	case ops.PendingHeld:
		return []choice{{"l", "lift", func(ctx context.Context, _, _ string) error {
			return runHold(ctx, r.app, holdOptions{lift: true}, false)
		}, ""}}
	case ops.PendingUnknown, ops.PendingProposal:
	}
	return nil
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
	return runAccept(ctx, r.app, id, false, true)
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

// ask asks about one entry until it is decided or skipped.
func (r *reviewer) ask(ctx context.Context, w *ops.Pending) (decided bool, err error) {
	choices := r.choices(w)
	if len(choices) == 0 {
		r.app.IO.Printf("  %s\n", sanitize.Line(strings.Join(w.Commands, ", or ")))
	}
	var words []string
	for _, c := range choices {
		words = append(words, "["+c.key+"] "+c.word)
	}
	if w.ID != "" && r.lane != nil {
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
		case (key == "d" || key == "diff") && w.ID != "" && r.lane != nil:
			err = r.app.Page(func() error { return runDiff(ctx, r.app, w.ID, diffOptions{}) })
		case i < 0:
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
