package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// An agent can write to the admin directory of its worktree and to the directories of its branches
// and their logs. A link there leads a git of gl's to any file of the person's: it appends to logs,
// and writes an index where the link points. A pipe makes it wait. So before gl runs git where an
// agent has worked, anything that isn't a plain file or directory of git's is removed, or set aside
// if it may have content.

// aside is the prefix of names of what was in the place of a file or directory of git's.
const aside = "gl-broken-"

// adminFiles are the files of an admin directory that git or gl reads or writes.
var adminFiles = slices.Concat(mergeFiles, []string{
	"HEAD", "index", "commondir", "gitdir", "locked", "config.worktree", "ORIG_HEAD", "FETCH_HEAD",
	"CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
	"MERGE_AUTOSTASH", "BISECT_HEAD", "BISECT_LOG", "BISECT_START", "COMMIT_EDITMSG", "SQUASH_MSG",
	"HEAD.lock", "index.lock", moving, "logs/HEAD",
})

// adminDirs are its directories. Those below modules belong to repositories of their own: see
// standIn.
var adminDirs = []string{"logs", "refs", "modules", "rebase-merge", "rebase-apply", "sequencer",
	"info", "lfs", "hooks", "reftable"}

// Tidy puts the worktree's admin directory in order, and returns what it has removed or set aside.
// If HEAD isn't as git writes it, it becomes head: a branch's full name or a commit.
func (w Worktree) Tidy(head string) (mended []string, err error) {
	t := tidying{top: w.Admin}
	for _, name := range adminDirs {
		t.want(name, true)
	}
	for _, name := range adminFiles {
		t.want(name, false)
	}
	t.sweep("", 0)
	if t.err == nil {
		t.err = t.head(head)
	}
	return t.mended, t.err
}

// TidyRefs does the same in the directory of some refs and in that of their logs.
func TidyRefs(common, name string) (mended []string, err error) {
	for _, top := range []string{filepath.Join(common, filepath.FromSlash(name)),
		filepath.Join(common, "logs", filepath.FromSlash(name))} {
		if durable.CheckBelow(common, top) != nil {
			return nil, fmt.Errorf("%s: a link is on the way there: remove it", top)
		}
		t := tidying{top: top, refs: !strings.HasPrefix(top, filepath.Join(common, "logs")+"/")}
		t.sweep("", 0)
		if t.err != nil {
			return nil, t.err
		}
		mended = append(mended, t.mended...)
	}
	return mended, nil
}

// Relink makes the worktree's .git the file that names its admin directory again, if an agent has
// put something else there, such as a repository of its own. That is set aside in the admin
// directory: to is its new place, "" if there was nothing.
func (w Worktree) Relink() (to string, err error) {
	if !w.ownsAdmin() {
		return "", fmt.Errorf("%s: %w", w.Path, ErrNotLinked)
	}
	path := filepath.Join(w.Path, ".git")
	if paths.Exists(path) {
		if to, err = asideName(w.Admin); err == nil {
			err = os.Rename(path, to)
		}
		if err != nil {
			return "", err
		}
	}
	return to, durable.WriteFile(path, []byte("gitdir: "+w.Admin+"\n"), 0o644)
}

// asideName returns a path in dir for what is set aside.
func asideName(dir string) (string, error) {
	for i := 1; i < 1000; i++ {
		if to := filepath.Join(dir, aside+strconv.Itoa(i)); !paths.Exists(to) {
			return to, nil
		}
	}
	return "", fmt.Errorf("%s: too much was set aside there: remove %s*", dir, aside)
}

type tidying struct {
	top    string
	refs   bool // the files are refs, which are short
	mended []string
	err    error
}

// want sets aside a directory in the place of a file, or the other way round.
func (t *tidying) want(name string, dir bool) {
	info, err := os.Lstat(filepath.Join(t.top, name))
	if err == nil && info.IsDir() != dir && (info.IsDir() || info.Mode().IsRegular()) {
		t.putAside(name)
	}
}

