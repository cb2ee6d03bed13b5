package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/workspace/git"
)

// An Archive finds and restores the work of all lineages that git still has anything of, with or
// without their lineage files.
type Archive struct{ *parts }

// Kept is the work of one lineage as git has it. Its lineage file may be gone.
type Kept struct {
	System    string // "" for none, and where the names don't tell it
	Slice     string // "" where the names don't tell it
	N         int
	Branch    string // full name; "" where there is none
	Tip       string // the branch's commit
	Path      string // of the worktree; "" where it isn't there
	Admin     string // git's entry of the worktree; "" for none
	Snapshots []KeptSnapshot
	Contained bool   // all of it is in the target, or in the lane
	Why       string // Contained, in words that follow "it"

	system, slice string // parts of the refs
	entered       string // the path for which git's entry is locked
}

// A KeptSnapshot is one snapshot of a lineage: its commits by the names of their refs, "tree",
// "head", "stash-2".
type KeptSnapshot struct {
	K       int
	Time    time.Time
	Commits map[string]string
}

// Tree is the part of a snapshot that has the files.
const Tree = "tree"

// Parts returns the names of the snapshot's parts, the files first.
func (s *KeptSnapshot) Parts() []string {
	var parts []string
	for name := range s.Commits {
		parts = append(parts, name)
	}
	slices.SortFunc(parts, func(a, b string) int {
		return cmp.Or(cmp.Compare(b2i(b == Tree), b2i(a == Tree)), cmp.Compare(a, b))
	})
	return parts
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// IsOf reports whether the work is the slice's.
func (k *Kept) IsOf(system, slice string) bool {
	return k.system == part(system) && k.slice == idPart(slice)
}

// IsOfID is IsOf in any system.
func (k *Kept) IsOfID(slice string) bool { return k.slice == idPart(slice) }

// Last returns the last snapshot that has files; nil for none.
func (k *Kept) Last() *KeptSnapshot {
	for i := range slices.Backward(k.Snapshots) {
		if k.Snapshots[i].Commits[Tree] != "" {
			return &k.Snapshots[i]
		}
	}
	return nil
}

// Kept lists the work of all lineages of the project of which git has a branch, snapshots or a
// worktree. It changes nothing and reads no lineage file.
func (a *Archive) Kept(ctx context.Context) ([]*Kept, error) {
	all, err := a.keptRefs(ctx)
	if err != nil {
		return nil, err
	}
	linked, err := git.ListLinked(a.common)
	if err != nil {
		return nil, err
	}
	for _, e := range linked {
		all = a.keptEntry(e, all)
	}
	holders, err := a.queue.holders(ctx)
	if err != nil && !errors.As(err, new(*Refused)) {
		return nil, err
	}
	for _, k := range all {
		slices.SortFunc(k.Snapshots, func(a, b KeptSnapshot) int { return cmp.Compare(a.K, b.K) })
		if err := a.contain(ctx, k, holders); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			k.Contained, k.Why = false, "can't be compared: "+sanitize.Line(err.Error())
		}
	}
	slices.SortStableFunc(all, func(a, b *Kept) int {
		return cmp.Or(cmp.Compare(a.system, b.system), cmp.Compare(a.slice, b.slice),
			cmp.Compare(a.N, b.N))
	})
	return all, nil
}

// keptRefs groups the branches and WIP refs by lineage.
func (a *Archive) keptRefs(ctx context.Context) ([]*Kept, error) {
	branches, wips := "refs/heads/"+a.at.prefix+"/s/"+a.at.project+"/",
		"refs/gl/wip/"+a.at.project+"/"
	a.lineages.tidyRefs()
	refs, err := git.Refs(ctx, a.common, branches, wips)
	if err != nil {
		return nil, err
	}
	var all []*Kept
	byName := map[string]*Kept{}
	for _, ref := range refs {
		rest, isBranch := strings.CutPrefix(ref.Name, branches)
		f := strings.Split(strings.TrimPrefix(rest, wips), "/")
		if len(f) < 3 {
			continue
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || n < 1 {
			continue
		}
		name := strings.Join(f[:3], "/")
		k := byName[name]
		if k == nil {
			k = &Kept{System: unpart(f[0]), Slice: unIDPart(f[1]), N: n, system: f[0], slice: f[1]}
			byName[name] = k
			all = append(all, k)
		}
		switch {
		case isBranch && len(f) == 3:
			k.Branch, k.Tip = ref.Name, ref.Commit
		case !isBranch && len(f) == 5:
			k.addPart(f[3], f[4], ref)
		}
	}
	return all, nil
}

func (k *Kept) addPart(number, name string, ref git.Ref) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return
	}
	i := slices.IndexFunc(k.Snapshots, func(s KeptSnapshot) bool { return s.K == n })
	if i < 0 {
		i = len(k.Snapshots)
		k.Snapshots = append(k.Snapshots, KeptSnapshot{K: n, Commits: map[string]string{}})
	}
	s := &k.Snapshots[i]
	s.Commits[name] = ref.Commit
	if name == Tree || s.Commits[Tree] == "" && ref.Time.After(s.Time) {
		s.Time = ref.Time
	}
}

