package cli

import (
	"strconv"
	"strings"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
)

// sliceInside is gl slice called by an agent: it claims nothing and starts nothing, it says which slice to build. The
// first line is the id alone, then "key: value" lines; what else is ready is for the person and goes to stderr.
func sliceInside(app *cmdutil.App, pr *project.Project, p *plan.Plan, ids []string) error {
	own := app.Getenv("GL_SLICE")
	switch {
	case len(ids) > 0:
		if len(ids) > 1 {
			app.IO.Message("one session builds one slice: run gl slice %s in a terminal for the others", strings.Join(ids[1:], " "))
		}
		return describe(app, pr, p, ids[0])
	case own != "" && p.State(own) != nil:
		return describe(app, pr, p, own)
	case len(p.Ready) == 0:
		tellNothingReady(app.IO, p)
		return nil
	}
	if err := describe(app, pr, p, p.Ready[0]); err != nil {
		return err
	}
	if n := len(p.Ready) - 1; n > 0 {
		noun := "slices"
		if n == 1 {
			noun = "slice"
		}
		app.IO.Message("%d more %s ready. Run in a new terminal:\n gl slice --max %d", n, noun, pr.Config.Max)
	}
	return nil
}

// describe prints a slice as an agent reads it.
func describe(app *cmdutil.App, pr *project.Project, p *plan.Plan, id string) error {
	st := p.State(id)
	app.IO.Printf("%s\n", id)
	note := ""
	if len(st.Needs) > 0 || st.Class != plan.Available && st.Class != plan.Active {
		note = p.Why(id, time.Now()).String()
	}
	pairs(app.IO, []keyValue{{"name", st.Name}, {"status", st.Status}, {"step", st.Step}, {"milestone", st.Milestone},
		{"deps", strings.Join(st.Deps, ",")}, {"file", st.File}, {"session", st.Session}, {"checkpoint", checkpoint(id, time.Now())}, headless(app), {"note", note}})
	tellHandoff(app, ownAttempt(app, pr, id))
	return nil
}

// tellHandoff prints what the agent of an attempt is to know about its worktree, if there is anything.
func tellHandoff(app *cmdutil.App, own *attempt.Record) {
	if own != nil && own.Handoff != "" {
		app.IO.Printf("handoff:\n  %s\n", strings.ReplaceAll(sanitize.Text(own.Handoff), "\n", "\n  "))
	}
}

// checkpoint is the name of a tag for the state before this session's work: the client can't check a shell line that makes one up.
func checkpoint(id string, now time.Time) string {
	return "gl/" + id + "/" + now.UTC().Format("20060102T150405Z")
}

// ownAttempt is the record of the attempt that the calling agent was started for, nil where that wasn't at this item or task.
func ownAttempt(app *cmdutil.App, pr *project.Project, id string) *attempt.Record {
	n, err := strconv.Atoi(app.Getenv("GL_ATTEMPT"))
	if err != nil || app.Getenv("GL_SLICE") != id && app.Getenv("GL_TASK") != id {
		return nil
	}
	r, err := pr.Runs.Get(id, n)
	if err != nil || r.Token != app.Getenv("GL_SESSION") {
		return nil
	}
	return r
}
