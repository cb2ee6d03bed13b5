package report

import (
	"bytes"
	"context"
	"path/filepath"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/show/facts"
	"greenlight/internal/workspace/git"
)

// Gather reads a project and returns its document. since is zero for the last night.
func Gather(ctx context.Context, pr *project.Project, p *plan.Plan,
	since, now time.Time) (*Document, error) {
	in := Input{Plan: p, Since: since, Now: now}
	var err error
	if in.Facts, err = facts.NewReader(pr).All(p); err != nil {
		return nil, err
	}
	r := pr.Runs.Journal().Reader(time.Time{})
	defer r.Close()
	for e, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if e.System == "" || e.System == pr.Key() {
			in.Events = append(in.Events, e)
		}
	}
	in.Skipped = r.Skipped()
	var commits []string
	for _, recs := range in.Facts.Records {
		for _, rec := range recs {
			if g := rec.Landing; g != nil && g.Commit != "" {
				commits = append(commits, landedBy(g)...)
			}
			in.Running = in.Running || rec.Life.Phase != plan.Settled && !rec.Life.Dead() && !idle(p, rec)
		}
	}
	// Without git there are no commits, and a commit that is gone has no size.
	in.Changes, _ = git.Stats(ctx, pr.Root, commits)
	d := New(in)
	patches, _ := git.Patches(ctx, pr.Root, d.shownPatches())
	d.AddPatches(patches)
	return d, nil
}

// idle reports whether the attempt is in the merge queue, and no gl works on that.
func idle(p *plan.Plan, r *attempt.Record) bool {
	st := p.State(r.ID.Slice)
	return st != nil && st.Attempt != nil && st.Attempt.N == r.ID.N && st.Attempt.Idle
}

// FileName is the report's file in .greenlight/runs.
const FileName = "report.html"

// Save writes the page into .greenlight/runs and returns its path.
func (d *Document) Save(runs *attempt.Store) (string, error) {
	var page bytes.Buffer
	if err := d.HTML(&page, ""); err != nil {
		return "", err
	}
	if err := runs.Files.Prepare(); err != nil {
		return "", err
	}
	path := filepath.Join(runs.Files.Dir(), FileName)
	return path, durable.WriteFile(path, page.Bytes(), 0o600)
}
