package cli

import (
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/view"
	"greenlight/internal/state/spending"
)

// A statusDoc is what gl status --json prints.
type statusDoc struct {
	SchemaVersion int                   `json:"schema_version"`
	Format        string                `json:"format"`    // the format of the state: "slices", "legacy", "specwright" or "gsd"
	Root          string                `json:"root"`      // absolute path of the project
	Milestone     *string               `json:"milestone"` // value of --milestone; null for all slices
	Total         int                   `json:"total" jsonschema:"minimum=0"`
	Done          int                   `json:"done" jsonschema:"minimum=0"`
	Progress      *plan.Progress        `json:"progress"` // of the current milestone, as the format itself records it; null where total and done are all there is
	Slices        []statusSlice         `json:"slices"`   // those in scope, in the order of the graph, then by id
	Running       []string              `json:"running"`
	Tasks         []statusTask          `json:"tasks"` // open attempts at tasks, such as gl quick; each takes a slot until its work awaits the lane
	Ready         []string              `json:"ready"` // in launch order
	Blocked       []statusBlocked       `json:"blocked"`
	Landing       []string              `json:"landing"` // called complete by their agents, and merged and tested now
	Failed        []string              `json:"failed"`
	Red           []string              `json:"red"`      // the tests fail on the merged work
	Conflict      []string              `json:"conflict"` // the work doesn't merge
	Stalled       []string              `json:"stalled"`
	Waiting       []string              `json:"waiting"`      // for a person
	Unknown       []string              `json:"unknown"`      // with an unknown status, or a file that can't be read
	Undelivered   *statusUndelivered    `json:"undelivered"`  // has landed, and isn't in the branch that the work is for; null if all is
	Forecast      []statusCollision     `json:"forecast"`     // work that is likely to conflict when it lands
	PullRequest   *statusPullRequest    `json:"pull_request"` // that is open, with what has landed; null for none
	Tests         statusTests           `json:"tests"`
	Cost          *spending.Total       `json:"cost"`                               // of all attempts that the journal has; null if it can't be read
	ETASeconds    *int                  `json:"eta_seconds" jsonschema:"minimum=0"` // until nothing is left that can be done, by simulation; null for unknown
	ETAWithout    []string              `json:"eta_without"`                        // what that doesn't count: nothing happens to it until a person acts
	Hold          *plan.Hold            `json:"hold"`                               // nothing is launched until it ends; null if something may be
	Holds         []*plan.Hold          `json:"holds"`                              // all that aren't over: of everybody, and of single agents
	Blockers      []string              `json:"blockers"`                           // what stops the whole project, in people's words: gl state overview
	Warnings      []project.WarningItem `json:"warnings"`
	Others        []statusDoc           `json:"others"` // the same document for each other system that keeps state in this project
}

// A statusSlice is one slice; if its file can't be read, little is known of it.
type statusSlice struct {
	ID            string     `json:"id"`     // canonical: the slice file's name without .md, or the graph's id
	Name          string     `json:"name"`   // for people; the id if nothing better is known
	Status        *string    `json:"status"` // verbatim from the file; null if the file has none or can't be read
	Class         plan.Class `json:"class"`  // what the status means; a running attempt makes it active, whatever the file says
	Step          *string    `json:"step"`   // where in its work the slice is, verbatim
	Milestone     *string    `json:"milestone"`
	Deps          []string   `json:"deps"`                                  // ids it depends on; one that no slice has stays as written
	Needs         []string   `json:"needs"`                                 // those of deps that aren't done
	Session       *string    `json:"session"`                               // token of the claim; null if unclaimed, or claimed by an unknown session
	Tests         *int       `json:"tests" jsonschema:"minimum=0"`          // that the slice brought: counted by gl where it could, else recorded by the agent; 0 while its tests fail; null if the file can't be read
	SecurityTests *int       `json:"security_tests" jsonschema:"minimum=0"` // not included in tests
	Updated       *string    `json:"updated"`                               // verbatim
	Stale         bool       `json:"stale"`                                 // claimed by another session, and its file hasn't changed for parallel.stale_minutes
	Attempts      int        `json:"attempts" jsonschema:"minimum=0"`       // attempts used up; a rate limit uses none
	Verified      *bool      `json:"verified"`                              // of a done slice: whether gl has seen its tests pass on what landed; null if it saw none
	Delivered     *bool      `json:"delivered"`                             // of a done slice: whether the branch that the work is for has it; null if gl doesn't know
	Landed        *string    `json:"landed"`                                // of a done slice: the commit by which it landed; null if gl didn't land it
	LandedAs      *string    `json:"landed_as"`                             // the shape of that: merge, rebase, squash
	ETASeconds    *int       `json:"eta_seconds" jsonschema:"minimum=0"`    // until a running agent is likely to end; null for unknown
	SilentSeconds *int       `json:"silent_seconds" jsonschema:"minimum=0"` // for how long a running agent has said nothing; null for less than a minute
	Tool          *string    `json:"tool"`                                  // the tool call in which it has been silent
	Landing       *string    `json:"landing"`                               // of one that lands: how far that is, or what it waits for
}

