package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/durable"
)

// A Worktree is a linked worktree, by the three places that make it one; all are absolute. Git is never left to discover
// it: a worktree whose .git is gone makes git climb into whatever repository is above it.
type Worktree struct {
	Common string // the git directory that all worktrees of the repository share
	Admin  string // the worktree's own, below Common/worktrees; its name needn't be the path's last part
	Path   string // its top
}

// ErrNotLinked says that a worktree's .git and its admin directory don't name each other.
var ErrNotLinked = errors.New("the worktree and its git directory don't name each other")

// Check says what is wrong with the worktree's links, by reading three files; nil for nothing.
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

// pointer reads a file of git's that names a path, relative to where the file is unless it is absolute.
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

// run runs git in the worktree after checking its links. Filters that the configuration names do run: who makes worktrees
// has asked for trust first.
func (w Worktree) run(ctx context.Context, limit time.Duration, input string, args ...string) (string, error) {
	if err := w.Check(); err != nil {
		return "", err
	}
	return runFor(ctx, limit, w.Path, input, append([]string{"--git-dir=" + w.Admin, "--work-tree=" + w.Path}, args...)...)
}
