package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/paths"
	"greenlight/internal/core/gate"
	"greenlight/internal/workspace/git"
)

// LaneSlice is whose lineage the lane's worktree belongs to. No slice has such an id.
const LaneSlice = "@lane"

// IsLane says whether the worktree is the lane's. HEAD is detached there, and nothing in it is anybody's work.
func (l *Lineage) IsLane() bool { return l.System == "" && l.Slice == LaneSlice }

// LaneRef is the full name of the branch on which the target's work is merged and tested, "" where no target is known.
func (r *Repo) LaneRef() string {
	if r.target == "" {
		return ""
	}
	return r.lanes() + "/" + part(short(r.target))
}

// Branches are the repository's branches that may go through the lane, by their short names; none if git can't tell.
func (r *Repo) Branches(ctx context.Context) []string {
	refs, err := git.Refs(ctx, r.Common, "refs/heads/")
	if err != nil {
		return nil
	}
	var names []string
	for _, ref := range refs {
		if !r.IsOurs(ref.Name) && ref.Name != r.target {
			names = append(names, short(ref.Name))
		}
	}
	return names
}

// IsOurs says whether a branch is one that gl makes: a slice's, or a lane.
func (r *Repo) IsOurs(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/"+r.prefix+"/s/") || strings.HasPrefix(ref, "refs/heads/"+r.prefix+"/lane/")
}

// lanes is the directory of the project's lanes.
func (r *Repo) lanes() string { return "refs/heads/" + r.prefix + "/lane/" + r.project }

// lane is the lane's commit, "" where there is no lane.
func (r *Repo) lane(ctx context.Context) (string, error) {
	if r.target == "" {
		return "", nil
	}
	return git.ResolveCommit(ctx, r.Common, r.LaneRef())
}

// LaneTip is the lane's commit. A lane that isn't there yet is made at the target's tip, and one that was deleted where gl left it, if git
// still has that.
func (r *Repo) LaneTip(ctx context.Context) (string, error) {
	tip, err := r.lane(ctx)
	if err != nil || tip != "" {
		return tip, err
	}
	if tip, err = r.recordTarget(ctx); err != nil {
		return "", err
	}
	err = git.ErrLost
	if left := r.LaneMark().Tip; left != "" {
		if err = git.ChangeWhole(ctx, r.Common, "gl: deleted lane", []string{r.target}, git.RefChange{Name: r.LaneRef(), New: left}); err == nil {
			return left, nil
		}
	}
	if errors.Is(err, git.ErrLost) {
		err = git.ChangeRefs(ctx, r.Common, "gl: lane", git.RefChange{Name: r.LaneRef(), New: tip})
	}
	if errors.Is(err, git.ErrRefExists) { // somebody else has just made it
		if tip, err := r.lane(ctx); err != nil || tip != "" {
			return tip, err
		}
		return "", &Refused{fmt.Sprintf("a branch is in the way of %s", short(r.LaneRef())), "git branch -m it"}
	}
	return tip, err
}

// KeepNext keeps a commit to which the lane is about to move, before a record names it.
func (r *Repo) KeepNext(ctx context.Context, commit string) error {
	has, err := r.known(ctx)
	if err != nil {
		return err
	}
	return git.ChangeWhole(ctx, r.Common, "gl: about to land", has, r.next(commit))
}

// DropLostNext forgets what was about to land if something has pruned it.
func (r *Repo) DropLostNext(ctx context.Context) error {
	has, err := r.known(ctx)
	if err != nil {
		return err
	}
	return git.DropLost(ctx, r.Common, r.nextRef(), has...)
}

// MoveLane moves the lane from one commit to another, which the pass must permit. It is git.ErrRefMoved if the lane is elsewhere. The caller
// has the lane's lock.
func (r *Repo) MoveLane(ctx context.Context, from, to, reason string, pass gate.Pass) error {
	if err := pass.Moves(to); err != nil {
		return err
	}
	if err := r.MarkLane(LaneMark{Tip: from, Next: to}); err != nil {
		return err
	}
	if err := git.ChangeRefs(ctx, r.Common, "gl: "+reason, git.RefChange{Name: r.LaneRef(), New: to, Old: from}); err != nil {
		return err
	}
	return r.MarkLane(LaneMark{Tip: to})
}

