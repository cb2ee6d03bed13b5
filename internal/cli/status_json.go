package cli

import (
	"time"

	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
)

// A statusDoc is what gl status --json prints; docs/schema/status.schema.json describes it. Lists are never null, and
// what is unknown is null rather than empty or 0. Changes only add keys, or count schema_version up.
type statusDoc struct {
	SchemaVersion int             `json:"schema_version"`
	Format        string          `json:"format"`
	Root          string          `json:"root"`
	Milestone     *string         `json:"milestone"` // of --milestone; null for all slices
	Total         int             `json:"total"`
	Done          int             `json:"done"`
	Slices        []statusSlice   `json:"slices"`
	Running       []string        `json:"running"`
	Tasks         []statusTask    `json:"tasks"` // agents that run on no slice
	Ready         []string        `json:"ready"` // in launch order
	Blocked       []statusBlocked `json:"blocked"`
	Failed        []string        `json:"failed"`
	Stalled       []string        `json:"stalled"`
	Waiting       []string        `json:"waiting"`
	Unknown       []string        `json:"unknown"`
	Tests         statusTests     `json:"tests"`
	Hold          *plan.Hold      `json:"hold"`
	Warnings      []statusWarning `json:"warnings"`
	Others        []statusDoc     `json:"others"` // the project by the other systems that it uses
}

// A statusSlice is one slice; of one whose file can't be read little is known.
type statusSlice struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	Status        *string    `json:"status"` // verbatim
	Class         plan.Class `json:"class"`
	Step          *string    `json:"step"`
	Milestone     *string    `json:"milestone"`
	Deps          []string   `json:"deps"`
	Needs         []string   `json:"needs"` // those of deps that aren't done
	Session       *string    `json:"session"`
	Tests         *int       `json:"tests"`
	SecurityTests *int       `json:"security_tests"`
	Updated       *string    `json:"updated"` // verbatim
	Stale         bool       `json:"stale"`
	Attempts      int        `json:"attempts"` // used up; a rate limit uses none
}

// A statusTask is an open attempt at a task.
type statusTask struct {
	ID      string     `json:"id"` // "@quick"
	N       int        `json:"n"`  // several may run at a time
	Text    *string    `json:"text"`
	Agent   string     `json:"agent"`
	Started *time.Time `json:"started"` // null before its agent runs
}

type statusBlocked struct {
	ID      string   `json:"id"`
	Needs   []string `json:"needs"`
	Because string   `json:"because"`
}

type statusTests struct {
	Passing  int `json:"passing"`
	Failing  int `json:"failing"`
	Security int `json:"security"`
}

type statusWarning struct {
	Path    *string `json:"path"` // null where no single file is to blame
	Message string  `json:"message"`
}

func newStatusDoc(p *plan.Plan, milestone string) statusDoc {
	s := p.Snapshot
	doc := statusDoc{
		SchemaVersion: 1, Format: s.Format, Root: s.Root, Milestone: jsondoc.OrNull(milestone),
		Total: p.Total, Done: p.Done, Slices: []statusSlice{},
		Running: jsondoc.OrEmpty(p.Running), Tasks: []statusTask{}, Ready: jsondoc.OrEmpty(p.Ready), Blocked: []statusBlocked{},
		Failed: jsondoc.OrEmpty(p.Failed), Stalled: jsondoc.OrEmpty(p.Stalled), Waiting: jsondoc.OrEmpty(p.Waiting), Unknown: jsondoc.OrEmpty(p.Unknown),
		Tests: statusTests{Passing: p.Tests, Failing: p.Failing, Security: p.Security},
		Hold:  p.Hold, Warnings: []statusWarning{}, Others: []statusDoc{},
	}
	for i := range p.States {
		if st := &p.States[i]; st.InScope {
			doc.Slices = append(doc.Slices, newStatusSlice(st, s.Used[st.ID]))
		}
	}
	for _, t := range s.Tasks {
		doc.Tasks = append(doc.Tasks, newStatusTask(t))
	}
	for _, id := range p.Blocked {
		doc.Blocked = append(doc.Blocked, statusBlocked{id, jsondoc.OrEmpty(p.State(id).Needs), p.Because(id)})
	}
	for _, w := range p.Warnings {
		doc.Warnings = append(doc.Warnings, statusWarning{jsondoc.OrNull(w.Path), w.Message})
	}
	return doc
}

func newStatusTask(t plan.Task) statusTask {
	doc := statusTask{ID: t.ID, N: t.Attempt.N, Text: jsondoc.OrNull(t.Text), Agent: t.Attempt.Agent}
	if !t.Attempt.Started.IsZero() {
		doc.Started = &t.Attempt.Started
	}
	return doc
}

func newStatusSlice(st *plan.State, attempts int) statusSlice {
	s := statusSlice{
		ID: st.ID, Name: st.Name, Status: jsondoc.OrNull(st.Status), Class: st.Class, Step: jsondoc.OrNull(st.Step),
		Milestone: jsondoc.OrNull(st.Milestone), Deps: jsondoc.OrEmpty(st.Deps), Needs: jsondoc.OrEmpty(st.Needs), Session: jsondoc.OrNull(st.Session),
		Updated: jsondoc.OrNull(st.Updated), Stale: st.Stale, Attempts: attempts,
	}
	if st.Corrupt == "" {
		s.Tests, s.SecurityTests = &st.Tests, &st.SecurityTests
	}
	return s
}
