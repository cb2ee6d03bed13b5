// Package view is what people see of a project: its items in groups, a row for each, the counts,
// and the sentence at the end of a run. gl status, the board, the report, status bars and a run's
// lines take their numbers and words from here, so they agree. It is pure: what it shows is passed
// in. It does no layout, and callers sanitize its texts for a terminal or a page.
package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/state/eta"
	"greenlight/internal/state/spending"
)

// A Group is the state of an item, for people. Each item in scope is in one.
type Group int

const (
	NeedsYou Group = iota // only a person can move it on: a review, a question, an unreadable file
	Failed                // its last attempt failed
	Stopped               // a person ended its agent
	Running
	Merging // called complete by its agent, and merged and tested now
	Ready
	Blocked
	Done
)

var groupNames = [...]string{
	"Needs you", "Failed", "Stopped", "Running", "Merging", "Ready", "Blocked", "Done",
}

func (g Group) String() string { return groupNames[g] }

// Groups returns all groups in the order of gl status: those that need attention come first.
func Groups() []Group {
	return []Group{NeedsYou, Failed, Stopped, Running, Merging, Ready, Blocked, Done}
}

// BoardGroups returns the groups in the order of the board: the path of an item.
func BoardGroups() []Group {
	return []Group{NeedsYou, Running, Merging, Ready, Blocked, Failed, Stopped, Done}
}

// GroupOf returns the group of an item.
func GroupOf(st *plan.State) Group {
	switch {
	case st.Class == plan.Done:
		return Done
	case st.Stopped():
		return Stopped
	case st.Class.Troubled():
		return Failed
	case st.Class == plan.Active:
		return Running
	case st.Class == plan.Landing:
		return Merging
	case st.Class == plan.Available && len(st.Needs) == 0:
		return Ready
	case st.Class == plan.Available:
		return Blocked
	}
	return NeedsYou
}

// Facts are what a Model is made from besides the plan. Any of them may be missing.
type Facts struct {
	Lane    lane.Status
	Records map[string][]*attempt.Record // of the items, oldest first, as far as they were read
	Diffs   map[string]Diff              // changes of unfinished work, as far as they were read
	Pace    eta.Pace
	Slots   int // how many agents may run at a time; 0 for unknown

	Spent  *spending.Total            // by all attempts, if no records were read; nil for unknown
	Landed map[string]*attempt.Record // by which done items landed, if they were read
}

// A Diff is the size of a change in lines.
type Diff struct {
	Files   int `json:"files" jsonschema:"minimum=0"`
	Added   int `json:"added" jsonschema:"minimum=0"`
	Removed int `json:"removed" jsonschema:"minimum=0"`
}

func (d Diff) String() string { return fmt.Sprintf("+%d −%d", d.Added, d.Removed) }

// An Ask is what an item asks of a person.
type Ask int

const (
	AskOther    Ask = iota // nothing, or something that no command of its own answers
	AskAnswer              // an answer to its question
	AskApproval            // to accept it or send it back
)

func askOf(st *plan.State) Ask {
	switch {
	case st.Class != plan.Waiting, st.Next != nil: // its system's own commands answer it
		return AskOther
	case st.Asks():
		return AskAnswer
	case st.AtReview():
		return AskApproval
	}
	return AskOther
}

// A Builder is what works, or has worked, on an item.
type Builder struct {
	Agent  string // "" for none
	Worker string // on which it runs: "w1 (build-7)"; "" for this machine
}

// A Row is an item as it is listed.
type Row struct {
	ID, Name string
	Group    Group
	State    string   // as in gl why: "ready", "red", "waiting", …
	Text     string   // the cause, without the id: "asks: which color?", "red: exit 1: 2 failed"
	Next     []string // commands that help, in order
	Command  string   // the likeliest of them, "" for none
	By       Builder  // of its last attempt
	Step     string   // of a running or merging item
	Attempts int      // used up
	Started  time.Time
	// last event of a running attempt, or since when one is where it is in the merge queue; zero
	// for unknown
	Heard    time.Time
	ETA      *time.Duration // until a running one is likely to end; nil for unknown
	Tests    string         // "3 new tests", "3 tests reported"; "" for none or unknown
	Diff     *Diff
	Cost     Cost // of all its attempts
	Verified plan.Verified

	Asks        Ask  // of a person
	Undelivered bool // done, but not in the target yet
	Needs       []string
}

