// Package plan turns a project's state (a Snapshot) into its meaning (a Plan): which items are
// ready and in which order, which are running, which are blocked and why. It is pure: it reads
// no file, starts no process and has no clock; now is passed in. It doesn't decide how many
// items to launch, and launches none.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// None is the Wave, Priority or Position of an item without one: it sorts last.
const None = math.MaxInt32

// An Item is one unit of work as read by its tracker: a Greenlight slice, a Specwright unit, a
// GSD phase.
type Item struct {
	ID     string
	Name   string // for people; the id if nothing better is known
	Status string // verbatim from the file; Classify gives its meaning
	// what it is part of, if ids repeat across such parts: Specwright's work; otherwise ""
	Of        string
	Step      string // verbatim; the step of the TDD loop
	Milestone string
	Deps      []string // canonical ids; an unknown id stays as written
	// previous ids of a renamed item under which it was attempted, the latest last
	Was []string
	// contracts of wrapped code that the work replaces: it may remove their locking tests
	Wraps []string
	// files and directories that the work is expected to change, as people wrote them; hints
	// for the forecast
	Files []string

	Wave     int // lower goes first; or None
	Priority int // lower goes first; or None
	Position int // index in the graph file; or None

	Agent string // the agent to build it; "" for any
	Model string // the model its agent is to use; "" for the agent's default
	// of the workers that may build it; with any, this machine doesn't. nil for all
	Labels []string

	Session    string   // token of the claim; empty: unclaimed, or claimed by unknown
	Holder     string   // who has claimed it, where its system has better words than the token
	WaitingFor string   // non-empty: a person is needed, and for what
	WaitKind   WaitKind // what it waits for, as its file says; "" to go by its step
	// what helps where the item waits or isn't understood; nil: gl's own commands do
	Next []string
	// each Step is an attempt of its own, and Step names the one that is to come: see Advanced
	Staged   bool
	Paused   bool      // set aside by gl pause
	Released bool      // begun, and given back since: no session works on it
	Started  string    // verbatim, "" for unknown
	Updated  string    // verbatim, "" for unknown
	Changed  time.Time // when the item's file last changed; zero without a file

	Tests, SecurityTests int
	Failing              int // Uncounted if the number is unknown
	// tests that a done item added to the suite; negative if it removed more than it added
	NewTests int
	Counted  bool // NewTests is known because gl has counted them

	Verified Verified // of a done item: the result of its tests as gl saw it
	// its system calls it complete, but its tests failed when gl ran them, so it isn't done
	HeldBack bool

	// relative to the project's root, with forward slashes; "" for an item without its own file
	File    string
	Corrupt string // if not empty, why the file can't be read

	// Reverted is the file's mark of an item that has landed, or that was called complete and
	// hasn't landed, if git has reverted the file (by a stash, or an older commit); the work is
	// where it was. All other fields are as landed, or as the attempt left them. It is nil for any
	// other item.
	Reverted *Mark
}

// Mark returns the item's status, step and session as its file has them.
func (it *Item) Mark() Mark {
	if it.Reverted != nil {
		return *it.Reverted
	}
	return Mark{Status: it.Status, Step: it.Step, Session: it.Session}
}

