package git

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Git opens some files without a look at what they are, and a pipe without a writer keeps it waiting: .gitignore and
// .gitattributes in the files, HEAD and refs, packs. An agent that still runs can make one at any instant. So a git that takes
// longer than a second is watched: pipes that it may be waiting at are opened for writing and closed, which makes them empty
// files, and one that keeps opening them is ended.

const (
	watchAfter  = time.Second
	lookAgain   = time.Second
	touchPipes  = 10 * time.Millisecond
	longestWait = 5 * time.Second // of a git that comes from pipe to pipe
)

// A StuckError says at which pipe a git waited, or which file it would read for minutes.
type StuckError struct {
	Path string
	Huge bool
}

func (e *StuckError) Error() string {
	if e.Huge {
		return fmt.Sprintf("%s is too large for git to read: remove it", e.Path)
	}
	return fmt.Sprintf("%s is a pipe, and git waits for it: remove it", e.Path)
}

// hugeRules is more than any file has that git reads as rules about other files.
const hugeRules = 64 << 20

// watch frees a git that waits at pipes until done is closed. It returns the pipe at which a git kept waiting, for which end was called.
func watch(done <-chan struct{}, end func(), dir string, args []string) *StuckError {
	select {
	case <-done:
		return nil
	case <-time.After(watchAfter):
	}
	begun, look, pause := time.Now(), time.Time{}, touchPipes
	var pipes []string
	for {
		if time.Since(look) > lookAgain {
			var huge string
			if pipes, huge = findPipes(readBy(dir, args)); huge != "" {
				end()
				return &StuckError{huge, true}
			}
			look = time.Now()
			if pause = touchPipes; len(pipes) == 0 {
				pause = 2 * lookAgain
			}
		}
		for _, p := range pipes {
			if unblock(p, fs.ModeNamedPipe) && time.Since(begun) > longestWait {
				end()
				return &StuckError{Path: p}
			}
		}
		select {
		case <-done:
			return nil
		case <-time.After(pause):
		}
	}
}

// unblock frees who waits to read a pipe, and reports whether there was any.
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

// A lookedAt is a directory in which git may meet a pipe; names are those that it opens there, nil for all.
type lookedAt struct {
	dir   string
	names []string
}

// worktreeFiles are what git reads among the files, whatever they are.
var worktreeFiles = []string{".git", ".gitattributes", ".gitignore", ".gitmodules", "HEAD", "config", "index", "packed-refs", "commondir"}

// readBy are the directories that a git in dir with these arguments reads.
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

func findPipes(where []lookedAt) (pipes []string, huge string) {
	for _, w := range where {
		_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type()&fs.ModeNamedPipe != 0 && (w.names == nil || slices.Contains(w.names, e.Name())) {
				pipes = append(pipes, path)
			}
			if err == nil && e.Type().IsRegular() && w.names != nil && slices.Contains(w.names, e.Name()) && strings.HasPrefix(e.Name(), ".git") {
				if info, err := e.Info(); err == nil && info.Size() > hugeRules {
					huge = path
				}
			}
			return nil // what can't be read isn't waited at
		})
	}
	return pipes, huge
}
