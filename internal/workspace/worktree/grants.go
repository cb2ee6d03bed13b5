package worktree

import (
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

// Grants are the places that git writes to on behalf of a program in a worktree, and the files
// there that must stay as they are: git runs what the configuration and hooks name, and trusts
// commondir, also when a person or gl runs it.
type Grants struct{ Write, Fixed []string }

// Grants returns the places for a lineage, and makes those that must exist. Of refs only the
// slice's branches are writable: other branches, the snapshots and the stash stay out of reach. A
// repository with reftables has all refs in one directory.
func (r *Repo) Grants(l *Lineage) (Grants, error) {
	g := Grants{
		Write: []string{l.Path, filepath.Join(r.Git.Common, "objects"),
			filepath.Join(r.Git.Common, "lfs"), l.Admin},
		Fixed: []string{filepath.Join(l.Path, ".git"), filepath.Join(l.Admin, "commondir"),
			filepath.Join(l.Admin, "locked")},
	}
	config := filepath.Join(l.Admin, "config.worktree")
	if err := keep(config); err != nil {
		return Grants{}, err
	}
	g.Fixed = append(g.Fixed, config)
	if l.IsLane() { // no refs are written there
		return g, nil
	}
	if tables := filepath.Join(r.Git.Common, "reftable"); paths.IsDir(tables) {
		g.Write = append(g.Write, tables)
		return g, nil
	}
	// Its branch, and the tests that its agent hands over.
	for _, refs := range []string{r.Layout.branches(l.System, l.Slice),
		r.Layout.tests(l.System, l.Slice)} {
		for _, dir := range []string{filepath.Join(r.Git.Common, filepath.FromSlash(refs)),
			filepath.Join(r.Git.Common, "logs", filepath.FromSlash(refs))} {
			if err := durable.MkdirAll(dir, 0o777); err != nil {
				return Grants{}, err
			}
			g.Write = append(g.Write, dir)
		}
		// A mounted directory that git removes would be gone from the sandbox, and every commit
		// there would fail.
		if err := keep(filepath.Join(r.Git.Common, filepath.FromSlash(refs), git.DirKeeper)); err != nil {
			return Grants{}, err
		}
	}
	return g, nil
}

// keep makes an empty file if there is none.
func keep(path string) error {
	if paths.Exists(path) {
		return nil
	}
	return durable.Overwrite(path, nil, 0o666)
}
