package status

import (
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/spending"
)

// A Document is what gl status --json prints. The table of fields has each of its keys, or jsonOnly
// does.
type Document struct {
	SchemaVersion int     `json:"schema_version"`
	Format        string  `json:"format"`    // of the state: slices, legacy, specwright or gsd
	Root          string  `json:"root"`      // absolute path of the project
	Milestone     *string `json:"milestone"` // value of --milestone; null for all slices
	Total         int     `json:"total" jsonschema:"minimum=0"`
	Done          int     `json:"done" jsonschema:"minimum=0"`
	// of the current milestone, as recorded by the format; null if it records only total and done
	Progress *plan.Progress `json:"progress"`
	Slices   []Slice        `json:"slices"` // those in scope, in the order of the graph, then by id
	Running  []string       `json:"running"`
	// open attempts at tasks, such as gl quick; each takes a slot until it awaits the merge queue
	Tasks []Task   `json:"tasks"`
	Ready []string `json:"ready"` // in launch order
	// those of them that no agent can be launched for, by the reason
	Unplaced []Unplaced `json:"unplaced"`
	Blocked  []Blocked  `json:"blocked"`
	Landing  []string   `json:"landing"` // called complete by their agents, being merged and tested
	Failed   []string   `json:"failed"`
	Red      []string   `json:"red"`      // the tests fail on the merged work
	Conflict []string   `json:"conflict"` // the work doesn't merge
	Stalled  []string   `json:"stalled"`
	Waiting  []string   `json:"waiting"` // for a person
	Unknown  []string   `json:"unknown"` // with an unknown status, or an unreadable file
	// tested, but not yet merged into the branch that the work is for; null if everything is
	Undelivered *Undelivered `json:"undelivered"`
	Forecast    []Collision  `json:"forecast"`     // work that is likely to conflict when it is merged
	PullRequest *PullRequest `json:"pull_request"` // the open one, with merged work; null for none
	Tests       Tests        `json:"tests"`
	// of all attempts in the journal; null if it can't be read
	Cost *spending.Total `json:"cost"`
	// until nothing more can be done, by simulation; null for unknown
	ETASeconds *int `json:"eta_seconds" jsonschema:"minimum=0"`
	// slices not included in eta_seconds: they can't go on until a person acts
	ETAWithout []string     `json:"eta_without"`
	Hold       *plan.Hold   `json:"hold"`  // nothing is launched until it ends; null for none
	Holds      []*plan.Hold `json:"holds"` // all current ones: of all agents, and of single ones
	// what stops the whole project, in people's words: gl state overview
	Blockers []string              `json:"blockers"`
	Warnings []project.WarningItem `json:"warnings"`
	// the same document for each other system that keeps state in this project
	Others []Document `json:"others"`
}

// A Slice is one slice. If its file can't be read, most fields are null.
type Slice struct {
	// canonical: the name of the slice's file without .md, or the graph's id
	ID     string  `json:"id"`
	Name   string  `json:"name"`   // for people; the id if no other name is known
	Status *string `json:"status"` // verbatim; null if the file has none or can't be read
	// what the status means; a running attempt makes it active, whatever the file says
	Class     plan.Class `json:"class"`
	Step      *string    `json:"step"` // of its work, verbatim
	Milestone *string    `json:"milestone"`
	Deps      []string   `json:"deps"`  // ids it depends on; unknown ones stay as written
	Needs     []string   `json:"needs"` // those of deps that aren't done
	// token of the claim; null if unclaimed, or claimed by an unknown session
	Session *string `json:"session"`
	// that the slice added: counted by gl if possible, otherwise recorded by the agent; 0 while its
	// tests fail; null if the file can't be read
	Tests         *int    `json:"tests" jsonschema:"minimum=0"`
	SecurityTests *int    `json:"security_tests" jsonschema:"minimum=0"` // not included in tests
	Updated       *string `json:"updated"`                               // verbatim
	// claimed by another session, with a file unchanged for parallel.stale_minutes
	Stale    bool `json:"stale"`
	Attempts int  `json:"attempts" jsonschema:"minimum=0"` // used up; a rate limit uses none
	// of a done slice: whether gl has seen its tests pass on what was merged; null if it saw none
	Verified *bool `json:"verified"`
	// of a done slice: whether it is in the branch that the work is for; null for unknown
	Delivered *bool `json:"delivered"`
	// of a done slice: the commit by which it was merged; null if gl didn't merge it
	Landed   *string `json:"landed"`
	LandedAs *string `json:"landed_as"` // the shape of that: merge, rebase, squash
	// until a running agent is likely to end; null for unknown
	ETASeconds *int `json:"eta_seconds" jsonschema:"minimum=0"`
	// how long a running agent has been silent; null for less than a minute
	SilentSeconds *int    `json:"silent_seconds" jsonschema:"minimum=0"`
	Tool          *string `json:"tool"` // the tool call in which it has been silent
	// on which its last agent runs or ran, with its host: "w1 (build-7)"; null for this machine
	Worker  *string `json:"worker"`
	Landing *string `json:"landing"` // of one in the merge queue: its progress
	// where it is among the merges that are tested side by side; null if it isn't
	Train *plan.InTrain `json:"train"`
}

