package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nested adds the files of nested repositories to what is found, and takes the gitlinks off that they replace. A submodule
// without changes of its own stays a gitlink.
func (s *snapshot) nested(ctx context.Context, f *found) error {
	links := map[string]bool{}
	for _, e := range s.entries {
		links[e.path] = e.mode == gitlink
	}
	for _, dir := range f.nested {
		path := filepath.Join(s.w.Path, dir)
		if links[dir] {
			entries, err := os.ReadDir(path)
			if err != nil || len(entries) == 0 { // not checked out
				continue
			}
			changed, err := s.submoduleChanged(ctx, path)
			if err != nil {
				return err
			}
			if !changed {
				f.add = append(f.add, dir) // git puts its HEAD in
				continue
			}
			f.gone = append(f.gone, dir)
		}
		if err := s.files(ctx, dir, f); err != nil {
			return err
		}
	}
	return nil
}

// files lists what a nested repository has: what it doesn't ignore, and what it tracks all the same. It is the work tree of
// an empty index, so that its own git directory and configuration have no say.
func (s *snapshot) files(ctx context.Context, dir string, f *found) error {
	names, err := s.list(ctx, dir, "-o", "--exclude-standard")
	if err != nil {
		return err
	}
	if gitDir := nestedGitDir(filepath.Join(s.w.Path, dir)); gitDir != "" {
		c := nestedCall(filepath.Join(s.w.Path, dir), time.Minute)
		if out, _, err := c.run(ctx, "--git-dir="+gitDir, "--work-tree="+c.dir, "ls-files", "-z"); err == nil {
			for _, n := range split(out) {
				names = append(names, dir+"/"+n)
			}
		}
	}
	more := s.sort(names)
	f.add = append(f.add, more.add...)
	for _, below := range more.nested {
		if strings.HasPrefix(below, dir+"/") {
			if err := s.files(ctx, below, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func nestedCall(dir string, limit time.Duration) call { return call{dir: dir, limit: limit} }

// nestedGitDir is the git directory of the repository whose top is dir, "" for none.
func nestedGitDir(dir string) string {
	path := filepath.Join(dir, ".git")
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		if path, err = pointer(path, "gitdir: "); err != nil {
			return ""
		}
	}
	if _, err := os.Stat(filepath.Join(path, "HEAD")); err != nil {
		return ""
	}
	return path
}

// submoduleChanged says whether a submodule has changes of its own that its commit doesn't have.
func (s *snapshot) submoduleChanged(ctx context.Context, dir string) (bool, error) {
	gitDir := nestedGitDir(dir)
	if gitDir == "" {
		return true, nil // files without a repository
	}
	c := nestedCall(dir, long)
	at := []string{"--git-dir=" + gitDir, "--work-tree=" + dir}
	if _, _, err := c.run(ctx, slices.Concat(at, []string{"rev-parse", "-q", "--verify", "HEAD^{commit}"})...); err != nil {
		return true, ctx.Err()
	}
	off, err := filtersOff(ctx, dir, at...)
	if err != nil {
		return true, ctx.Err()
	}
	out, _, err := c.run(ctx, slices.Concat(off, at, []string{"status", "--porcelain", "-z", "--ignore-submodules=all", "--untracked-files=normal"})...)
	if err != nil || out != "" {
		return true, ctx.Err()
	}
	out, _, err = c.run(ctx, slices.Concat(at, []string{"ls-files", "-z", "-v", "-s"})...)
	if err != nil {
		return true, ctx.Err()
	}
	entries, err := readEntries(out)
	if err != nil {
		return true, nil
	}
	for _, e := range entries {
		if e.tag != 'H' && e.tag != 'S' {
			return true, nil // assume-unchanged hides changes
		}
		if e.mode != gitlink {
			continue
		}
		below := filepath.Join(dir, e.path)
		if list, err := os.ReadDir(below); errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
			continue
		}
		head, _, err := nestedCall(below, time.Minute).run(ctx, "--git-dir="+nestedGitDir(below), "rev-parse", "-q", "--verify", "HEAD^{commit}")
		if err != nil || strings.TrimSpace(head) != e.id {
			return true, ctx.Err()
		}
		if changed, err := s.submoduleChanged(ctx, below); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

func (s *snapshot) modules(context.Context) error { return nil }
