package lane

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's names of objects, no secret
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// Touched is what a worktree has changed of what was handed over with its tests. As it is, its
// slice doesn't land.
type Touched struct {
	Paths []string // relative to the project, sorted
	From  string   // the commit that has all of them as they were; "" for none
}

// Touched compares a lineage's worktree with the hand-over, by the rules by which its slice lands.
// It returns nil if nothing has changed, nothing was handed over, or a merge is under way, which
// brings what has landed. quick looks only at files that were handed over, and takes a snapshot
// only if one of them seems changed.
func (r *Reader) Touched(ctx context.Context, lineage *worktree.Lineage, quick bool) (
	*Touched, error) {
	handed, err := r.inspect.handedOver(ctx, lineage)
	if err != nil || handed == "" || r.repo.Layout.Worktree(lineage).Operation() != "" {
		return nil, err
	}
	w := &work{lineage: lineage}
	if w.base, err = r.begun(ctx, lineage); err != nil {
		return nil, err
	}
	w.unlocks = r.inspect.unlocks(lineage.Slice)
	base, err := git.Files(ctx, r.repo.Git.Common, w.base)
	if err != nil {
		return nil, err
	}
	c := r.inspect.comparer()
	if err := c.UseCommand(ctx, base); err != nil {
		return nil, err
	}
	p, err := r.inspect.promised(ctx, w, base, handed)
	if err != nil || quick && !r.seemsChanged(p, lineage.Path) {
		return nil, err
	}
	look, err := r.repo.Snapshots.Look(ctx, lineage)
	if err != nil {
		return nil, err
	}
	files, err := git.Files(ctx, r.repo.Git.Common, look)
	if err != nil {
		return nil, err
	}
	items, err := c.Broken(ctx, &p.Promise, files)
	var paths []string
	for _, i := range items {
		if i.Red {
			paths = append(paths, i.Name)
		}
	}
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	return r.touchedAt(ctx, p, paths, handed)
}

// touchedAt names paths of a promise that are changed, relative to the project.
func (r *Reader) touchedAt(ctx context.Context, p *promise, paths []string, handed string) (
	*Touched, error) {
	t := &Touched{From: handed}
	had, err := git.Files(ctx, r.repo.Git.Common, handed)
	for _, name := range paths {
		if f, there := p.Want[name]; there && had[name] != f {
			t.From = ""
		}
		t.Paths = append(t.Paths, r.inspect.comparer().InProject(name))
	}
	return t, err
}

// ChangedSince returns the paths, relative to the project, in which a worktree differs from an
// earlier commit of its content; state aside.
func (r *Reader) ChangedSince(ctx context.Context, lineage *worktree.Lineage,
	commit string) ([]string, error) {
	look, err := r.repo.Snapshots.Look(ctx, lineage)
	if err != nil {
		return nil, err
	}
	changed, err := git.Changed(ctx, r.repo.Git.Common, commit, look, statedir.InState)
	for i, name := range changed {
		changed[i] = r.inspect.comparer().InProject(name)
	}
	return changed, err
}

// begun returns the newest commit of what has landed that the lineage's branch contains.
func (r *Reader) begun(ctx context.Context, lineage *worktree.Lineage) (string, error) {
	newest, err := r.history.newest(ctx)
	if err != nil {
		return "", err
	}
	tip, err := git.ResolveCommit(ctx, r.repo.Git.Common, lineage.Branch)
	if err != nil || tip == "" {
		return lineage.Base, err
	}
	base, err := git.MergeBase(ctx, r.repo.Git.Common, newest, tip)
	if err == nil && base == "" {
		base = lineage.Base
	}
	return base, err
}

// seemsChanged reports whether one of the promised files isn't in the worktree as plain bytes.
// Filters can make an unchanged file seem changed.
func (r *Reader) seemsChanged(p *promise, top string) bool {
	for name, want := range p.Want {
		if r.inspect.comparer().Protects(name) && !p.Free[name] &&
			!isOnDisk(filepath.Join(top, filepath.FromSlash(name)), want) {
			return true
		}
	}
	return false
}

// isOnDisk reports whether the file at a path is the one in git. A submodule counts as equal.
func isOnDisk(path string, want git.File) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	var data []byte
	switch {
	case strings.HasPrefix(want.Mode, "160"):
		return true
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil || want.Mode != "120000" {
			return false
		}
		data = []byte(target)
	case !info.Mode().IsRegular() || !want.IsRegular() || info.Size() > drift.MostBytes:
		return false
	default:
		if data, err = os.ReadFile(path); err != nil ||
			(info.Mode()&0o100 != 0) != (want.Mode == "100755") {
			return false
		}
	}
	h := sha1.New() //nolint:gosec // as above
	if len(want.ID) == sha256.Size*2 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)) == want.ID
}
