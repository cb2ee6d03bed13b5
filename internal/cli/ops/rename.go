package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Moved is a slice that was renamed or removed.
type Moved struct {
	Graph  bool     // GRAPH.json named it
	Deps   []string // slices whose files named it
	Branch string   // has the work so far, and is kept; "" for none
	Landed bool     // it was done; landed work stays
	Copy   string   // of a removed slice's file, relative to the root; "" for none
}

// Remove takes a slice out of the project: its file, of which a copy is kept, and its entry in
// GRAPH.json. Its work stays on its branch. With force it also removes a slice that others depend
// on, along with these dependencies, or that a session has claimed.
func Remove(ctx context.Context, pr *project.Project, id string, force bool) (*Moved, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	st, p, err := movable(pr, id)
	if err != nil {
		return nil, err
	}
	if need := needing(p, id); len(need) > 0 && !force {
		return nil, fmt.Errorf("%s is needed by %s: gl remove %s --force takes it out of their dependencies", id, strings.Join(need, ", "), id)
	}
	if st.Class == plan.Active && !force {
		return nil, taken("%s: gl remove %s --force removes it anyway",
			st.ClaimText(time.Now()), id)
	}
	m := &Moved{Landed: st.Class == plan.Done}
	done, err := s.Remove(ctx, id, func() error {
		if err := stillFree(pr, id); err != nil {
			return err
		}
		if st.File != "" {
			var err error
			if m.Copy, err = keepCopy(pr, id); err != nil {
				return err
			}
		}
		return retire(ctx, pr, id, &m.Branch)
	})
	if err != nil {
		return nil, err
	}
	m.Graph, m.Deps = done.Graph, done.Deps
	return m, nil
}

// Rename gives a slice another id, everywhere in one change. Work that hasn't landed continues on a
// new branch under the new id.
func Rename(ctx context.Context, pr *project.Project, old, id string) (*Moved, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	if err := sliceid.Valid(id); err != nil {
		return nil, &ArgumentError{err}
	}
	st, p, err := movable(pr, old)
	if err != nil {
		return nil, err
	}
	was, err := mayRename(pr, p, st, id)
	if err != nil {
		return nil, err
	}
	m := &Moved{}
	base, err := workSoFar(ctx, pr, old)
	if err != nil {
		return nil, err
	}
	done, err := s.Rename(ctx, old, id, was, func() error {
		if err := stillFree(pr, old); err != nil {
			return err
		}
		if base != "" {
			// first: a kill before the rest leaves only a lineage of an unknown slice
			repo, err := pr.Worktrees(ctx)
			if err != nil {
				return err
			}
			if err := goOnAs(ctx, pr, repo, old, id, base); err != nil {
				return err
			}
		}
		return retire(ctx, pr, old, &m.Branch)
	})
	if err != nil {
		return nil, err
	}
	m.Graph, m.Deps = done.Graph, done.Deps
	_ = pr.Runs.Journal().Append(journal.Event{Kind: journal.Renamed, System: pr.Key(),
		Slice: id, From: old})
	if st.Class == plan.Stalled { // by its attempts, which have the old name
		return m, amend(ctx, pr, func(*attempt.Writer) error {
			return pr.Runs.Claims.PutReleased(id, plan.Mark{Status: st.Status, Step: st.Step})
		})
	}
	return m, nil
}

// goOnAs plans the lineage of a renamed slice: from a commit with its work so far, and with what
// its attempts have left to say.
func goOnAs(ctx context.Context, pr *project.Project, repo *worktree.Repo,
	old, id, base string) error {
	was, err := repo.Lineages.Get(pr.Key(), old)
	if err != nil {
		return err
	}
	l, err := repo.Lineages.Plan(ctx, pr.Key(), id, base, true)
	if err != nil {
		return err
	}
	l.Was = &worktree.Origin{Slice: old, N: was.N}
	if n, err := pr.Runs.Index(); err != nil {
		return err
	} else if len(n[old]) == 0 { // renamed twice
		l.Was = was.Was
	}
	return repo.Lineages.Save(l)
}

