package worktree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
)

// A Condition is the state of a worktree and its repository. The conditions before and after an
// agent's run are compared.
type Condition struct {
	Broken error // why git can't be used there: its links are missing or lead elsewhere; nil
	// Mended are links, pipes and misplaced directories that were removed from git's directories
	// or set aside.
	Mended    []string
	Branch    string // full name of what is checked out, "" for a detached HEAD
	Operation string // what isn't finished there: "rebase", "merge"…; "" for nothing
	// Config is a hash of what all checkouts share: configuration, hooks, info/exclude and
	// info/attributes.
	Config     string
	MainHead   string // the main checkout's commit
	MainBranch string // full name of what is checked out there, "" for a detached HEAD
}

// Inspect looks at the lineage's worktree and the main checkout. It changes nothing except files in
// git's directories that an agent has put there and git doesn't.
func (r *Repo) Inspect(ctx context.Context, l *Lineage) (Condition, error) {
	w := r.Layout.Worktree(l)
	mended, err := r.Lineages.tidy(l)
	if err != nil {
		return Condition{}, err
	}
	c := Condition{Broken: r.Lineages.ours(l), Mended: mended}
	var branchErr error
	if c.Broken == nil {
		if c.Branch, err = w.Branch(); err == nil {
			c.Operation = w.Operation()
		}
	}
	c.Config, branchErr = r.sharedHash()
	err = errors.Join(err, branchErr)
	if c.MainHead, branchErr = git.ResolveCommit(ctx, r.Git.GitDir, "HEAD"); branchErr != nil {
		err = errors.Join(err, branchErr)
	}
	c.MainBranch, branchErr = git.SymbolicRef(ctx, r.Git.GitDir, "HEAD")
	return c, errors.Join(err, branchErr)
}

// sharedHash returns a hash of what an agent could change for all checkouts: names, modes and
// contents.
func (r *Repo) sharedHash() (string, error) {
	h := sha256.New()
	files := []string{"config", "config.worktree", "info/exclude", "info/attributes"}
	hooks, err := durable.ReadDir(filepath.Join(r.Git.Common, "hooks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range hooks {
		files = append(files, "hooks/"+e.Name())
	}
	for _, name := range files {
		path := filepath.Join(r.Git.Common, filepath.FromSlash(name))
		info, err := durable.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			continue
		}
		if err != nil {
			return "", err
		}
		data, err := durable.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %v %d\n%s", name, info.Mode(), len(data), data)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
