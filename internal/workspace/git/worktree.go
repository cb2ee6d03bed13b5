package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// A Worktree is a linked worktree, by the three places that make it one; all are absolute. Git
// never has to discover it: from a worktree whose .git is gone, git climbs into whatever repository
// is above it.
type Worktree struct {
	Common string // the git directory that all worktrees of the repository share
	// The worktree's own, below Common/worktrees; its name may differ from the path's last part.
	Admin string
	Path  string // its top

	Whole bool // every file of a commit is checked out, regardless of a configured sparse checkout
}

// ErrNotLinked says that a worktree's .git and its admin directory don't name each other.
var ErrNotLinked = errors.New("the worktree and its git directory don't name each other")

// Check returns an error if the worktree's links are wrong. It reads three files.
func (w Worktree) Check() error {
	gitDir, err := pointer(filepath.Join(w.Path, ".git"), "gitdir: ")
	if err != nil {
		return err
	}
	back, err := pointer(filepath.Join(w.Admin, "gitdir"), "")
	if err != nil {
		return err
	}
	common, err := pointer(filepath.Join(w.Admin, "commondir"), "")
	if err != nil {
		return err
	}
	if gitDir != w.Admin || back != filepath.Join(w.Path, ".git") || common != w.Common {
		return fmt.Errorf("%s: %w", w.Path, ErrNotLinked)
	}
	return nil
}

// pointer reads a file of git's that names a path, relative to the file's directory unless it is
// absolute.
func pointer(file, prefix string) (string, error) {
	data, err := durable.ReadFile(file)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimSuffix(string(data), "\n"), prefix)
	if !ok || path == "" {
		return "", fmt.Errorf("%s: %w", file, ErrNotLinked)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return filepath.Clean(path), nil
}

// run runs git in the worktree after checking its links. Filters that the configuration names run
// if the person has allowed them (JudgeFilters).
func (w Worktree) run(ctx context.Context, limit time.Duration, input string,
	args ...string) (string, error) {
	return w.start(ctx, call{limit: limit, stdin: strings.NewReader(input)}, args...)
}

func (w Worktree) start(ctx context.Context, c call, args ...string) (string, error) {
	if err := w.Check(); err != nil {
		return "", err
	}
	off, err := ownOptions(ctx, w.Common, w.Admin, w.Path)
	if err != nil {
		return "", err
	}
	if w.Whole {
		off = append(off, settings("core.sparseCheckout=false", "index.sparse=false")...)
	}
	c.dir = w.Path
	out, _, err := c.run(ctx, slices.Concat(off,
		[]string{"--git-dir=" + w.Admin, "--work-tree=" + w.Path}, args)...)
	return out, err
}

// fill is run for commands that write the files of HEAD: it may take as long as that does.
func (w Worktree) fill(ctx context.Context, args ...string) (string, error) {
	return w.start(ctx, call{limit: leastFill, more: w.fillLimit}, args...)
}

// A Checkout is a directory's place in its repository. All paths are absolute, with symlinks
// resolved.
type Checkout struct {
	Top    string // of the checkout that the directory is in
	Prefix string // the directory's place below it, "" for the top itself
	GitDir string // the checkout's own git directory
	Common string // the git directory that all worktrees share
}

// FindCheckout finds the checkout that dir is in.
func FindCheckout(ctx context.Context, dir string) (Checkout, error) {
	if at, known, err := findByFiles(ctx, dir); known {
		return at, err
	}
	out, err := run(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir",
		"--git-common-dir", "--show-prefix")
	if err != nil {
		return Checkout{}, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 4 {
		return Checkout{}, fmt.Errorf("git rev-parse says %.200q", out)
	}
	c := Checkout{Top: lines[0], GitDir: lines[1], Common: lines[2],
		Prefix: strings.TrimSuffix(lines[3], "/")}
	for _, dir := range []*string{&c.Top, &c.GitDir, &c.Common} {
		if *dir, err = filepath.EvalSymlinks(*dir); err != nil {
			return Checkout{}, err
		}
	}
	return c, nil
}

// A Linked is an entry of a repository's list of worktrees. It may be half made or have lost its
// directory.
type Linked struct {
	Admin string // the admin directory
	Path  string // the worktree's top, "" where the entry doesn't say
	Lock  string // the reason for which it is locked, "" for none
}

// LockReason is the reason with which gl locks its worktrees in git, so that git never removes
// them. It is stored in the repository's git directory, which a clone doesn't bring, and where an
// agent in a sandbox can't change it, so it tells gl's worktrees from a person's.
func LockReason(path string) string { return "in use by gl: " + path }

// IsOurs reports whether gl has made the worktree, and where.
func (l Linked) IsOurs() (path string, ours bool) { return strings.CutPrefix(l.Lock, LockReason("")) }

// ListLinked lists the linked worktrees by git's files: git itself skips half-made ones, and fails
// beside a change.
func ListLinked(common string) ([]Linked, error) {
	dir := filepath.Join(common, "worktrees")
	entries, err := durable.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Linked
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		l := Linked{Admin: filepath.Join(dir, e.Name())}
		if file, err := pointer(filepath.Join(l.Admin, "gitdir"), ""); err == nil {
			l.Path = filepath.Dir(file)
		}
		if reason, err := durable.ReadFile(filepath.Join(l.Admin, "locked")); err == nil {
			l.Lock = strings.TrimSuffix(string(reason), "\n")
		}
		list = append(list, l)
	}
	return list, err
}

