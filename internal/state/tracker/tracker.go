// Package tracker is the contract between the state formats and everything above them. Each
// format implements Tracker; nothing above depends on which one it is. The package contains the
// interface, its types and errors; package trackertest contains the tests that every
// implementation passes.
package tracker

import (
	"context"
	"errors"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/statedir"
)

var (
	// ErrNotFound is returned if no item has that id or one that reads the same.
	ErrNotFound = errors.New("no such slice")
	// ErrChanged is returned if a writer without the lock (an agent, an editor) repeatedly
	// changed the file between our read and our write, or if the item isn't as the caller saw
	// it. Nothing was overwritten.
	ErrChanged = errors.New("changed while it was being written")
)

// A Tracker reads and changes the items of one project. It is safe for concurrent use.
type Tracker interface {
	// Traits returns what commands must know about the format.
	Traits() Traits
	// Load reads everything, without the lock. Bad files become warnings and corrupt items; the
	// error is for a project that can't be read at all.
	Load() (*Contents, error)
	// Do runs f with the project's lock held. f must be short and must not wait for a process.
	// Do doesn't update views such as STATE.md: call Refresh when appropriate.
	Do(ctx context.Context, f func(Tx) error) error
	// Refresh regenerates the derived views, under the lock. If nothing changed, it writes
	// nothing.
	Refresh(ctx context.Context) error
	// Prompt returns the prompt for an agent to work on the item: for Claude, a slash command.
	Prompt(id string) string
	// Watch returns the directories, besides .greenlight/runs, in which a change of state
	// causes a file event.
	Watch() []string
	// Line returns the project's status for a status line. It is fast for a project of any
	// size.
	Line(compact bool) Line
	// Roadmap reads the project's roadmap. If there is none, the error is a
	// *roadmap.MissingError.
	Roadmap() (*roadmap.Roadmap, error)
	// Check returns the problems in the files beyond the warnings of Load. It changes nothing.
	Check() []Complaint
	// Repair fixes the problems that Check reports as fixable, and returns what it did, one
	// line each. It doesn't change a sound project.
	Repair(ctx context.Context) ([]string, error)
}

// A Follower is a Tracker that can serve unchanged data from memory, using file-change
// notifications, for callers that poll. Its answers are the same, except that changes missed by
// the kernel may appear some minutes late.
type Follower interface {
	Follow() (stop func())
}

// Defaults implements optional methods for a format that doesn't need them; a Tracker embeds
// it.
type Defaults struct{}

// Refresh implements Tracker for a format without views.
func (Defaults) Refresh(context.Context) error { return nil }

// Line implements Tracker: the items' counts are sufficient.
func (Defaults) Line(bool) Line { return Line{} }

// Check implements Tracker: Load reports everything.
func (Defaults) Check() []Complaint { return nil }

// Repair implements Tracker: Check reports nothing as fixable.
func (Defaults) Repair(context.Context) ([]string, error) { return nil, nil }

// Traits are the properties of a format.
type Traits struct {
	Format string // as in `gl status --json`: "slices", "legacy", …
	Noun   string // what an item is called: "unit", "phase"; "" for "slice"

	// Part is the part of the project that the tracker covers, "" for all of it. Items in two
	// parts may have the same ids.
	Part string
	// Env identifies the part to agents, KEY=VALUE each.
	Env []string

	// Skills describes how to install the format's slash commands, for agents that lack them;
	// "" if gl ships them.
	Skills string

	// Managed means that gl state shows, claims and changes the items, and gl's own method text
	// works on them. Otherwise only the format's own commands do.
	Managed bool
	// Completes means that the format's Tx is a Lander: gl itself marks its items complete
	// after running their tests.
	Completes bool
	// Lands means that it Completes, and that its items may be built in worktrees.
	Lands bool
	// Guarded means that agents must change the state files only through gl.
	Guarded bool
	// View is the file that Refresh generates, relative to the root; "" for none.
	View string

	// Serial is the reason to run agents one at a time unless a runner is requested; "" if they
	// may run in parallel.
	Serial string
	// Exclusive is the reason to refuse parallel agents without --force, and the alternative;
	// "" if they aren't refused.
	Exclusive string
}

// Contents is what a tracker read.
type Contents struct {
	Items []*plan.Item
	At    map[string]int // index of each item by id, if already known; read-only
	// if not empty, why the dependency graph can't be read at the moment; deps are a fallback
	Unsure   string
	Evidence map[string]string // raw status of ids that are no longer items (rows of STATE.md)
	Warnings []plan.Warning
	Blockers []string       // what blocks the whole project, in people's words
	Waves    []Wave         // of the items with parts
	Progress *plan.Progress // as counted by the format; nil for none
}

