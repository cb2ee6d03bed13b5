// Package tracker is the seam between the state formats and everything above them. A format is one implementation
// of Tracker; nothing above it knows which one it has. The package holds the interface, its words and its errors.
package tracker

import (
	"context"
	"errors"

	"greenlight/internal/plan"
)

var (
	// ErrNotFound: no item has that id, and none has one that reads the same.
	ErrNotFound = errors.New("no such slice")
	// ErrChanged: somebody who doesn't take the lock (an agent, an editor) wrote the file again and again between
	// our reading and our writing. Nothing was overwritten.
	ErrChanged = errors.New("changed while it was being written")
)

// A Contents is what a tracker found.
type Contents struct {
	Items    []plan.Item
	Unsure   string            // non-empty: the dependency graph can't be read just now, and why; deps are a fallback
	Evidence map[string]string // raw status of ids that are no items any more (rows of STATE.md)
	Warnings []plan.Warning
	Noun     string // what an item is called: "unit", "phase"; "" for "slice"
}

// A Tracker reads and changes the items of one project. Its methods may be called by several goroutines.
type Tracker interface {
	// Format is the name that `gl status --json` shows: "slices", "legacy", ….
	Format() string
	// Load reads everything, without the lock. Bad files are warnings and corrupt items; the error is for a project
	// that can't be read at all.
	Load() (*Contents, error)
	// Do runs f with the project's lock held. f must be short and must not wait for a process. Views such as
	// STATE.md are not refreshed: call Refresh when the time is right.
	Do(ctx context.Context, f func(Tx) error) error
	// Refresh regenerates the derived views, under the lock. It writes nothing where nothing changed.
	Refresh(ctx context.Context) error
	// Prompt is what an agent is told to do to work on the item: for Claude a slash command.
	Prompt(id string) string
	// Watch lists the directories in which a change of state shows as a file event.
	Watch() []string
}

// A Serial tracker's items are not to be built side by side unless somebody asks for it: its agents share a file that
// they would overwrite for each other.
type Serial interface{ Serial() (why string) }

// A Parted tracker sees one part of its project at a time, which the environment or a file chooses; two parts may have items
// of the same ids. Whoever begins something stays with the part it began with, and its agents are told by Env.
type Parted interface {
	Part() string           // "" where the project has no parts, or none is chosen
	In(part string) Tracker // the same for that part, whatever is chosen meanwhile
	Env() []string          // KEY=VALUE
}

// A Waved tracker's items have parts that an agent builds wave by wave.
type Waved interface{ Waves() []Wave }

// A Wave is the parts of an item that are built side by side, once the waves before it are through.
type Wave struct {
	Item  string
	N     int
	Parts []string
	Done  int // how many of them
}

// A Checker is a tracker that finds more wrong in its files than Load has to warn of. It changes nothing.
type Checker interface{ Check() []Complaint }

// A Complaint is what is wrong, and what helps.
type Complaint struct {
	plan.Warning
	Error bool   // something doesn't work; else it is only a pity
	Help  string // what to do: commands, or words
}

// A Tx reads and changes single items while the lock is held. Every change is one durable write of just the fields
// it must; one that changes nothing writes nothing. ErrNotFound where no item has the id; an item without a file
// gets one. A file that can't be read or parsed is an error and stays as it is.
type Tx interface {
	// Load reads everything afresh, as Tracker.Load does.
	Load() (*Contents, error)
	// Item reads one item afresh, all its sources considered.
	Item(id string) (plan.Item, error)
	// Claim marks the item as being worked on under the token.
	Claim(id, token string) error
	// Settle ends a claim and returns the item's mark as it is then.
	Settle(id string, e Effect, before Before) (plan.Mark, error)
}

// Before is what Restore goes back to.
type Before struct {
	plan.Mark
	Started string `json:"started"`
}
