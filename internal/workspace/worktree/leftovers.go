package worktree

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
)

// Kinds of leftovers.
const (
	LeftWorktree = "worktree" // a worktree that no open lineage has
	LeftEntry    = "entry"    // git's entry of a worktree whose directory is gone
	// A directory among the worktrees that git doesn't list: half made, or half removed.
	LeftDirectory = "directory"
	LeftBranch    = "branch" // a branch that no lineage file names
	LeftWIP       = "wip"    // snapshots or handed over tests of a lineage that no file names
	LeftFile      = "file"   // a lineage file that can't be used
)

// A Leftover is something of gl's that belongs to no open lineage. It may contain work, so it isn't
// necessarily safe to remove.
type Leftover struct {
	Kind   string
	Path   string   // of a worktree, a directory or a file
	Admin  string   // of a worktree or an entry
	Branch string   // full name: of a branch, or checked out in the worktree
	Refs   []string // the WIP refs
	System string   // of a branch or of snapshots
	Slice  string   // "" where the names don't tell it
	N      int
}

// Leftovers lists what is left over of the project's worktrees, according to git's lists and the
// directories on disk.
func (c *Cleaner) Leftovers(ctx context.Context) ([]Leftover, error) {
	lineages, bad, err := c.lineages.All()
	if err != nil {
		return nil, err
	}
	var list []Leftover
	for _, b := range bad {
		list = append(list, Leftover{Kind: LeftFile, Path: b.Path})
	}
	linked, err := git.ListLinked(c.common)
	if err != nil {
		return nil, err
	}
	for _, e := range linked {
		if l, left := c.leftEntry(e, lineages); left {
			list = append(list, l)
		}
	}
	dirs, err := c.leftDirectories(linked, lineages)
	if err != nil {
		return nil, err
	}
	refs, err := c.leftRefs(ctx, lineages)
	return slices.Concat(list, dirs, refs), err
}

// leftEntry looks at one of git's entries.
func (c *Cleaner) leftEntry(e git.Linked, lineages []*Lineage) (Leftover, bool) {
	path, ours := e.IsOurs()
	if !ours ||
		!strings.HasPrefix(path, c.at.place+"/") && !strings.HasPrefix(e.Path, c.at.place+"/") {
		return Leftover{}, false
	}
	open := slices.ContainsFunc(lineages,
		func(l *Lineage) bool { return l.Phase != Gone && l.Path == path })
	if c.at.isLanePath(path) && !slices.ContainsFunc(lineages, func(l *Lineage) bool {
		return l.IsLane() && lastPart(l.Slice, 1) == strings.TrimSuffix(filepath.Base(path),
			filepath.Ext(path))+".1"
	}) {
		open = true // Lane or Car takes it up
	}
	left := Leftover{Kind: LeftWorktree, Path: e.Path, Admin: e.Admin}
	left.Branch, _ = git.Worktree{Common: c.common, Admin: e.Admin}.Branch()
	if e.Path == "" || lost(e.Path) {
		left.Kind = LeftEntry
	}
	return left, !open
}

// leftDirectories returns the directories in worktrees' places that git has no entry of.
func (c *Cleaner) leftDirectories(linked []git.Linked, lineages []*Lineage) ([]Leftover, error) {
	systems, err := subdirectories(c.at.place)
	var list []Leftover
	for _, system := range systems {
		dirs, dirErr := subdirectories(system)
		err = errors.Join(err, dirErr)
		// Not a system's directory.
		if c.at.isLanePath(system) || strings.HasPrefix(filepath.Base(system), ".gone-") {
			dirs = []string{system}
		}
		for _, dir := range dirs {
			known := slices.ContainsFunc(linked,
				func(e git.Linked) bool { return e.Path == dir }) ||
				slices.ContainsFunc(lineages,
					func(l *Lineage) bool { return l.Phase != Gone && l.Path == dir })
			if !known {
				list = append(list, Leftover{Kind: LeftDirectory, Path: dir})
			}
		}
	}
	return list, err
}

func subdirectories(dir string) ([]string, error) {
	entries, err := durable.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// leftRefs returns the branches, WIP refs and refs of tests that belong to no lineage, open or not:
// the branch of a complete slice stays.
func (c *Cleaner) leftRefs(ctx context.Context, lineages []*Lineage) ([]Leftover, error) {
	branches, wips, tests := "refs/heads/"+c.at.prefix+"/s/"+c.at.project+"/",
		"refs/gl/wip/"+c.at.project+"/", "refs/gl/tests/"+c.at.project+"/"
	c.lineages.tidyRefs()
	refs, err := git.Refs(ctx, c.common, branches, wips, tests)
	var list []Leftover
	for _, ref := range refs {
		kind, rest := LeftBranch, strings.TrimPrefix(ref.Name, branches)
		if rest == ref.Name {
			kind, rest = LeftWIP, strings.TrimPrefix(strings.TrimPrefix(ref.Name, wips), tests)
		}
		f := strings.Split(rest, "/")
		if len(f) < 3 {
			continue
		}
		n, _ := strconv.Atoi(f[2])
		named := slices.ContainsFunc(lineages, func(l *Lineage) bool {
			return l.N == n && part(l.System) == f[0] && idPart(l.Slice) == f[1]
		})
		if named {
			continue
		}
		left := Leftover{Kind: kind, System: unpart(f[0]), Slice: unIDPart(f[1]), N: n}
		if kind == LeftBranch {
			left.Branch = ref.Name
			list = append(list, left)
			continue
		}
		same := slices.IndexFunc(list, func(l Leftover) bool {
			return l.Kind == LeftWIP && l.N == n && l.System == left.System && l.Slice == left.Slice
		})
		if same < 0 {
			list, same = append(list, left), len(list)
		}
		list[same].Refs = append(list[same].Refs, ref.Name)
	}
	return list, err
}
