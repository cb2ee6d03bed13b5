// Package include copies files that git doesn't track from the main checkout into a new
// worktree: those that .worktreeinclude names (gitignore syntax) and git ignores, and those
// that agents read in their directories (slash commands, settings). It uses copy on write if
// the file system supports it. It overwrites nothing, and neither reads nor writes through a
// symbolic link.
package include

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// PatternsFile is where a repository names the ignored files that its worktrees need, at its
// top.
const PatternsFile = ".worktreeinclude"

// MaxBytes limits how much is copied byte by byte. Data shared by the file system doesn't
// count.
const MaxBytes = 1 << 30

// Options define the source and the destination.
type Options struct {
	From, To string // the tops of the main checkout and of the worktree
	Place    string // the project's place below them; "" for the top itself
	MaxBytes int64  // 0 for MaxBytes

	// Only names the files to copy, relative to the tops, where From isn't a checkout that git
	// could be asked about; nil to ask it.
	Only []string
}

// A Report describes what was copied.
type Report struct {
	Files  int   // copied, including symbolic links
	Cloned int   // those that share their data
	Bytes  int64 // of the others
	Left   []Left
}

// Left is something that should have been copied but wasn't.
type Left struct {
	Path string // relative to the top; for a directory, everything in it
	Why  string
}

// agentFiles returns the places below a project where agents look for commands, agents, skills
// and settings.
func agentFiles() []string {
	return []string{
		".claude/commands", ".claude/agents", ".claude/skills", ".claude/hooks",
		".claude/greenlight", ".claude/settings.json", ".claude/settings.local.json",
		".codex/agents", ".codex/skills", ".codex/greenlight", ".codex/config.toml",
		".agents/skills", ".gemini/commands", ".gemini/agents", ".gemini/greenlight",
		".gemini/settings.json", ".opencode/commands", ".opencode/agents", ".opencode/greenlight",
	}
}

// Copy copies the files. It may be repeated for a worktree in which it was interrupted.
func Copy(ctx context.Context, o Options) (*Report, error) {
	return newCopier(o).run(ctx, clone)
}

// A cloner creates a file at a path, which doesn't exist, that shares its data with an open
// one. The error is errNoClone if the file system can't.
type cloner func(src *os.File, dst string) error

// errNoClone is returned if no data can be shared between the two places.
var errNoClone = errors.New("the file system can't share data")

// A copier is the state of Copy.
type copier struct {
	Options
	Report

	clone cloner           // nil after it has failed
	dirs  map[string]error // results of checking directories in the worktree
}

// A file is a file to copy.
type file struct {
	path string // relative to the tops, with forward slashes
	info fs.FileInfo
}

// A unit is copied as a whole or not at all: the files below a directory that the branch lacks,
// or one file.
type unit struct {
	path  string
	files []file
	bytes int64
}

func newCopier(o Options) *copier {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	return &copier{Options: o, dirs: map[string]error{}}
}

func (c *copier) run(ctx context.Context, clone cloner) (*Report, error) {
	c.clone = clone
	ignored, others, err := c.wanted(ctx)
	if err != nil {
		return nil, fmt.Errorf("list what a new worktree needs: %w", err)
	}
	if others, err = c.hide(others); err != nil {
		return nil, err
	}
	for _, u := range c.units(append(ignored, others...)) {
		if err := c.copyUnit(ctx, u); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(c.Left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return &c.Report, nil
}

// Named returns the ignored files below a checkout's top that PatternsFile names.
func Named(ctx context.Context, top string) ([]string, error) {
	patterns := filepath.Join(top, PatternsFile)
	if !paths.IsFile(patterns) {
		return nil, nil
	}
	return git.Included(ctx, top, patterns)
}

// wanted returns the wanted files that git ignores, and those that it doesn't; git tracks none
// of them.
func (c *copier) wanted(ctx context.Context) (ignored, others []string, err error) {
	if c.Only != nil {
		return c.Only, nil, nil
	}
	if ignored, err = Named(ctx, c.From); err != nil {
		return nil, nil, err
	}
	var places []string
	for _, p := range agentFiles() {
		if p = path.Join(filepath.ToSlash(c.Place), p); paths.Exists(filepath.Join(c.From, p)) {
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		return ignored, nil, nil
	}
	more, others, err := git.Untracked(ctx, c.From, places...)
	ignored = append(ignored, more...)
	slices.Sort(ignored)
	return slices.Compact(ignored), others, err
}

// units groups the files, smallest unit first: if there is too much, .env is copied and
// node_modules isn't.
func (c *copier) units(list []string) []*unit {
	byPath := map[string]*unit{}
	for _, p := range list {
		info, why := c.look(p)
		if why != "" {
			c.leave(p, why)
			continue
		}
		if info == nil {
			continue
		}
		at := c.unitOf(p)
		u := byPath[at]
		if u == nil {
			u = &unit{path: at}
			byPath[at] = u
		}
		u.files = append(u.files, file{p, info})
		u.bytes += info.Size()
	}
	return slices.SortedFunc(maps.Values(byPath), func(a, b *unit) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), strings.Compare(a.path, b.path))
	})
}

