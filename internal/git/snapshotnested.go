package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/paths"
)

// nested adds the files of nested repositories to what is found, and takes the gitlinks off that they replace. A submodule
// without changes of its own stays a gitlink. One whose commits are nowhere else has its files in the tree: an agent may
// have added a repository of its own.
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
			changed, err := s.submoduleChanged(ctx, dir)
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
	s.repos = append(s.repos, dir)
	if gitDir := nestedGitDir(filepath.Join(s.w.Path, dir)); gitDir != "" {
		c := nestedCall(filepath.Join(s.w.Path, dir), time.Minute)
		if out, _, err := c.run(ctx, "--git-dir="+gitDir, "--work-tree="+c.dir, "ls-files", "-z"); err == nil {
			for _, n := range split(out) {
				names = append(names, dir+"/"+n)
			}
		} else if unanswered(err) != nil {
			return err
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

// nestedGitDir is the git directory of the repository whose top is dir, "" for none. What a killed git init leaves has no
// place for objects, so it has none.
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
	if !paths.Exists(filepath.Join(path, "HEAD")) || !paths.Exists(filepath.Join(path, "objects")) && !paths.Exists(filepath.Join(path, "commondir")) {
		return ""
	}
	return path
}

// submoduleChanged says whether a submodule has changes of its own: files that its commit doesn't have, or a commit that none
// of its remotes has.
func (s *snapshot) submoduleChanged(ctx context.Context, name string) (bool, error) {
	s.repos = append(s.repos, name)
	dir := filepath.Join(s.w.Path, name)
	gitDir := nestedGitDir(dir)
	if gitDir == "" {
		return true, nil // files without a repository
	}
	c := nestedCall(dir, long)
	at := []string{"--git-dir=" + gitDir, "--work-tree=" + dir}
	if out, _, err := c.run(ctx, slices.Concat(at, []string{"rev-list", "-n1", "HEAD", "--not", "--remotes"})...); err != nil || out != "" {
		return true, unanswered(err)
	}
	off, err := filtersOff(ctx, dir, at...)
	if err != nil {
		return true, unanswered(err)
	}
	out, _, err := c.run(ctx, slices.Concat(off, at, []string{"status", "--porcelain", "-z", "--ignore-submodules=all", "--untracked-files=normal"})...)
	if err != nil || out != "" {
		return true, unanswered(err)
	}
	out, _, err = c.run(ctx, slices.Concat(at, []string{"ls-files", "-z", "-v", "-s"})...)
	if err != nil {
		return true, unanswered(err)
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
			return true, unanswered(err)
		}
		if changed, err := s.submoduleChanged(ctx, name+"/"+e.path); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// repositories finds the repositories whose files are tracked here: one at the top, and below directories of the index.
func (s *snapshot) repositories() {
	if GitFile(s.w.Path) != s.w.Admin && nestedGitDir(s.w.Path) != "" {
		s.repos = append(s.repos, "")
	}
	seen := map[string]bool{".": true}
	for _, e := range s.entries {
		for dir := filepath.Dir(e.path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			if nestedGitDir(filepath.Join(s.w.Path, dir)) != "" {
				s.repos = append(s.repos, dir)
			}
		}
	}
}

// modules brings the commits of nested repositories that none of their remotes has, with all of their history: a commit
// without its parents would make the repository look broken.
func (s *snapshot) modules(ctx context.Context) error {
	slices.Sort(s.repos)
	for _, dir := range slices.Compact(s.repos) {
		path := filepath.Join(s.w.Path, dir)
		gitDir := nestedGitDir(path)
		if gitDir == "" {
			continue
		}
		tips, err := s.moduleTips(ctx, path, gitDir)
		if err == nil && len(tips) > 0 {
			err = s.fetch(ctx, path, gitDir, tips)
		}
		switch {
		case unanswered(err) != nil, errors.Is(err, syscall.ENOSPC):
			return err
		case err != nil:
			s.fail(filepath.Join(dir, ".git"), err.Error())
			continue
		}
		s.Modules = append(s.Modules, tips...)
	}
	slices.Sort(s.Modules)
	s.Modules = slices.Compact(s.Modules)
	return nil
}

// moduleTips are the newest commits of a repository that neither its remotes nor gl's refs have, those in reflogs included.
func (s *snapshot) moduleTips(ctx context.Context, path, gitDir string) ([]string, error) {
	c := nestedCall(path, long)
	args := []string{"--git-dir=" + gitDir, "rev-list", "--parents", "--all", "--reflog", "--not", "--remotes"}
	if common, err := pointer(filepath.Join(gitDir, "commondir"), ""); err == nil && common == s.w.Common {
		// Another worktree of this repository: its HEAD alone may be nobody's.
		args = []string{"--git-dir=" + gitDir, "rev-list", "--parents", "HEAD", "--not", "--branches", "--tags", "--remotes", "--glob=refs/gl/*"}
	}
	out, _, err := c.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	tips := tipsOf(out)
	have, err := s.commits(ctx, tips)
	if err != nil || len(have) < len(tips) || len(tips) == 0 {
		return tips, err
	}
	out, err = s.git(ctx, long, strings.NewReader(strings.Join(have, "\n")+"\n"), "rev-list", "--stdin", "--not", "--branches", "--tags", "--glob=refs/gl/*")
	if err == nil && out == "" {
		return nil, nil
	}
	return tips, err
}

// tipsOf are those commits in what rev-list --parents prints that aren't another's parent.
func tipsOf(out string) []string {
	parents := map[string]bool{}
	var list []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		list = append(list, f[0])
		for _, p := range f[1:] {
			parents[p] = true
		}
	}
	return slices.DeleteFunc(list, func(id string) bool { return parents[id] })
}

// fetch copies commits and everything they need from a nested repository into the quarantine.
func (s *snapshot) fetch(ctx context.Context, path, gitDir string, tips []string) error {
	if have, err := s.commits(ctx, tips); err != nil || len(have) == len(tips) {
		return err // another worktree of this repository
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "shallow")); err == nil {
		return errors.New("its history isn't complete")
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	from, err := command(ctx, path, "--git-dir="+gitDir, "pack-objects", "--revs", "--stdout", "-q")
	if err != nil {
		return err
	}
	to, err := command(ctx, s.w.Path, "--git-dir="+s.gitDir, "index-pack", "--stdin", "--strict")
	if err != nil {
		return err
	}
	if s.o.MaxBytes > 0 {
		to.Args = append(to.Args, "--max-input-size="+strconv.FormatInt(s.o.MaxBytes, 10))
	}
	to.Env = append(to.Env, s.q.env()...)
	from.Stdin = strings.NewReader(strings.Join(tips, "\n") + "\n")
	err = pipePack(ctx, from, to)
	if err != nil && unanswered(err) == nil && s.full(err.Error()) {
		return errors.Join(syscall.ENOSPC, err)
	}
	return err
}
