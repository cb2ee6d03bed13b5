// Package tracker is the contract between the state formats and everything above them. A format is one implementation
// of Tracker; nothing above it knows which one it has. The package holds the interface, its words and its errors;
// package trackertest holds the tests that every implementation passes.
package tracker

import (
	"context"
	"errors"

	"greenlight/internal/gate"
	"greenlight/internal/plan"
	"greenlight/internal/roadmap"
)

var (
	// ErrNotFound: no item has that id, and none has one that reads the same.
	ErrNotFound = errors.New("no such slice")
	// ErrChanged: somebody who doesn't take the lock (an agent, an editor) wrote the file between our reading and our
	// writing, again and again, or the item isn't as the caller saw it. Nothing was overwritten.
	ErrChanged = errors.New("changed while it was being written")
)

// A Tracker reads and changes the items of one project. Its methods may be called by several goroutines.
type Tracker interface {
	// Traits are what commands must know of the format.
	Traits() Traits
	// Load reads everything, without the lock. Bad files are warnings and corrupt items; the error is for a project
	// that can't be read at all.
	Load() (*Contents, error)
	// Do runs f with the project's lock held. f must be short and must not wait for a process. Views such as
	// STATE.md are not refreshed: call Refresh when the time is right.
	Do(ctx context.Context, f func(Tx) error) error
	// Refresh regenerates the derived views, under the lock. It writes nothing where nothing changed.
	Refresh(ctx context.Context) error
	// Prompt is the text that has an agent work on the item: for Claude a slash command.
	Prompt(id string) string
	// Watch lists the directories, besides .greenlight/runs, in which a change of state shows as a file event.
	Watch() []string
	// Line is where the project stands, for a status line. It is quick, however large the project is.
	Line(compact bool) Line
	// Roadmap reads the project's roadmap. Where there is none the error is a *roadmap.MissingError.
	Roadmap() (*roadmap.Roadmap, error)
	// Check finds what is wrong in the files beyond what Load warns of. It changes nothing.
	Check() []Complaint
	// Repair fixes what Check calls fixable, and says what it did, a line each. It does nothing to a sound project.
	Repair(ctx context.Context) ([]string, error)
}

// A Follower is a Tracker that can answer from memory for what hasn't changed, since it has the kernel note what has: for who asks again
// and again. Its answers are the same, but for changes that the kernel doesn't notice: those it may show some minutes late.
type Follower interface {
	Follow() (stop func())
}

// Defaults are the answers of a format that has nothing to add: a Tracker embeds it.
type Defaults struct{}

// Refresh implements Tracker: there are no views.
func (Defaults) Refresh(context.Context) error { return nil }

// Line implements Tracker: the counts of the items say it.
func (Defaults) Line(bool) Line { return Line{} }

// Check implements Tracker: Load says it all.
func (Defaults) Check() []Complaint { return nil }

// Repair implements Tracker: Check calls nothing fixable.
func (Defaults) Repair(context.Context) ([]string, error) { return nil, nil }

// Traits are what sets a format apart.
type Traits struct {
	Format string // as `gl status --json` shows it: "slices", "legacy", …
	Noun   string // what an item is called: "unit", "phase"; "" for "slice"

	// Part is the part of the project that the tracker sees, "" for all of it. Two parts may have items of the same ids.
	Part string
	// Env tells the agents which part it is, KEY=VALUE each.
	Env []string

	// Skills says how to install the format's slash commands, for an agent that doesn't know one; "" if gl brings them.
	Skills string

	// Managed: gl state shows, claims and changes the items, and gl's own method text works on them. Else only the
	// format's own commands do.
	Managed bool
	// Completes: the format's Tx is a Lander, so gl itself calls its items complete, once it has seen their tests.
	Completes bool
	// Lands: it Completes, and its items may be built in worktrees.
	Lands bool
	// Guarded: agents must change the state files by gl alone.
	Guarded bool
	// View is the file that Refresh generates, relative to the root; "" for none.
	View string

	// Serial is why agents are started one after the other unless a runner is asked for; "" where side by side is fine.
	Serial string
	// Exclusive is why agents side by side are refused without --force, and what to do instead; "" where they aren't.
	Exclusive string
}

