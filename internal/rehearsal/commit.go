package rehearsal

import (
	"context"
	"fmt"
	"os"
	"strings"

	"greenlight/internal/scratch"
)

// A committer is a worker in a scratch copy: what it has built it leaves as a file, in a commit of its own.
type committer struct {
	worker
	root, dir, id string // dir is where it works: in a worktree or in the copy itself
}

// commits makes the worker a committer where the project is a scratch copy and its prompt asks it to build. Elsewhere a
// rehearsal writes state alone: the files are somebody's.
func commits(w worker, j *job, command string) worker {
	switch {
	case j.isTask(), strings.HasSuffix(command, "sw-verify"), strings.HasSuffix(command, "plan-phase"), strings.HasSuffix(command, "verify-work"):
		return w
	case !scratch.Is(j.root):
		return w
	}
	dir, err := os.Getwd()
	if err != nil {
		return w
	}
	return committer{w, j.root, dir, j.slice}
}

func (c committer) complete(ctx context.Context, f Fate) ([]call, error) {
	file := "rehearsal/" + c.id + ".md"
	built := []call{
		{"write " + file, func(context.Context) error {
			return seen(scratch.WriteFile(c.dir, file, fmt.Sprintf("# %s\n\nA rehearsal built this.\n", c.id)))
		}},
		{"git commit " + file, func(ctx context.Context) error {
			return seen(scratch.Commit(ctx, c.root, c.dir, file, c.id+": built by a rehearsal"))
		}},
	}
	calls, err := c.worker.complete(ctx, f)
	return append(built, calls...), err
}

// seen is an error that the agent sees and goes on after; nil for none.
func seen(err error) error {
	if err == nil {
		return nil
	}
	return toolError{err}
}
