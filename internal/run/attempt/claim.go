package attempt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// An AdmitError says why a slice can't be attempted now.
type AdmitError struct {
	Reason plan.Reason
	Taken  bool // another session has a fresh claim, or an attempt runs
}

func (e *AdmitError) Error() string { return e.Reason.String() }

// A Request asks for one attempt.
type Request struct {
	System string // of the tracker that has the item
	ID     string
	Task   *Task // instead of a slice; ID is its TaskID
	First  int   // Identity.First
	Named  bool  // a person named it: failed and stalled slices may be attempted again
	// Force ignores unmet dependencies, a claim, and completeness, but never an open attempt.
	Force   bool
	Agent   agent.Agent
	Environ []string // Job.Environ
	// Escalate is the model that takes the place of Job.Model where the attempt is to put red
	// tests right; "" for none. There is none for the agent: another agent wouldn't know the
	// conversation, which makes a second attempt cheap.
	Escalate string
	Job      agent.Job // Slice, SessionID and Prompt are filled in
	Runner   string
	Place    Workplace
	Remote   *Remote // the worker that gets it; nil for this machine
	// Forgotten means that no conversation can go on there.
	Forgotten bool
	Test      testrun.Command // Conditions.Test, of an item that is built in the checkout
	Review    string          // Conditions.Review
	Terms     *Terms          // Conditions.Terms
	Over      *string         // the session whose claim a person agreed to take over
	// Within has the ids that are attempted in the same run: needing one of them doesn't refuse
	// a named slice.
	Within map[string]bool
}

// A Workplace is the worktree for an attempt, in Request.Job.Dir; the zero value is the checkout.
type Workplace struct {
	Lineage *worktree.Lineage // nil for the checkout
	Sandbox string            // Job.Sandbox
	Setup   []string          // Job.Setup
	Caches  []string          // Job.Caches
	// Redone is the commit at which a new lineage begins that has the slice's earlier work, which
	// was taken back; "" for none.
	Redone string
}

// Admit reports whether a slice may be attempted; nil for yes.
func Admit(p *plan.Plan, req Request, now time.Time) error {
	st := p.State(req.ID)
	if st == nil {
		return fmt.Errorf("%s: %w", req.ID, tracker.ErrNotFound)
	}
	refuse := &AdmitError{Reason: p.Why(req.ID, now)}
	switch {
	case st.Attempt.Open():
		refuse.Taken = true
		return refuse
	case st.Class == plan.Corrupt:
		return refuse
	case req.Force:
		return nil
	}
	over := st.Class == plan.Active && req.Over != nil && *req.Over == st.Session
	switch {
	case over, st.Class == plan.Available, st.Class.Troubled():
		if st.Class != plan.Available && !req.Named {
			return refuse
		}
		for _, need := range st.Needs {
			if !req.Within[need] {
				refuse.Reason = toBlame(p, refuse.Reason, now)
				return refuse
			}
		}
		return nil
	case st.Class == plan.Active:
		refuse.Taken = true
	}
	// An item with steps that is done has none to run again.
	if req.Named && (st.Class == plan.Active || st.Class == plan.Done && !st.Staged) {
		refuse.Reason.Next = []string{"gl slice " + req.ID + " --force" + p.Snapshot.Flags}
	}
	return refuse
}

// toBlame adds to the reason of a blocked slice what is with the one that holds it up, and what
// helps there.
func toBlame(p *plan.Plan, r plan.Reason, now time.Time) plan.Reason {
	root := p.Why(r.Root, now)
	if root.ID == "" || root.State == "blocked" { // an unknown slice, or one of a cycle
		return r
	}
	if slices.Contains(r.Needs, r.Root) {
		needs := slices.Clone(r.Needs)
		needs[slices.Index(needs, r.Root)] += " (" + root.State + ")"
		r.Cause = plan.NeedsText(needs)
	} else {
		r.Cause += "; " + p.Because(r.ID)
	}
	r.If, r.Next = root.If, root.Next
	return r
}