// Contents is what a tracker found.
type Contents struct {
	Items    []*plan.Item
	At       map[string]int    // the place of each item by its id, where that is known already; nobody changes it
	Unsure   string            // non-empty: the dependency graph can't be read just now, and why; deps are a fallback
	Evidence map[string]string // raw status of ids that are no items any more (rows of STATE.md)
	Warnings []plan.Warning
	Blockers []string       // what stops the whole project, in people's words
	Waves    []Wave         // of the items that have parts
	Progress *plan.Progress // by the format's own count; nil where it has none
}

// A Wave is the parts of an item that are built side by side, once the waves before it are through.
type Wave struct {
	Item  string
	N     int
	Parts []string
	Done  int // how many of them
}

// A Line is where a project stands, in one line.
type Line struct {
	Text string // in the format's own words; "" where the counts of items say it
	Rest Rest
}

// A Rest is what follows the text of a Line.
type Rest int

const (
	WithPlan    Rest = iota // what the plan says: what runs, who is waited for
	WithRunning             // how many attempts run: the plan of so large a project takes too long
	Alone                   // nothing
)

// A Complaint is what is wrong, and what helps.
type Complaint struct {
	plan.Warning
	Check    string // the check of gl doctor that it belongs to; "" for the format's own
	Item     string // "" where it isn't about one
	Severity Severity
	Help     string // what to do: commands, or words
	Fixable  bool   // Repair fixes it
}

// A Severity says how bad it is.
type Severity int

const (
	Wrong  Severity = iota // work continues in spite of it
	Broken                 // something doesn't work
	Note                   // worth knowing
)

// A Tx reads and changes single items while the lock is held. Every change is one durable write of just the fields
// it must; one that changes nothing writes nothing. ErrNotFound where no item has the id; an item without a file
// gets one. A file that can't be read or parsed is an error and stays as it is.
type Tx interface {
	// Load reads everything afresh, as Tracker.Load does.
	Load() (*Contents, error)
	// Item reads one item afresh: what it says of itself. What it is among the others is in other files, which may be large, and only
	// Load is sure to tell it: Deps, Wave, Priority, Position, Milestone, Files and Paused.
	Item(id string) (plan.Item, error)
	// Claim marks the item as being worked on under the token.
	Claim(id, token string) error
	// Settle ends the claim that the caller has seen by Item or Load, and returns the item's mark as it is then. Where
	// the claim has changed since (somebody without the lock took it over or gave it back), nothing is written.
	Settle(id string, e Effect, before Before) (plan.Mark, error)
	// PutBack makes an item that failed available again, if it is as the caller saw it; else the error is ErrChanged. Its step stays,
	// unless it is to start over. A format that has no word for a failure writes nothing.
	PutBack(id string, was plan.Mark, over bool) error
}

// Verifying is the status and the step of an item that awaits the lane, or a person's eyes.
const Verifying = "verifying"

// A Lander is a Tx whose items gl itself calls complete, once it has seen the tests of what was built. Its Settle takes
// the effect Reopen, too.
type Lander interface {
	// Enqueue marks an item that its agent calls complete as Verifying. The claim stays.
	Enqueue(id string) (plan.Mark, error)
	// Land is Settle with the effect Complete.
	Land(id string, l Landed) (plan.Mark, error)
	// CountFailing notes how many tests fail on work that was called complete, perhaps plan.Uncounted; 0 takes the note away. The claim stays.
	CountFailing(id string, n int) error
	// Undo makes a done item available again, from the beginning, with a note why.
	Undo(id, why string) error
	// Ask is Settle with the effect Ask: the item waits for a person to look at it, for the reason.
	Ask(id, reason string) (plan.Mark, error)
}

// Landed is what Land writes.
type Landed struct {
	Pass  gate.Pass // for the item, with the verdict on its tests
	Tests *int      // how many passed; nil leaves what the agent has counted
	New   *int      // by how many tests the suite grew by it, as gl has counted, negative for removed ones; nil for unknown
}

// Before is what Restore goes back to.
type Before struct {
	plan.Mark
	Started string `json:"started"`
}

// A Seen remembers, for a Tx, who held each item when the Tx last showed it.
type Seen struct {
	all []*plan.Item
	one map[string]string // session by id, of what was looked at or claimed after all
}

// All notes what Load showed.
func (s *Seen) All(items []*plan.Item) { s.all, s.one = items, nil }

// One notes the session that an item was shown with, or has got.
func (s *Seen) One(id, session string) {
	if s.one == nil {
		s.one = map[string]string{}
	}
	s.one[id] = session
}

// Lost says whether the item was seen with another session than it has now.
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
