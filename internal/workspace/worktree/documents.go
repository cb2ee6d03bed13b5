package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// A document is a file below the state directory of a worktree that git ignores, as everywhere
// after gl do: an agent can't commit it, so it gets home only by being copied.
type document struct {
	rel  string // from the state directory, with slashes
	data []byte // what the project is to have; nil if it has it
	left string // why it can't be copied; "" if it can
}

// ignoredState opens the state directory among ignored paths: it returns the other paths, and
// whether the directory has ignored files.
func (at *Layout) ignoredState(ignored []string) (others []string, has bool) {
	dir := at.git.Prefix + statedir.Name + "/"
	for _, p := range ignored {
		if strings.HasPrefix(p, dir) {
			has = true
		} else {
			others = append(others, p)
		}
	}
	return others, has
}

// documents lists the ignored files of the state directory of a worktree at top.
func (p *parts) documents(ctx context.Context, l *Lineage, top string) ([]document, error) {
	dir := p.at.git.Prefix + statedir.Name
	if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir))); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // without asking git
	}
	ignored, err := git.Worktree{Common: p.common, Admin: l.Admin, Path: top}.Ignored(ctx)
	if err != nil {
		return nil, err
	}
	// The agent writes there, so no link leads out of it.
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var list []document
	for _, name := range ignored {
		if !strings.HasPrefix(name, dir+"/") {
			continue
		}
		err := fs.WalkDir(root.FS(), strings.TrimSuffix(name, "/"),
			func(name string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				d, err := p.document(root, l, name, strings.TrimPrefix(name, dir+"/"), e)
				list = append(list, d)
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// document compares a file of a worktree's state directory with the project's.
func (p *parts) document(root *os.Root, l *Lineage, name, rel string, e fs.DirEntry) (
	document, error) {
	d := document{rel: rel}
	info, err := e.Info()
	if err != nil {
		return d, err
	}
	if !info.Mode().IsRegular() || info.Size() > longestDocument {
		d.left = "it is no document"
		return d, nil
	}
	data, err := root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return d, err
	}
	home := statedir.Path(p.at.root, filepath.FromSlash(rel))
	old, err := durable.ReadFile(home)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil && bytes.Equal(old, data):
	case err != nil && !isNew:
		d.left = err.Error()
	case statedir.IsState(rel):
		d.left = "the project's state is only in " + statedir.Path(p.at.root)
	case isNew:
		d.data = data
	case rel != "summaries/"+l.Slice+"-SUMMARY.md":
		d.left = home + " is another"
	default: // the slice was built before: the newer summary counts
		was, err := durable.Stat(home)
		if err != nil {
			return d, err
		}
		if info.ModTime().After(was.ModTime()) {
			d.data = data
		}
	}
	return d, nil
}

// longestDocument limits the documents that are copied.
const longestDocument = 1 << 20

// TakeDocuments copies what the lineage's agent wrote into the state directory of its worktree and
// couldn't commit, because git ignores it there, to the project: its summary above all. Nothing
// that the project has is replaced, except an older summary of the same slice.
func (c *Cleaner) TakeDocuments(ctx context.Context, l *Lineage) error {
	if l.IsLane() || lost(l.Path) || c.lineages.ours(l) != nil {
		return nil
	}
	return c.takeDocuments(ctx, l, l.Path)
}

func (p *parts) takeDocuments(ctx context.Context, l *Lineage, top string) error {
	list, err := p.documents(ctx, l, top)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.data == nil {
			continue
		}
		home := statedir.Path(p.at.root, filepath.FromSlash(d.rel))
		if err := durable.MkdirAll(filepath.Dir(home), 0o755); err != nil {
			return err
		}
		if err := durable.WriteFile(home, d.data, 0o644); err != nil {
			return fmt.Errorf("copy %s from %s: %w", path.Join(statedir.Name, d.rel), top, err)
		}
	}
	return nil
}

// keeps describes what would be lost with the worktree at top, given what git finds in it, "" for
// nothing, and lists what o gives up. Documents that takeDocuments copies aren't lost. Of what o
// gives up, repositories stay, as with git clean: they may have commits of their own.
func (p *parts) keeps(ctx context.Context, l *Lineage, top string, u *git.Unsaved,
	o RemoveOptions) (kept string, given []string, err error) {
	found := *u
	others, has := p.at.ignoredState(u.Ignored)
	if _, had := p.at.ignoredState(l.Ignored); has || had {
		list, err := p.documents(ctx, l, top)
		if err != nil {
			return "", nil, err
		}
		found.Ignored = others
		if i := slices.IndexFunc(list, func(d document) bool { return d.left != "" }); i >= 0 {
			return fmt.Sprintf("it has %q, and %s; %s",
				p.at.git.Prefix+path.Join(statedir.Name, list[i].rel), list[i].left, onceGone), nil, nil
		}
	}
	if !o.Ignored || len(found.Changed)+len(found.Staged) > 0 {
		return unsavedText(&found), nil, nil
	}
	repository, err := repositoryIn(top, found.Ignored)
	switch {
	case err != nil: // for example a directory that another user's process made
		return err.Error() + "; " + onceGone, nil, nil
	case repository != "":
		return fmt.Sprintf("%q is a git repository of its own; %s", repository, onceGone), nil, nil
	}
	return "", found.Ignored, nil
}

// repositoryIn returns the first git repository at or below the paths, which are relative to top;
// "" for none.
func repositoryIn(top string, list []string) (found string, err error) {
	for _, p := range list {
		err := filepath.WalkDir(filepath.Join(top, p),
			func(name string, e fs.DirEntry, err error) error {
				if err != nil || e.Name() != ".git" {
					return err
				}
				if found, err = filepath.Rel(top, filepath.Dir(name)); err != nil {
					return err
				}
				return fs.SkipAll
			})
		if err != nil || found != "" {
			return found, err
		}
	}
	return "", nil
}