// keptEntry adds one of git's worktree entries to the lineage that it belongs to, or as one of an
// unknown lineage.
func (a *Archive) keptEntry(e git.Linked, all []*Kept) []*Kept {
	path, ours := e.IsOurs()
	// Nothing in the lane's worktree is work.
	if !ours || !strings.HasPrefix(path, a.at.place+"/") || a.at.isLanePath(path) {
		return all
	}
	// Checked again before a removal.
	branch, _ := git.Worktree{Common: a.common, Admin: e.Admin}.Branch()
	var k *Kept
	for _, other := range all {
		// By its place: an agent may have checked out anything there. Two slices whose names
		// coincide have different numbers, unless refs were deleted.
		fits := filepath.Base(path) == lastPart(other.Slice, other.N) &&
			path == a.at.path(other.System, other.Slice, other.N)
		if fits && (k == nil || other.Branch == branch) ||
			k == nil && other.Branch != "" && other.Branch == branch {
			k = other
		}
	}
	if k == nil {
		k = &Kept{}
		if i := strings.LastIndexByte(path, '.'); i > 0 {
			k.N, _ = strconv.Atoi(path[i+1:])
		}
		all = append(all, k)
	}
	k.Admin, k.entered = e.Admin, path
	if e.Path != "" && !lost(e.Path) {
		k.Path = e.Path
	}
	return all
}

// contain determines whether the target or the lane has all of the work: the branch, and what the
// last snapshot has beyond it.
func (a *Archive) contain(ctx context.Context, k *Kept, holders []git.Ref) error {
	last := ""
	if s := k.Last(); s != nil {
		last = s.Commits[Tree]
	}
	switch {
	case len(holders) == 0:
		k.Why = "can't be compared: there is no branch that the work is for"
		return nil
	case k.Tip == "" && last == "":
		k.Why = "has neither a branch nor a snapshot of files"
		return nil
	}
	if k.Slice != "" {
		var err error
		if holders, err = a.queue.joined(ctx, k.System, k.Slice, k.N, holders); err != nil {
			return err
		}
	}
	for i, h := range holders {
		contained, why, err := a.containedIn(ctx, k, last, h.Commit)
		if err != nil {
			return err
		}
		if contained || i == 0 {
			k.Contained, k.Why = contained, strings.ReplaceAll(why, h.Commit, short(h.Name))
		}
		if contained {
			return nil
		}
	}
	return nil
}

func (a *Archive) containedIn(ctx context.Context, k *Kept, last,
	holder string) (contained bool, why string, err error) {
	if k.Tip != "" {
		if contained, why, err = git.Contained(ctx, a.common, k.Tip, "", holder); err != nil ||
			!contained {
			return false, why, err
		}
	}
	if last == "" {
		return contained, why, nil
	}
	in := []string{holder}
	if k.Tip != "" {
		in = append(in, k.Tip)
	}
	saved, lastWhy, err := git.Contained(ctx, a.common, last, "", in...)
	switch {
	case err != nil:
		return false, "", err
	case !saved:
		return false, "has a snapshot of work that isn't committed", nil
	case k.Tip == "":
		why = lastWhy
	}
	return true, why, nil
}

// LineageOf returns the lineage that the work belongs to, for removing its worktree: from its file
// or, if that is gone, from what git has; nil if that isn't enough. Without the file the ignored
// files that setup has made aren't known, so all of them count as the agent's.
func (a *Archive) LineageOf(ctx context.Context, k *Kept) (*Lineage, error) {
	l, err := a.lineages.Get(k.System, k.Slice)
	if err == nil && l.N == k.N {
		return l, nil
	}
	if k.Slice == "" || k.Tip == "" || k.Admin == "" || a.at.target == "" {
		return nil, nil
	}
	target, err := a.queue.target.tip(ctx)
	if err != nil {
		return nil, err
	}
	base, err := git.MergeBase(ctx, a.common, k.Tip, target)
	if err != nil || base == "" {
		return nil, err
	}
	l = &Lineage{SchemaVersion: schemaVersion, System: k.System, Slice: k.Slice, N: k.N,
		Branch: k.Branch, Path: k.entered,
		Admin: k.Admin, Base: base, Phase: Gone}
	if err := a.at.check(l); err != nil {
		return nil, fmt.Errorf("%s: %w", short(k.Branch), err)
	}
	return l, nil
}

// RestoreFiles writes the files of a commit of kept work into dir, which must be missing or empty.
func (a *Archive) RestoreFiles(ctx context.Context, commit, dir string) error {
	return git.Restore(ctx, a.common, commit, dir)
}

// RestoreBranch makes a new branch at a commit of kept work, and returns its full name.
func (a *Archive) RestoreBranch(ctx context.Context, commit, name string) (string, error) {
	full := "refs/heads/" + strings.TrimPrefix(name, "refs/heads/")
	return full, git.RestoreBranch(ctx, a.common, commit, full)
}

// Short returns a branch's short name.
func Short(ref string) string { return short(ref) }

// Place returns where the worktree is or was; "" for none.
func (k *Kept) Place() string { return cmp.Or(k.Path, k.entered) }
