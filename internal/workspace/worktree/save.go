package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

// mostSnapshots is how many snapshots of a lineage are kept. Newer ones replace only those that
// consist of a tree.
const mostSnapshots = 50

// mostLocked is how many consecutive snapshot numbers may be locked before something else must be
// wrong.
const mostLocked = 10

// Snapshots takes and finds snapshots of lineages' worktrees.
type Snapshots struct {
	at       *Layout
	common   string
	queue    *Queue
	lineages *Lineages
	limit    int64 // bytes of a snapshot
}

// SnapshotOptions are the purpose of a snapshot.
type SnapshotOptions struct {
	Last    bool     // for judging the work, or before a removal: every byte is compared
	Why     string   // a line for people
	Stashes []string // what refs/stash had before the agent: git.Stashes
	Compare bool     // finds out what is in no commit, too: Snapshot.Unsaved
}

// A Snapshot is what Take has kept.
type Snapshot struct {
	git.Snapshot
	Prefix string // of its refs: refs/gl/wip/…/K; of the last one where nothing has changed since
	// How the worktree was linked to the repository again, "" for not at all; after a last
	// snapshot.
	Linked string
}

// Take keeps what is in the lineage's worktree under WIP refs, if anything has changed since the
// last snapshot. It returns nil for a worktree in which no agent can have worked yet.
func (ss *Snapshots) Take(ctx context.Context, l *Lineage, o SnapshotOptions) (*Snapshot, error) {
	if l.Phase == Planned && l.Remote {
		return ss.carried(ctx, l)
	}
	if l.Phase != Ready && l.Phase != Gone && l.Phase != Filled {
		return nil, nil
	}
	if _, err := ss.lineages.tidy(l); err != nil {
		return nil, err
	}
	if lost(l.Path) {
		return ss.keepLost(ctx, l, o)
	}
	s, err := ss.save(ctx, l, ss.at.Worktree(l), o)
	if err == nil && o.Last {
		s.Linked = ss.relink(l)
	}
	return s, err
}

func (ss *Snapshots) save(ctx context.Context, l *Lineage, w git.Worktree,
	o SnapshotOptions) (kept *Snapshot, err error) {
	err = ss.numbered(ctx, l, func(k int, all wips) error {
		prefix := ss.at.wip(l) + "/" + strconv.Itoa(k)
		latest, last := all.latest()
		s, err := w.Save(ctx, prefix, git.SnapshotOptions{
			Base: l.Base, Branch: l.Branch, Last: last, Kept: all.commits(), Stashes: o.Stashes,
			Exact: o.Last, MaxBytes: ss.limit, Why: o.Why,
			Compare: o.Compare, Ignored: l.Ignored,
		})
		if err != nil {
			return err
		}
		if s.Same {
			prefix = ss.at.wip(l) + "/" + strconv.Itoa(latest)
		} else {
			// This snapshot is kept; the next one deletes what can't be deleted now.
			_ = ss.thin(ctx, all)
		}
		kept = &Snapshot{Snapshot: *s, Prefix: prefix}
		return nil
	})
	return kept, err
}

// numbered calls keep with the number of the next snapshot, and again if another process has just
// taken that number. A git that was killed while it wrote refs leaves their locks for good; then
// keep gets the number after that.
func (ss *Snapshots) numbered(ctx context.Context, l *Lineage,
	keep func(k int, all wips) error) error {
	for locked := 0; ; {
		all, err := ss.wipRefs(ctx, l)
		if err != nil {
			return err
		}
		latest, _ := all.latest()
		switch err := keep(latest+1+locked, all); {
		case errors.Is(err, git.ErrRefExists):
		case errors.Is(err, git.ErrRefLocked) && locked < mostLocked:
			locked++
		default:
			return err
		}
	}
}

