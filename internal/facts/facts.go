// Package facts reads what a view shows beside the plan: the records of the attempts, what has landed and isn't delivered, and
// how long slices have taken. It changes nothing and decides nothing.
package facts

import (
	"context"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/lane"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/view"
)

// A Reader reads the facts of one project again and again: what is settled it reads once. It isn't for several goroutines.
type Reader struct {
	pr      *project.Project
	settled map[attempt.Entry]*attempt.Record
}

// NewReader returns a Reader that has read nothing yet.
func NewReader(pr *project.Project) *Reader {
	return &Reader{pr: pr, settled: map[attempt.Entry]*attempt.Record{}}
}

// Brief are the facts that no record has to be read for.
func Brief(pr *project.Project, p *plan.Plan) view.Facts {
	return view.Facts{Lane: Lane(pr, p), Slots: pr.Config.Max}
}

// Lane is what the target hasn't got yet of the plan's items.
func Lane(pr *project.Project, p *plan.Plan) lane.Status {
	if p.Snapshot.Noun != plan.Slice { // nothing else lands
		return lane.Status{}
	}
	return lane.ReadStatus(pr.Runs.Dir())
}

// Upstream is Lane, less what git knows to be merged on the remote.
func Upstream(ctx context.Context, pr *project.Project, p *plan.Plan) lane.Status {
	if p.Snapshot.Noun != plan.Slice {
		return lane.Status{}
	}
	return lane.Upstream(ctx, pr)
}

// All are all facts. Records that can't be read are left out: the plan's warnings name those that matter.
func (r *Reader) All(p *plan.Plan) (view.Facts, error) {
	f := Brief(r.pr, p)
	index, err := r.pr.Runs.Index()
	if err != nil {
		return f, err
	}
	f.Records = make(map[string][]*attempt.Record, len(index))
	var all []*attempt.Record
	for id, entries := range index {
		for _, e := range entries {
			if rec := r.record(e); rec != nil && r.pr.Has(rec) {
				f.Records[id] = append(f.Records[id], rec)
			}
		}
		all = append(all, f.Records[id]...)
	}
	f.Pace = view.Learn(all)
	return f, nil
}

func (r *Reader) record(e attempt.Entry) *attempt.Record {
	if rec := r.settled[e]; rec != nil {
		return rec
	}
	rec, err := r.pr.Runs.Get(e.Slice, e.N)
	if err != nil {
		return nil
	}
	if rec.Phase == plan.Settled {
		r.settled[e] = rec
	}
	return rec
}

// Model is the model of a project's plan with all facts.
func Model(pr *project.Project, p *plan.Plan, now time.Time) *view.Model {
	f, err := NewReader(pr).All(p)
	if err != nil {
		f = Brief(pr, p) // what the plan says is the better part
	}
	return view.New(p, f, now)
}
