package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/conflict"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/scratch"
)

// A committer is a worker in a scratch copy or in a worktree: it leaves its work as a file, in
// a commit of its own.
type committer struct {
	worker
	job  *job
	dir  string        // where it works: a worktree or the copy itself
	tree *git.Checkout // the worktree; nil for none
}

// indexFile is the file to which all slices that are to clash add a line.
const indexFile = "rehearsal/index.md"

// commits makes the worker a committer if its prompt asks it to build, and if the project is a
// scratch copy or the slice has its own worktree. In the checkout of a person's project a
// rehearsal writes only state, because the files are the person's.
func commits(ctx context.Context, w worker, j *job, command string) worker {
	switch {
	case j.isTask(), strings.HasSuffix(command, "sw-verify"),
		strings.HasSuffix(command, "plan-phase"), strings.HasSuffix(command, "verify-work"):
		return w
	}
	dir, err := os.Getwd()
	if err != nil {
		return w
	}
	tree := worktreeOf(ctx, j.root, dir)
	if tree == nil && !scratch.Is(j.root) {
		return w
	}
	return committer{w, j, dir, tree}
}

// worktreeOf returns the checkout that contains dir if it is another checkout of the repository
// of the project at root, otherwise nil.
func worktreeOf(ctx context.Context, root, dir string) *git.Checkout {
	if paths.Same(root, dir) {
		return nil
	}
	here, err := git.FindCheckout(ctx, dir)
	if err != nil {
		return nil
	}
	project, err := git.FindCheckout(ctx, root)
	if err != nil || here.Common != project.Common || here.Top == project.Top {
		return nil
	}
	return &here
}

func (c committer) complete(ctx context.Context, f Fate) ([]call, error) {
	built := c.build(f.Kind)
	if c.merging() {
		built = c.resolve()
	}
	calls, err := c.worker.complete(ctx, f)
	return append(built, calls...), err
}

// build writes the slice's file, incomplete if the work is to be broken, and commits it.
func (c committer) build(kind Kind) []call {
	id := c.job.slice
	file := "rehearsal/" + id + ".md"
	text := fmt.Sprintf("# %s\n\nA rehearsal built this in attempt %d.\n", id, c.job.attempt)
	if kind == Red {
		text = fmt.Sprintf("# %s\n\nBroken in attempt %d, as the rehearsal was asked to.\n", id,
			c.job.attempt)
	}
	files := []string{file}
	calls := []call{{"write " + file, func(context.Context) error {
		return seen(scratch.WriteFile(c.dir, file, text))
	}}}
	if kind == Clash {
		files = append(files, indexFile)
		calls = append(calls, call{"write " + indexFile, func(context.Context) error {
			return seen(c.addToIndex())
		}})
	}
	return append(calls,
		call{"git commit " + strings.Join(files, " "), func(ctx context.Context) error {
			return seen(c.commit(ctx, files, id+": built by a rehearsal"))
		}})
}

// addToIndex adds the slice's line below the heading, at the same place as the other slices of
// a clash.
func (c committer) addToIndex() error {
	const heading = "# Index\n\n"
	old, err := scratch.ReadFile(c.dir, indexFile)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("- [%s](%s.md)\n", c.job.slice, c.job.slice)
	list := slices.Collect(strings.Lines(strings.TrimPrefix(old, heading)))
	if slices.Contains(list, line) {
		return nil
	}
	return scratch.WriteFile(c.dir, indexFile, heading+line+strings.Join(list, ""))
}

func (c committer) commit(ctx context.Context, files []string, message string) error {
	if c.tree == nil || scratch.Is(c.job.root) {
		return scratch.Commit(ctx, c.job.root, c.dir, files, message)
	}
	below := make([]string, len(files))
	for i, file := range files {
		below[i] = filepath.Join(c.tree.Prefix, file)
	}
	return git.CommitFiles(ctx, c.tree.Top, below, message, scratch.Author)
}

// merging reports whether a merge is unfinished. Finishing it comes first.
func (c committer) merging() bool {
	return c.tree != nil && git.Worktree{Common: c.tree.Common, Admin: c.tree.GitDir,
		Path: c.tree.Top}.Operation() == "merge"
}

// resolve finishes a merge. In a conflict it keeps the lines of both sides.
func (c committer) resolve() []call {
	var files []string
	return []call{
		{"resolve the conflicts", func(ctx context.Context) (err error) {
			if files, err = git.Unmerged(ctx, c.tree.Top); err != nil {
				return seen(err)
			}
			for _, file := range files {
				text, err := scratch.ReadFile(c.tree.Top, file)
				if err == nil && text != "" { // one side has removed it
					err = scratch.WriteFile(c.tree.Top, file, conflict.Both(text))
				}
				if err != nil {
					return seen(err)
				}
			}
			return nil
		}},
		{"git commit", func(ctx context.Context) error {
			return seen(git.CommitMerge(ctx, c.tree.Top, files, scratch.Author))
		}},
	}
}

// seen returns an error that the agent sees and continues after; nil for nil.
func seen(err error) error {
	if err == nil {
		return nil
	}
	return toolError{err}
}
