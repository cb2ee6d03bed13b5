package project

import (
	"errors"
	"fmt"
	"path/filepath"

	"greenlight/internal/base/paths"
	"greenlight/internal/state/slice"
	"greenlight/internal/workspace/git"
)

// ErrNoProject is returned if no directory from here up has any state.
var ErrNoProject = errors.New("no Greenlight project here: run gl init, or gl do \"TASK\" in a git repository")

// ErrNoState is returned if the directory is a project, but none of its systems has any state
// yet.
var ErrNoState = slice.ErrNoState

// A Place is the location of a project.
type Place struct {
	Root string // root of the project: where its state is
	// the same place in the checkout in question; in a linked worktree, state files there are
	// copies
	Here string
}

// Find returns the absolute root of the project that contains dir: the nearest directory upward
// with the state of a system gl knows (.greenlight, or a sibling's), up to the git root or
// home. In a linked git worktree, dir stands for the same place in the main checkout, ignoring
// any copies of the state on the way: state must not live on branches. State that belongs to
// another user is a *ForeignError. GREENLIGHT_ROOT overrides all of this.
func Find(dir string, getenv func(string) string) (string, error) {
	if root := getenv("GREENLIGHT_ROOT"); root != "" {
		return rootFromEnv(root)
	}
	p, err := locate(dir, getenv)
	return p.Root, err
}

// Locate is like Find, and also returns the project's place in the checkout that contains dir.
func Locate(dir string, getenv func(string) string) (Place, error) {
	if root := getenv("GREENLIGHT_ROOT"); root != "" {
		root, err := rootFromEnv(root)
		return Place{root, inCheckoutOf(dir, root, getenv("HOME"))}, err
	}
	return locate(dir, getenv)
}

func locate(dir string, getenv func(string) string) (Place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	near, top := climb(dir, getenv("HOME"))
	p := Place{near, near}
	if common := git.CommonOf(top); common != "" {
		if p, err = inWorktree(dir, near, top, common); err != nil {
			return Place{}, err
		}
	}
	if p.Root == "" {
		return Place{}, fmt.Errorf("%s: %w", dir, ErrNoProject)
	}
	if err := owned(p.Root, getenv); err != nil {
		return Place{}, err
	}
	return p, nil
}

// Checkout returns the top of the checkout that contains dir, as its files tell; "" for none.
func Checkout(dir, home string) string {
	_, top := climb(dir, home)
	return top
}

// climb goes up to the top of the checkout that contains dir, to home, or to the root
// directory. near is the first directory on the way with state, top the top of the checkout;
// both are "" for none.
func climb(dir, home string) (near, top string) {
	for d := dir; ; d = filepath.Dir(d) {
		if near == "" && isRoot(d) {
			near = d
		}
		if paths.Exists(filepath.Join(d, ".git")) {
			return near, d
		}
		if paths.Same(d, home) || d == filepath.Dir(d) {
			return near, ""
		}
	}
}

// inWorktree finds the project of a directory in a linked worktree, by the same place in the
// main checkout. near is the nearest state in the worktree, which counts only if no other
// checkout can have any: in a bare repository without a designated worktree for the state.
func inWorktree(dir, near, top, common string) (Place, error) {
	main := git.MainCheckout(common)
	if near != "" && main != "" && paths.Same(main, top) {
		return Place{near, near}, nil
	}
	if main != "" {
		rel, err := filepath.Rel(top, dir)
		for ; err == nil; rel = filepath.Dir(rel) {
			if root := filepath.Join(main, rel); isRoot(root) {
				return Place{root, filepath.Join(top, rel)}, nil
			}
			if rel == "." {
				break
			}
		}
	}
	named := paths.Exists(filepath.Join(common, git.RootFile))
	switch {
	case near == "":
		return Place{}, nil
	case git.Bare(common) && !named:
		return Place{near, near}, nil
	case main == "":
		return Place{}, unknownMain(top, common)
	}
	return Place{}, fmt.Errorf("%s is a linked worktree, where state files are copies, and the main checkout %s has none: %w", top, main, ErrNoProject)
}

// inCheckoutOf returns the project's place in the checkout that contains dir. It differs from
// root only in a linked worktree of the same repository.
func inCheckoutOf(dir, root, home string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return root
	}
	_, top := climb(dir, home)
	common := git.CommonOf(top)
	if common == "" {
		return root
	}
	main := git.MainCheckout(common)
	if real, err := filepath.EvalSymlinks(root); main != "" && err == nil {
		if rel, ok := paths.Below(main, real); ok {
			return filepath.Join(top, rel)
		}
	}
	return root
}

// MainPlace returns the directory in which state may begin: dir itself or, in a linked
// worktree, the same place in the main checkout. In a bare repository without a designated
// worktree for the state, it may begin in any.
func MainPlace(dir, home string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	_, top := climb(dir, home)
	common := git.CommonOf(top)
	if common == "" || git.Bare(common) && !paths.Exists(filepath.Join(common, git.RootFile)) {
		return dir, nil
	}
	main := git.MainCheckout(common)
	if main == "" {
		return "", unknownMain(top, common)
	}
	if paths.Same(main, top) {
		return dir, nil
	}
	rel, err := filepath.Rel(top, dir)
	return filepath.Join(main, rel), err
}

func unknownMain(top, common string) error {
	return fmt.Errorf("%s is a linked worktree of %s, and git doesn't say which checkout is the main one: set GREENLIGHT_ROOT to the project's directory there (%w)",
		top, common, ErrNoProject)
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
