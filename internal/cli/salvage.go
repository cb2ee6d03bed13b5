package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/workspace/worktree"
)

type salvageOptions struct {
	to, branch, snapshot string
	json                 bool
}

func newSalvage(app *cmdutil.App) *cobra.Command {
	var o salvageOptions
	c := &cobra.Command{
		Use:   "salvage [ID]",
		Short: "List and restore work that was kept in git",
		Long: `List the work that git has of slices that were built in worktrees: branches, worktrees, and the snapshots that gl takes while
an agent works and whenever one ends. With an ID, list each snapshot of that slice with the command that restores it. It reads
git alone, so it also works where .greenlight/runs was removed.

--to DIR writes a snapshot's files into a new or empty directory; --branch NAME makes a new branch of it. Existing files
aren't overwritten. Without --snapshot, it uses the last one. --snapshot 5 is the fifth of the slice's last branch, 2/5 the fifth
of its second one, and 2/5/index what was staged then. A snapshot may have, beside its files (tree): head, a commit that was
checked out instead of the branch; index, staged files that differ; stash; log, commits that were dropped; and mod, those of
submodules.

Exit codes: 0 listed or restored; 1 there is nothing of that slice, or it can't be restored; 2 wrong usage.`,
		Example: `  gl salvage
  gl salvage S-07
  gl salvage S-07 --to ../s-07-files
  gl salvage S-07 --snapshot 3 --branch s-07-again`,
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			id := append(a, "")[0]
			restores := o.to != "" || o.branch != ""
			switch {
			case restores && id == "":
				return cmdutil.Usage("--to and --branch require the id of a slice")
			case o.snapshot != "" && !restores:
				return cmdutil.Usage("--snapshot requires --to DIR or --branch NAME")
			case restores && o.json:
				return cmdutil.Usage("--json is for the list, not with --to or --branch")
			case restores:
				return runSalvage(c.Context(), app, id, o)
			}
			return listKept(c.Context(), app, id, o.json)
		},
	}
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "write the files into `DIR`, which must be new or empty")
	f.StringVar(&o.branch, "branch", "", "make a new branch `NAME` of it")
	f.StringVar(&o.snapshot, "snapshot", "",
		"which snapshot, as `NUMBER` in the list (default: the last one)")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	_ = c.MarkFlagDirname("to")
	return c
}

func runSalvage(ctx context.Context, app *cmdutil.App, id string, o salvageOptions) error {
	pick, err := ops.ParsePick(o.snapshot)
	if err != nil {
		return err
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	if o.to != "" && !filepath.IsAbs(o.to) {
		dir, err := app.Dir()
		if err != nil {
			return err
		}
		o.to = filepath.Join(dir, o.to)
	}
	filters, err := pr.MustAllow().Filters(ctx) // git runs them while it writes files
	if err == nil {
		err = permit(ctx, app, pr.Root, filters)
	}
	if err != nil {
		return err
	}
	s, err := ops.Salvage(ctx, pr, id, pick, o.to, o.branch)
	if s != nil && s.Branch != "" {
		app.IO.Printf("%s is a branch at %s of %s\n", sanitize.Text(worktree.Short(s.Branch)),
			sanitize.Text(s.From), sanitize.Text(id))
	}
	if err == nil && s.Dir != "" {
		app.IO.Printf("%s has the files of %s of %s\n", sanitize.Text(s.Dir), sanitize.Text(s.From),
			sanitize.Text(id))
	}
	return err
}

// A salvageDoc lists kept work; the text for people is made from it, too.
type salvageDoc struct {
	SchemaVersion int `json:"schema_version"`
	// the target branch; null if unknown
	Target *string     `json:"target"`
	Work   []keptEntry `json:"work"` // by slice and number
}

type keptEntry struct {
	// the slice's system; null if git doesn't know it
	System *string `json:"system"`
	// null if git doesn't know it
	Slice *string `json:"slice"`
	// a slice that was restarted has several; 0 if git doesn't know it
	Number int     `json:"number" jsonschema:"minimum=0"`
	Branch *string `json:"branch"` // null if there is none
	// its path; null if it doesn't exist
	Worktree  *string `json:"worktree"`
	Contained bool    `json:"contained"` // the target has all of it
	// how that is known, or what the target lacks
	Why           string         `json:"why"`
	Snapshots     []keptSnapshot `json:"snapshots"` // oldest first
	id            string
	withoutNumber bool // its snapshots can be named by a number alone
}

type keptSnapshot struct {
	Number int        `json:"number" jsonschema:"minimum=1"`
	Time   *time.Time `json:"time"`
	Parts  []keptPart `json:"parts"` // the files (tree) first
	// a command that restores its files, DIR being a new directory; null if it has none, or the
	// slice's id isn't known
	Restore *string `json:"restore"`
}

type keptPart struct {
	Name   string `json:"name"` // tree, head, index, stash, log-1, mod-1…
	Commit string `json:"commit"`
}

func listKept(ctx context.Context, app *cmdutil.App, id string, asJSON bool) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	repo, kept, err := ops.KeptWork(ctx, pr, id)
	target := ""
	if none := new(worktree.Unavailable); errors.As(err, &none) && id == "" {
		// then there is no work
		app.IO.Message("%s", sanitize.Text(none.Reason))
	} else if err != nil {
		return err
	} else {
		target = worktree.Short(repo.Target())
	}
	doc := newSalvageDoc(target, kept)
	switch {
	case asJSON:
		return app.IO.JSON(doc)
	case len(doc.Work) == 0:
		app.IO.Printf("git has no kept work of this project\n")
	}
	for i := range doc.Work {
		e := &doc.Work[i]
		app.IO.Printf("%s\n", wrapped(app.IO, "", e.text(), 2))
		if id == "" {
			continue
		}
		for _, s := range e.Snapshots {
			app.IO.Printf("%s\n", wrapped(app.IO, "", "  "+s.text(e), 4))
			if s.Restore != nil {
				app.IO.Printf("    %s\n", sanitize.Text(*s.Restore))
			}
		}
	}
	return nil
}