// A statusUndelivered says why the branch that the work is for hasn't got all that has landed.
type statusUndelivered struct {
	Slices    []string   `json:"slices"` // that have landed
	Reason    *string    `json:"reason"` // null if it hasn't been tried yet
	Since     *time.Time `json:"since"`
	TakenBack []string   `json:"taken_back"` // slices whose revert has landed
}

// A statusPullRequest is the pull request in which the lane is.
type statusPullRequest struct {
	Number int      `json:"number"`
	URL    string   `json:"url"`
	Slices []string `json:"slices"`
	Head   string   `json:"head"` // the commit that was pushed last
}

// A statusCollision is work that is likely to conflict.
type statusCollision struct {
	Slice string   `json:"slice"`
	With  *string  `json:"with"` // another slice; null for what has landed
	Paths []string `json:"paths"`
}

// A statusTask is an open attempt at a task.
type statusTask struct {
	ID      string     `json:"id"`                       // such as @quick
	N       int        `json:"n" jsonschema:"minimum=1"` // number of the attempt; several may run at a time
	Text    *string    `json:"text"`
	Agent   string     `json:"agent"`
	Started *time.Time `json:"started"` // null until its agent runs
	Landing *string    `json:"landing"` // how far its work is in the lane; null before it awaits the lane
}

type statusBlocked struct {
	ID      string   `json:"id"`
	Needs   []string `json:"needs"`
	Because string   `json:"because"` // what holds it up in the end, in words: "S-4 failed"
}

type statusTests struct {
	Passing   *int       `json:"passing" jsonschema:"minimum=0"`     // of the whole suite once gl has run it, else recorded by the slices, added up; null if the runner prints no counts
	Failing   *int       `json:"failing" jsonschema:"minimum=0"`     // the same, and those that fail on the work of slices that are red; null for unknown
	Uncounted int        `json:"uncounted" jsonschema:"minimum=0"`   // slices that are red, and nobody knows by how many tests
	Security  int        `json:"security" jsonschema:"minimum=0"`    // recorded by the slices
	New       *int       `json:"new" jsonschema:"minimum=0"`         // that done slices added to the suite, of those whose share gl has counted; null for unknown
	Removed   *int       `json:"removed" jsonschema:"minimum=0"`     // that done slices removed from the suite, as New
	Untold    int        `json:"new_unknown" jsonschema:"minimum=0"` // done slices that record tests, and gl hasn't counted what they added: those that landed together
	Suite     *testSuite `json:"suite"`                              // the last run of the whole suite; null if gl hasn't run it
}

// A testSuite is a run of all tests, on what has landed or, without a merge queue, in the checkout.
type testSuite struct {
	Green  bool      `json:"green"`
	Passed *int      `json:"passed" jsonschema:"minimum=0"` // null if the runner prints no counts
	Failed *int      `json:"failed" jsonschema:"minimum=0"` // the same
	Commit *string   `json:"commit"`                        // that was tested; null for the checkout
	At     time.Time `json:"at"`
}

func newStatusTests(p *plan.Plan) statusTests {
	t := statusTests{Security: p.Tests.Security, Uncounted: p.Tests.Uncounted, Untold: p.Tests.Untold}
	if n, ok := p.Tests.Passing(); ok {
		t.Passing = &n
	}
	if n, ok := p.Tests.Fail(); ok || n > 0 {
		t.Failing = &n
	}
	if n, ok := p.Tests.New(); ok {
		t.New, t.Removed = &n, &p.Tests.Removed
	}
	if s := p.Tests.Suite; s != nil {
		t.Suite = &testSuite{Green: !s.Red, Commit: jsondoc.OrNull(s.Commit), At: s.At}
		if !s.Uncounted {
			t.Suite.Passed, t.Suite.Failed = &s.Passed, &s.Failed
		}
	}
	return t
}

