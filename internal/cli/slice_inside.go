package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/briefing"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
)

// sliceInside runs gl slice for an agent: it claims and starts nothing, but prints which slice to
// build. The first line is the id alone, followed by "key: value" lines; other ready slices are for
// the person and go to stderr.
func sliceInside(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan,
	ids []string) error {
	own := app.Getenv("GL_SLICE")
	switch {
	case len(ids) > 0:
		if len(ids) > 1 {
			app.IO.Message("one session builds one slice: run gl slice %s in a terminal for the others", strings.Join(ids[1:], " "))
		}
		return describe(ctx, app, pr, p, ids[0])
	case own != "" && p.State(own) != nil:
		return describe(ctx, app, pr, p, own)
	case len(p.Lists.Ready) == 0:
		tellNothingReady(app.IO, p)
		return nil
	}
	if err := describe(ctx, app, pr, p, p.Lists.Ready[0]); err != nil {
		return err
	}
	if n := len(p.Lists.Ready) - 1; n > 0 {
		noun := "slices"
		if n == 1 {
			noun = "slice"
		}
		app.IO.Message("%d more %s ready. Run in a new terminal:\n gl slice --max %d", n, noun,
			pr.Config.Max)
	}
	return nil
}

// describe prints a slice for an agent: key: value lines, notes about its worktree, and the whole
// slice.
func describe(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan,
	id string) error {
	own := ownAttempt(app, pr, id)
	err := describeTo(ctx, app.IO, pr, p, id, own, headless(app))
	markRead(pr, own)
	return err
}

// markRead records that the attempt's agent has got the messages. If that fails, the next agent
// gets them again.
func markRead(pr *project.Project, own *attempt.Record) {
	if own != nil {
		_ = pr.Runs.Messages.MarkRead(own)
	}
}

// describeTo is describe for the agent of the attempt own; nil for any other session.
func describeTo(ctx context.Context, out *iostreams.Streams, pr *project.Project, p *plan.Plan,
	id string, own *attempt.Record, headless keyValue) error {
	st := p.State(id)
	out.Printf("%s\n", id)
	note := ""
	if len(st.Needs) > 0 || st.Class != plan.Available && st.Class != plan.Active {
		note = p.Why(id, time.Now()).String()
	}
	file := st.File
	if own != nil && own.Place.Lineage != 0 && file != "" {
		// the one in its worktree is a copy, or missing
		file = filepath.Join(pr.Root, filepath.FromSlash(file))
	}
	facts := []keyValue{{"name", st.Name}, {"status", st.Status}, {"step", st.Step},
		{"milestone", st.Milestone}, {"deps", strings.Join(st.Deps, ",")}, {"file", file},
		{"session", st.Session}, {"checkpoint", checkpoint(ctx, pr, own, id)}, headless,
		{"note", note}}
	b, err := new(briefing.Briefing), error(nil)
	if st.Corrupt == "" {
		b, err = briefing.Of(ctx, pr, id)
	}
	if err == nil && own == nil && st.Corrupt == "" {
		// so that a session elsewhere doesn't build it again
		err = b.WithWork(ctx, pr)
	}
	if err != nil {
		return err
	}
	pairs(out, append(facts, methodFacts(ctx, pr, id, len(b.Contracts) > 0)...))
	tellHandoff(out, own)
	out.Printf("%s", b.Sections())
	return nil
}

// tellHandoff prints notes for the agent of an attempt about its worktree, if any.
func tellHandoff(out *iostreams.Streams, own *attempt.Record) {
	if own != nil && own.Talk.Handoff != "" {
		out.Printf("handoff:\n  %s\n", strings.ReplaceAll(sanitize.Text(own.Talk.Handoff), "\n", "\n  "))
	}
}

// checkpoint returns the name of a tag for the state before this session's work, so that the
// agent's shell line needn't compute one, which the client couldn't check. A confined agent can't
// create tags: its checkpoint is the commit.
func checkpoint(ctx context.Context, pr *project.Project, own *attempt.Record, id string) string {
	if own != nil && own.Place.Lineage != 0 && own.Job.Confined() {
		repo, err := pr.Worktrees(ctx)
		if err == nil {
			commit, err := git.ResolveCommit(ctx, repo.Git.Common, own.Place.Branch)
			if err == nil && commit != "" {
				return commit
			}
		}
	}
	return "gl/" + id + "/" + time.Now().UTC().Format("20060102T150405Z")
}

// ownAttempt returns the record of the attempt that the calling agent was started for, nil if that
// wasn't at this item or task.
func ownAttempt(app *cmdutil.App, pr *project.Project, id string) *attempt.Record {
	n, err := strconv.Atoi(app.Getenv("GL_ATTEMPT"))
	if err != nil || app.Getenv("GL_SLICE") != id && app.Getenv("GL_TASK") != id {
		return nil
	}
	r, err := pr.Runs.Get(id, n)
	if err != nil || r.ID.Token != app.Getenv("GL_SESSION") {
		return nil
	}
	return r
}