// look returns what is at a path in the main checkout; nil without a reason for what is never
// copied.
func (c *copier) look(p string) (info fs.FileInfo, why string) {
	if strings.HasSuffix(p, "/") {
		return nil, "a repository of its own"
	}
	if !filepath.IsLocal(p) || own(p) {
		return nil, ""
	}
	info, err := os.Lstat(filepath.Join(c.From, p))
	switch {
	case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		return nil, ""
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return nil, "neither a file nor a symbolic link"
	}
	return info, ""
}

// own reports whether a path belongs to git, or to gl's files for this machine alone.
func own(p string) bool {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if strings.EqualFold(part, ".git") ||
			part == statedir.Name && i+1 < len(parts) &&
				(parts[i+1] == "runs" || parts[i+1] == ".lock") {
			return true
		}
	}
	return false
}

// unitOf returns the topmost directory above a path that the worktree lacks, or the path
// itself.
func (c *copier) unitOf(p string) string {
	for i := range len(p) {
		if p[i] == '/' && c.seen(p[:i]) != nil {
			return p[:i]
		}
	}
	return p
}

// seen returns nil for a directory that exists in the worktree.
func (c *copier) seen(dir string) error {
	err, known := c.dirs[dir]
	if !known {
		err = c.isDir(dir)
		c.dirs[dir] = err
	}
	return err
}

func (c *copier) isDir(dir string) error {
	info, err := os.Lstat(filepath.Join(c.To, dir))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory in the worktree", dir)
	}
	return err
}

func (c *copier) leave(p, why string) { c.Left = append(c.Left, Left{p, why}) }

// copyUnit copies as much of a unit as possible. The error is one that the next unit would meet
// as well.
func (c *copier) copyUnit(ctx context.Context, u *unit) error {
	for i, f := range u.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.copy(f, u)
		var tooMuch *capError
		switch {
		case errors.As(err, &tooMuch):
			c.leave(u.path, fmt.Sprintf(
				"%d MiB in %d files, and %d MiB are copied at most: have git.setup make it",
				tooMuch.bytes>>20, len(u.files)-i, c.MaxBytes>>20))
			return nil
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return fmt.Errorf("copy %s into the worktree: %w", f.path, err)
		case err != nil && !errors.Is(err, fs.ErrExist):
			c.leave(f.path, reason(err))
		}
	}
	return nil
}

// A capError reports that a unit exceeds the remaining limit.
type capError struct{ bytes int64 }

func (e *capError) Error() string { return fmt.Sprintf("%d bytes are too many", e.bytes) }

// copy copies a file or a link. The error is fs.ErrExist if the destination exists.
func (c *copier) copy(f file, u *unit) error {
	from, to := filepath.Join(c.From, f.path), filepath.Join(c.To, f.path)
	if paths.Exists(to) {
		u.bytes -= f.info.Size()
		return fs.ErrExist
	}
	if f.info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err == nil {
			err = c.mkdirs(path.Dir(f.path))
		}
		if err == nil {
			err = os.Symlink(target, to)
		}
		if err == nil {
			c.Files++
		}
		return err
	}
	src, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("no regular file any more")
	}
	return c.copyFile(src, info, f, u)
}

// copyFile creates the file under another name first, so that an existing file is complete.
func (c *copier) copyFile(src *os.File, info fs.FileInfo, f file, u *unit) error {
	to := filepath.Join(c.To, f.path)
	part := to + ".gl-part"
	if c.clone == nil && info.Size() > 0 && c.Bytes+u.bytes > c.MaxBytes {
		return &capError{u.bytes}
	}
	if err := c.mkdirs(path.Dir(f.path)); err != nil {
		return err
	}
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	cloned, err := c.fill(src, part, u)
	if err == nil {
		err = os.Chmod(part, info.Mode().Perm())
	}
	if err == nil { // builds depend on it
		err = os.Chtimes(part, info.ModTime(), info.ModTime())
	}
	if err == nil && paths.Exists(to) {
		err = fs.ErrExist
	}
	if err == nil {
		err = os.Rename(part, to)
	}
	if err != nil {
		_ = os.Remove(part)
		return err
	}
	c.Files++
	u.bytes -= f.info.Size()
	if cloned {
		c.Cloned++
	} else {
		c.Bytes += info.Size()
	}
	return nil
}

// fill creates the file with the content of another.
func (c *copier) fill(src *os.File, to string, u *unit) (cloned bool, err error) {
	if c.clone != nil {
		err := c.clone(src, to)
		if !errors.Is(err, errNoClone) {
			return err == nil, err
		}
		c.clone = nil
		if c.Bytes+u.bytes > c.MaxBytes {
			return false, &capError{u.bytes}
		}
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	_, err = dst.ReadFrom(src)
	return false, errors.Join(err, dst.Close())
}

// mkdirs creates the directories of a path in the worktree as in the main checkout; none may be
// a link.
func (c *copier) mkdirs(dir string) error {
	if dir == "." {
		return nil
	}
	err := c.seen(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.mkdirs(path.Dir(dir)); err != nil {
		return err
	}
	perm := fs.FileMode(0o755)
	if info, err := os.Lstat(filepath.Join(c.From, dir)); err == nil && info.IsDir() {
		perm = info.Mode().Perm() | 0o700
	}
	err = os.Mkdir(filepath.Join(c.To, dir), perm)
	c.dirs[dir] = err
	return err
}

// reason strips the path from an error that is shown beside it.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