func newStatusDoc(p *plan.Plan, landed lane.Status, by map[string]*attempt.Record, milestone string) statusDoc {
	s := p.Snapshot
	doc := statusDoc{
		SchemaVersion: 1, Format: s.Format, Root: s.Root, Milestone: jsondoc.OrNull(milestone),
		Total: p.Total, Done: p.Done, Progress: s.Progress, Slices: []statusSlice{},
		Running: jsondoc.OrEmpty(p.Lists.Running), Tasks: []statusTask{}, Ready: jsondoc.OrEmpty(p.Lists.Ready), Blocked: []statusBlocked{},
		Landing: jsondoc.OrEmpty(p.Lists.Landing), Failed: jsondoc.OrEmpty(p.Lists.Failed), Red: jsondoc.OrEmpty(p.Lists.Red), Conflict: jsondoc.OrEmpty(p.Lists.Conflicts), Stalled: jsondoc.OrEmpty(p.Lists.Stalled), Waiting: jsondoc.OrEmpty(p.Lists.Waiting), Unknown: jsondoc.OrEmpty(p.Lists.Unknown),
		Tests: newStatusTests(p),
		Hold:  p.Hold, Holds: jsondoc.OrEmpty(p.InEffect()), Blockers: jsondoc.OrEmpty(s.Blockers), Warnings: project.WarningItems(p.Warnings), Others: []statusDoc{}, ETAWithout: jsondoc.OrEmpty(view.Stuck(p)), Forecast: []statusCollision{},
	}
	for i := range p.States {
		if st := &p.States[i]; st.InScope {
			slice := newStatusSlice(st, landed, s.Used[st.ID])
			if r := by[st.ID]; r != nil && st.Class == plan.Done {
				info := r.Info()
				slice.Landed, slice.LandedAs = info.Landed, info.LandedAs
				if r.Accepted() { // an approval isn't an attempt
					slice.Attempts--
				}
			}
			doc.Slices = append(doc.Slices, slice)
		}
	}
	if len(landed.Waiting()) > 0 {
		doc.Undelivered = &statusUndelivered{Slices: jsondoc.OrEmpty(landed.Undelivered), TakenBack: jsondoc.OrEmpty(landed.Undone), Reason: jsondoc.OrNull(landed.Reason)}
		if !landed.Since.IsZero() {
			doc.Undelivered.Since = &landed.Since
		}
	}
	for _, c := range p.Forecast {
		doc.Forecast = append(doc.Forecast, statusCollision{c.Slice, jsondoc.OrNull(c.With), c.Paths})
	}
	if pr := landed.PullRequest; pr != nil {
		doc.PullRequest = &statusPullRequest{pr.Number, pr.URL, pr.IDs(), pr.Head}
	}
	for _, t := range s.Tasks {
		doc.Tasks = append(doc.Tasks, newStatusTask(t))
	}
	for _, id := range p.Lists.Blocked {
		doc.Blocked = append(doc.Blocked, statusBlocked{id, jsondoc.OrEmpty(p.State(id).Needs), p.Because(id)})
	}
	return doc
}

// expect adds what it cost so far and when it is likely to be done.
func (doc *statusDoc) expect(pr *project.Project, p *plan.Plan, now time.Time) {
	if total, err := costSoFar(pr); err == nil {
		doc.Cost = &total
	}
	pace, left, ok := facts.Remaining(pr, p, now)
	if ok {
		doc.ETASeconds = wholeSeconds(left)
	}
	for i := range doc.Slices {
		s, st := &doc.Slices[i], p.State(doc.Slices[i].ID)
		quiet := st.Attempt.Quiet(now)
		if quiet > 0 {
			s.SilentSeconds, s.Tool = wholeSeconds(quiet), jsondoc.OrNull(st.Attempt.Tool)
		}
		if left, ok := pace.Left(st, now); ok && (quiet == 0 || s.Tool != nil) {
			s.ETASeconds = wholeSeconds(left)
		}
	}
}

func wholeSeconds(d time.Duration) *int {
	n := int(d.Round(time.Second) / time.Second)
	return &n
}

func newStatusTask(t plan.Task) statusTask {
	doc := statusTask{ID: t.ID, N: t.Attempt.N, Text: jsondoc.OrNull(t.Text), Agent: t.Attempt.Agent}
	if !t.Attempt.Started.IsZero() {
		doc.Started = &t.Attempt.Started
	}
	doc.Landing = jsondoc.OrNull(t.Attempt.Landing)
	return doc
}

func newStatusSlice(st *plan.State, landed lane.Status, attempts int) statusSlice {
	s := statusSlice{
		ID: st.ID, Name: st.Name, Status: jsondoc.OrNull(st.Status), Class: st.Class, Step: jsondoc.OrNull(st.Step),
		Milestone: jsondoc.OrNull(st.Milestone), Deps: jsondoc.OrEmpty(st.Deps), Needs: jsondoc.OrEmpty(st.Needs), Session: jsondoc.OrNull(st.Session),
		Updated: jsondoc.OrNull(st.Updated), Stale: st.Stale, Attempts: attempts,
	}
	if st.Corrupt == "" {
		n := st.Counting(st.Class == plan.Done)
		s.Tests, s.SecurityTests = &n, &st.SecurityTests
	}
	if green := st.Verified == plan.Green; st.Class == plan.Done && (green || st.Verified == plan.KnownRed) {
		s.Verified = &green
	}
	if st.Class == plan.Done && st.Verified != plan.NotKnown && landed.Known {
		has := landed.Has(st.ID)
		s.Delivered = &has
	}
	if st.Class == plan.Landing {
		s.Landing = &st.Attempt.Landing
	}
	return s
}
