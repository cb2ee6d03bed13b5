package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
	"greenlight/internal/slice"
)

// ErrNoProject: no directory from here up holds any state.
var ErrNoProject = errors.New("no Greenlight project here: run gl init")

// ErrNoState: the directory is a project, but none of its systems has any state yet.
var ErrNoState = slice.ErrNoState

// Find returns the absolute root of the project that dir belongs to: the nearest directory upwards that holds the state
// of a system gl knows (.greenlight, or a sibling's), not beyond the git root or home. Inside a linked git worktree it is the main checkout, for state must
// not live on branches. State that belongs to another user is a *ForeignError. GREENLIGHT_ROOT overrides all that.
func Find(dir string, getenv func(string) string) (string, error) {
	if root := getenv("GREENLIGHT_ROOT"); root != "" {
		return rootFromEnv(root)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	home := getenv("HOME")
	for d := dir; ; d = filepath.Dir(d) {
		main, linked := mainCheckout(d)
		if linked {
			d = main
		}
		if isRoot(d) {
			if err := owned(d, getenv); err != nil {
				return "", err
			}
			return d, nil
		}
		if linked || paths.Exists(filepath.Join(d, ".git")) || paths.Same(d, home) || d == filepath.Dir(d) {
			return "", fmt.Errorf("%s: %w", dir, ErrNoProject)
		}
	}
}

func rootFromEnv(root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if !paths.IsDir(root) || !isRoot(root) {
		return "", fmt.Errorf("GREENLIGHT_ROOT is %s, where no project keeps its state", root)
	}
	return root, nil
}

// mainCheckout returns the main checkout's root when dir is the root of a linked worktree. Git says where: .git is a
// file that names the worktree's git directory, and a file "commondir" in there names the common one. A submodule's
// .git is such a file too, but has no commondir.
func mainCheckout(dir string) (string, bool) {
	data, err := durable.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return "", false
	}
	gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", false
	}
	gitDir = under(dir, gitDir)
	common, err := durable.ReadFile(filepath.Join(gitDir, "commondir"))
	if err != nil {
		return "", false
	}
	return filepath.Dir(under(gitDir, strings.TrimSpace(string(common)))), true
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
