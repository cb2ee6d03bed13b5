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

// nestedRepos finds the repositories inside the worktree: which of their files belong to its tree,
// and which of their commits are nowhere else.
type nestedRepos struct {
	g        *scratchGit
	o        *SnapshotOptions
	index    *indexer
	repos    []string            // their places, from the top; "" for one that took the top's place
	standins map[string]*standin // by their place
}

// nested adds the files of nested repositories to what is found, and removes the gitlinks that they
// replace. A submodule without changes of its own stays a gitlink. One whose commits are nowhere
// else has its files in the tree: an agent may have added a repository of its own.
func (nr *nestedRepos) nested(ctx context.Context, f *found) error {
	links := map[string]bool{}
	for _, e := range nr.index.entries {
		links[e.path] = e.mode == gitlink
	}
	for _, dir := range f.nested {
		path := filepath.Join(nr.g.w.Path, dir)
		if links[dir] {
			entries, err := os.ReadDir(path)
			if err != nil || len(entries) == 0 { // not checked out
				continue
			}
			changed, err := nr.submoduleChanged(ctx, dir)
			if err != nil {
				return err
			}
			if !changed {
				f.links = append(f.links, gitlink+" "+nr.standins[dir].head+"\t"+dir)
				continue
			}
			f.gone = append(f.gone, dir)
		}
		if err := nr.files(ctx, dir, f); err != nil {
			return err
		}
	}
	return nil
}

