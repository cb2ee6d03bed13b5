// Package explain combines the reasons for the states of items: from the plan, and from the
// last attempts. It returns values and prints nothing.
package explain

import (
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

// A Document explains items of a project.
type Document struct {
	SchemaVersion int `json:"schema_version"`
	// nothing is launched until it ends; null if something may be
	Hold *plan.Hold `json:"hold"`
	// all that aren't over: for all agents, and for single ones
	Holds []*plan.Hold `json:"holds"`
	// what blocks the whole project, in people's words
	Blockers []string `json:"blockers"`
	// without an id, every slice that isn't done, the closest to done first
	Slices []Slice `json:"slices"`
}

// NewDocument returns a document without items.
func NewDocument(p *plan.Plan) *Document {
	return &Document{SchemaVersion: 1, Hold: p.Hold, Holds: jsondoc.OrEmpty(p.InEffect()),
		Blockers: jsondoc.OrEmpty(p.Snapshot.Blockers), Slices: []Slice{}}
}

// Add adds items of one of the project's systems.
func (d *Document) Add(pr *project.Project, p *plan.Plan, ids []string, now time.Time) error {
	recs, err := pr.Runs.Last(ids...)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if st := p.State(id); len(st.Was) > 0 {
			if recs[id], err = pr.Runs.LastOf(st.Item); err != nil {
				return err
			}
		}
		d.Slices = append(d.Slices, NewSlice(pr, p, id, recs[id], now))
	}
	return nil
}

type Slice struct {
	// the system it belongs to: greenlight, specwright or gsd
	System  string   `json:"system"`
	ID      string   `json:"id"`
	State   string   `json:"state" jsonschema:"enum=done,enum=ready,enum=blocked,enum=running,enum=claimed,enum=landing,enum=failed,enum=red,enum=conflict,enum=stalled,enum=waiting,enum=unknown,enum=corrupt"`
	Cause   string   `json:"cause"`   // empty if the state says it all
	Needs   []string `json:"needs"`   // unfinished dependencies of a blocked slice
	Root    *string  `json:"root"`    // for a blocked slice, the one to look at first
	Because *string  `json:"because"` // what holds up a blocked slice in the end, in words
	Next    []string `json:"next"`    // commands that help
	// the condition under which they do, such as "no one works on it"; null for none
	NextIf *string `json:"next_if"`
	// from a blocked slice to its root; of more than 100 the first 99 and the root
	Chain    []string    `json:"chain"`
	Forecast []Collision `json:"forecast"` // whose work its own is likely to conflict with
	// that builds it, by its front matter; null for whichever is chosen
	Agent    *string        `json:"agent"`
	Model    *string        `json:"model"`    // the same
	Attempts []attempt.Info `json:"attempts"` // the last ones, the newest first
}

// A Collision is work that is likely to conflict.
type Collision struct {
	With  *string  `json:"with"` // another slice; null for merged work
	Paths []string `json:"paths"`
}

// NewSlice explains an item of the plan; recs are its last attempts, the newest first.
func NewSlice(pr *project.Project, p *plan.Plan, id string, recs []*attempt.Record,
	now time.Time) Slice {
	r := p.Why(id, now)
	help := Help(p, r, now)
	s := Slice{
		System: pr.System().Key, ID: id, State: r.State, Cause: r.Cause,
		Needs: jsondoc.OrEmpty(r.Needs), Root: jsondoc.OrNull(r.Root),
		Agent: jsondoc.OrNull(p.State(id).Agent), Model: jsondoc.OrNull(p.State(id).Model),
		Next: jsondoc.OrEmpty(help.Next), NextIf: jsondoc.OrNull(help.If), Chain: []string{},
		Forecast: []Collision{}, Attempts: []attempt.Info{},
	}
	if r.Root != "" {
		s.Because, s.Chain = jsondoc.OrNull(p.Because(id)), p.WayOut(id)
	}
	for _, c := range p.Foreseen(id) {
		s.Forecast = append(s.Forecast, Collision{jsondoc.OrNull(c.With), c.Paths})
	}
	for _, rec := range recs {
		s.Attempts = append(s.Attempts, rec.Info())
	}
	return s
}

// Help returns the reason whose commands help an item: its own or, if it is blocked, its
// root's.
func Help(p *plan.Plan, r plan.Reason, now time.Time) plan.Reason {
	if r.Root == "" {
		return r
	}
	return p.Why(r.Root, now)
}
