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

	"greenlight/internal/base/paths"
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
				f.links = append(f.links, gitlink+" "+s.standins[dir].head+"\t"+dir)
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
	if st, err := s.standIn(dir); err != nil {
		s.fail(filepath.Join(dir, ".git"), reason(err))
	} else if st != nil {
		if out, err := st.run(ctx, call{limit: time.Minute}, "ls-files", "-z"); err == nil {
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
	st, err := s.standIn(name)
	if err != nil || st == nil || st.head == "" {
		return true, nil // files without a repository, or with one that can't be read
	}
	c := call{limit: long}
	if out, err := st.run(ctx, c, "rev-list", "-n1", "HEAD", "--not", "--remotes"); err != nil || out != "" {
		return true, unanswered(err)
	}
	out, err := st.run(ctx, c, "status", "--porcelain", "-z", "--ignore-submodules=all", "--untracked-files=normal")
	if err != nil || out != "" {
		return true, unanswered(err)
	}
	if out, err = st.run(ctx, c, "ls-files", "-z", "-v", "-s"); err != nil {
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
		below := name + "/" + e.path
		if list, err := os.ReadDir(filepath.Join(s.w.Path, below)); errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
			continue
		}
		if inner, err := s.standIn(below); err != nil || inner == nil || inner.head != e.id {
			return true, nil
		}
		if changed, err := s.submoduleChanged(ctx, below); changed || err != nil {
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
	seen, real := map[string]bool{".": true}, map[string]bool{".": true}
	for _, e := range s.entries {
		for dir := filepath.Dir(e.path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			// A link in the place of the directory isn't a repository, wherever it points.
			if info, err := s.lstat(dir, real); err == nil && info.IsDir() && nestedGitDir(filepath.Join(s.w.Path, dir)) != "" {
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
		var tips []string
		st, err := s.standIn(dir)
		if st == nil && err == nil {
			continue
		}
		if err == nil {
			tips, err = s.moduleTips(ctx, st)
		}
		if err == nil && len(tips) > 0 {
			err = s.fetch(ctx, st, tips)
		}
		switch {
		case unanswered(err) != nil, errors.Is(err, syscall.ENOSPC):
			return err
		case err != nil:
			s.fail(filepath.Join(dir, ".git"), reason(err))
			continue
		}
		s.Modules = append(s.Modules, tips...)
	}
	slices.Sort(s.Modules)
	s.Modules = slices.Compact(s.Modules)
	return nil
}

// moduleTips are the newest commits of a repository that neither its remotes nor gl's refs have, those in reflogs included.
func (s *snapshot) moduleTips(ctx context.Context, st *standin) ([]string, error) {
	var out string
	var err error
	if st.ours { // another worktree of this repository: its HEAD alone may be nobody's
		if !isID(st.head) {
			return nil, nil
		}
		out, err = s.git(ctx, long, nil, "rev-list", "--parents", "--ignore-missing", st.head, "--not", "--branches", "--tags", "--remotes", "--glob=refs/gl/*")
	} else {
		out, err = st.run(ctx, call{limit: long}, "rev-list", "--parents", "--all", "--reflog", "--not", "--remotes")
	}
	if err != nil {
		return nil, err
	}
	tips := tipsOf(out)
	have, err := s.commits(ctx, tips)
	if err != nil || len(have) < len(tips) || len(tips) == 0 {
		return tips, err
	}
	out, err = s.git(ctx, long, strings.NewReader(strings.Join(have, "\n")+"\n"), "rev-list", "--stdin", "--ignore-missing", "--not", "--branches", "--tags", "--glob=refs/gl/*")
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
func (s *snapshot) fetch(ctx context.Context, st *standin, tips []string) error {
	if have, err := s.commits(ctx, tips); err != nil || len(have) == len(tips) {
		return err // another worktree of this repository
	}
	if st.cut {
		return errors.New("its history isn't complete")
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	from, err := command(ctx, st.dir, append(st.at(), "pack-objects", "--revs", "--stdout", "-q")...)
	if err != nil {
		return err
	}
	from.Env = append(from.Env, st.env()...)
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
