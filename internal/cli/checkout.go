package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
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

// halfDone names what is uncommitted in the checkout while an item there isn't done whose last
// attempt ended without a result; "" for nothing. It is only a help, so errors are ignored.
func halfDone(ctx context.Context, pr *project.Project, p *plan.Plan, only ...string) string {
	if pr.Stateless() || pr.Tracker.Traits().Lands {
		return ""
	}
	ids := only
	if len(ids) == 0 {
		ids = slices.Concat(p.Lists.Ready, p.Lists.TroubledIDs())
	}
	recs, err := pr.Runs.Last(ids...)
	if err != nil {
		return ""
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		if len(recs[id]) == 0 || p.State(id).Class == plan.Done {
			return true
		}
		last := recs[id][0]
		t := last.Judged.Outcome.Traits()
		return last.Life.Phase != plan.Settled || t.Success || !t.LeavesWork()
	})
	if len(ids) == 0 {
		return ""
	}
	names, err := ops.Uncommitted(ctx, pr)
	if err != nil || len(names) == 0 {
		return ""
	}
	const most = 3 // that are named
	verb := map[bool]string{true: "isn't", false: "aren't"}[len(names) == 1]
	return sanitize.Line(fmt.Sprintf("the last attempt at %s ended early, and %s in the checkout %s committed: %s%s. git status shows what there is, and the next attempt goes on with it",
		words.Some(ids), words.Count(len(names), "file"), verb,
		strings.Join(names[:min(len(names), most)], ", "), words.More(len(names)-most)))
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
