package status

import (
	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/view"
)

// New returns the document of a model. milestone is the one that it is limited to, or "".
func New(m *view.Model, milestone string) *Document {
	p := m.Plan
	s := p.Snapshot
	doc := &Document{
		SchemaVersion: 1,
		Format:        s.Format,
		Root:          s.Root,
		Milestone:     jsondoc.OrNull(milestone),
		Total:         p.Total,
		Done:          p.Done,
		Progress:      s.Progress,
		Slices:        slices(m),
		Running:       jsondoc.OrEmpty(p.Lists.Running),
		Tasks:         []Task{},
		Ready:         jsondoc.OrEmpty(p.Lists.Ready),
		Unplaced:      []Unplaced{},
		Blocked:       []Blocked{},
		Landing:       jsondoc.OrEmpty(p.Lists.Landing),
		Failed:        jsondoc.OrEmpty(p.Lists.Failed),
		Red:           jsondoc.OrEmpty(p.Lists.Red),
		Conflict:      jsondoc.OrEmpty(p.Lists.Conflicts),
		Stalled:       jsondoc.OrEmpty(p.Lists.Stalled),
		Waiting:       jsondoc.OrEmpty(p.Lists.Waiting),
		Unknown:       jsondoc.OrEmpty(p.Lists.Unknown),
		Undelivered:   newUndelivered(m.Lane),
		Forecast:      []Collision{},
		Tests:         newTests(p),
		Cost:          m.Spent,
		ETAWithout:    jsondoc.OrEmpty(view.Stuck(p)),
		Hold:          p.Hold,
		Holds:         jsondoc.OrEmpty(p.InEffect()),
		Blockers:      jsondoc.OrEmpty(s.Blockers),
		Warnings:      project.WarningItems(p.Warnings),
		Others:        []Document{},
	}
	if m.ETA != nil {
		doc.ETASeconds = view.WholeSeconds(*m.ETA)
	}
	for _, c := range p.Forecast {
		doc.Forecast = append(doc.Forecast, Collision{c.Slice, jsondoc.OrNull(c.With), c.Paths})
	}
	if pr := m.Lane.PullRequest; pr != nil {
		doc.PullRequest = &PullRequest{pr.Number, pr.URL, pr.IDs(), pr.Head}
	}
	for _, u := range plan.WithoutAgent(p) {
		doc.Unplaced = append(doc.Unplaced, Unplaced{u.IDs, u.Cause, u.Next})
	}
	for _, t := range s.Tasks {
		doc.Tasks = append(doc.Tasks, newTask(t))
	}
	for _, id := range p.Lists.Blocked {
		needs := jsondoc.OrEmpty(p.State(id).Needs)
		doc.Blocked = append(doc.Blocked, Blocked{id, needs, p.Because(id)})
	}
	return doc
}

// newUndelivered returns nil if everything that has landed is delivered.
func newUndelivered(s lane.Status) *Undelivered {
	if len(s.Waiting()) == 0 {
		return nil
	}
	u := &Undelivered{
		Slices:    jsondoc.OrEmpty(s.Undelivered),
		TakenBack: jsondoc.OrEmpty(s.Undone),
		Reason:    jsondoc.OrNull(s.Reason),
	}
	if !s.Since.IsZero() {
		u.Since = &s.Since
	}
	return u
}

// slices returns the slices in scope.
func slices(m *view.Model) []Slice {
	list := []Slice{}
	for i := range m.Plan.States {
		st := &m.Plan.States[i]
		if !st.InScope {
			continue
		}
		s := newSlice(st, m.Lane, m.Plan.Snapshot.Used[st.ID])
		if r := m.Landed[st.ID]; r != nil && st.Class == plan.Done {
			info := r.Info()
			s.Landed, s.LandedAs, s.Worker = info.Landed, info.LandedAs, info.Worker
			if r.Accepted() { // an approval isn't an attempt
				s.Attempts--
			}
		}
		s.expect(st, m)
		list = append(list, s)
	}
	return list
}

// expect adds how long a running agent has been silent, and when it is likely to end.
func (s *Slice) expect(st *plan.State, m *view.Model) {
	quiet := st.Attempt.Quiet(m.Now)
	if quiet > 0 {
		s.SilentSeconds, s.Tool = view.WholeSeconds(quiet), jsondoc.OrNull(st.Attempt.Tool)
	}
	if left, ok := m.Pace.Left(st, m.Now); ok && (quiet == 0 || s.Tool != nil) {
		s.ETASeconds = view.WholeSeconds(left)
	}
}

func newTests(p *plan.Plan) Tests {
	t := Tests{Security: p.Tests.Security, Uncounted: p.Tests.Uncounted, Untold: p.Tests.Untold}
	if n, ok := p.Tests.Passing(); ok {
		t.Passing = &n
	}
	if n, ok := p.Tests.Fail(); ok || n > 0 {
		t.Failing = &n
	}
	if n, ok := p.Tests.New(); ok {
		t.New, t.Removed = &n, &p.Tests.Removed
	}
	if s := p.Tests.Ran.Suite; s != nil {
		t.Suite = &Suite{Green: !s.Red, Commit: jsondoc.OrNull(s.Commit), At: s.At}
		if !s.Uncounted {
			t.Suite.Passed, t.Suite.Failed = &s.Passed, &s.Failed
		}
	}
	return t
}

func newTask(t plan.Task) Task {
	doc := Task{ID: t.ID, N: t.Attempt.N, Text: jsondoc.OrNull(t.Text), Agent: t.Attempt.Agent}
	if !t.Attempt.Started.IsZero() {
		doc.Started = &t.Attempt.Started
	}
	doc.Landing = jsondoc.OrNull(t.Attempt.Landing)
	return doc
}

func newSlice(st *plan.State, landed lane.Status, attempts int) Slice {
	s := Slice{
		ID:        st.ID,
		Name:      st.Name,
		Status:    jsondoc.OrNull(st.Status),
		Class:     st.Class,
		Step:      jsondoc.OrNull(st.Step),
		Milestone: jsondoc.OrNull(st.Milestone),
		Deps:      jsondoc.OrEmpty(st.Deps),
		Needs:     jsondoc.OrEmpty(st.Needs),
		Session:   jsondoc.OrNull(st.Session),
		Updated:   jsondoc.OrNull(st.Updated),
		Stale:     st.Stale,
		Attempts:  attempts,
	}
	if st.Attempt != nil {
		s.Worker = jsondoc.OrNull(st.Attempt.Worker)
	}
	if st.Corrupt == "" {
		n := st.Counting(st.Class == plan.Done)
		s.Tests, s.SecurityTests = &n, &st.SecurityTests
	}
	done, green := st.Class == plan.Done, st.Verified == plan.Green
	if done && (green || st.Verified == plan.KnownRed) {
		s.Verified = &green
	}
	if done && st.Verified != plan.NotKnown && landed.Known {
		has := landed.Has(st.ID)
		s.Delivered = &has
	}
	if st.Class == plan.Landing {
		s.Landing, s.Train = &st.Attempt.Landing, st.Attempt.Train
	}
	return s
}
