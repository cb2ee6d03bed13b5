// Package plan turns what is (a Snapshot) into what that means (a Plan): which items are ready and in which order,
// which run, which are blocked and why. It is pure: it reads no file, starts no process and has no clock; now is
// passed in. It doesn't decide how many to launch, and it doesn't launch.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// None is the Wave, Priority or Position of an item that has none: it sorts behind all that have one.
const None = math.MaxInt32

// An Item is one unit of work as its tracker read it: a Greenlight slice, a Specwright unit, a GSD phase.
type Item struct {
	ID        string
	Name      string // what people read; the id where nothing better is known
	Status    string // verbatim, as the file has it; Classify gives its meaning
	Of        string // what it is part of, where its id may come again in another: Specwright's work; else ""
	Step      string // verbatim; where in the TDD loop the work stands
	Milestone string
	Deps      []string // canonical ids; an id that no item has stays as it was written
	Was       []string // ids that it had before it was renamed, and under which it was attempted; the last one last
	Wraps     []string // contracts of wrapped code that the work replaces: their locking tests may go with it
	Files     []string // files and directories that the work is expected to change, as people wrote them; hints for the forecast

	Wave     int // lower goes first; None
	Priority int // lower goes first; None
	Position int // place in the graph file; None

	Agent string // the agent that builds it; "" for whichever is chosen
	Model string // the model that its agent is told to use; "" for the agent's own choice

	Session    string    // token of the claim; empty: unclaimed, or claimed by unknown
	Holder     string    // who has claimed it, where its system has better words than the token
	WaitingFor string    // non-empty: a person is needed, and for what
	WaitKind   WaitKind  // what it waits for, as somebody has said; "": its step says it
	Next       []string  // what helps where the item waits or isn't understood; nil: gl's own commands do
	Staged     bool      // each Step is an attempt of its own, and Step names the one that is to come: see Advanced
	Paused     bool      // set aside by gl pause
	Released   bool      // begun, and given back since by whoever had it: no one works on it
	Started    string    // verbatim, "" for unknown
	Updated    string    // verbatim, "" for unknown
	Changed    time.Time // when the item's file last changed; zero without a file

	Tests, SecurityTests int
	Failing              int  // Uncounted where nobody knows how many
	NewTests             int  // that a done item added to the suite; negative for a suite that lost tests by it
	Counted              bool // NewTests is known: gl has counted them

	Verified Verified // of a done item: what gl itself saw of its tests

	File    string // relative to the project's root, with forward slashes; "" for an item without a file of its own
	Corrupt string // non-empty: the file can't be read, and why

	// Reverted is what the file says of an item that has landed, or that was called complete and hasn't: git has taken the file back (a
	// stash, an older commit), the work is where it was. All else here is as it landed, or as its attempt left it. nil for any other item.
	Reverted *Mark
}

// Mark is the part of the item that says how far it is, as its file has it.
func (it *Item) Mark() Mark {
	if it.Reverted != nil {
		return *it.Reverted
	}
	return Mark{Status: it.Status, Step: it.Step, Session: it.Session}
}