// lanePath is the place of the lane's worktree.
func (r *Repo) lanePath(n int) string { return filepath.Join(r.place, "lane."+strconv.Itoa(n)) }

var laneName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^lane\.[1-9][0-9]*$`) })

// isLanePath says whether a path is one of the lane's worktrees. Those of slices are in a system's directory.
func (r *Repo) isLanePath(path string) bool {
	return filepath.Dir(path) == r.place && laneName().MatchString(filepath.Base(path))
}

// Lane is the lineage of the lane's worktree, for Make. If its file is gone, one that git lists is taken up. The caller has the lane's
// lock.
func (r *Repo) Lane(ctx context.Context) (*Lineage, error) {
	tip, err := r.LaneTip(ctx)
	if err != nil {
		return nil, err
	}
	_, err = r.Get("", LaneSlice)
	if bad := new(BadLineage); errors.Is(err, fs.ErrNotExist) || errors.As(err, &bad) && !bad.Keep {
		if l, err := r.findLane(tip); err != nil || l != nil {
			return l, err
		}
	}
	return r.Plan(ctx, "", LaneSlice, tip, false)
}

// findLane takes up a worktree of the lane by git's list, nil for none.
func (r *Repo) findLane(tip string) (*Lineage, error) {
	linked, err := git.ListLinked(r.Common)
	if err != nil {
		return nil, err
	}
	for _, e := range linked {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(e.Path), "."))
		l := &Lineage{SchemaVersion: schemaVersion, Slice: LaneSlice, N: n, Path: e.Path, Admin: e.Admin, Base: tip, Phase: Added}
		if r.isLanePath(e.Path) && r.ours(l) == nil && r.check(l) == nil {
			return l, r.Save(l)
		}
	}
	return nil, nil
}

// CheckoutLane makes the lane's worktree a commit's: see git.Worktree.CheckoutDetached.
func (r *Repo) CheckoutLane(ctx context.Context, l *Lineage, h *Hold, commit string) error {
	if !l.IsLane() {
		return fmt.Errorf("%s isn't the lane's worktree", l.Path)
	}
	if err := r.ours(l); err != nil {
		return err
	}
	return r.Worktree(l).CheckoutDetached(git.Inherit(ctx, h.File()), commit, r.Top)
}

// SetUpAgain runs setup in a worktree that is ready. When it is killed, Make does it.
func (r *Repo) SetUpAgain(ctx context.Context, l *Lineage, m Making, h *Hold) error {
	if l.Phase != Ready && l.Phase != Filled {
		return fmt.Errorf("%s isn't ready", l.Path)
	}
	if err := r.step(l, Filled); err != nil {
		return err
	}
	return r.setUp(ctx, l, m, h)
}

// CleanableLane is the lineage of the lane's worktree if there is one that Remove may take away, nil for none: nobody is at work in it, and it is made
// again when it is needed.
func (r *Repo) CleanableLane() (*Lineage, error) {
	l, err := r.Get("", LaneSlice)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*BadLineage)) || err == nil && (l.Admin == "" || !paths.Exists(l.Admin)) {
		return nil, nil
	}
	return l, err
}

// tests is the directory of the refs of tests that were handed over.
func (r *Repo) tests(system, slice string) string {
	return "refs/gl/tests/" + r.slicePart(system, slice)
}

func (r *Repo) testsRef(l *Lineage) string {
	return r.tests(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
}

// HandOver records what is in the lineage's worktree, exactly, as the tests that are handed over, and returns the commit. Its first parent is what
// was handed over before. Where that is the same, it is returned.
func (r *Repo) HandOver(ctx context.Context, l *Lineage) (string, error) {
	w := r.Worktree(l)
	for lost := 0; ; {
		old, err := r.HandedOver(ctx, l)
		if err != nil {
			return "", err
		}
		s, err := w.Snapshot(ctx, git.SnapshotOptions{Base: l.Base, Branch: l.Branch, Exact: true, MaxBytes: r.limit, Why: "gl: tests handed over"})
		if err != nil {
			return "", err
		}
		c := git.NewCommit{Tree: s.Tree + "^{tree}", Message: "gl: tests of " + l.Slice + " handed over"}
		if old != "" {
			if same, err := git.SameFiles(ctx, r.Common, old, s.Tree); err != nil || same {
				return old, err
			}
			c.Parents = []string{old}
		}
		id, err := git.CommitTree(ctx, r.Common, c)
		if err != nil {
			return "", err
		}
		has := []string{s.Tip}
		if s.Tip == "" {
			if has, err = r.known(ctx); err != nil {
				return "", err
			}
		}
		err = git.ChangeWhole(ctx, r.Common, "gl: tests handed over", has, git.RefChange{Name: r.testsRef(l), New: id, Old: old})
		if lost++; errors.Is(err, git.ErrLost) && lost < 3 {
			continue
		}
		if errors.Is(err, git.ErrRefMoved) || old == "" && errors.Is(err, git.ErrRefExists) {
			if now, nowErr := r.HandedOver(ctx, l); nowErr == nil && now != old { // somebody else has just done it
				continue
			}
		}
		return id, err
	}
}

// NoteLanded keeps that a lineage's work, tip, is in a commit of the lane, where git can't tell by ancestry: a commit that has both as its
// parents. It counts once the lane has that commit.
func (r *Repo) NoteLanded(ctx context.Context, l *Lineage, tip, commit string) error {
	id, err := git.CommitTree(ctx, r.Common, git.NewCommit{Tree: commit + "^{tree}", Parents: []string{commit, tip}, Message: "gl: " + l.Slice + " landed"})
	if err != nil {
		return err
	}
	name := r.landed(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
	old, err := git.ResolveCommit(ctx, r.Common, name)
	if err != nil {
		return err
	}
	return git.ChangeWhole(ctx, r.Common, "gl: landed", []string{commit, tip}, git.RefChange{Name: name, New: id, Old: old})
}

// joined are holders with what they have of a lineage in another shape: see NoteLanded.
func (r *Repo) joined(ctx context.Context, system, slice string, n int, holders []git.Ref) ([]git.Ref, error) {
	join, err := git.ResolveCommit(ctx, r.Common, r.landed(system, slice)+"/"+strconv.Itoa(n))
	if err != nil || join == "" {
		return holders, err
	}
	commit, err := git.ResolveCommit(ctx, r.Common, join+"^1")
	if err != nil || commit == "" {
		return holders, err
	}
	for _, h := range holders {
		in, err := git.IsAncestor(ctx, r.Common, commit, h.Commit)
		if err != nil {
			return nil, err
		}
		if in {
			return append(holders, git.Ref{Name: h.Name, Commit: join}), nil
		}
	}
	return holders, nil
}

// Look is a commit of what is in the lineage's worktree now, on top of its branch; where there is no worktree it is the branch's own.
// Nothing is kept, and nothing moves. It is "" if neither is there.
func (r *Repo) Look(ctx context.Context, l *Lineage) (string, error) {
	tip, err := git.ResolveCommit(ctx, r.Common, l.Branch)
	if err != nil || tip == "" || l.Phase != Ready && l.Phase != Filled || lost(l.Path) {
		return tip, err
	}
	s, err := r.Worktree(l).Snapshot(ctx, git.SnapshotOptions{Base: l.Base, Branch: l.Branch, Exact: true, MaxBytes: r.limit, Why: "gl verify"})
	if err != nil {
		return "", err
	}
	return git.CommitTree(ctx, r.Common, git.NewCommit{Tree: s.Tree + "^{tree}", Parents: []string{tip}, Message: "gl: " + l.Slice + " as it is"})
}

// HandedOver is the commit that HandOver recorded last, "" for none.
func (r *Repo) HandedOver(ctx context.Context, l *Lineage) (string, error) {
	return git.ResolveCommit(ctx, r.Common, r.testsRef(l))
}

// LaneLock is the file whose kernel lock makes one process the lane's worker. It isn't in runs/, which may be removed.
func (r *Repo) LaneLock() string { return filepath.Join(r.Common, "gl-lane."+r.project+".lock") }