// files lists the files of a nested repository: those it doesn't ignore, and those it tracks
// anyway. Git reads it as the work tree of an empty index, so that its own git directory and
// configuration have no effect.
func (nr *nestedRepos) files(ctx context.Context, dir string, f *found) error {
	names, err := nr.index.list(ctx, dir, "-o", "--exclude-standard")
	if err != nil {
		return err
	}
	nr.repos = append(nr.repos, dir)
	if st, err := nr.standIn(dir); err != nil {
		nr.g.fail(filepath.Join(dir, ".git"), reason(err))
	} else if st != nil {
		if out, err := st.run(ctx, call{limit: time.Minute}, "ls-files", "-z"); err == nil {
			for _, n := range split(out) {
				names = append(names, dir+"/"+n)
			}
		} else if unanswered(err) != nil {
			return err
		}
	}
	more := nr.index.sort(names)
	f.add = append(f.add, more.add...)
	for _, below := range more.nested {
		if strings.HasPrefix(below, dir+"/") {
			if err := nr.files(ctx, below, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// nestedGitDir returns the git directory of the repository whose top is dir, "" for none. What a
// killed git init leaves has no directory for objects, and doesn't count.
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
	if !paths.Exists(filepath.Join(path, "HEAD")) ||
		!paths.Exists(filepath.Join(path, "objects")) &&
			!paths.Exists(filepath.Join(path, "commondir")) {
		return ""
	}
	return path
}

// submoduleChanged reports whether a submodule has changes of its own: files that its commit
// doesn't have, or a commit that none of its remotes has.
func (nr *nestedRepos) submoduleChanged(ctx context.Context, name string) (bool, error) {
	nr.repos = append(nr.repos, name)
	st, err := nr.standIn(name)
	if err != nil || st == nil || st.head == "" {
		return true, nil // files without a repository, or with one that can't be read
	}
	c := call{limit: long}
	if out, err := st.run(ctx, c, "rev-list", "-n1", "HEAD", "--not", "--remotes"); err != nil ||
		out != "" {
		return true, unanswered(err)
	}
	out, err := st.run(ctx, c, "status", "--porcelain", "-z", "--ignore-submodules=all",
		"--untracked-files=normal")
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
		if list, err := os.ReadDir(filepath.Join(nr.g.w.Path,
			below)); errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
			continue
		}
		if inner, err := nr.standIn(below); err != nil || inner == nil || inner.head != e.id {
			return true, nil
		}
		if changed, err := nr.submoduleChanged(ctx, below); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// repositories finds the repositories whose files are tracked here: one at the top, and below
// directories of the index.
func (nr *nestedRepos) repositories() {
	if GitFile(nr.g.w.Path) != nr.g.w.Admin && nestedGitDir(nr.g.w.Path) != "" {
		nr.repos = append(nr.repos, "")
	}
	seen, real := map[string]bool{".": true}, map[string]bool{".": true}
	for _, e := range nr.index.entries {
		for dir := filepath.Dir(e.path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			// A link in the place of the directory isn't a repository, wherever it leads.
			if info, err := nr.g.lstat(dir, real); err == nil && info.IsDir() &&
				nestedGitDir(filepath.Join(nr.g.w.Path, dir)) != "" {
				nr.repos = append(nr.repos, dir)
			}
		}
	}
}

// modules fetches the commits of nested repositories that none of their remotes has, with all of
// their history: a commit without its parents would make the repository look broken.
func (nr *nestedRepos) modules(ctx context.Context) (commits []string, err error) {
	slices.Sort(nr.repos)
	for _, dir := range slices.Compact(nr.repos) {
		var tips []string
		st, err := nr.standIn(dir)
		if st == nil && err == nil {
			continue
		}
		if err == nil {
			tips, err = nr.moduleTips(ctx, st)
		}
		if err == nil && len(tips) > 0 {
			err = nr.fetch(ctx, st, tips)
		}
		switch {
		case unanswered(err) != nil, errors.Is(err, syscall.ENOSPC):
			return nil, err
		case err != nil:
			nr.g.fail(filepath.Join(dir, ".git"), reason(err))
			continue
		}
		commits = append(commits, tips...)
	}
	slices.Sort(commits)
	return slices.Compact(commits), nil
}

// moduleTips returns the newest commits of a repository that neither its remotes nor gl's refs
// have, including those in reflogs.
func (nr *nestedRepos) moduleTips(ctx context.Context, st *standin) ([]string, error) {
	var out string
	var err error
	// Another worktree of this repository: maybe only its HEAD has its commits.
	if st.ours {
		if !isID(st.head) {
			return nil, nil
		}
		out, err = nr.g.git(ctx, long, nil, "rev-list", "--parents", "--ignore-missing", st.head,
			"--not", "--branches", "--tags", "--remotes", "--glob=refs/gl/*")
	} else {
		out, err = st.run(ctx, call{limit: long}, "rev-list", "--parents", "--all", "--reflog",
			"--not", "--remotes")
	}
	if err != nil {
		return nil, err
	}
	tips := tipsOf(out)
	have, err := nr.g.commits(ctx, tips)
	if err != nil || len(have) < len(tips) || len(tips) == 0 {
		return tips, err
	}
	out, err = nr.g.git(ctx, long, strings.NewReader(strings.Join(have, "\n")+"\n"), "rev-list",
		"--stdin", "--ignore-missing", "--not", "--branches", "--tags", "--glob=refs/gl/*")
	if err == nil && out == "" {
		return nil, nil
	}
	return tips, err
}

// tipsOf returns the commits in the output of rev-list --parents that aren't another's parent.
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
func (nr *nestedRepos) fetch(ctx context.Context, st *standin, tips []string) error {
	if have, err := nr.g.commits(ctx, tips); err != nil || len(have) == len(tips) {
		return err // another worktree of this repository
	}
	if st.cut {
		return errors.New("its history isn't complete")
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	from, err := command(ctx, st.dir, append(st.at(), "pack-objects", "--revs", "--stdout",
		"-q")...)
	if err != nil {
		return err
	}
	from.Env = append(from.Env, st.env()...)
	to, err := command(ctx, nr.g.w.Path, "--git-dir="+nr.g.gitDir, "index-pack", "--stdin",
		"--strict")
	if err != nil {
		return err
	}
	if nr.o.MaxBytes > 0 {
		to.Args = append(to.Args, "--max-input-size="+strconv.FormatInt(nr.o.MaxBytes, 10))
	}
	to.Env = append(to.Env, nr.g.q.env()...)
	from.Stdin = strings.NewReader(strings.Join(tips, "\n") + "\n")
	err = pipePack(ctx, from, to)
	if err != nil && unanswered(err) == nil && nr.g.full(err.Error()) {
		return errors.Join(syscall.ENOSPC, err)
	}
	return err
}