// Claim takes the slice for one attempt: the record first, the slice's file second, both under
// the caller's lock. The caller has admitted the request with a plan that was made under this
// same lock.
func (w *Writer) Claim(tx tracker.Tx, req Request, now time.Time) (*Record, error) {
	tx = req.of(tx)
	if req.Task != nil {
		if err := w.store.Busy(req.Task); err != nil {
			return nil, err
		}
	}
	it, err := tx.Item(req.ID)
	if err != nil {
		return nil, err
	}
	if req.Job.Model != "" && !req.Agent.TakesModel() {
		return nil, fmt.Errorf("its agent, %s, can't be told to use the model %s: add {model} to %s",
			req.Agent.Name, req.Job.Model, agent.CustomSetting(req.Agent.Name))
	}
	// git clean -x takes the directories in the middle of a run.
	if err := w.store.Files.Prepare(); err != nil {
		return nil, err
	}
	n, err := w.store.next(it.ID)
	if err != nil {
		return nil, err
	}
	if it, err = w.disown(tx, req.System, it); err != nil {
		return nil, err
	}
	job := req.Job
	job.Slice, job.SessionID, job.BriefFile = it.ID, newUUID(), w.store.Files.Brief(it.ID, n)
	r := req.record(it, n, job, now)
	r.Life.Log = w.store.Files.Log(it.ID, n)
	if req.Task == nil && req.Place.Lineage == nil {
		if _, lands := tx.(tracker.Lander); lands {
			r.Conditions.Review = req.Review
		}
		if req.Test.IsSet() {
			r.Conditions.Test = &req.Test
		}
	}
	if req.Task == nil || req.Place.Lineage != nil {
		if err := w.goOn(r, req, job); err != nil {
			return nil, err
		}
	}
	r.Talk.Briefed = job.Briefed &&
		(agent.IsBriefed(r.Job.Argv, job.BriefFile) || agent.IsBriefed(r.Talk.Anew, job.BriefFile))
	if err := w.store.Messages.sayAtStart(r); err != nil {
		return nil, err
	}
	if err := w.putNew(r); err != nil {
		return nil, err
	}
	if err := tx.Claim(it.ID, r.ID.Token); err != nil {
		return nil, errors.Join(err, w.dropLive(r))
	}
	w.store.diary.tell(r, false)
	return r, w.store.Messages.markSaid(r)
}

// record returns the record of the item's attempt n before it is written.
func (req Request) record(it plan.Item, n int, job agent.Job, now time.Time) *Record {
	r := &Record{
		SchemaVersion: schemaVersion,
		ID: Identity{
			System: req.System, Slice: it.ID, Of: it.Of, First: req.First, Title: it.Name, N: n,
			Token: NewToken(now),
		},
		Job: Job{
			Agent: req.Agent.Name, Program: req.Agent.Program, Argv: req.Agent.Command(job),
			Model:  job.Model,
			Prompt: job.Prompt, Stream: req.Agent.Stream, Dir: job.Dir, Runner: req.Runner,
			Account: job.Account,
			Environ: req.Environ,
		},
		Talk:       Dialog{Talks: req.Agent.Talks},
		Conditions: Conditions{Terms: req.Terms},
		Life: Life{Phase: plan.Claimed, Before: beforeOf(it), Launcher: proc.Self(),
			ClaimedAt: now.UTC(), Remote: req.Remote},
	}
	if place := req.Place; place.Lineage != nil {
		r.Place.Lineage, r.Place.Branch = place.Lineage.N, place.Lineage.Branch
		r.Job.Sandbox, r.Job.Setup, r.Job.Caches = place.Sandbox, place.Setup, place.Caches
	}
	describe(r, req.Task, now)
	return r
}

// beforeOf returns what an item is to go back to.
func beforeOf(it plan.Item) tracker.Before {
	return tracker.Before{Mark: plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session},
		Started: it.Started}
}

// putNew writes the record of a claim. The directories may be removed at any instant (git clean
// -x, again and again).
func (w *Writer) putNew(r *Record) (err error) {
	const tries = 5
	for range tries {
		if err = w.Put(r); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := w.store.Files.Prepare(); err != nil {
			return err
		}
	}
	return err
}

// next is the number of the slice's next attempt.
func (s *Store) next(slice string) (int, error) {
	settled, err := s.settledTallies()
	if err != nil {
		return 0, err
	}
	live, err := s.Files.liveEntries()
	if err != nil {
		return 0, err
	}
	aside, err := s.Files.asideEntries()
	if err != nil {
		return 0, err
	}
	n := settled[slice].Last.N + 1
	for _, e := range append(live, aside...) {
		if e.Slice == slice {
			n = max(n, e.N+1)
		}
	}
	return n, nil
}

// giveBack undoes a claim that never started an agent. A slice that isn't as the claim left it
// is being worked on, and only a token of ours is cleared. The lock must be held.
func (w *Writer) giveBack(tx tracker.Tx, r *Record) error {
	tx = r.Tx(tx)
	it, err := tx.Item(r.ID.Slice)
	if err != nil && !errors.Is(err, tracker.ErrNotFound) {
		return err
	}
	if err == nil && it.Session == r.ID.Token {
		effect := tracker.Restore
		if plan.Classify(it.Status) != plan.Active || plan.IsStep(it.Status) {
			effect = tracker.Release
		}
		if _, err := tx.Settle(r.ID.Slice, effect, r.Life.Before); err != nil {
			return err
		}
	}
	w.store.diary.tellGivenBack(r)
	return w.dropLive(r)
}

// NewToken makes a session token: the time in UTC, to the second, and six characters of [0-9a-z].
func NewToken(now time.Time) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	var b [6]byte
	rand.Read(b[:])
	for i := range b {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return now.UTC().Format("2006-01-02T15:04:05Z-") + string(b[:])
}

// newUUID makes a random (version 4) UUID, which Claude Code asks for as a session id.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
