// Package report reports what the runs of a night did: what a person has to do, what was merged,
// what failed and where its work is, the cost, and what is next. Gather reads the input; New
// makes the document and is pure; HTML and Markdown show it. Text that agents and tests wrote
// goes through package scrub before it is in a document.
package report

import (
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/show/view"
)

// A Document is what gl report --format json prints.
type Document struct {
	SchemaVersion int       `json:"schema_version"` // 1
	Project       string    `json:"project"`        // name of its directory
	Root          string    `json:"root"`
	Noun          string    `json:"noun"` // the word for an item: slice, unit or phase
	At            time.Time `json:"at"`   // when this was made

	Night    Night  `json:"night"`
	Previous *Night `json:"previous"` // the run before; null if the journal has none
	Verdict  string `json:"verdict"`  // one line
	// as in gl status: "29 passing, 0 failing, 0 security (12 new)"; "" for none
	Tests    string `json:"tests"`
	Sentence string `json:"sentence"` // the counts, as in a run's last line
	// until when launching is held, and why; of all agents, unless it names one
	Hold     *string  `json:"hold"`
	Warnings []string `json:"warnings"`

	Counts   view.Counts `json:"counts"` // of all items, now
	NeedsYou []Item      `json:"needs_you"`
	// why nothing goes on, or the tests fail on what was merged: ID is then "tests", "run" or
	// "project"; why done work isn't in the target yet, and what has happened to the target: ID is
	// the target, or the slice that waits in the merge queue while no gl works on that
	Queue   []Item   `json:"queue"`
	Unheard []Item   `json:"unheard"` // complete, with unread messages of a person
	Landed  []Landed `json:"landed"`  // or done without a merge queue
	// merged, and taken back by a person in the run or since; not counted as completed
	TakenBack []TakenBack `json:"taken_back"`
	Failed    []Failed    `json:"failed"`

	Cost     Cost      `json:"cost"`
	Timeline Timeline  `json:"timeline"`
	Merging  Merging   `json:"merging"`
	Graph    []Node    `json:"graph"` // by layer
	Next     Forecast  `json:"next"`
	Blocked  []Blocked `json:"blocked"`

	flags string // that commands need to find the project
}

// A Night is one or more runs with less than an hour between them, or all since a given time.
type Night struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Running bool      `json:"running"` // it hasn't ended
	Why     string    `json:"why"`     // why it ended; "" for unknown
	Done    int       `json:"done"`    // slices completed in it
	// slices completed after it and before the next one: accepted by a person, or completed by a
	// session
	Since     int `json:"since"`
	TakenBack int `json:"taken_back"` // merged slices that a person took back in it or since
	// attempts that failed, without held, interrupted and repaired ones
	Failed   int        `json:"failed"`
	Attempts int        `json:"attempts"`
	Cost     view.Cost  `json:"cost"`
	Passed   *int       `json:"passed"` // tests that passed in the last run of all; null for unknown
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
	Command string   `json:"command"` // the likeliest; "" for none
	Next    []string `json:"next"`    // all commands that help, in order
	// path of the record of its last attempt, relative to .greenlight/runs; "" for none
	Record string `json:"record"`
	Log    string `json:"log"`
	// blocked slices that it holds up, at any distance; of a slice that isn't complete
	Blocks []string `json:"blocks"`

	whole bool // about the run or the project; ID is then a word for it
}

// A Landed slice was completed in the run, or since.
type Landed struct {
	Item
	Commit string     `json:"commit"` // by which it was merged, the last of several; "" without a merge queue
	Diff   *view.Diff `json:"diff"`
	Before *int       `json:"tests_before"` // passing where it was merged into; null for unknown
	After  *int       `json:"tests_after"`  // passing on the merge
	// that it added, negative if it removed tests; null for unknown
	New        *int   `json:"tests_new"`
	Verified   bool   `json:"verified"`
	Delivered  bool   `json:"delivered"`
	NotMerged  string `json:"not_merged"` // why the target doesn't have it yet; "" if it has
	Unverified string `json:"unverified"` // why it isn't verified
	// problems that a person approved: "tests removed, approved"; "" for none
	Approved string    `json:"approved"`
	Counted  int       `json:"tests"` // of the slice, counted when it was completed
	Attempts int       `json:"attempts"`
	Cost     view.Cost `json:"cost"`
	At       time.Time `json:"at"`
	Worker   string    `json:"worker"` // on which its last agent ran, with its host; "" for this machine

	gate *gate.Ruling // nil if it wasn't asked

	Patch   []string `json:"-"` // lines; nil if too long for the page, which then names a command
	commits []string
}

// A Failed slice is one whose last attempt failed.
type Failed struct {
	Item
	Outcome  string    `json:"outcome"`
	Evidence []string  `json:"evidence"` // the most telling lines
	Attempts int       `json:"attempts"`
	Kept     string    `json:"kept"` // where its work is; "" if only in the checkout
	Cost     view.Cost `json:"cost"`
	Worker   string    `json:"worker"` // on which its last agent ran, with its host; "" for this machine

	repeats bool // the evidence says no more than the text
}

// Blocked is a slice that waits for another.
type Blocked struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Because string `json:"because"`
}

// A Cost is the cost of a run, broken down.
type Cost struct {
	Total   view.Cost `json:"total"`
	Failed  view.Cost `json:"failed"` // of these, on attempts that completed nothing
	Slices  []Share   `json:"slices"` // most expensive first
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

// A Timeline is what ran when.
type Timeline struct {
	Attempts []Span   `json:"attempts"`
	Holds    []Span   `json:"holds"`
	Lane     []Span   `json:"lane"`
	Critical []string `json:"critical"` // the chain of slices that determined the end, in order
}

// The states of an attempt's Span.
const (
	SpanDone    = "done"
	SpanFailed  = "failed"
	SpanHeld    = "held" // it met a limit
	SpanRunning = "running"
	SpanOther   = "other"
)

// A Span is an interval of a timeline.
type Span struct {
	ID   string `json:"id"`
	N    int    `json:"n"` // of an attempt
	Text string `json:"text"`
	// done, failed, held, running, other; of the merge queue: green, red, merge
	State    string    `json:"state"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Critical bool      `json:"critical"`
	Record   string    `json:"record"`
	Worker   string    `json:"worker"` // on which it ran, with its host; "" for this machine
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
	Seconds *float64 `json:"seconds"` // until nothing more can be done; null for unknown
	// the same in words, with what isn't included: "about 12m, not counting 1 failed"; "" for
	// unknown
	Left string `json:"left"`
	// slices that aren't included: they wait for a person, or for slices that do
	Without []string `json:"without"`
	Slots   int      `json:"slots"`
	More    int      `json:"more_slots"`      // with this many slots,
	Faster  *float64 `json:"seconds_of_more"` // it would take this long
	Typical *float64 `json:"typical_seconds"` // of a slice
	Samples int      `json:"samples"`         // attempts that this is based on
}