func newSalvageDoc(target string, kept []*worktree.Kept) *salvageDoc {
	doc := &salvageDoc{1, jsondoc.OrNull(target), []keptEntry{}}
	for i, k := range kept {
		e := keptEntry{
			System: jsondoc.OrNull(k.System), Slice: jsondoc.OrNull(k.Slice), Number: k.N,
			Branch:   jsondoc.OrNull(worktree.Short(k.Branch)),
			Worktree: jsondoc.OrNull(k.Path), Contained: k.Contained, Why: k.Why,
			Snapshots: []keptSnapshot{}, id: k.Slice,
			withoutNumber: i == len(kept)-1 || kept[i+1].Slice != k.Slice ||
				kept[i+1].System != k.System,
		}
		for _, s := range k.Snapshots {
			e.add(&s)
		}
		doc.Work = append(doc.Work, e)
	}
	return doc
}

func (e *keptEntry) add(s *worktree.KeptSnapshot) {
	out := keptSnapshot{Number: s.K, Parts: []keptPart{}}
	if !s.Time.IsZero() {
		at := s.Time.UTC()
		out.Time = &at
	}
	for _, name := range s.Parts() {
		out.Parts = append(out.Parts, keptPart{name, s.Commits[name]})
	}
	if e.id != "" && s.Commits[worktree.Tree] != "" {
		number := strconv.Itoa(s.K)
		if !e.withoutNumber {
			number = fmt.Sprintf("%d/%d", e.Number, s.K)
		}
		out.Restore = jsondoc.OrNull("gl salvage " + shellwords.Join([]string{e.id}) +
			" --snapshot " + number + " --to DIR")
	}
	e.Snapshots = append(e.Snapshots, out)
}

// text describes a lineage in one line: "S-1 1: branch gl/s/_/greenlight/S-1/1, worktree /home/…, 2
// snapshots; it is an ancestor of main".
func (e *keptEntry) text() string {
	var parts []string
	if e.Branch != nil {
		parts = append(parts, "branch "+*e.Branch)
	}
	if e.Worktree != nil {
		parts = append(parts, "worktree "+*e.Worktree)
	}
	if n := len(e.Snapshots); n > 0 {
		last := ""
		if at := e.Snapshots[n-1].Time; at != nil {
			last = ", the last at " + at.Local().Format("2006-01-02 15:04")
		}
		parts = append(parts, words.Count(n, "snapshot")+last)
	}
	if len(parts) == 0 {
		parts = []string{"git's entry of a worktree that isn't there"}
	}
	id, verdict := e.id, "not contained: it "
	if id == "" {
		id = "unknown slice"
	}
	if e.Contained {
		verdict = "contained: it "
	}
	return fmt.Sprintf("%s %d: %s; %s%s", id, e.Number, strings.Join(parts, ", "), verdict, e.Why)
}

// text describes a snapshot in one line: "snapshot 3, 2026-03-01 14:05, with index, stash".
func (s *keptSnapshot) text(e *keptEntry) string {
	text := fmt.Sprintf("snapshot %d/%d", e.Number, s.Number)
	if s.Time != nil {
		text += ", " + s.Time.Local().Format("2006-01-02 15:04")
	}
	beside := slices.DeleteFunc(slices.Clone(s.Parts), func(p keptPart) bool {
		return p.Name == worktree.Tree
	})
	if len(beside) == 0 {
		return text
	}
	names := make([]string, len(beside))
	for i, p := range beside {
		names[i] = p.Name
	}
	if len(beside) == len(s.Parts) {
		return text + ", without files, has " + strings.Join(names, ", ")
	}
	return text + ", with " + strings.Join(names, ", ")
}
