// Package attempt owns what happens to one slice in one agent's hands: the record on disk, the claim, the wrapper's
// work, the outcome table, settling, and the hold that a rate limit puts on everybody. It doesn't decide which slice
// is attempted, and it doesn't know how a wrapper is started (package runner) or how many run (package drain).
//
// docs/design.md shows the steps of an attempt and what a kill leaves behind after each.
package attempt

import (
	"fmt"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
)

// A Record is one attempt as it stands in .greenlight/runs; it is the only truth about it. Times are UTC.
type Record struct {
	SchemaVersion int              `json:"schema_version"`    // 1
	System        string           `json:"system,omitempty"`  // whose item it is: project.System's key
	Slice         string           `json:"slice"`             // "@quick" for a task
	Of            string           `json:"of,omitempty"`      // plan.Item.Of when it was claimed
	First         int              `json:"first,omitempty"`   // of a task: the attempt whose work this one goes on with; 0 for none
	Summary       string           `json:"summary,omitempty"` // where a task's summary belongs, relative to the root
	Wants         *Wants           `json:"wants,omitempty"`   // what a task must leave behind to be done
	Title         string           `json:"title"`             // the slice's name when it was claimed
	N             int              `json:"n"`                 // 1 for the slice's first attempt
	Token         string           `json:"token"`             // the claim's session token
	Agent         string           `json:"agent"`             // as named on the command line or in the config
	Program       string           `json:"program"`           // what Argv starts: a name to look up on PATH, or a path
	Argv          []string         `json:"argv"`
	Model         string           `json:"model,omitempty"`   // that the agent was told to use; "" for its own choice
	Prompt        string           `json:"prompt"`            // what it is told to do; agents without slash commands are told more
	Stream        string           `json:"stream"`            // how to decode its output: agent.NewDecoder
	Dir           string           `json:"dir"`               // absolute working directory of the agent
	Lineage       int              `json:"lineage,omitempty"` // number of the lineage whose worktree it works in; 0: in the checkout
	Branch        string           `json:"branch,omitempty"`  // the worktree's, in full: refs/heads/gl/s/…
	Runner        string           `json:"runner"`
	Setup         []string         `json:"setup,omitempty"`    // prepares its worktree: as the person has allowed it, whatever the configuration says by now
	Caches        []string         `json:"caches,omitempty"`   // that it may write to in its sandbox, in the same way
	Test          *testrun.Command `json:"test,omitempty"`     // of an attempt in the checkout: runs its tests once it calls its slice complete; as Setup
	Baseline      bool             `json:"baseline,omitempty"` // of an attempt in the checkout: runs/tests has how its tests were at the claim
	Review        string           `json:"review,omitempty"`   // of an attempt in the checkout: why a person is to approve what it calls complete; "" for no reason
	Terms         *Terms           `json:"terms,omitempty"`    // nil in records of older versions
	Sandbox       string           `json:"sandbox,omitempty"`  // SandboxBwrap: it is confined, whatever the configuration says by now

	Account      string        `json:"account,omitempty"`      // whose login it works with: agent.Agent.Account
	Conversation string        `json:"conversation,omitempty"` // the client's id of it, for the lineage's next attempt; "" for unknown
	Anew         []string      `json:"anew,omitempty"`         // Argv resumes Conversation; if the client doesn't find it, this takes Argv's place
	Continues    *Continuation `json:"continues,omitempty"`    // why there is another attempt in the lineage
	Handoff      string        `json:"handoff,omitempty"`      // what gl slice tells the agent about the worktree
	Talks        bool          `json:"talks,omitempty"`        // the agent gets its prompt, and what a person says while it works, on stdin
	Briefed      bool          `json:"briefed,omitempty"`      // its command line gets what gl slice prints, with Said, when it starts: agent.FillIn
	Said         []Message     `json:"said,omitempty"`         // what a person has said to an agent that can't be told while it works

	Phase        plan.Phase     `json:"phase"`
	Before       tracker.Before `json:"before"` // the slice before the claim, to go back to
	Launcher     proc.ID        `json:"launcher"`
	Ending       string         `json:"ending,omitempty"` // why gl is ending it; written before the first signal
	EndingDetail string         `json:"ending_detail,omitempty"`
	Wrapper      *proc.ID       `json:"wrapper,omitempty"`
	Process      *proc.ID       `json:"process,omitempty"` // the agent, while preparing the setup command; its pid is also its process group
	Lock         uint64         `json:"lock,omitempty"`    // inode of the log: wrapper and agent hold its kernel lock; 0: they don't

	ClaimedAt time.Time  `json:"claimed_at"`
	StartedAt *time.Time `json:"started_at,omitempty"` // the agent was let go
	EndedAt   *time.Time `json:"ended_at,omitempty"`   // the agent was gone
	SettledAt *time.Time `json:"settled_at,omitempty"`

	// The work as its agent left it, once it and all that it had started were gone: this tree lands. "" in records of older versions.
	Tree string `json:"tree,omitempty"` // of the worktree, whole; of a checkout without state
	Head string `json:"head,omitempty"` // the commit of Branch then

	Outlived string `json:"outlived,omitempty"` // what the agent left running that can't be ended; "" for nothing

	// From phase ended on.
	Evidence   *Evidence      `json:"evidence,omitempty"` // none for a crash
	Outcome    Outcome        `json:"outcome,omitempty"`
	Detail     string         `json:"detail,omitempty"`
	Effect     tracker.Effect `json:"effect,omitempty"`
	Seen       *plan.Mark     `json:"seen,omitempty"`        // the slice when it was judged
	After      *plan.Mark     `json:"after,omitempty"`       // the slice as settling leaves it
	Tests      int            `json:"tests,omitempty"`       // the slice's tests then
	HasSummary bool           `json:"has_summary,omitempty"` // the task's summary was there then
	Lacks      []string       `json:"lacks,omitempty"`       // what of Wants the agent hasn't left
	Refused    string         `json:"refused,omitempty"`     // why its verdict is no
	Retried    bool           `json:"retried,omitempty"`
	Rejected   string         `json:"rejected,omitempty"` // why a person has sent the work back since
	Comments   []Comment      `json:"comments,omitempty"` // on its lines
	Answered   *Answer        `json:"answered,omitempty"` // by a person since, where it ended with a question
	Undone     *Undo          `json:"undone,omitempty"`   // by a person since, where it landed

	Landing  *Landing      `json:"landing,omitempty"`  // from phase landing on
	Gate     *gate.Ruling  `json:"gate,omitempty"`     // what the gate has answered; see Ruled for older records
	Verified plan.Verified `json:"verified,omitempty"` // of an attempt that is done

	Verdict    *testrun.Verdict `json:"verdict,omitempty"`    // of the tests that gl ran on its work: merged or, with Test, in the checkout
	Unverified string           `json:"unverified,omitempty"` // why they weren't run in the checkout

	Stashes []string `json:"stashes,omitempty"` // entries of refs/stash that were there before the agent: all worktrees share it
	Saved   string   `json:"saved,omitempty"`   // where all of the worktree was kept last: refs/gl/wip/…/K, below which the refs are
	Unsaved string   `json:"unsaved,omitempty"` // why that isn't all; the worktree then stays
	Strayed []string `json:"strayed,omitempty"` // what the agent changed that isn't its worktree's

	Compared Comparison `json:"-"` // of the tests in the checkout; what came of it is in Gate

	// Environ is added to the agent's environment. The launcher gives it to the runner; it may hold keys, so that no file has it.
	Environ []string `json:"-"`

	Log string `json:"-"` // path of the log, filled in by the store
}

