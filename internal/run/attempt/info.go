package attempt

import (
	"cmp"
	"math"
	"slices"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
)

// An Info is one attempt of an agent at a slice or a task.
type Info struct {
	N       int              `json:"n" jsonschema:"minimum=1"` // counts from 1
	Agent   string           `json:"agent"`
	Worker  *string          `json:"worker"`  // on which its agent ran, with its host: "w1 (build-7)"; null for here
	Outcome *outcome.Outcome `json:"outcome"` // null until it is settled
	Detail  *string          `json:"detail"`  // why, in a few words
	Started *time.Time       `json:"started"`
	Ended   *time.Time       `json:"ended"`
	Seconds *float64         `json:"seconds"`
	Turns   *int             `json:"turns"`
	CostUSD *float64         `json:"cost_usd"`

	Landed *string `json:"landed"` // the commit by which its work was merged
	// its shape: merge, rebase (the last of several), squash; null if it isn't merged
	LandedAs *string `json:"landed_as"`
	// of the tests that gl ran on its work; null if it ran none
	Verdict *testrun.Verdict `json:"verdict"`
	// what gl asked before its work could land, with the answers
	Gate []gate.Answer `json:"gate"`
}

// Info describes the attempt for a JSON document.
func (r *Record) Info() Info {
	info := Info{N: r.ID.N, Agent: r.Job.Agent,
		Worker: jsondoc.OrNull(r.Life.Remote.Label()), Detail: jsondoc.OrNull(r.Judged.Detail),
		Started: r.Life.StartedAt, Ended: r.Life.EndedAt, Turns: r.Judged.Turns(),
		CostUSD: r.Judged.Cost()}
	if r.Judged.Verdict != nil {
		v := *r.Judged.Verdict
		v.Failing, v.Last, v.Failure, v.Flaky = jsondoc.OrEmpty(v.Failing), jsondoc.OrEmpty(v.Last),
			jsondoc.OrEmpty(v.Failure), jsondoc.OrEmpty(v.Flaky)
		info.Verdict = &v
	}
	info.Gate = []gate.Answer{}
	if r.Judged.Gate != nil {
		info.Gate = jsondoc.OrEmpty(r.Judged.Gate.Answers)
	}
	if r.Landing != nil && r.Judged.Outcome.Traits().Success {
		if info.Landed = jsondoc.OrNull(r.Landing.Commit); info.Landed != nil {
			as := cmp.Or(r.Landing.As, "merge")
			info.LandedAs = &as
		}
	}
	if r.Life.Phase == plan.Settled {
		info.Outcome = &r.Judged.Outcome
	}
	if d := r.Life.Duration(); d != nil {
		seconds := math.Round(d.Seconds()*1000) / 1000
		info.Seconds = &seconds
	}
	return info
}

// Duration is how long the agent worked; nil if it hasn't started or hasn't ended.
func (l *Life) Duration() *time.Duration {
	if l.StartedAt == nil || l.EndedAt == nil {
		return nil
	}
	d := l.EndedAt.Sub(*l.StartedAt)
	return &d
}

// Turns is how many turns the agent says it took; nil for unknown.
func (j *Judgement) Turns() *int {
	if j.Evidence == nil || j.Evidence.Result == nil {
		return nil
	}
	return &j.Evidence.Result.Turns
}

// shown is how many of a slice's attempts Last returns.
const shown = 5

// Landed reads the record by which each of the slices landed last, where there is one that can
// be read.
func (s *Store) Landed(ids ...string) (map[string]*Record, error) {
	index, err := s.Index()
	if err != nil {
		return nil, err
	}
	all := make(map[string]*Record)
	for _, id := range ids {
		for _, entry := range slices.Backward(index[id]) {
			if !entry.Outcome.Traits().Success {
				continue
			}
			if rec, err := s.Get(id, entry.N); err == nil && rec.Landing != nil &&
				rec.Landing.Commit != "" {
				all[id] = rec
			}
			break
		}
	}
	return all, nil
}

// LastOf reads the last attempts of an item, those included that it had by an earlier id, the
// newest first.
func (s *Store) LastOf(it *plan.Item) ([]*Record, error) {
	all, err := s.Last(append(slices.Clone(it.Was), it.ID)...)
	if err != nil {
		return nil, err
	}
	recs := all[it.ID]
	for _, name := range it.Was {
		recs = append(recs, all[name]...)
	}
	slices.SortStableFunc(recs, func(a, b *Record) int {
		return b.Life.ClaimedAt.Compare(a.Life.ClaimedAt)
	})
	return recs[:min(shown, len(recs))], nil
}

// Last reads the last attempts of the slices, the newest first. It leaves out records that
// can't be read.
func (s *Store) Last(ids ...string) (map[string][]*Record, error) {
	index, err := s.Index()
	if err != nil {
		return nil, err
	}
	all := make(map[string][]*Record)
	for _, id := range ids {
		for _, entry := range slices.Backward(index[id]) {
			if len(all[id]) == shown {
				break
			}
			if rec, err := s.Get(id, entry.N); err == nil {
				all[id] = append(all[id], rec)
			}
		}
	}
	return all, nil
}
