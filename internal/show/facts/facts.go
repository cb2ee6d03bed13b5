// Package facts reads what a view shows besides the plan: the records of the attempts, what has
// landed without being delivered, and how long slices have taken. It changes nothing and
// decides nothing.
package facts

import (
	"context"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/show/view"
	"greenlight/internal/state/eta"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
)

// A Reader reads the facts of one project repeatedly, but settled ones only once. It isn't safe
// for concurrent use.
type Reader struct {
	pr      *project.Project
	settled map[attempt.Entry]*attempt.Record
	diffs   map[string]view.Diff
	seen    map[string]seen
	pacer   *Pacer
}

// A Pacer learns from the journal how long slices take. It isn't safe for concurrent use.
type Pacer struct {
	events  *journal.Reader
	learner eta.Learner
	slots   int       // of the last run, if it has its own number; 0 to use the configuration's
	since   time.Time // when it began
}

// history is how far back slices are considered.
const history = 30 * 24 * time.Hour

// NewPacer returns a Pacer that has read nothing yet.
func NewPacer(pr *project.Project) *Pacer {
	events := pr.Runs.Journal().ReaderOf(time.Now().Add(-history),
		journal.DrainStarted, journal.Launched, journal.Step, journal.Queued, journal.Ended)
	return &Pacer{events: events}
}

// Pace returns how long slices take according to the current journal. It ignores unreadable
// entries.
func (p *Pacer) Pace() eta.Pace {
	for e := range p.events.All() {
		if e.Kind == journal.DrainStarted {
			if p.slots = 0; e.Fixed {
				p.slots, p.since = e.Max, e.Time
			}
			continue
		}
		p.learner.Take(&e)
	}
	return p.learner.Pace()
}

// slotsOf returns the current number of slots: a run in progress may have its own, which applies
// until a person sets another.
func (p *Pacer) slotsOf(pr *project.Project) int {
	leader, err := pr.Runs.Control.Leader()
	if p.slots > 0 && err == nil && leader != "" && !pr.Runs.Control.SlotsSet().After(p.since) {
		return p.slots
	}
	return pr.Slots()
}

// Close closes the journal.
func (p *Pacer) Close() { p.events.Close() }

// Pace returns how long slices take, for a single query.
func Pace(pr *project.Project) eta.Pace {
	p := NewPacer(pr)
	defer p.Close()
	return p.Pace()
}

// NewReader returns a Reader that has read nothing yet.
func NewReader(pr *project.Project) *Reader {
	return &Reader{
		pr:      pr,
		settled: map[attempt.Entry]*attempt.Record{},
		diffs:   map[string]view.Diff{},
		seen:    map[string]seen{},
		pacer:   NewPacer(pr),
	}
}

// Brief returns the facts that need no record.
func Brief(pr *project.Project, p *plan.Plan) view.Facts {
	return view.Facts{Lane: Lane(pr, p), Slots: pr.Slots()}
}

// Proving returns how the plan's unverified items get verified: "no test command: gl settings set
// test.command 'go test ./...'". It returns "" if there are none, or if gl can't tell.
func Proving(ctx context.Context, pr *project.Project, p *plan.Plan) string {
	ids, flags := p.Lists.Unverified, p.Snapshot.Flags
	switch {
	case len(ids) == 0 || p.Snapshot.Noun != plan.Slice:
		return ""
	case !pr.Config.Test.Command.IsSet():
		return "no test command: " + testrun.SetCommand(pr.Root, flags, testrun.Command{})
	}
	if _, err := pr.Worktrees(ctx); err != nil { // gl verify tests commits
		return ""
	}
	if len(ids) == 1 {
		return "gl verify " + ids[0] + flags
	}
	return "gl verify " + ids[0] + flags + ", and so on"
}

// Lane returns which of the plan's items the target lacks.
func Lane(pr *project.Project, p *plan.Plan) lane.Status {
	if p.Snapshot.Noun != plan.Slice { // nothing else lands
		return lane.Status{}
	}
	return lane.ReadStatus(pr.Runs.Files.Dir())
}

// Upstream is Lane, without what git knows to be merged on the remote.
func Upstream(ctx context.Context, pr *project.Project, p *plan.Plan) lane.Status {
	if p.Snapshot.Noun != plan.Slice {
		return lane.Status{}
	}
	return lane.Upstream(ctx, pr)
}

// Summary returns the facts that need no record, with what the journal knows: what was spent, and
// how long slices take. Scripts ask often, and records are many.
func Summary(ctx context.Context, pr *project.Project, p *plan.Plan) view.Facts {
	f := view.Facts{Lane: Upstream(ctx, pr, p)}
	if book, err := spending.Since(pr.Runs.Journal(), time.Time{}); err == nil {
		total := book.Total()
		f.Spent = &total
	}
	pacer := NewPacer(pr)
	defer pacer.Close()
	f.Pace = pacer.Pace()
	f.Slots = pacer.slotsOf(pr)
	return f
}

// Landed reads the records by which done slices have landed.
func Landed(pr *project.Project, p *plan.Plan) (map[string]*attempt.Record, error) {
	var ids []string
	for i := range p.States {
		if st := &p.States[i]; st.InScope && st.Class == plan.Done && st.Verified != plan.NotKnown {
			ids = append(ids, st.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return pr.Runs.Landed(ids...)
}

// All returns all facts. It omits unreadable records: the plan's warnings name those that
// matter.
func (r *Reader) All(p *plan.Plan) (view.Facts, error) {
	f := Brief(r.pr, p)
	f.Diffs = r.diffs
	index, err := r.pr.Runs.Index()
	if err != nil {
		return f, err
	}
	f.Records = make(map[string][]*attempt.Record, len(index))
	for id, entries := range index {
		for _, e := range entries {
			if rec := r.record(e); rec != nil && r.pr.Has(rec) {
				f.Records[id] = append(f.Records[id], rec)
			}
		}
	}
	inherit(p, f.Records)
	f.Pace = r.pacer.Pace()
	f.Slots = r.pacer.slotsOf(r.pr)
	return f, nil
}

// inherit gives items the records that they had by an earlier id.
func inherit(p *plan.Plan, recs map[string][]*attempt.Record) {
	for i := range p.States {
		st := &p.States[i]
		for _, name := range st.Was {
			if p.State(name) == nil && len(recs[name]) > 0 {
				recs[st.ID] = append(recs[name], recs[st.ID]...)
				delete(recs, name)
			}
		}
		if len(st.Was) > 0 {
			slices.SortStableFunc(recs[st.ID], func(a, b *attempt.Record) int {
				return a.Life.ClaimedAt.Compare(b.Life.ClaimedAt)
			})
		}
	}
}

func (r *Reader) record(e attempt.Entry) *attempt.Record {
	if rec := r.settled[e]; rec != nil {
		return rec
	}
	rec, err := r.pr.Runs.Get(e.Slice, e.N)
	if err != nil {
		return nil
	}
	if rec.Life.Phase == plan.Settled {
		r.settled[e] = rec
	}
	return rec
}

// Model returns the view model of a project's plan with all facts.
func Model(pr *project.Project, p *plan.Plan, now time.Time) *view.Model {
	r := NewReader(pr)
	defer r.pacer.Close()
	f, err := r.All(p)
	if err != nil {
		f = Brief(pr, p) // the plan is the more important part
	}
	return view.New(p, f, now)
}
