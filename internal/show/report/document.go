// Package report tells what a night of drains did: what landed, what failed and where its work is, what needs a person, what it cost, and
// what is next. Gather reads what it needs; New puts the document together, and is pure; HTML and Markdown show it. Text that agents
// and tests wrote has gone through package scrub before it is in a document.
package report

import (
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/show/view"
)

// A Document is what gl report --format json prints.
type Document struct {
	SchemaVersion int       `json:"schema_version"` // 1
	Project       string    `json:"project"`        // the name of its directory
	Root          string    `json:"root"`
	Noun          string    `json:"noun"` // what an item is called: slice, unit or phase
	At            time.Time `json:"at"`   // when this was put together

	Night    Night    `json:"night"`
	Previous *Night   `json:"previous"` // the night before; null if the journal has none
	Verdict  string   `json:"verdict"`  // in a line
	Tests    string   `json:"tests"`    // as gl status counts them: "29 passing, 0 failing, 0 security (12 new)"; "" for none
	Sentence string   `json:"sentence"` // the counts, as the drain's last line and gl status have them
	Hold     *string  `json:"hold"`     // who is held until when, and why; everybody where it names no agent
	Warnings []string `json:"warnings"`

	Counts   view.Counts `json:"counts"` // of all items, now
	NeedsYou []Item      `json:"needs_you"`
	Queue    []Item      `json:"queue"`   // why the target hasn't got all that is done, and what has happened to it; ID is the target
	Unheard  []Item      `json:"unheard"` // complete, and nobody has read what a person said to it
	Landed   []Landed    `json:"landed"`  // or done without a lane
	Failed   []Failed    `json:"failed"`

	Cost     Cost      `json:"cost"`
	Timeline Timeline  `json:"timeline"`
	Graph    []Node    `json:"graph"` // by layer
	Next     Forecast  `json:"next"`
	Blocked  []Blocked `json:"blocked"`
}

// A Night is one or more drains with less than an hour between them, or all since the time that was asked for.
type Night struct {
	From     time.Time  `json:"from"`
	To       time.Time  `json:"to"`
	Running  bool       `json:"running"` // it goes on
	Why      string     `json:"why"`     // why it ended; "" for unknown
	Done     int        `json:"done"`    // slices that were completed in it
	Since    int        `json:"since"`   // slices that were completed after it and before the next one: that a person accepted, or a session completed
	Failed   int        `json:"failed"`  // attempts that came to nothing: held and interrupted ones aside, and red or conflicting ones that were put right
	Attempts int        `json:"attempts"`
	Cost     view.Cost  `json:"cost"`
	Passed   *int       `json:"passed"` // tests that passed in its last run of the whole suite; null for unknown
	Seconds  float64    `json:"seconds"`
	Slots    int        `json:"slots"` // 0 for unknown
	Ended    *time.Time `json:"ended"` // null if the journal has no end

	until time.Time // when the next one began, or now
}

// An Item is a slice that is listed, with where to read more.
type Item struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Text    string   `json:"text"`
	Command string   `json:"command"` // that a person most likely wants; "" for none
	Next    []string `json:"next"`    // all commands that help, in order
	Record  string   `json:"record"`  // path of the record of its last attempt, relative to .greenlight/runs; "" for none
	Log     string   `json:"log"`
}

// A Landed slice was completed in the night, or since.
type Landed struct {
	Item
	Commit     string     `json:"commit"` // by which it landed, the last one of several; "" where there is no lane
	Diff       *view.Diff `json:"diff"`
	Before     *int       `json:"tests_before"` // that passed on what it was merged into; null for unknown
	After      *int       `json:"tests_after"`  // that passed on what landed
	New        *int       `json:"tests_new"`    // that it brought, negative for tests that it removed; null for unknown
	Verified   bool       `json:"verified"`
	Delivered  bool       `json:"delivered"`
	Unverified string     `json:"unverified"` // why it isn't verified
	Approved   string     `json:"approved"`   // what a person approved that isn't as it must be: "tests removed, approved"; "" for nothing
	Counted    int        `json:"tests"`      // of the slice, as it was counted when it was completed
	Attempts   int        `json:"attempts"`
	Cost       view.Cost  `json:"cost"`
	At         time.Time  `json:"at"`

	gate *gate.Ruling // nil if it wasn't asked

	Patch   []string `json:"-"` // lines; nil for what is too long for the page, where the command has to do
	commits []string
}

// A Failed slice is one whose last attempt came to nothing.
type Failed struct {
	Item
	Outcome  string    `json:"outcome"`
	Evidence []string  `json:"evidence"` // the lines that say most about it
	Attempts int       `json:"attempts"`
	Kept     string    `json:"kept"` // where its work is; "" for nowhere but the checkout
	Cost     view.Cost `json:"cost"`
}

// Blocked is a slice that waits for another one.
type Blocked struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Because string `json:"because"`
}

// A Cost is what the night has cost, and on what.
type Cost struct {
	Total   view.Cost `json:"total"`
	Failed  view.Cost `json:"failed"` // of these, attempts that completed nothing
	Slices  []Share   `json:"slices"` // the dearest first
	Agents  []Share   `json:"agents"`
	Account []Share   `json:"accounts"` // empty if there was one, or each agent had its own
}

// A Share is the part of one slice, agent or account.
type Share struct {
	Name     string    `json:"name"`
	Attempts int       `json:"attempts"`
	Cost     view.Cost `json:"cost"`
	Failed   view.Cost `json:"failed"`
	Record   string    `json:"record"` // of a slice's last attempt; "" for an agent and an account
}

// A Timeline is when what ran.
type Timeline struct {
	Attempts []Span   `json:"attempts"`
	Holds    []Span   `json:"holds"`
	Lane     []Span   `json:"lane"`
	Critical []string `json:"critical"` // the slices that the end of the night waited for, the first first
}

// The states of an attempt's Span.
const (
	SpanDone    = "done"
	SpanFailed  = "failed" // it came to nothing
	SpanHeld    = "held"   // it met a limit
	SpanRunning = "running"
	SpanOther   = "other"
)

// A Span is a time with something in it.
type Span struct {
	ID       string    `json:"id"`
	N        int       `json:"n"` // of an attempt
	Text     string    `json:"text"`
	State    string    `json:"state"` // done, failed, held, running, other; of the lane: green, red, merge
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Critical bool      `json:"critical"`
	Record   string    `json:"record"`
}

// A Node is a slice in the graph.
type Node struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Group string   `json:"group"` // Needs you, Failed, …
	Layer int      `json:"layer"`
	Deps  []string `json:"deps"`
}

// A Forecast is what comes next.
type Forecast struct {
	Ready   []string `json:"ready"`
	Seconds *float64 `json:"seconds"` // until nothing is left that can be done; null for unknown
	Left    string   `json:"left"`    // the same in words, with what it leaves out: "about 12m, without 1 failed"; "" for unknown
	Without []string `json:"without"` // slices that it leaves out: they wait for a person, or for one that does
	Slots   int      `json:"slots"`
	More    int      `json:"more_slots"`      // with so many slots
	Faster  *float64 `json:"seconds_of_more"` // it would take so long
	Typical *float64 `json:"typical_seconds"` // that a slice takes
	Samples int      `json:"samples"`         // attempts that this is from
}