// AddWorktree adds a linked worktree at path with the branch, a ref's full name, or with a commit,
// checked out and no file in it. It is locked with the reason. gitDir is that of the checkout whose
// sparse patterns it gets. The caller excludes other processes that add worktrees.
func AddWorktree(ctx context.Context, gitDir, path, branch, reason string) error {
	// Git itself puts refs/heads/ before the name, so that a tag of the same name isn't meant.
	args := []string{"--git-dir=" + gitDir, "worktree", "add", "-q", "--no-checkout", "--lock",
		"--reason", reason}
	if isID(branch) {
		args = append(args, "--detach")
	}
	_, err := runFor(ctx, time.Minute, gitDir, "",
		append(args, path, strings.TrimPrefix(branch, "refs/heads/"))...)
	return err
}

// Branch returns the full name of the branch that is checked out, "" for none (a detached HEAD). It
// reads one file.
func (w Worktree) Branch() (string, error) {
	data, err := durable.ReadFile(filepath.Join(w.Admin, "HEAD"))
	if err != nil {
		return "", err
	}
	ref, symbolic := strings.CutPrefix(strings.TrimSuffix(string(data), "\n"), "ref: ")
	if !symbolic {
		return "", nil
	}
	return strings.TrimSpace(ref), nil
}

// Fill makes the index and the files those of HEAD, whatever is there: for a worktree in which no
// agent has worked yet. A git that was killed while it did this may have left the index's lock.
func (x Exclusive) Fill(ctx context.Context) error {
	if err := x.w.Check(); err != nil {
		return err
	}
	if err := durable.Unlink(filepath.Join(x.w.Admin, "index.lock")); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := x.w.fill(ctx, "read-tree", "--reset", "-u", "HEAD")
	return err
}

const (
	leastFill   = 2 * time.Minute
	mostFill    = 2 * time.Hour
	slowestDisk = 1 << 20 // bytes each second
)

// moveLimit returns how long git may take to read or write so many bytes.
func moveLimit(bytes int64) time.Duration {
	return min(leastFill+time.Duration(bytes/slowestDisk)*time.Second, mostFill)
}

// fillLimit returns how long it may take to write the files of HEAD, by their bytes.
func (w Worktree) fillLimit(ctx context.Context) time.Duration {
	out, err := w.run(ctx, time.Minute, "", "ls-tree", "-r", "-l", "-z", "HEAD")
	if err != nil { // a partial clone, say
		return mostFill
	}
	var bytes int64
	for _, line := range split(out) { // MODE blob HASH SIZE\tPATH
		if f := strings.Fields(line); len(f) > 3 {
			if n, err := strconv.ParseInt(f[3], 10, 40); err == nil {
				bytes += n
			}
		}
	}
	return moveLimit(bytes)
}

// Ignored lists the existing ignored paths, relative to the top; a directory in which everything is
// ignored is one path that ends in "/".
func (w Worktree) Ignored(ctx context.Context) ([]string, error) {
	out, err := w.run(ctx, leastFill, "", "ls-files", "-z", "-o", "-i", "--exclude-standard",
		"--directory")
	return split(out), err
}

// IgnoredDirs lists the directories below dir that the .gitignore files there ignore, relative to
// dir. Neither the repository's configuration nor its info/exclude counts.
func IgnoredDirs(ctx context.Context, dir string) ([]string, error) {
	out, err := run(ctx, dir, "ls-files", "-z", "-o", "-i", "--exclude-per-directory=.gitignore",
		"--directory")
	var dirs []string
	for _, p := range split(out) {
		if name, is := strings.CutSuffix(p, "/"); is {
			dirs = append(dirs, name)
		}
	}
	return dirs, err
}

// Changed lists what is changed or untracked, as Dirty does.
func (w Worktree) Changed(ctx context.Context) ([]string, error) {
	out, err := w.run(ctx, leastFill, "", "status", "--porcelain", "-z",
		"--ignore-submodules=dirty", "--untracked-files=normal")
	return readStatus(out), err
}

// GitFile returns the git directory that a checkout's .git file names, "" if there is no such file.
func GitFile(top string) string {
	dir, err := pointer(filepath.Join(top, ".git"), "gitdir: ")
	if err != nil {
		return ""
	}
	return dir
}

// operations are the files and directories of an admin directory that show an unfinished operation.
var operations = []struct{ file, name string }{
	{"rebase-merge", "rebase"},
	{"rebase-apply/applying", "am"},
	{"rebase-apply", "rebase"},
	{"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"},
	{"BISECT_LOG", "bisect"},
	{"sequencer/todo", "cherry-pick or revert"},
}

// Operation returns the unfinished operation in the worktree: "rebase", "merge"…; "" for none.
func (w Worktree) Operation() string {
	for _, o := range operations {
		if paths.Exists(filepath.Join(w.Admin, o.file)) {
			return o.name
		}
	}
	return ""
}

// MergeHead returns the commit that an unfinished merge in the worktree brings in; "" without one.
func (w Worktree) MergeHead(ctx context.Context) (string, error) {
	data, err := durable.ReadFile(filepath.Join(w.Admin, "MERGE_HEAD"))
	if err != nil || len(strings.Fields(string(data))) != 1 {
		return "", ignoreMissing(err)
	}
	return ResolveCommit(ctx, w.Common, strings.TrimSpace(string(data)))
}

// Overlay makes the files those of a commit's tree, and leaves HEAD and the index as they are.
func (x Exclusive) Overlay(ctx context.Context, commit string) error {
	for _, args := range [][]string{{"read-tree", "--reset", "-u", commit}, {"read-tree", "HEAD"}} {
		if _, err := x.w.fill(ctx, args...); err != nil {
			return err
		}
	}
	_, err := x.w.fill(ctx, "update-index", "-q", "--refresh") // 1: something differs
	if exitCode(err) == 1 {
		return nil
	}
	return err
}
