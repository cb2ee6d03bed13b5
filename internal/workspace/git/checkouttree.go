package git

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// CheckoutTree returns the tree that a commit of everything in the checkout at dir would have,
// except what git ignores and what is at the paths, which are relative to dir. It uses an index of
// its own and throws its objects away: nothing in the repository changes.
func CheckoutTree(ctx context.Context, dir string, without ...string) (tree string, err error) {
	repo, err := FindCheckout(ctx, dir)
	if err != nil {
		return "", err
	}
	q, err := newQuarantine(repo.Common)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, q.remove()) }()
	index := filepath.Join(q.dir, "index")
	if err := copyFile(filepath.Join(repo.GitDir, "index"), index); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	p := place{gitDir: repo.GitDir, top: repo.Top, index: index}
	git := func(args ...string) (string, error) {
		out, _, err := p.git(ctx, q.env(), "", slices.Concat(steady, args)...)
		return strings.TrimSpace(out), err
	}
	if _, err := git("add", "--all", "--", ":/"); err != nil {
		return "", err
	}
	for _, name := range without {
		spec := ":(top,literal)" + filepath.ToSlash(filepath.Join(repo.Prefix, name))
		if _, err := git("rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", spec); err != nil {
			return "", err
		}
	}
	return git("write-tree", "--missing-ok")
}
