package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// KeptWork lists the work that git has of the project's slices, or of one slice if id isn't "".
// Systems may share ids: the system in use comes first. Any attempt of a task identifies it.
func KeptWork(ctx context.Context, pr *project.Project,
	id string) (*worktree.Repo, []*worktree.Kept, error) {
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return nil, nil, err
	}
	if task, n, isTask := attempt.SplitTask(id); isTask && n > 0 {
		if r, err := pr.Runs.Get(task, n); err == nil {
			id = r.ID.Work()
		}
	}
	all, err := repo.Archive.Kept(ctx)
	if err != nil || id == "" {
		return repo, all, err
	}
	of := slices.Collect(func(yield func(*worktree.Kept) bool) {
		for _, k := range all {
			if k.IsOf(pr.Key(), id) && !yield(k) {
				return
			}
		}
	})
	if len(of) == 0 {
		of = slices.DeleteFunc(all, func(k *worktree.Kept) bool { return !k.IsOfID(id) })
	}
	if len(of) == 0 {
		return repo, nil, fmt.Errorf("there is no kept work of %s: gl salvage lists what there is",
			id)
	}
	return repo, of, nil
}

// A Pick names one commit of kept work: "5" is a snapshot of the last lineage, "2/5" one of the
// second, "2/5/index" a part of it, "" the last snapshot.
type Pick struct {
	Lineage, Snapshot int // 0 for the last
	Part              string
}

// ParsePick reads a pick.
func ParsePick(s string) (Pick, error) {
	p := Pick{Part: worktree.Tree}
	if s == "" {
		return p, nil
	}
	bad := badArgument("%q names no snapshot: give its number, as gl salvage ID lists it", s)
	f := strings.Split(s, "/")
	if len(f) > 3 {
		return p, bad
	}
	if len(f) == 3 {
		p.Part, f = f[2], f[:2]
	}
	numbers := []*int{&p.Lineage, &p.Snapshot}[2-len(f):]
	for i, text := range f {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, bad
		}
		*numbers[i] = n
	}
	return p, nil
}

// A Salvaged is the result of Salvage.
type Salvaged struct {
	From   string // the source: "snapshot 1/5", "branch gl/s/…"
	Commit string
	Dir    string // "" for no files
	Branch string // full name, "" for none
}

// Salvage restores kept work of a slice: as files in a new directory, as a branch, or both.
func Salvage(ctx context.Context, pr *project.Project, id string, pick Pick,
	dir, branch string) (*Salvaged, error) {
	repo, kept, err := KeptWork(ctx, pr, id)
	if err != nil {
		return nil, err
	}
	s := &Salvaged{}
	if s.From, s.Commit, err = choose(id, kept, pick); err != nil {
		return nil, err
	}
	if dir != "" {
		if err := restorable(dir); err != nil {
			return nil, err
		}
	}
	if branch != "" { // first: it is cheaper, and refuses more
		if s.Branch, err = repo.Archive.RestoreBranch(ctx, s.Commit, branch); errors.Is(err,
			git.ErrRefExists) {
			return nil, fmt.Errorf("there is a branch %s already, or one that is in its way: give another --branch", worktree.Short(s.Branch))
		} else if err != nil {
			return nil, err
		}
	}
	if dir != "" {
		err = repo.Archive.RestoreFiles(ctx, s.Commit, dir)
		if errors.Is(err, git.ErrNotEmpty) {
			err = fmt.Errorf("%s isn't empty: give a new directory", dir)
		}
		s.Dir = dir
	}
	return s, err
}

// restorable refuses a directory that isn't empty, so that a restore overwrites nothing. Even a
// lone .git counts: the files would seem to belong to another checkout.
func restorable(dir string) error {
	if parent, err := os.Stat(filepath.Dir(dir)); err != nil || !parent.IsDir() {
		return fmt.Errorf("%s can't be made: %s is no directory", dir, filepath.Dir(dir))
	}
	entries, err := durable.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s isn't empty: give a new directory", dir)
	}
	return nil
}

// choose returns the picked commit. Without a number it is the last snapshot of files, or the
// branch if there is none.
func choose(id string, kept []*worktree.Kept, pick Pick) (from, commit string, err error) {
	k := kept[len(kept)-1]
	if pick.Lineage != 0 {
		i := slices.IndexFunc(kept, func(k *worktree.Kept) bool { return k.N == pick.Lineage })
		if i < 0 {
			return "", "", fmt.Errorf("%s has no branch or snapshots with the number %d: gl salvage %s lists them", id, pick.Lineage, id)
		}
		k = kept[i]
	}
	var s *worktree.KeptSnapshot
	if pick.Snapshot == 0 {
		s = k.Last()
		if s == nil && k.Tip != "" {
			return "the branch " + worktree.Short(k.Branch), k.Tip, nil
		}
	} else if i := slices.IndexFunc(k.Snapshots, func(s worktree.KeptSnapshot) bool {
		return s.K == pick.Snapshot
	}); i >= 0 {
		s = &k.Snapshots[i]
	}
	switch {
	case s == nil && pick.Snapshot == 0:
		return "", "", fmt.Errorf("%s has no snapshot of files: gl salvage %s lists what there is",
			id, id)
	case s == nil:
		return "", "", fmt.Errorf("%s has no snapshot %d/%d: gl salvage %s lists them", id, k.N,
			pick.Snapshot, id)
	}
	commit = s.Commits[pick.Part]
	if commit == "" {
		return "", "", fmt.Errorf("snapshot %d/%d of %s has no %q, it has %s", k.N, s.K, id,
			pick.Part, strings.Join(s.Parts(), ", "))
	}
	return fmt.Sprintf("snapshot %d/%d", k.N, s.K), commit, nil
}
