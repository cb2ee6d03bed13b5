// Package debugreport gathers what is known about a slice, a task or a project's setup, to help
// find a fault or to attach to an issue. It returns documents; it prints nothing and changes
// nothing.
package debugreport

import (
	"context"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/project"
	"greenlight/internal/state/contracts"
	"greenlight/internal/workspace/git"
)

// A Report is about a slice, a task or the project.
type Report struct {
	SchemaVersion int        `json:"schema_version"`
	Root          string     `json:"root"`    // absolute path of the project
	Slice         *Slice     `json:"slice"`   // null without a slice's id
	Task          *Task      `json:"task"`    // null without a task's id, such as @quick
	Project       *Project   `json:"project"` // null with an id
	Tests         Tests      `json:"tests"`
	Git           Git        `json:"git"`
	Hold          *plan.Hold `json:"hold"` // null if launches aren't held
}

// Git is the state of git; for a slice that names files, of those files.
type Git struct {
	Error  *string `json:"error"`  // why the rest is unknown
	Branch *string `json:"branch"` // null if none is checked out
	// paths that commits and dirty cover; empty for the whole project
	Paths   []string     `json:"paths"`
	Commits []git.Commit `json:"commits"` // newest first
	Dirty   []string     `json:"dirty"`   // lines of git status --porcelain
	Tags    []git.Tag    `json:"tags"`    // tags that name the slice
}

// A Log is the end of an attempt's log.
type Log struct {
	Attempt int      `json:"attempt" jsonschema:"minimum=0"`
	File    string   `json:"file"`  // relative to the root
	Lines   []string `json:"lines"` // the end of the log, as gl logs shows it
}

// OfSlice returns the report on a slice of the plan.
func OfSlice(ctx context.Context, pr *project.Project, p *plan.Plan, id string,
	now time.Time) (*Report, error) {
	s, err := newSlice(pr, p, id, now)
	if err != nil {
		return nil, err
	}
	if s.Work, err = ops.WorkOf(ctx, pr, id); err != nil {
		return nil, err
	}
	return &Report{SchemaVersion: 1, Root: pr.Root, Slice: s, Tests: newTests(pr),
		Git: askGit(ctx, pr.Root, id, s.Files), Hold: p.Hold}, nil
}

// OfProject returns the report on the project's setup.
func OfProject(ctx context.Context, pr *project.Project, p *plan.Plan,
	gl Program) (*Report, error) {
	d, err := newProject(ctx, pr, p, gl)
	if err != nil {
		return nil, err
	}
	return &Report{SchemaVersion: 1, Root: pr.Root, Project: d, Tests: newTests(pr),
		Git: askGit(ctx, pr.Root, "", nil), Hold: p.Hold}, nil
}

// OfTask returns the report on attempts at a task, newest first. There must be at least one.
func OfTask(ctx context.Context, pr *project.Project, id string, recs []*attempt.Record,
	now time.Time) *Report {
	r := &Report{SchemaVersion: 1, Root: pr.Root, Task: newTask(pr, id, recs), Tests: newTests(pr),
		Git: askGit(ctx, pr.Root, "", nil)}
	holds := pr.Runs.HoldFile.All()
	r.Hold = plan.New(&plan.Snapshot{Hold: holds.Everybody(), Holds: holds.Single()}, now,
		pr.Options()).Hold
	return r
}

// logLines is how many lines of a log's end are reported.
const logLines = 20

func newLog(pr *project.Project, rec *attempt.Record) *Log {
	path := pr.Runs.Files.Log(rec.ID.Slice, rec.ID.N)
	return &Log{Attempt: rec.ID.N, File: paths.Relative(pr.Root, path),
		Lines: jsondoc.OrEmpty(attemptlog.End(path, rec.Job.Stream, logLines))}
}

// commitsShown is how many commits are reported.
const commitsShown = 5

// askGit asks git about the project, or about a slice's files.
func askGit(ctx context.Context, root, id string, files []string) Git {
	g := Git{Paths: jsondoc.OrEmpty(files), Commits: []git.Commit{}, Dirty: []string{},
		Tags: []git.Tag{}}
	if err := g.ask(ctx, root, id); err != nil {
		g.Error = jsondoc.OrNull(sanitize.Line(err.Error()))
	}
	return g
}

// ask stops at the first error and keeps what it has until then.
func (g *Git) ask(ctx context.Context, root, id string) error {
	branch, err := git.Branch(ctx, root)
	if err != nil {
		return err
	}
	g.Branch = jsondoc.OrNull(branch)
	commits, err := git.Log(ctx, root, commitsShown, g.Paths...)
	if err != nil {
		return err
	}
	g.Commits = append(g.Commits, commits...)
	var dirty []string
	if len(g.Paths) > 0 {
		dirty, err = git.DirtyAt(ctx, root, g.Paths...)
	} else {
		dirty, err = git.Dirty(ctx, root, ".greenlight")
	}
	if err != nil {
		return err
	}
	g.Dirty = append(g.Dirty, dirty...)
	tags, err := git.Tags(ctx, root)
	if err != nil {
		return err
	}
	for _, t := range tags {
		if id != "" && contracts.HasWord(t.Name, id) {
			g.Tags = append(g.Tags, t)
		}
	}
	return nil
}
