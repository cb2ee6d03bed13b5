// Package briefing gathers everything that an agent should know about a slice: the text of its
// file, the results of earlier attempts, what people have said, and its contracts. It reads the
// project's own files wherever the agent works, because the copies in a worktree are as old as
// its base commit. Only a contract that the project lacks is read from the worktree. It changes
// nothing and prints nothing.
package briefing

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/contracts"
)

// A Briefing has everything about one slice.
type Briefing struct {
	ID     string
	File   string      // of the slice, relative to the root; "" for none
	Fields []ops.Field // the front matter in its order; without a file, the known fields
	// of the file, without the front matter: why, what, decisions, answers, rejections
	Body      string
	Attempts  []*attempt.Record // finished attempts, newest first
	Contracts []contracts.Text  // contracts that the slice names
	Work      *ops.Work         // unmerged work in its worktree; nil for none, and before WithWork
	Handoff   string            // what an earlier session left for the next one
}

// mostAttempts is how many attempts the text describes.
const mostAttempts = 5

// Of returns the briefing of the slice with that id.
func Of(ctx context.Context, pr *project.Project, id string) (*Briefing, error) {
	shown, err := ops.Show(pr, id)
	if err != nil {
		return nil, err
	}
	b := &Briefing{ID: shown.ID, File: shown.File, Fields: shown.Fields,
		Body: strings.TrimSpace(shown.Body)}
	last, err := pr.Runs.Last(id)
	if err != nil {
		return nil, err
	}
	for _, r := range last[id] {
		if r.Life.SettledAt != nil && len(b.Attempts) < mostAttempts {
			b.Attempts = append(b.Attempts, r)
		}
	}
	if ids := contracts.In(shown.Body, b.Field("contracts")); len(ids) > 0 {
		b.Contracts = contracts.Texts(ids, pr.Root, ops.PlaceOf(ctx, pr, id))
	}
	handoff, err := durable.ReadFile(filepath.Join(pr.Root,
		filepath.FromSlash(ops.HandoffFile(b.ID))))
	if err == nil { // usually there is none
		b.Handoff = strings.TrimSpace(string(handoff))
	}
	return b, nil
}

// WithWork adds the unmerged work in the slice's worktree, for a reader who is elsewhere.
func (b *Briefing) WithWork(ctx context.Context, pr *project.Project) (err error) {
	b.Work, err = ops.WorkOf(ctx, pr, b.ID)
	return err
}

// Field returns the value of a field, "" for none.
func (b *Briefing) Field(key string) string {
	for _, f := range b.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// Text returns the briefing for an agent or a person: the fields as key: value lines, then the
// sections.
func (b *Briefing) Text() string {
	var s strings.Builder
	for _, f := range b.Fields {
		s.WriteString(strings.TrimRight(sanitize.Line(f.Key+": "+f.Value), " ") + "\n")
	}
	return s.String() + b.Sections()
}

// Sections returns the briefing without the fields, each section below a heading line: "===
// Contracts ===". It returns "" if only fields are known.
func (b *Briefing) Sections() string {
	var s strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(sanitize.Text(strings.ReplaceAll(text, "\r\n", "\n")),
			"\n"); text != "" {
			fmt.Fprintf(&s, "\n=== %s ===\n\n%s\n", title, text)
		}
	}
	section("Slice: "+b.File, b.Body)
	section("Earlier attempts", b.attempts())
	if b.Work != nil {
		section("Work that isn't merged", strings.Join(b.Work.Lines(), "\n"))
	}
	section("Hand-off: "+ops.HandoffFile(b.ID), b.Handoff)
	section("Contracts: "+contracts.File, b.contracts())
	return s.String()
}

// attempts returns the earlier attempts, newest first, with the newest one's handoff to the
// next.
func (b *Briefing) attempts() string {
	var s strings.Builder
	for i, r := range b.Attempts {
		fmt.Fprintf(&s, "- attempt %d with %s, %s: %s\n", r.ID.N, r.Job.Agent,
			r.Life.ClaimedAt.Local().Format("2006-01-02 15:04"), r.Judged.Outcome.Text(r.Judged.Detail))
		why, output := r.Leaves()
		if why != "" {
			s.WriteString(indented(why))
		}
		if i == 0 && output != "" {
			s.WriteString(indented(output))
		}
	}
	return s.String()
}

func indented(text string) string {
	return textline.Indent(text) + "\n"
}

func (b *Briefing) contracts() string {
	texts := make([]string, len(b.Contracts))
	for i, c := range b.Contracts {
		if texts[i] = c.Text; c.Text == "" {
			texts[i] = c.ID + " isn't in " + contracts.File
		}
	}
	return strings.Join(texts, "\n\n")
}
