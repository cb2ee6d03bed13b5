package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
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
	before, err := looks(ctx, j)
	return &checkout{j: j, before: before, unknown: err != nil}
}

// A checkout is the place of a run without worktrees.
type checkout struct {
	j       *job
	before  map[string]look // the files that were uncommitted when the run began
	unknown bool            // git couldn't tell
}

// A look is what tells whether a file, or what is in an untracked directory, has been written
// since.
type look struct {
	files   int
	size    int64
	changed time.Time // the last one
}

// looks returns the uncommitted files of the checkout, by their paths from its top, and untracked
// directories, with a slash.
func looks(ctx context.Context, j *job) (map[string]look, error) {
	names, err := ops.Uncommitted(ctx, j.pr)
	if err != nil {
		return nil, err
	}
	top, _, err := git.Place(ctx, j.pr.Root)
	if err != nil {
		return nil, err
	}
	m := make(map[string]look, len(names))
	for _, name := range names {
		within := []string{name}
		if strings.HasSuffix(name, "/") {
			if _, within, err = git.Untracked(ctx, top, name); err != nil {
				return nil, err
			}
		}
		m[name] = lookAt(top, within)
	}
	return m, nil
}

// lookAt looks at files, some of which may be deleted.
func lookAt(top string, names []string) (l look) {
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		l.files++
		l.size += info.Size()
		if info.ModTime().After(l.changed) {
			l.changed = info.ModTime()
		}
	}
	return l
}

// tell names what the run leaves uncommitted, the state of the project's system included. It is
// only a help, so errors are ignored.
func (c *checkout) tell(ctx context.Context, res *scheduler.Result) {
	if c == nil || c.unknown {
		return
	}
	ctx = context.WithoutCancel(ctx)
	after, err := looks(ctx, c.j)
	if err != nil {
		return
	}
	left := leftover{all: true, work: workText(c.j, res), again: continued(c.j, res)}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if was, had := c.before[name]; had && was == after[name] {
			left.all = false
			continue
		}
		left.names = append(left.names, name)
	}
	if len(left.names) == 0 {
		return
	}
	if dir, err := c.j.app.Dir(); err == nil {
		_, left.inside, _ = git.Place(ctx, dir)
	}
	c.j.app.IO.Message("%s", left.text())
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

// workText names what a run has worked on, as the message of a commit: "phase 2".
func workText(j *job, res *scheduler.Result) string {
	var ids []string
	for _, r := range res.Ended {
		if id := r.ID.Work(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	noun := cmp.Or(j.pr.Tracker.Traits().Noun, "slice")
	switch {
	case len(ids) == 0:
		return "work of an agent"
	case attempt.IsTask(ids[0]):
		return "task " + strings.Join(ids, ", ")
	case len(ids) > 1:
		noun += "s"
	}
	return noun + " " + strings.Join(ids, ", ")
}

// continued returns the command that goes on with what was interrupted; "" for none.
func continued(j *job, res *scheduler.Result) string {
	for _, r := range slices.Backward(res.Ended) {
		if res.Signal != nil && r.Judged.Outcome.Traits().Stopped && !r.ID.IsTask() {
			return "gl slice" + j.pr.Flags() + " " + r.ID.Slice
		}
	}
	return ""
}

// A leftover is what a run leaves uncommitted in the checkout.
type leftover struct {
	names  []string // by paths from the top of the checkout
	all    bool     // nothing else is uncommitted
	inside string   // the directory that the person is in, from the top; "" for the top
	work   string   // what the run has worked on
	again  string   // the command that continues it; "" if it wasn't interrupted
}

// text names the files, and the command that commits them.
func (l leftover) text() string {
	const most = 10 // that are named, unless adding everything would add a person's files
	n := len(l.names)
	add := "git add -A"
	if n <= most || !l.all {
		quoted := make([]string, n)
		for i, name := range l.names {
			if l.inside != "" {
				name = ":/" + name
			}
			quoted[i] = shellwords.Line(name)
		}
		add = "git add " + strings.Join(quoted, " ")
	}
	text := "note: left uncommitted in the checkout: " + strings.Join(l.names[:min(n, most)], ", ") + words.More(n-most) + ". To keep the work: " + add +
		" && git commit -m " + shellwords.Line(l.work)
	if l.again != "" {
		text += "; to continue it: " + l.again
	}
	return sanitize.Line(text)
}