// keepLost keeps what git still has of a worktree whose directory was deleted: commits of its
// reflog, its index, unfinished operations. There is no tree.
func (ss *Snapshots) keepLost(ctx context.Context, l *Lineage,
	o SnapshotOptions) (kept *Snapshot, err error) {
	if !paths.IsDir(l.Admin) {
		return &Snapshot{}, nil
	}
	// A snapshot is taken of a directory; an empty one will do.
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(l.Path, 0o755); err == nil {
		defer os.Remove(l.Path)
	} else if !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	err = ss.numbered(ctx, l, func(k int, all wips) error {
		s, err := ss.at.Worktree(l).Snapshot(ctx, git.SnapshotOptions{Base: l.Base,
			Branch: l.Branch, Kept: all.commits(), Stashes: o.Stashes, Exact: true, Why: o.Why})
		if err != nil {
			return err
		}
		s.Tree, s.Whole = "", ""
		kept = &Snapshot{Snapshot: *s, Prefix: ss.at.wip(l) + "/" + strconv.Itoa(k)}
		if len(s.Refs(kept.Prefix)) == 0 {
			return nil
		}
		return git.Keep(ctx, ss.common, kept.Prefix, s)
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// wips are a lineage's WIP refs, by the snapshots' numbers.
type wips map[int][]git.Ref

func (ss *Snapshots) wipRefs(ctx context.Context, l *Lineage) (wips, error) {
	refs, err := git.RefsBelow(ctx, ss.common, ss.at.wip(l))
	all := wips{}
	for _, ref := range refs {
		rest := strings.TrimPrefix(ref.Name, ss.at.wip(l)+"/")
		digits, _, _ := strings.Cut(rest, "/")
		if k, err := strconv.Atoi(digits); err == nil && k > 0 {
			all[k] = append(all[k], ref)
		}
	}
	return all, err
}

// commits returns the commits of all the refs.
func (w wips) commits() (list []string) {
	for _, refs := range w {
		for _, ref := range refs {
			list = append(list, ref.Commit)
		}
	}
	return list
}

// latest returns the highest number, and the commit of the last tree.
func (w wips) latest() (k int, tree string) {
	of := 0
	for n, refs := range w {
		k = max(k, n)
		for _, ref := range refs {
			if n > of && strings.HasSuffix(ref.Name, "/tree") {
				of, tree = n, ref.Commit
			}
		}
	}
	return k, tree
}

// thin deletes the oldest trees when there are too many. A commit that nothing else has, since the
// agent has amended it or gone back, gets a ref of its own: later snapshots rely on this one's.
func (ss *Snapshots) thin(ctx context.Context, all wips) error {
	var trees []int
	for k, refs := range all {
		if len(refs) == 1 && strings.HasSuffix(refs[0].Name, "/tree") {
			trees = append(trees, k)
		}
	}
	slices.Sort(trees)
	var old []git.Ref
	var names []string
	for i := 0; i < len(trees) && len(all)-i >= mostSnapshots; i++ {
		old = append(old, all[trees[i]][0])
		names = append(names, old[i].Name)
	}
	if len(old) == 0 {
		return nil
	}
	only, err := git.OnlyBelow(ctx, ss.common, names)
	if err != nil {
		return err
	}
	var changes []git.RefChange
	for i, ref := range old {
		changes = append(changes, git.RefChange{Name: ref.Name, Old: ref.Commit})
		parent, err := git.ResolveCommit(ctx, ss.common, ref.Commit+"^")
		if err != nil {
			return err
		}
		if j := slices.Index(only, parent); j >= 0 {
			only = slices.Delete(only, j, j+1)
			changes = append(changes, git.RefChange{Name: strings.TrimSuffix(names[i], "tree") +
				"head", New: parent})
		}
	}
	return git.ChangeRefs(ctx, ss.common, "gl: old snapshots", changes...)
}

// lost reports whether a worktree was deleted: nothing is there, or an empty directory.
func lost(path string) bool {
	if gone(path) {
		return true
	}
	files, err := durable.ReadDir(path)
	return err == nil && len(files) == 0
}
