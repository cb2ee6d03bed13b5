package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Git opens some files without checking what they are, and a pipe without a writer makes it wait:
// .gitignore and .gitattributes in the files, HEAD and refs, packs. A device has no end. A running
// agent can make either at any instant. So a git that doesn't end at once is watched: gl opens
// pipes that it may be waiting at for writing and closes them, so that they read as empty files. A
// git that keeps opening pipes is ended, and so is one that reads a device or a huge file.

const (
	watchAfter  = 300 * time.Millisecond
	lookAgain   = 500 * time.Millisecond // and nine times as long as a look takes
	touchPipes  = 10 * time.Millisecond
	longestWait = 5 * time.Second // of a git that comes from pipe to pipe
)

// A StuckError names the pipe at which a git waited, or the file which it would read for minutes.
type StuckError struct {
	Path string
	Why  string
}

func (e *StuckError) Error() string { return e.Path + " " + e.Why + ": remove it" }

// Reasons why git doesn't get past a file.
const (
	isPipe   = "is a pipe, and git waits for it"
	isDevice = "is a device, which git would read without end"
	isHuge   = "is too large for git to read"
)

// hugeRules is larger than any sensible file that git reads as rules about other files.
const hugeRules = 64 << 20

// watch frees a git from pipes until done is closed. It returns what the git was stuck at if it had
// to call end.
func watch(done <-chan struct{}, end func(), dir string, args []string) *StuckError {
	select {
	case <-done:
		return nil
	case <-time.After(watchAfter):
	}
	begun := time.Now()
	var next time.Time
	var pipes []string
	for {
		if now := time.Now(); now.After(next) {
			var endless *StuckError
			if pipes, endless = findSpecial(readBy(dir, args)); endless != nil {
				end()
				return endless
			}
			next = time.Now().Add(max(lookAgain, 9*time.Since(now)))
		}
		for _, p := range pipes {
			if unblock(p, fs.ModeNamedPipe) && time.Since(begun) > longestWait {
				end()
				return &StuckError{p, isPipe}
			}
		}
		pause := touchPipes
		if len(pipes) == 0 {
			pause = time.Until(next)
		}
		select {
		case <-done:
			return nil
		case <-time.After(pause):
		}
	}
}

// unblock frees a process that waits to read a pipe, and reports whether there was any.
func unblock(path string, kind fs.FileMode) bool {
	if kind&fs.ModeNamedPipe == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// A lookedAt is a directory in which git may meet a pipe or a device; names are the files that it
// opens there, nil for all.
type lookedAt struct {
	dir   string
	names []string
}

// worktreeFiles are the files that git reads in a worktree, whatever they are.
var worktreeFiles = []string{".git", ".gitattributes", ".gitignore", ".gitmodules", "HEAD",
	"config", "index", "packed-refs", "commondir"}

// readBy returns the directories that a git in dir with these arguments reads.
func readBy(dir string, args []string) []lookedAt {
	gitDir, tree := "", dir
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "--git-dir="); ok {
			gitDir = v
		}
		if v, ok := strings.CutPrefix(a, "--work-tree="); ok {
			tree = v
		}
	}
	if gitDir == "" {
		if gitDir = gitDirOf(dir); gitDir == "" {
			return []lookedAt{{tree, worktreeFiles}}
		}
	}
	common := commonOf(gitDir)
	list := []lookedAt{{gitDir, nil}}
	for _, name := range []string{"refs", "logs", "objects", "worktrees", "info"} {
		list = append(list, lookedAt{filepath.Join(common, name), nil})
	}
	if tree != "" && tree != gitDir && tree != common {
		list = append(list, lookedAt{tree, worktreeFiles})
	}
	return list
}

// A Special is a file that isn't what git expects in its place.
type Special struct{ Path, Why string }

// Special lists, in order of their paths, what git doesn't expect in the worktree's admin
// directory, and the files for which it would wait or that it would read without end. It opens
// nothing.
func (w Worktree) Special() (list []Special) {
	_ = filepath.WalkDir(w.Admin, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case e.IsDir() && path == filepath.Join(w.Admin, "modules"):
			return filepath.SkipDir
		case !e.IsDir() && !e.Type().IsRegular():
			list = append(list, Special{path, kindOf(e.Type())})
		}
		return nil
	})
	pipes, endless := findSpecial([]lookedAt{{w.Path, worktreeFiles}})
	for _, p := range pipes {
		list = append(list, Special{p, isPipe})
	}
	if endless != nil {
		list = append(list, Special(*endless))
	}
	slices.SortFunc(list, func(a, b Special) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "is a link, which git would follow"
	case mode&fs.ModeNamedPipe != 0:
		return isPipe
	case mode&fs.ModeDevice != 0:
		return isDevice
	}
	return "is no file"
}

// findSpecial finds the pipes, and a file that git would read for minutes.
func findSpecial(where []lookedAt) (pipes []string, endless *StuckError) {
	for _, w := range where {
		_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || w.names != nil && !slices.Contains(w.names, e.Name()) {
				return nil // what can't be read isn't waited at
			}
			switch kind := e.Type(); {
			case kind&fs.ModeNamedPipe != 0:
				pipes = append(pipes, path)
			case kind&fs.ModeDevice != 0 && !isNull(e):
				endless = &StuckError{path, isDevice}
			case kind.IsRegular() && w.names != nil && strings.HasPrefix(e.Name(), ".git"):
				if info, err := e.Info(); err == nil && info.Size() > hugeRules {
					endless = &StuckError{path, isHuge}
				}
			}
			return nil
		})
	}
	return pipes, endless
}

// isNull reports whether a device is the null device, which sandboxes put in the place of files.
func isNull(e fs.DirEntry) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := e.Info()
	if err != nil {
		return true // gone
	}
	a, ok := info.Sys().(*syscall.Stat_t)
	b, okNull := null.Sys().(*syscall.Stat_t)
	return ok && okNull && a.Rdev == b.Rdev
}
