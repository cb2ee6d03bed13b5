// Package inbox gathers what waits for a person with everything that is needed to decide about it:
// gl review shows it on a terminal, and gl web on a page. It changes nothing.
package inbox

import (
	"context"
	"io"
	"strings"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
)

// A Document is what gl review --json prints, and what the page of gl web shows.
type Document struct {
	SchemaVersion int    `json:"schema_version"`
	Items         []Item `json:"items"`
}

// An Item is one thing that waits.
type Item struct {
	Kind       ops.PendingKind `json:"kind" jsonschema:"enum=question,enum=review,enum=empty,enum=red,enum=conflict,enum=failed,enum=stalled,enum=interrupted,enum=budget,enum=paused,enum=unknown,enum=undelivered,enum=held,enum=proposal,enum=tests"`
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
	LookAt    []string   `json:"look_at"`
	Proposals []Proposal `json:"proposals"` // commands that its sessions wanted to set
}

// A Proposal is a command that a session wants to set.
type Proposal struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Command string `json:"command"`
}

// SaidLines is the number of lines shown of an agent's words.
const SaidLines = 12

// NewDocument returns a document without items.
func NewDocument() Document { return Document{1, []Item{}} }

// A Reader reads what is known about what waits.
type Reader struct {
	pr     *project.Project
	work   *lane.Reader // nil where slices are built in the checkout
	common string       // git's directory
	told   func(string)
}

// NewReader returns the reader of a project. told gets what can't be read.
func NewReader(ctx context.Context, pr *project.Project, told func(text string)) *Reader {
	r := &Reader{pr: pr, told: told}
	if !pr.Tracker.Traits().Lands {
		return r
	}
	repo, err := pr.Worktrees(ctx)
	if err != nil { // without worktrees, there is no diff to show
		return r
	}
	if r.work, err = lane.OpenReader(ctx, pr); err != nil {
		r.work = nil
	}
	r.common = repo.Git.Common
	return r
}

// Diffs reports whether there are diffs to show.
func (r *Reader) Diffs() bool { return r.work != nil }

// Diff returns what a slice has changed; nil if git doesn't tell.
func (r *Reader) Diff(ctx context.Context, id string) *lane.Diff {
	if r.work == nil {
		return nil
	}
	d, err := r.work.Diff(ctx, id)
	if err != nil {
		r.told(id + ": " + err.Error())
		return nil
	}
	return d
}

// Patch writes how two commits or trees differ, as git does.
func (r *Reader) Patch(ctx context.Context, from, to string, o git.DiffOptions,
	w io.Writer) error {
	return git.Diff(ctx, r.common, from, to, o, w)
}

// TestsDiff returns how a red slice has changed its tests since the hand-over, with their paths;
// nil if it hasn't.
func (r *Reader) TestsDiff(ctx context.Context, id string) (*lane.Diff, []string) {
	if r.work == nil {
		return nil, nil
	}
	d, paths, err := r.work.TestsDiff(ctx, id)
	if err != nil || len(paths) == 0 {
		return nil, nil
	}
	return d, paths
}

// Facts are what is known about a slice's work.
type Facts struct {
	Summary string     // what its session wrote for people
	Diff    *lane.Diff // nil if git doesn't tell
	Said    []string   // the end of what its agent wrote
	LookAt  []string   // what its contracts ask a person to look at, of one that awaits review
}

// Facts reads what is known about the work on an entry.
func (r *Reader) Facts(ctx context.Context, w *ops.Pending) Facts {
	var f Facts
	if w.ID == "" {
		return f
	}
	var err error
	if f.Summary, err = ops.Summary(ctx, r.pr, w.ID); err != nil {
		r.told(w.ID + ": " + err.Error())
	}
	f.Diff = r.Diff(ctx, w.ID)
	if w.Built != nil {
		f.Said = attemptlog.Said(w.Built.Life.Log, w.Built.Job.Stream, SaidLines)
	}
	if w.Kind == ops.PendingReview {
		f.LookAt = ops.ToLookAt(ctx, r.pr, w.ID)
	}
	return f
}

// Item returns an entry as the document has it.
func (r *Reader) Item(ctx context.Context, w *ops.Pending) Item {
	f := r.Facts(ctx, w)
	it := Item{Kind: w.Kind, ID: jsondoc.OrNull(w.ID), Name: jsondoc.OrNull(w.Name),
		Why: w.Why, Commands: w.Commands,
		Summary: jsondoc.OrNull(f.Summary), Said: jsondoc.OrEmpty(f.Said),
		LookAt: jsondoc.OrEmpty(f.LookAt), Proposals: []Proposal{}}
	if w.Last != nil {
		info := w.Last.Info()
		it.Attempt = &info
	}
	if d := f.Diff; d != nil {
		it.Files, it.Insertions, it.Deletions = &d.Stat.Files, &d.Stat.Insertions, &d.Stat.Deletions
	}
	for _, q := range w.Proposals {
		it.Proposals = append(it.Proposals, Proposal{q.Key, q.Value, q.Command()})
	}
	return it
}

// Title returns an entry on one line: "S-3 (Mail) asks: which currency?".
func Title(w *ops.Pending) string {
	subject := w.ID
	if w.Name != "" && w.Name != w.ID {
		subject += " (" + w.Name + ")"
	}
	switch w.Kind {
	case ops.PendingProposal, ops.PendingUndelivered, ops.PendingHeld, ops.PendingTests:
		return w.Why
	case ops.PendingQuestion:
		return subject + " asks: " + w.Why
	case ops.PendingReview:
		why := strings.TrimPrefix(w.Why, "for ")
		if w.Foreign {
			return subject + " is waiting for " + why
		}
		return subject + " awaits review: " + strings.TrimPrefix(why, "review: ")
	case ops.PendingConflict:
		return subject + " is in conflict: " + w.Why
	case ops.PendingFailed:
		return subject + " failed: " + w.Why
	case ops.PendingInterrupted:
		if said := string(w.Kind); !strings.HasPrefix(w.Why, said) {
			return subject + " was " + said + ": " + w.Why
		}
		return subject + " was " + w.Why
	case ops.PendingBudget:
		return subject + " is waiting " + w.Why
	case ops.PendingEmpty, ops.PendingRed, ops.PendingStalled, ops.PendingPaused,
		ops.PendingUnknown:
	}
	text := subject + " is " + string(w.Kind)
	if w.Why != "" && w.Why != string(w.Kind) {
		text += ": " + w.Why
	}
	return text
}