// Pointers returns pointers to the items of a list, as a snapshot has them.
func Pointers(items []Item) []*Item {
	list := make([]*Item, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// Verified says what gl saw of the tests of a done item. Slice files have these words.
type Verified string

const (
	NotKnown   Verified = ""      // gl wasn't asked: somebody else completed it
	Green      Verified = "true"  // the tests passed on exactly what landed
	KnownRed   Verified = "false" // they failed, as they did without it, or a person accepted it in spite of them
	Unverified Verified = "none"  // no tests were run
)

// A Warning is something wrong in the project's files that stops nothing else.
type Warning struct {
	Path    string `json:"path"` // relative to the root; "" where no single file is to blame
	Message string `json:"message"`
}

// Phase says how far an unsettled attempt is.
type Phase string

const (
	Claimed   Phase = "claimed"   // the slice is taken, the wrapper hasn't reported yet
	Preparing Phase = "preparing" // the wrapper makes the worktree; no agent has run
	Started   Phase = "started"   // the wrapper runs, its agent with it
	Queued    Phase = "landing"   // the agent is gone, and its work awaits the lane: no process has to be there
	Ended     Phase = "ended"     // judged; the slice's file is about to say so
	Settled   Phase = "settled"   // over
)

// Begun says whether an agent may have run. Until then nothing is lost if the claim is given back.
func (p Phase) Begun() bool { return p != Claimed && p != Preparing }

// An Outcome is what planning needs to know about how an attempt ended. Package attempt has the table of all outcomes.
type Outcome struct {
	Name      string // as records and documents have it: "stalled"
	Available Class  // what it makes of an item whose status says Available; "" leaves the class as it is
	Active    Class  // the same for an item whose status says Active
	Success   bool   // the item was complete
	Continue  bool   // the drain has the same agent go on, in the same worktree: the classes above don't count yet
}

// Mark is the part of an item whose change says that somebody has worked on it since.
type Mark struct {
	Status  string `json:"status"`
	Step    string `json:"step"`
	Session string `json:"session"`
}

// An Attempt is the last attempt at an item.
type Attempt struct {
	N       int    // 1 for the first; counts all, also held ones
	Token   string // the claim's session token
	Phase   Phase
	Dead    bool    // not settled, and proven that nobody moves it on: the next drain settles it
	Where   string  // where it runs, or ran, if nobody here can tell whether it does: "on host \"build-7\""; else ""
	Outcome Outcome // of a settled one
	Detail  string  // why, in a few words: "exit 7", "turn limit (200)"
	After   Mark    // the item as settling left it
	Retried bool    // gl retry has put the item back since
	Agent   string  // name of the agent
	Account string  // Account.ID; "" for unknown
	Landing string  // of one that awaits the lane: how far that is, or what it waits for
	Idle    bool    // it awaits the lane, and no process works the merge queue
	Started time.Time
	Ended   time.Time
	Heard   time.Time // last event of its stream, zero for none yet
	Tool    string    // the tool call in which it has been silent; "" for none
	Cost    *float64  // US dollars; nil for unknown
}

// Open says whether the attempt still holds its item and a slot. A dead one does too, until it is settled: its agent
// may be an orphan that still writes.
func (a *Attempt) Open() bool { return a != nil && a.Phase != Settled }

// Live says whether the attempt is open and not proven dead.
func (a *Attempt) Live() bool { return a.Open() && !a.Dead }

// HasSlot says whether the attempt takes one of the project's slots: while it awaits the lane no agent runs.
func (a *Attempt) HasSlot() bool { return a.Open() && a.Phase != Queued }

// A Task is an open attempt at something that is no item: while an agent runs it takes a slot, and nothing depends on it.
type Task struct {
	ID      string // "@quick"
	Text    string // what it is about, "" where ID says it all
	Attempt *Attempt
}

// Name tells it from others with the same id: "@quick.3".
func (t *Task) Name() string { return fmt.Sprintf("%s.%d", t.ID, t.Attempt.N) }

// A Hold stops launches until a time: those of one agent and account, or all of a project.
type Hold struct {
	Agent   string `json:"agent,omitempty"`   // name of the agent that is held; missing for all
	Account string `json:"account,omitempty"` // with whose account it works; missing for all, and for any account

	Until  time.Time `json:"until"`
	Since  time.Time `json:"since"`
	Kind   string    `json:"kind"`                         // "rate limit", "quota", "login", "outage", "window"; "person": gl hold --until; "failures": several in the same way; "budget"; "curfew"
	Reason string    `json:"reason"`                       // the agent's own words
	By     string    `json:"by"`                           // the item whose attempt met it
	Count  int       `json:"count" jsonschema:"minimum=0"` // holds in a row; the next one is longer

	Reset  *time.Time `json:"reset,omitempty"`                         // when the limit is said to be over, if gl tries once before that
	Proven int        `json:"proven,omitempty" jsonschema:"minimum=0"` // attempts that have ended since it was over and met no limit
}

// Slice is what an item of Greenlight's own is called: Snapshot.Noun.
const Slice = "slice"

// A Snapshot is all that a plan is made from.
type Snapshot struct {
	Format    string // name of the tracker's format
	Noun      string // what an item is called there: "slice", "unit", "phase"
	Root      string
	Flags     string              // what commands about its items need besides: " --system gsd", "" where the system counts by itself
	Items     []*Item             // one per id, in the tracker's order; others may have them, too, and nobody changes them
	At        map[string]int      // the place of each item by its id, as somebody knows it already; nil: New finds out
	Unsure    string              // non-empty: the dependency graph can't be read just now, and why
	Suite     *Suite              // the project's tests as gl ran them last; nil where it never has
	Evidence  map[string]string   // raw status of ids that are no items but are known to have been (rows of STATE.md)
	Attempts  map[string]*Attempt // the last of each item that isn't done: records of done items aren't read
	Elsewhere int                 // open attempts at items of another system: they take slots
	Used      map[string]int      // attempts used up, of items that have any, from the names of the records
	Tasks     []Task              // the open ones, in natural order
	Progress  *Progress           // nil where the counts of the items say it
	Hold      *Hold               // of everybody: the last one, over or not
	Holds     []*Hold             // of single agents and accounts: the last one of each
	Forecast  []Collision         // whose work is likely to conflict, as it was found out last
	SliceUSD  float64             // what a slice may cost; 0: no limit
	Spent     map[string]float64  // what the items that aren't done have cost as far as is known; nil without that limit
	Warnings  []Warning
	Blockers  []string // what stops the whole project, in people's words
}

// A WaitKind says what an item needs of a person. Slice files have these words.
type WaitKind string

const (
	ForAnswer WaitKind = "question" // gl answer
	ForReview WaitKind = "review"   // gl accept
)

// WaitKinds are all kinds.
func WaitKinds() []string { return []string{string(ForAnswer), string(ForReview)} }

// A Collision is work that is likely to conflict when it lands.
type Collision struct {
	Slice string   `json:"slice"`
	With  string   `json:"with,omitempty"` // "" for what has landed
	Paths []string `json:"paths"`
}

// unknown is what a dependency is that no item has: "an unknown phase".
func (s *Snapshot) unknown() string { return "an unknown " + cmp.Or(s.Noun, Slice) }

// A Progress is how far the current milestone is, as the format itself counts and records it.
type Progress struct {
	Milestone string `json:"milestone"`                   // "" where there is only one
	Done      int    `json:"done" jsonschema:"minimum=0"` // items that were built; whether the result was verified is another question
	Total     int    `json:"total" jsonschema:"minimum=0"`
	Parts     string `json:"parts"` // what the items' parts are called: "plan"
	PartsDone int    `json:"parts_done" jsonschema:"minimum=0"`
	PartsAll  int    `json:"parts_total" jsonschema:"minimum=0"`
	Percent   *int   `json:"percent"` // null where it can't be known

	Recorded *Recorded `json:"recorded"` // what the format's file says, right or wrong; null where it says nothing
}

// A Recorded is a Progress as it is written down.
type Recorded struct {
	Done      int  `json:"done" jsonschema:"minimum=0"`
	Total     int  `json:"total" jsonschema:"minimum=0"`
	PartsDone int  `json:"parts_done" jsonschema:"minimum=0"`
	PartsAll  int  `json:"parts_total" jsonschema:"minimum=0"`
	Percent   *int `json:"percent"`
}

// Counted is the progress in the form in which it is recorded.
func (p *Progress) Counted() Recorded {
	return Recorded{p.Done, p.Total, p.PartsDone, p.PartsAll, p.Percent}
}

// Same reports whether two records agree.
func (r Recorded) Same(o Recorded) bool {
	percent := r.Percent == nil && o.Percent == nil || r.Percent != nil && o.Percent != nil && *r.Percent == *o.Percent
	return percent && r.Done == o.Done && r.Total == o.Total && r.PartsDone == o.PartsDone && r.PartsAll == o.PartsAll
}