// Terms are what a person had decided about a slice when it was claimed. Its agent can write to the slice's file and to contracts; what it changes
// there makes nothing easier for it.
type Terms struct {
	Review string `json:"review,omitempty"` // why a person is to approve it; "" for no reason
	Wraps  bool   `json:"wraps,omitempty"`  // it replaces wrapped code, and may remove the tests that lock that
}

// unfinished says whether the item is still what the attempt is to do. A staged one says so by its step: its system may
// have no word for being worked on.
func (r *Record) unfinished(it plan.Item) bool {
	if it.Staged {
		return it.Step == r.Before.Step && plan.Classify(it.Status) != plan.Done
	}
	return plan.Classify(it.Status) == plan.Active
}

// Name is the record's file name without its ending: "S-01.3".
func (r *Record) Name() string { return fmt.Sprintf("%s.%d", r.Slice, r.N) }

// IsOf says whether the attempt was at the item, not at one that had its id before.
// Ids of units come back (core, api, tests): a failure in one work must not hold up the unit of
// the same name in the next.
func (r *Record) IsOf(it *plan.Item) bool { return r.Of == "" || r.Of == it.Of }

// Cost is what the agent says it cost, in US dollars; nil for unknown.
func (r *Record) Cost() *float64 {
	if r.Evidence == nil || r.Evidence.Result == nil {
		return nil
	}
	return r.Evidence.Result.CostUSD
}

// Why gl ended the agent itself: Record.Ending.
const (
	EndStop    = "stop"    // gl stop, Ctrl-C
	EndSilence = "silence" // no event for the silent limit
	EndGrace   = "grace"   // still there long after its result
	EndCommand = "command" // the slash command isn't installed
	EndAbandon = "abandon" // gl retry --abandon: where it ran is gone
)

// Evidence is what the wrapper saw of the agent's end, before anybody judges it.
type Evidence struct {
	ExitCode    *int          `json:"exit_code"` // nil when a signal ended it or it never ran
	Signal      string        `json:"signal,omitempty"`
	OutOfMemory bool          `json:"out_of_memory,omitempty"` // the kernel has killed something for lack of memory since it began
	Worktree    string        `json:"worktree,omitempty"`      // why the worktree couldn't be made ready
	Killed      bool          `json:"killed,omitempty"`        // since git was killed
	NotStarted  string        `json:"not_started,omitempty"`   // why gl's own process for the attempt never got to start the agent
	Missing     string        `json:"missing,omitempty"`       // the program that isn't on PATH
	Exec        string        `json:"exec,omitempty"`          // why the program couldn't be started
	Result      *agent.Result `json:"result,omitempty"`
	Limit       *agent.Limit  `json:"limit,omitempty"`
	Tokens      *agent.Tokens `json:"tokens,omitempty"`  // tokens; none for unknown
	Refuted     string        `json:"refuted,omitempty"` // the attempt by which Limit, which is from text, is none: see refute
	Denials     int           `json:"denials,omitempty"`
	ReadOnly    string        `json:"read_only,omitempty"` // a tool's last complaint about a read-only file system
	Version     string        `json:"version,omitempty"`   // the client's
	Stderr      string        `json:"stderr,omitempty"`    // its last line there that says something, else on stdout
}