// Age returns the time since the last sign of life; false for unknown.
func (r *Row) Age(now time.Time) (time.Duration, bool) {
	switch {
	case !r.Heard.IsZero():
		return max(now.Sub(r.Heard), 0), true
	case !r.Started.IsZero():
		return max(now.Sub(r.Started), 0), true
	}
	return 0, false
}

// AgeText returns the age in words: "4s ago", or "for 4s" of one in the merge queue; "" for
// unknown.
func (r *Row) AgeText(now time.Time) string {
	switch age, ok := r.Age(now); {
	case !ok:
		return ""
	case r.Group == Merging:
		return "for " + plan.Age(age)
	default:
		return plan.Age(age) + " ago"
	}
}

// A Model is one system of a project at one time.
type Model struct {
	Plan   *plan.Plan
	Now    time.Time
	Rows   []Row // of the items in scope, by group
	Counts Counts
	Lane   lane.Status
	Cost   Cost            // of all attempts and tasks: of those that were read, or Spent
	Spent  *spending.Total // nil for unknown
	Landed map[string]*attempt.Record
	Pace   eta.Pace
	ETA    *time.Duration // until nothing more can be done; nil for unknown

	// how unverified items get verified, with the command; "" for unknown, or if no view asks
	Proving string
	// what an attempt that ended early has left uncommitted in the checkout; "" for nothing, or if
	// no view asks
	HalfDone string
}

// Summary returns the model of a plan without rows, for views that need no records.
func Summary(p *plan.Plan, f Facts, now time.Time) *Model {
	m := &Model{
		Plan:   p,
		Now:    now,
		Counts: Count(p, f.Lane),
		Lane:   f.Lane,
		Spent:  f.Spent,
		Landed: f.Landed,
		Pace:   f.Pace,
	}
	if t := f.Spent; t != nil {
		m.Cost = Cost{USD: t.USD(), Known: t.Attempts - t.UnknownCost, Unknown: t.UnknownCost}
	}
	if left, ok := f.Pace.Remaining(p, f.Slots, now); ok {
		m.ETA = &left
	}
	return m
}

// New returns the model of a plan.
func New(p *plan.Plan, f Facts, now time.Time) *Model {
	m := Summary(p, f, now)
	for _, g := range Groups() {
		for _, id := range ids(p, g) {
			m.Rows = append(m.Rows, newRow(p, p.State(id), g, f, now))
		}
	}
	for _, recs := range f.Records {
		for _, r := range recs {
			m.Cost.Add(r)
		}
	}
	return m
}

// ids returns those of a group, in the order of the plan.
func ids(p *plan.Plan, g Group) []string {
	switch g {
	case NeedsYou:
		return slices.Concat(p.Lists.Waiting, p.Lists.Unknown)
	case Failed:
		stopped := p.StoppedIDs()
		return slices.DeleteFunc(p.Lists.TroubledIDs(), func(id string) bool {
			return slices.Contains(stopped, id)
		})
	case Stopped:
		return p.StoppedIDs()
	case Running:
		return p.Lists.Running
	case Merging:
		return p.Lists.Landing
	case Ready:
		return p.Lists.Ready
	case Blocked:
		return p.Lists.Blocked
	}
	var list []string
	for i := range p.States {
		if st := &p.States[i]; st.InScope && st.Class == plan.Done {
			list = append(list, st.ID)
		}
	}
	return list
}