func (t *tidying) putAside(name string) {
	if t.err != nil {
		return
	}
	from := filepath.Join(t.top, filepath.FromSlash(name))
	to, err := asideName(t.top)
	if err == nil {
		err = ignoreMissing(os.Rename(from, to))
	}
	if t.err = err; err == nil {
		t.mended = append(t.mended, from)
	}
}

// sweep removes what is neither a file nor a directory: it has no content that could be lost.
func (t *tidying) sweep(dir string, depth int) {
	entries, err := os.ReadDir(filepath.Join(t.top, dir))
	if errors.Is(err, fs.ErrPermission) && os.Chmod(filepath.Join(t.top, dir), 0o755) == nil {
		entries, err = os.ReadDir(filepath.Join(t.top, dir))
	}
	if err != nil {
		if ignoreMissing(err) != nil && depth == 0 {
			t.err = err
		}
		return
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case t.err != nil:
			return
		case e.IsDir():
			if depth < mostDepth && name != "modules" && !strings.HasPrefix(name, aside) {
				t.sweep(name, depth+1)
			}
		case !e.Type().IsRegular():
			path := filepath.Join(t.top, name)
			unblock(path, e.Type())
			if t.err = ignoreMissing(os.Remove(path)); t.err == nil {
				t.mended = append(t.mended, path)
			}
		case t.refs:
			// A file beside the others would still be read as a ref.
			if info, err := e.Info(); err == nil && info.Size() > shortFile {
				path := filepath.Join(t.top, name)
				if t.err = ignoreMissing(os.Remove(path)); t.err == nil {
					t.mended = append(t.mended, path)
				}
			}
		}
	}
}

// head makes HEAD one that git can read.
func (t *tidying) head(head string) error {
	file := filepath.Join(t.top, "HEAD")
	lost := slices.Contains(t.mended, file)
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !lost: // half made
		return nil
	case err == nil && info.Size() <= shortFile:
		data, err := durable.ReadFile(file)
		if err != nil {
			return err
		}
		if isHead(string(data)) {
			return nil
		}
	}
	if head == "" {
		return nil
	}
	if err == nil {
		t.putAside("HEAD")
	}
	return errors.Join(t.err, writeHead(t.top, head))
}

func isHead(text string) bool {
	text = strings.TrimRight(text, " \t\r\n")
	ref, symbolic := strings.CutPrefix(text, "ref:")
	return isID(text) || symbolic && strings.HasPrefix(strings.TrimSpace(ref), "refs/") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// writeHead sets a worktree's HEAD to a branch or a commit. Git would write a log beside it, in a
// directory that an agent can write to.
func writeHead(admin, head string) error {
	if !isID(head) {
		head = "ref: " + head
	}
	return durable.WriteFile(filepath.Join(admin, "HEAD"), []byte(head+"\n"), 0o644)
}

// refDir is a git directory with the refs of a repository, and without their logs. It is gl's, and
// an agent in a sandbox can't write there. gl changes the refs that agents can write through it, so
// that a log replaced by a link at that very instant leads nowhere.
const refDir = "gl-refs"

// agentsRef reports whether a ref is among those whose logs an agent may be able to write: of
// slices' branches, or of gl.
func agentsRef(name string) bool {
	return strings.HasPrefix(name, "refs/gl/") ||
		strings.HasPrefix(name, "refs/heads/") && strings.Contains(name, "/s/")
}

// withoutLogs returns the git directory by which refs are changed without logs; gitDir itself if
// there is none.
func withoutLogs(gitDir string) string {
	common := commonOf(gitDir)
	// Reftables have their logs there, too.
	if !paths.IsDir(filepath.Join(common, "refs", "heads")) {
		return gitDir
	}
	dir := filepath.Join(common, refDir)
	if makeRefDir(dir) != nil { // in a sandbox gl has no more rights than the agent
		return gitDir
	}
	return dir
}

func makeRefDir(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, name := range []string{"refs", "objects", "packed-refs", "config", "shallow"} {
		to := filepath.Join("..", name)
		if at, err := os.Readlink(filepath.Join(dir, name)); err == nil && at == to {
			continue
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil &&
			!errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if paths.IsFile(filepath.Join(dir, "HEAD")) {
		return nil
	}
	return durable.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/gl-none\n"), 0o644)
}