// Pointers returns pointers to the items of a list, as used in a Snapshot.
func Pointers(items []Item) []*Item {
	list := make([]*Item, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// Verified is the result of a done item's tests as gl saw it. Slice files use these words.
type Verified string

const (
	NotKnown Verified = ""     // gl wasn't asked: it was completed without gl
	Green    Verified = "true" // the tests passed on exactly what landed
	// they failed, as they did without it, or a person accepted it anyway
	KnownRed   Verified = "false"
	Unverified Verified = "none" // no tests were run
)

// A Warning is a problem in the project's files that doesn't stop anything else.
type Warning struct {
	Path    string `json:"path"` // relative to the root; "" if no single file is to blame
	Message string `json:"message"`
}

// Phase is the progress of an unsettled attempt.
type Phase string

const (
	Claimed   Phase = "claimed"   // the slice is claimed; the wrapper hasn't reported yet
	Preparing Phase = "preparing" // the wrapper is creating the worktree; no agent has run
	Started   Phase = "started"   // the wrapper and its agent are running
	// the agent has exited, and its work awaits the merge queue; no process is needed
	Queued  Phase = "landing"
	Ended   Phase = "ended"   // judged; the slice's file is about to be updated
	Settled Phase = "settled" // over
)

// Begun reports whether an agent may have run. Before that, releasing the claim loses nothing.
func (p Phase) Begun() bool { return p != Claimed && p != Preparing }

// An Outcome is what planning needs to know about how an attempt ended. Package outcome has the
// table of all of them.
type Outcome struct {
	Name      string // as in records and documents: "stalled"
	Available Class  // the class of an item whose status says Available; "" to keep it
	Active    Class  // the class of an item whose status says Active; "" to keep it
	Success   bool   // the item was complete
	Stopped   bool   // a person ended the attempt
	// the run lets the same agent continue in the same worktree: the classes above don't
	// count yet
	Continue bool
}

// Mark is the part of an item whose change shows that it was worked on since.
type Mark struct {
	Status  string `json:"status"`
	Step    string `json:"step"`
	Session string `json:"session"`
}

// A Place is where an attempt runs, or ran, whose state can't be determined from here.
type Place struct {
	Text     string // "on host \"build-7\""; "" if the state is known
	Unserved bool   // it is on a worker, and no gl serve runs that would hear of it
}

// An Attempt is the last attempt at an item.
type Attempt struct {
	N       int    // 1 for the first; counts all attempts, even held ones
	Token   string // the session token of the claim
	Phase   Phase
	Dead    bool // unsettled, and proven to make no more progress: the next run settles it
	Where   Place
	Outcome Outcome  // of a settled attempt
	Detail  string   // a short reason: "exit 7", "turn limit (200)"; of an open one, why no worker has it
	After   Mark     // the item as settling left it
	Retried bool     // gl retry has reset the item since
	Agent   string   // name of the agent
	Worker  string   // that has it, with its machine: "w1 (build-7)"; "" for this machine
	Account string   // Account.ID; "" if unknown
	Landing string   // if it awaits the merge queue: its progress there, or what it waits for
	Train   *InTrain // its place among the merges that are tested side by side; nil for none
	Idle    bool     // it awaits the merge queue, and no process is working on that
	Started time.Time
	Ended   time.Time
	Heard   time.Time // last event of its stream, zero for none yet
	Tool    string    // the tool call in which it has been silent; "" for none
	Cost    *float64  // US dollars; nil if unknown
}

// Open reports whether the attempt still holds its item and a slot. So does a dead one until it
// is settled: its agent may be an orphan that is still writing.
func (a *Attempt) Open() bool { return a != nil && a.Phase != Settled }

// Live reports whether the attempt is open and not proven dead.
func (a *Attempt) Live() bool { return a.Open() && !a.Dead }

// HasSlot reports whether the attempt takes one of the project's slots. While it awaits the
// merge queue, no agent is running.
func (a *Attempt) HasSlot() bool { return a.Open() && a.Phase != Queued }

// A Task is an open attempt at something other than an item: while its agent runs it takes a
// slot, and nothing depends on it.
type Task struct {
	ID      string // "@quick"
	Text    string // its subject, "" if ID is sufficient
	Attempt *Attempt
}

// Name distinguishes it from others with the same id: "@quick.3".
func (t *Task) Name() string { return fmt.Sprintf("%s.%d", t.ID, t.Attempt.N) }

// A Hold stops launches until a time: those of one agent and account, or of the whole project.
type Hold struct {
	Agent   string `json:"agent,omitempty"`   // name of the agent that is held; missing for all
	Account string `json:"account,omitempty"` // the account that is held; missing for any

	Until time.Time `json:"until"`
	Since time.Time `json:"since"`
	// "rate limit", "quota", "login", "outage", "window"; "person": gl hold --until;
	// "failures": several in the same way; "budget"; "curfew"
	Kind   string `json:"kind"`
	Reason string `json:"reason"` // the agent's own words
	By     string `json:"by"`     // the item whose attempt met it
	// number of holds in a row; the next one is longer
	Count int `json:"count" jsonschema:"minimum=0"`

	// when the limit is said to be over, if gl tries once before that
	Reset *time.Time `json:"reset,omitempty"`
	// attempts that ended after it was over without meeting a limit
	Proven int `json:"proven,omitempty" jsonschema:"minimum=0"`
}

// Slice is the name of Greenlight's own items in Snapshot.Noun.
const Slice = "slice"

// A Snapshot is everything that a plan is made from.
type Snapshot struct {
	Format string // name of the tracker's format
	Noun   string // the format's name for an item: "slice", "unit", "phase"
	Root   string
	// flags that commands about its items need: " --system gsd", "" if the system is the
	// default
	Flags string
	Items []*Item // one per id, in the tracker's order; shared, so read-only
	// the index of each item by id, if already known; nil to have New compute it
	At map[string]int
	// if not empty, why the dependency graph can't be read at the moment
	Unsure   string
	Ran      LastRun
	Evidence map[string]string // raw status of ids that are no longer items (rows of STATE.md)
	// the last of each item that isn't done; records of done items aren't read
	Attempts  map[string]*Attempt
	Elsewhere int // open attempts at items of another system, which take slots
	// number of attempts used, for items that have any, from the names of the records
	Used     map[string]int
	Tasks    []Task    // open tasks, in natural order
	Progress *Progress // nil if the items' counts are sufficient
	Hold     *Hold     // for all agents: the last one, over or not
	Holds    []*Hold   // for single agents and accounts: the last one of each
	Outlook  Outlook
	Cost     Cost
	Warnings []Warning
	Blockers []string // what blocks the whole project, in people's words
}

// A Cost is what the attempts at the items have cost.
type Cost struct {
	Limit float64 // of a slice, in US dollars; 0 for none
	// known cost of the items that aren't done; nil without that limit
	Spent map[string]float64
}

// An Outlook is what is expected of items that aren't done.
type Outlook struct {
	Forecast []Collision         // likely conflicts, as last computed
	Unplaced map[string]Obstacle // of those that no agent can be launched for, here or by a worker
}

// An Obstacle is why no agent can be launched for an item, and the command that helps.
type Obstacle struct{ Cause, Next string }

// An Unplaced is the ready items that have the same obstacle.
type Unplaced struct {
	Obstacle
	IDs []string
}

// WithoutAgent returns the ready items that no agent can be launched for, by reason.
func WithoutAgent(p *Plan) (list []Unplaced) {
	for _, id := range p.Lists.Ready {
		o := p.Snapshot.Outlook.Unplaced[id]
		if o.Cause == "" {
			continue
		}
		i := slices.IndexFunc(list, func(u Unplaced) bool { return u.Obstacle == o })
		if i < 0 {
			i, list = len(list), append(list, Unplaced{Obstacle: o})
		}
		list[i].IDs = append(list[i].IDs, id)
	}
	return list
}

// A WaitKind is what an item needs from a person. Slice files use these words.
type WaitKind string

const (
	ForAnswer WaitKind = "question" // gl answer
	ForReview WaitKind = "review"   // gl accept
)

// WaitKinds returns all kinds.
func WaitKinds() []string { return []string{string(ForAnswer), string(ForReview)} }

// A Collision is work that is likely to conflict when it is merged.
type Collision struct {
	Slice string   `json:"slice"`
	With  string   `json:"with,omitempty"` // "" for landed work
	Paths []string `json:"paths"`
}

// unknown describes a dependency without an item: "an unknown phase".
func (s *Snapshot) unknown() string { return "an unknown " + cmp.Or(s.Noun, Slice) }

// A Progress is the progress of the current milestone, as the format itself counts and records
// it.
type Progress struct {
	Milestone string `json:"milestone"`                   // "" if there is only one
	Done      int    `json:"done" jsonschema:"minimum=0"` // items built, verified or not
	Total     int    `json:"total" jsonschema:"minimum=0"`
	Parts     string `json:"parts"` // what the items' parts are called: "plan"
	PartsDone int    `json:"parts_done" jsonschema:"minimum=0"`
	PartsAll  int    `json:"parts_total" jsonschema:"minimum=0"`
	Percent   *int   `json:"percent"` // null if unknown

	// what the format's file says, right or wrong; null if it says nothing
	Recorded *Recorded `json:"recorded"`
}

// A Recorded is a Progress as written in a file.
type Recorded struct {
	Done      int  `json:"done" jsonschema:"minimum=0"`
	Total     int  `json:"total" jsonschema:"minimum=0"`
	PartsDone int  `json:"parts_done" jsonschema:"minimum=0"`
	PartsAll  int  `json:"parts_total" jsonschema:"minimum=0"`
	Percent   *int `json:"percent"`
}

// Counted returns the progress in the recorded form.
func (p *Progress) Counted() Recorded {
	return Recorded{p.Done, p.Total, p.PartsDone, p.PartsAll, p.Percent}
}

// Same reports whether two records agree.
func (r Recorded) Same(o Recorded) bool {
	percent := r.Percent == nil && o.Percent == nil ||
		r.Percent != nil && o.Percent != nil && *r.Percent == *o.Percent
	return percent && r.Done == o.Done && r.Total == o.Total && r.PartsDone == o.PartsDone &&
		r.PartsAll == o.PartsAll
}

// An InTrain is the place of an attempt in the merge queue among those that are tested side by
// side, each on top of those ahead of it.
type InTrain struct {
	Position int       `json:"position"` // 1 is the first; 0 for one that is set aside
	On       []string  `json:"on"`       // the slices it is tested on top of, which aren't merged yet
	Since    time.Time `json:"since"`    // when it got here
	// why those behind it are tested without it, in words; "" if they aren't
	Aside string `json:"aside"`
}