func newRow(p *plan.Plan, st *plan.State, g Group, f Facts, now time.Time) Row {
	why := p.Why(st.ID, now)
	r := Row{
		ID:       st.ID,
		Name:     st.Name,
		Group:    g,
		State:    why.State,
		Text:     why.Cause,
		Next:     why.Next,
		Command:  why.Command(),
		Attempts: p.Snapshot.Used[st.ID],
		Verified: st.Verified,
		Needs:    st.Needs,
	}
	if st.Corrupt == "" && (st.Counting(g == Done) > 0 || g == Done && p.Snapshot.Noun == plan.Slice) {
		r.Tests = p.TestsOf(st)
	}
	if a := st.Attempt; a != nil {
		r.By.Agent, r.By.Worker = a.Agent, a.Worker
		if a.Open() {
			r.Started, r.Heard = a.Started, a.Heard
		}
	}
	for _, rec := range f.Records[st.ID] {
		r.Cost.Add(rec)
		if rec.Accepted() { // an approval isn't an attempt
			if rec.Life.Phase == plan.Settled {
				r.Attempts--
			}
			continue
		}
		r.By.Agent, r.By.Worker = rec.Job.Agent, rec.Life.Remote.Label()
	}
	if rec := f.Landed[st.ID]; rec != nil && g == Done {
		r.By.Worker = rec.Life.Remote.Label()
	}
	r.Attempts = max(r.Attempts, 0)
	unfinished := g == Running || g == Merging || g == NeedsYou
	if d, ok := f.Diffs[st.ID]; ok && d.Files > 0 && unfinished {
		r.Diff = &d
	}
	r.detail(st, why, f, now)
	return r
}

// SentBack returns why an item's work was last sent back to its agent: "red: exit 1: 2 failed"; ""
// if it never was.
func SentBack(recs []*attempt.Record) string {
	for _, rec := range slices.Backward(recs) {
		if o := rec.Judged.Outcome; o.Traits().Continue {
			return o.Text(rec.Judged.Detail)
		}
	}
	return ""
}

// detail adds what only items of the row's group have.
func (r *Row) detail(st *plan.State, why plan.Reason, f Facts, now time.Time) {
	switch r.Group {
	case Running:
		r.Text, r.Step = st.Doing(now), st.Progress()
		if !st.Attempt.Open() {
			r.Text = why.State + ": " + why.Cause
		} else if why := SentBack(f.Records[st.ID]); why != "" {
			r.Text += ", after " + why
		}
		quiet := st.Attempt.Quiet(now) > 0 && st.Attempt.Tool == ""
		if left, ok := f.Pace.Left(st, now); ok && !quiet {
			r.ETA = &left
		}
	case Merging:
		if t := st.Attempt.Train; t != nil {
			r.Heard = t.Since
		}
		if st.Attempt.Idle && r.Command != "" && strings.HasPrefix(why.Cause, attempt.InQueue) {
			r.Text = "queued: " + r.Command + " merges it"
		}
		r.Step = r.Text
	case NeedsYou:
		r.Asks = askOf(st)
		r.Text = joined(why.State, why.Cause)
	case Stopped:
		words := outcome.Of(st.Attempt.Outcome.Name).Shown.Words
		r.Text = "stopped" + strings.TrimPrefix(why.Cause, words)
	case Failed:
		r.Text = joined(why.State, strings.TrimPrefix(why.Cause, why.State+": "))
	case Done:
		r.Undelivered = f.Lane.Known && !f.Lane.Has(st.ID)
	}
}

// joined returns "waiting for a look", "red: exit 1", "paused".
func joined(state, cause string) string {
	switch {
	case cause == "":
		return state
	case strings.HasPrefix(cause, plan.Asking):
		return cause
	case state == "waiting" && strings.HasPrefix(cause, "for "):
		return state + " " + cause
	case state == "waiting", strings.HasPrefix(cause, state):
		return cause
	}
	return state + ": " + cause
}

// In returns the rows of a group.
func (m *Model) In(g Group) []Row {
	i := slices.IndexFunc(m.Rows, func(r Row) bool { return r.Group == g })
	if i < 0 {
		return nil
	}
	n := i
	for n < len(m.Rows) && m.Rows[n].Group == g {
		n++
	}
	return m.Rows[i:n]
}