// A Wave is the parts of an item that are built in parallel, after the waves before it.
type Wave struct {
	Item  string
	N     int
	Parts []string
	Done  int // number of completed parts
}

// A Line is a project's status in one line.
type Line struct {
	Text string // in the format's own words; "" if the items' counts are sufficient
	Rest Rest
}

// A Rest is what follows the text of a Line.
type Rest int

const (
	WithPlan Rest = iota // from the plan: what is running, what waits for a person
	// the number of running attempts: planning so large a project takes too long
	WithRunning
	Alone // nothing
)

// A Complaint is a problem and its remedy.
type Complaint struct {
	plan.Warning
	Check    string // the gl doctor check that it belongs to; "" for the format's own
	Item     string // "" if it isn't about an item
	Severity Severity
	Help     string // what to do: commands, or words
	Fixable  bool   // Repair can fix it
}

// A Severity rates a problem.
type Severity int

const (
	Wrong  Severity = iota // work continues despite it
	Broken                 // something doesn't work
	Note                   // informational
)

// A Tx reads and changes single items while the lock is held. Every change is one durable write
// of only the necessary fields; a change without effect writes nothing. The error is
// ErrNotFound for an unknown id; an item without a file gets one. A file that can't be read or
// parsed is an error and stays unchanged.
type Tx interface {
	// Held returns the project's lock.
	Held() statedir.Held
	// Load reads everything afresh, like Tracker.Load.
	Load() (*Contents, error)
	// Item reads one item's own file afresh. Fields that depend on other files, which may be
	// large, are reliable only from Load: Deps, Wave, Priority, Position, Milestone, Files and
	// Paused.
	Item(id string) (plan.Item, error)
	// Claim marks the item as in progress under the token.
	Claim(id, token string) error
	// Settle ends the claim that the caller has seen through Item or Load, and returns the
	// item's resulting mark. If the claim has changed since (a writer without the lock took it
	// over or released it), nothing is written.
	Settle(id string, e Effect, before Before) (plan.Mark, error)
	// PutBack makes a failed item available again if it is as the caller saw it; otherwise the
	// error is ErrChanged. Its step stays unless over is true. A format that can't represent
	// failure writes nothing.
	PutBack(id string, was plan.Mark, over bool) error
}

// Verifying is the status and step of an item that awaits the merge queue, or a person's
// review.
const Verifying = "verifying"

// A Lander is a Tx whose items gl itself marks complete, after running the tests of the result.
// Its Settle also accepts the effect Reopen.
type Lander interface {
	// Enqueue marks an item that its agent reports complete as Verifying. The claim stays.
	Enqueue(id string) (plan.Mark, error)
	// Land is Settle with the effect Complete.
	Land(id string, l Landed) (plan.Mark, error)
	// CountFailing records how many tests fail on work reported complete, maybe plan.Uncounted;
	// 0 removes the record. The claim stays.
	CountFailing(id string, n int) error
	// Undo makes a done item available again, from the start, with a note giving the reason.
	Undo(id, why string) error
	// Ask is Settle with the effect Ask: the item waits for a person's review, with the reason.
	Ask(id, reason string) (plan.Mark, error)
}

// Landed is the input of Land.
type Landed struct {
	Pass  gate.Pass // for the item, with the verdict on its tests
	Tests *int      // number of tests passed; nil to keep the agent's count
	// by how many tests it changed the suite, as counted by gl, negative for removed ones; nil
	// if unknown
	New *int
}

// Before is the state that Restore restores.
type Before struct {
	plan.Mark
	Started string `json:"started"`
}

// A Seen records, for a Tx, the session that held each item when the Tx last returned it.
type Seen struct {
	all []*plan.Item
	one map[string]string // session by id, for items read or claimed individually
}

// All records what Load returned.
func (s *Seen) All(items []*plan.Item) { s.all, s.one = items, nil }

// One records the session that an item was returned with, or has been given.
func (s *Seen) One(id, session string) {
	if s.one == nil {
		s.one = map[string]string{}
	}
	s.one[id] = session
}

// Lost reports whether the item was seen with a session other than its current one.
func (s *Seen) Lost(id, session string) bool {
	if seen, ok := s.one[id]; ok {
		return seen != session
	}
	for i := range s.all {
		if s.all[i].ID == id {
			return s.all[i].Session != session
		}
	}
	return false
}
