package cli

import (
	"context"
	"slices"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/workspace/git"
)

// Agents that work in the checkout commit by themselves: gl can't tell their changes from a
// person's. What is still uncommitted when a run ends is named.

// builtInCheckout reports whether agents change code in a checkout that is in a git repository,
// because the project's system has no worktrees.
func builtInCheckout(ctx context.Context, j *job, cfg scheduler.Config) bool {
	if j.pr.Stateless() || j.pr.Tracker.Traits().Lands || cfg.Tools.Trees != nil || j.copy != nil ||
		j.rehearsal != nil || j.task != nil && !j.task.Builds {
		return false
	}
	top, err := git.Root(ctx, j.pr.Root)
	return err == nil && top != ""
}

// watchCheckout notes what isn't committed in the checkout; it returns nil if agents don't change
// code there.
func watchCheckout(ctx context.Context, j *job, cfg scheduler.Config) *checkout {
	if !builtInCheckout(ctx, j, cfg) {
		return nil
	}
	before, err := ops.Uncommitted(ctx, j.pr)
	return &checkout{j: j, before: before, unknown: err != nil}
}

// A checkout is the place of a run without worktrees.
type checkout struct {
	j       *job
	before  []string // uncommitted when the run began
	unknown bool     // git couldn't tell
}

// tell names what has become uncommitted since the run began. It is only a help, so errors are
// ignored.
func (c *checkout) tell(ctx context.Context) {
	if c == nil || c.unknown {
		return
	}
	after, err := ops.Uncommitted(context.WithoutCancel(ctx), c.j.pr)
	if err != nil {
		return
	}
	added := slices.DeleteFunc(after, func(name string) bool {
		return slices.Contains(c.before, name)
	})
	if len(added) > 0 {
		c.j.app.IO.Message("%s", uncommittedText(added))
	}
}

// uncommittedText names files that an agent left uncommitted in the checkout, and the command that
// keeps them.
func uncommittedText(names []string) string {
	const most = 3 // that are named
	n := len(names)
	add := "git add -A"
	if n <= most {
		quoted := make([]string, n)
		for i, name := range names {
			quoted[i] = shellwords.Quote(name)
		}
		add = "git add " + strings.Join(quoted, " ")
	}
	verb := map[bool]string{true: " isn't", false: " aren't"}[n == 1]
	return sanitize.Line("note: " + words.Count(n, "file") + " changed in the checkout" + verb + " committed: " +
		strings.Join(names[:min(n, most)], ", ") + words.More(n-most) + ". To keep the work: " + add + " && git commit")
}