// mayRename refuses an id whose records or history would be mixed up with another slice's. It
// returns the other ids under which the slice was attempted.
func mayRename(pr *project.Project, p *plan.Plan, st *plan.State,
	id string) (was []string, err error) {
	switch st.Class {
	case plan.Active:
		return nil, taken("%s: a slice can't be renamed while it is being worked on",
			st.ClaimText(time.Now()))
	case plan.Red, plan.Conflict:
		return nil, fmt.Errorf("%s continues from its last attempt: to rename it, run gl retry %s first", st.ID, st.ID)
	case plan.Done, plan.Available, plan.Landing, plan.Failed, plan.Stalled, plan.Waiting,
		plan.Unknown, plan.Corrupt:
	}
	if st.Class == plan.Waiting && st.AtReview() && !st.Asks() {
		// if approved under another id, its work wouldn't land
		return nil, fmt.Errorf("%s awaits review: run gl accept %s or gl reject %s TEXT first",
			st.ID, st.ID, st.ID)
	}
	recs, err := pr.Runs.History(st.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range recs {
		if r.Landing != nil && r.Landing.Commit != "" && r.Since.Undone == nil {
			return nil, fmt.Errorf("%s was merged under that name, which git's history keeps: it can't be renamed", st.ID)
		}
	}
	used, err := pr.Runs.Index()
	if err != nil {
		return nil, err
	}
	if len(used[id]) > 0 && !slices.Contains(st.Was, id) {
		return nil, fmt.Errorf("a slice %s was attempted before, and its records would be taken for this one's: choose another id", id)
	}
	for _, name := range append(slices.Clone(st.Was), st.ID) {
		if name != id && len(used[name]) > 0 && !slices.Contains(was, name) {
			was = append(was, name)
		}
	}
	return was, nil
}

// movable returns a slice without a running attempt.
func movable(pr *project.Project, id string) (*plan.State, *plan.Plan, error) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, nil, err
	}
	st := p.State(id)
	switch {
	case st == nil:
		return nil, nil, notFound(id)
	case st.Attempt.Open():
		return nil, nil, atWork(st)
	}
	return st, p, nil
}

// stillFree repeats movable's check under the lock.
func stillFree(pr *project.Project, id string) error {
	live, err := Running(pr)
	if err != nil {
		return err
	}
	for _, r := range live {
		if r.ID.Slice == id && pr.Has(r) {
			return taken("%s is being worked on by attempt %d (%s): run gl stop %s", id, r.ID.N,
				r.Job.Agent, id)
		}
	}
	return nil
}

// needing returns the slices that depend on one.
func needing(p *plan.Plan, id string) []string {
	var ids []string
	for i := range p.States {
		if slices.Contains(p.States[i].Deps, id) {
			ids = append(ids, p.States[i].ID)
		}
	}
	return ids
}

// keepCopy saves a copy of a slice's file that is about to be removed.
func keepCopy(pr *project.Project, id string) (string, error) {
	data, err := durable.ReadFile(filepath.Join(pr.Root, ".greenlight", "slices", id+".md"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(pr.Runs.Files.Dir(), "removed")
	if err := durable.MkdirPrivate(dir); err != nil {
		return "", err
	}
	to := filepath.Join(dir, id+".md")
	for n := 2; paths.Exists(to); n++ {
		to = filepath.Join(dir, id+"."+strconv.Itoa(n)+".md")
	}
	return paths.Relative(pr.Root, to), durable.WriteFile(to, data, 0o600)
}

// retire ends a slice's lineage; its work stays.
func retire(ctx context.Context, pr *project.Project, id string, branch *string) error {
	repo, err := pr.Worktrees(ctx)
	if errors.As(err, new(*worktree.Unavailable)) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := repo.Lineages.Get(pr.Key(), id)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*worktree.BadLineage)) ||
		err == nil && l.Phase == worktree.Gone {
		return nil
	}
	if err != nil {
		return err
	}
	if l.Phase != worktree.Planned {
		*branch = worktree.Short(l.Branch)
	}
	return repo.Lineages.Retire(l.System, l.Slice, l.N)
}

// workSoFar returns a commit with all of a slice's work that hasn't landed, including uncommitted
// work; "" for none.
func workSoFar(ctx context.Context, pr *project.Project, id string) (string, error) {
	repo, err := pr.Worktrees(ctx)
	if errors.As(err, new(*worktree.Unavailable)) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	l, err := repo.Lineages.Get(pr.Key(), id)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*worktree.BadLineage)) ||
		err == nil && l.Phase == worktree.Gone {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	tip, err := git.ResolveCommit(ctx, repo.Git.Common, l.Branch)
	if err != nil {
		return "", err
	}
	if tip == "" && l.Phase == worktree.Planned { // renamed before it was worked on again
		return l.Base, nil
	}
	snap, err := repo.Snapshots.Take(ctx, l,
		worktree.SnapshotOptions{Last: true, Why: "gl: work on " + id + " before it was renamed"})
	if err != nil || snap == nil || snap.Tree == "" {
		return tip, err
	}
	changed, err := git.Changed(ctx, repo.Git.Common, tip, snap.Tree, nil)
	if err != nil || len(changed) == 0 {
		return tip, err
	}
	return snap.Tree, nil
}
