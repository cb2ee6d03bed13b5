// Package trackertest is the conformance suite of trackers. Every format must pass Run; a new
// format is finished when it does.
//
// A Format defines how to create a project, how others change and break its files behind the
// tracker's back, and what it can't represent. The suite skips nothing: if a format lacks
// something, the case expects what the format can represent, and the lack is logged with its
// reason.
package trackertest

import (
	"testing"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A Format tells the suite how to work with one format.
type Format struct {
	// Open opens the tracker of the project at root, with that clock.
	Open func(root string, now func() time.Time) tracker.Tracker
	// Make creates a project of three items at root and returns their ids in order. The first
	// is ready, each of the others depends on the one before it. The files contain what people
	// and agents leave in them: unknown keys, comments, odd white space.
	Make func(t testing.TB, root string) (ids []string)

	// Edit acts like an editor that doesn't take the lock: it puts the mark, a word, into a
	// state file. If the tracker writes state files, it must be the one that a claim writes.
	Edit func(t testing.TB, root, mark string)
	// TakeOver acts like an agent that doesn't take the lock: it gives the first item that
	// session, "" for none.
	TakeOver func(t testing.TB, root, session string)
	// Corrupt damages the files in various ways so that the first item can't be claimed.
	Corrupt map[string]func(t testing.TB, root string)

	// Writes lists the lines that a claim and its end may change: a regular expression by file
	// path, which may be a path.Match pattern. Every other byte must stay the same.
	Writes map[string]string
	// Lacks lists what the format can't represent, with the reasons.
	Lacks map[Lack]string
}

// A Lack is something that a format can't represent.
type Lack string

const (
	// Failure: the format can't represent failure. Fail leaves the item as it was before the
	// claim.
	Failure Lack = "failure"
	// Halfway: the format can't represent an item that was begun and released. Release leaves
	// it as it was before the claim.
	Halfway Lack = "halfway"
	// Earlier: the format can't represent the session before the claim. Restore leaves the item
	// unclaimed.
	Earlier Lack = "earlier session"
	// Shared: the tracker writes no file that others write, so nothing can interfere.
	Shared Lack = "shared file"
)

// cases returns the suite, by name.
func cases() []struct {
	name string
	run  func(*subject)
} {
	return []struct {
		name string
		run  func(*subject)
	}{
		{"traits", traits},
		{"load", load},
		{"load writes nothing", loadWritesNothing},
		{"prompt", prompt},
		{"claim", claim},
		{"claim again", claimAgain},
		{"claim over another session", claimOver},
		{"release", func(s *subject) { s.settle(tracker.Release) }},
		{"fail", func(s *subject) { s.settle(tracker.Fail) }},
		{"restore", func(s *subject) { s.settle(tracker.Restore) }},
		{"restore the session before", restoreSession},
		{"settle twice", settleTwice},
		{"settle what another session took over", func(s *subject) {
			s.settleAfterTakeOver("other")
		}},
		{"settle what was given back", func(s *subject) { s.settleAfterTakeOver("") }},
		{"put back", putBack},
		{"put back what has changed", putBackChanged},
		{"unknown id", unknownID},
		{"edit before a change", editBefore},
		{"edit during a change", editDuring},
		{"edit during every try", editDuringEvery},
		{"corrupt files", corrupt},
		{"all other bytes are kept", otherBytes},
		{"watch", watch},
		{"refresh twice", refreshTwice},
		{"check and repair of a sound project", soundProject},
		{"line and roadmap", lineAndRoadmap},
		{"one at a time", oneAtATime},
		{"one claim wins", oneClaimWins},
		{"the lock ends with an error", lockEnds},
		{"random changes", randomChanges},
	}
}

// Run runs the suite.
func Run(t *testing.T, f Format) {
	for lack, why := range f.Lacks {
		switch lack {
		case Failure, Halfway, Earlier, Shared:
			t.Logf("no word for %s: %s", lack, why)
		default:
			t.Fatalf("%q is no lack", lack)
		}
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.run(newSubject(t, f)) })
	}
}

// A subject is a fresh project under test.
type subject struct {
	t    *testing.T
	f    Format
	root string
	ids  []string
	id   string // of the first item
	tr   tracker.Tracker

	base  time.Time
	onNow func() // called whenever the tracker reads the clock
}

func newSubject(t *testing.T, f Format) *subject {
	s := &subject{t: t, f: f, root: t.TempDir(), base: time.Now().Truncate(time.Second),
		onNow: func() {}}
	if s.ids = f.Make(t, s.root); len(s.ids) != 3 {
		t.Fatalf("the project has the items %q, want three", s.ids)
	}
	s.id = s.ids[0]
	s.tr = s.open()
	return s
}

// open opens the project like another process.
func (s *subject) open() tracker.Tracker {
	return s.f.Open(s.root, func() time.Time {
		s.onNow()
		return s.base
	})
}

func (s *subject) lacks(l Lack) bool {
	_, ok := s.f.Lacks[l]
	return ok
}

func (s *subject) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// do holds the lock, after reading the first item.
func (s *subject) do(f func(tx tracker.Tx, it plan.Item)) {
	s.t.Helper()
	s.check(s.tr.Do(s.t.Context(), func(tx tracker.Tx) error {
		it, err := tx.Item(s.id)
		if err == nil {
			f(tx, it)
		}
		return err
	}))
}

// claim claims the first item and returns its earlier state.
func (s *subject) claim(token string) (before plan.Item) {
	s.t.Helper()
	s.do(func(tx tracker.Tx, it plan.Item) {
		before = it
		s.check(tx.Claim(s.id, token))
	})
	return before
}

// item returns the first item as read by a fresh process.
func (s *subject) item() plan.Item {
	s.t.Helper()
	c, err := s.open().Load()
	s.check(err)
	for i, it := range c.Items {
		if at, ok := c.At[it.ID]; c.At != nil && (!ok || at != i || len(c.At) != len(c.Items)) {
			s.t.Fatalf("%s is item %d, and said to be %d of %d", it.ID, i, at, len(c.At))
		}
		if it.ID == s.id {
			return *it
		}
	}
	s.t.Fatalf("%s is gone", s.id)
	panic("unreachable")
}

// plan returns the plan that a fresh process makes of the project.
func (s *subject) plan() *plan.Plan {
	s.t.Helper()
	c, err := s.open().Load()
	s.check(err)
	return plan.New(&plan.Snapshot{Items: c.Items, Warnings: c.Warnings, Unsure: c.Unsure,
		Evidence: c.Evidence}, s.base, plan.Options{})
}

func mark(it plan.Item) plan.Mark {
	return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
}

func beforeOf(it plan.Item) tracker.Before {
	return tracker.Before{Mark: mark(it), Started: it.Started}
}