// An Undelivered is why landed work isn't in the branch that it is for.
type Undelivered struct {
	Slices    []string   `json:"slices"` // that are merged
	Reason    *string    `json:"reason"` // null if it hasn't been tried yet
	Since     *time.Time `json:"since"`
	TakenBack []string   `json:"taken_back"` // slices whose revert is merged
}

// A PullRequest is the open pull request with the merge queue's work.
type PullRequest struct {
	Number int      `json:"number"`
	URL    string   `json:"url"`
	Slices []string `json:"slices"`
	Head   string   `json:"head"` // the last commit that was pushed
}

// A Collision is work that is likely to conflict.
type Collision struct {
	Slice string   `json:"slice"`
	With  *string  `json:"with"` // another slice; null for merged work
	Paths []string `json:"paths"`
}

// A Task is an open attempt at a task.
type Task struct {
	ID      string     `json:"id"`                       // such as @quick
	N       int        `json:"n" jsonschema:"minimum=1"` // number of the attempt; several may run at once
	Text    *string    `json:"text"`
	Agent   string     `json:"agent"`
	Started *time.Time `json:"started"` // null until its agent runs
	Landing *string    `json:"landing"` // its progress in the merge queue; null before
}

// An Unplaced is slices that no agent can be launched for, as things are: neither here nor by a
// worker.
type Unplaced struct {
	Slices []string `json:"slices"`
	Reason string   `json:"reason"`
	Next   string   `json:"next"` // the command that helps
}

// A Blocked is a slice that waits for others.
type Blocked struct {
	ID      string   `json:"id"`
	Needs   []string `json:"needs"`
	Because string   `json:"because"` // the root cause, in words: "S-4 failed"
}

// Tests are the numbers of tests.
type Tests struct {
	// in the whole suite if gl has run it, otherwise the sum of what slices recorded; null if the
	// runner prints no counts
	Passing *int `json:"passing" jsonschema:"minimum=0"`
	// the same, plus those that fail on the work of red slices; null for unknown
	Failing   *int `json:"failing" jsonschema:"minimum=0"`
	Uncounted int  `json:"uncounted" jsonschema:"minimum=0"` // red slices with an unknown number
	Security  int  `json:"security" jsonschema:"minimum=0"`  // recorded by the slices
	// that done slices added to the suite, of those whose share gl has counted; null for unknown
	New     *int `json:"new" jsonschema:"minimum=0"`
	Removed *int `json:"removed" jsonschema:"minimum=0"` // removed from the suite; see new
	// done slices that record tests, but whose share gl hasn't counted: those that were merged
	// together
	Untold int    `json:"new_unknown" jsonschema:"minimum=0"`
	Suite  *Suite `json:"suite"` // the last run of the whole suite; null if gl hasn't run it
}

// A Suite is a run of all tests, on what has landed or, without a merge queue, in the checkout.
type Suite struct {
	Green  bool      `json:"green"`
	Passed *int      `json:"passed" jsonschema:"minimum=0"` // null if the runner prints no counts
	Failed *int      `json:"failed" jsonschema:"minimum=0"` // the same
	Commit *string   `json:"commit"`                        // the tested one; null for the checkout
	At     time.Time `json:"at"`
}
