// Package attempt owns what is known of one slice in one agent's hands: the record on disk, the
// claim, the rules that give outcomes, settling, and the hold that a rate limit puts on launches.
// It doesn't decide which slice is attempted, nor how many agents run (package scheduler), and it
// doesn't run the agent (package wrapper).
//
// docs/design.md shows the steps of an attempt and what a kill leaves behind after each.
package attempt

import (
	"fmt"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
)

// A Record is one attempt as it is in .greenlight/runs; it is the only truth about it. Times
// are UTC.
type Record struct {
	SchemaVersion int // 1

	ID         Identity
	Job        Job
	Talk       Dialog
	Place      Place
	Conditions Conditions
	Life       Life
	Judged     Judgement
	Task       Errand
	Since      Aftermath
	Landing    *Landing // from phase queued on
}

// Identity tells an attempt from all others.
type Identity struct {
	System string `json:"system,omitempty"` // that has the item: project.System's key
	Slice  string `json:"slice"`            // "@quick" for a task
	Of     string `json:"of,omitempty"`     // plan.Item.Of when it was claimed
	First  int    `json:"first,omitempty"`  // of a task: the attempt whose work this one continues; 0 for none
	Title  string `json:"title"`            // the slice's name when it was claimed
	N      int    `json:"n"`                // 1 for the slice's first attempt
	Token  string `json:"token"`            // the claim's session token
}

// Job is the agent that was started, and how.
type Job struct {
	Agent   string   `json:"agent"`   // as named on the command line or in the config
	Program string   `json:"program"` // what Argv starts: a name to look up on PATH, or a path
	Argv    []string `json:"argv"`
	Model   string   `json:"model,omitempty"` // that the agent was told to use; "" for its own choice
	Prompt  string   `json:"prompt"`          // agents without slash commands get more
	Stream  string   `json:"stream"`          // how to decode its output: agent.NewDecoder
	Dir     string   `json:"dir"`             // absolute working directory of the agent
	Runner  string   `json:"runner"`
	Account string   `json:"account,omitempty"` // the login it works with: agent.Agent.Account

	// As decided when it was claimed, whatever the configuration says by now.
	Setup   []string `json:"setup,omitempty"`   // prepares its worktree
	Caches  []string `json:"caches,omitempty"`  // directories that it may write to in its sandbox
	Sandbox string   `json:"sandbox,omitempty"` // SandboxBwrap, or ""

	// Environ is added to the agent's environment. The launcher gives it to the runner; it may
	// hold keys, so it is in no file.
	Environ []string `json:"-"`
}

// Dialog is what the agent gets to read, and its conversation.
type Dialog struct {
	// Conversation is the client's id of it, for the lineage's next attempt; "" for unknown.
	Conversation string `json:"conversation,omitempty"`
	// Anew takes Argv's place if Argv resumes Conversation, and the client doesn't find it.
	Anew      []string      `json:"anew,omitempty"`
	Continues *Continuation `json:"continues,omitempty"` // why there is another attempt in the lineage
	Handoff   string        `json:"handoff,omitempty"`   // what gl slice tells about the worktree
	// Talks is set if the agent gets its prompt, and a person's messages while it works, on stdin.
	Talks bool `json:"talks,omitempty"`
	// Briefed is set if its command line gets, as it starts, what gl slice prints, and Said:
	// agent.FillIn.
	Briefed bool      `json:"briefed,omitempty"`
	Said    []Message `json:"said,omitempty"` // to an agent that can't be told while it works
}

// Place is where the agent works, and the work as it left it.
type Place struct {
	Lineage int    `json:"lineage,omitempty"` // whose worktree it works in; 0: in the checkout
	Branch  string `json:"branch,omitempty"`  // the worktree's, in full: refs/heads/gl/s/…

	// The work once the agent and all that it had started were gone: this tree lands. "" in
	// records of older versions.
	Tree string   `json:"tree,omitempty"` // of the worktree, whole; of a checkout without state
	Head string   `json:"head,omitempty"` // the commit of Branch then
	Left LeftWork `json:"left,omitempty"`

	// Stashes are the entries of refs/stash before the agent began: all worktrees share it.
	Stashes []string `json:"stashes,omitempty"`
	// Saved is where all of the worktree was kept last: refs/gl/wip/…/K, with the refs below it.
	Saved   string   `json:"saved,omitempty"`
	Unsaved string   `json:"unsaved,omitempty"` // why that isn't all; the worktree then stays
	Strayed []string `json:"strayed,omitempty"` // what the agent changed outside of its worktree
}

// LeftWork is what there is of work in a worktree once its agent is gone; "" for unknown.
type LeftWork string

const (
	LeftNothing LeftWork = "nothing" // the files are those that the branch was made with
	LeftFiles   LeftWork = "files"   // no commit on the branch
	LeftCommits LeftWork = "commits"
)

// Conditions are what the attempt's work is measured by, as decided when it was claimed.
type Conditions struct {
	// Of an attempt in the checkout.
	Test     *testrun.Command `json:"test,omitempty"`     // runs its tests once it calls its slice complete
	Baseline bool             `json:"baseline,omitempty"` // runs/tests has the tests at the claim
	Review   string           `json:"review,omitempty"`   // why a person is to approve it; "" for no reason

	Terms *Terms `json:"terms,omitempty"` // nil in records of older versions
}

// Life is how far the attempt is, with its processes and times.
type Life struct {
	Phase    plan.Phase     `json:"phase"`
	Before   tracker.Before `json:"before"` // the slice before the claim, to go back to
	Launcher proc.ID        `json:"launcher"`
	Wrapper  *proc.ID       `json:"wrapper,omitempty"`
	// Process is the agent, while preparing the setup command; its pid is also its process group.
	Process *proc.ID `json:"process,omitempty"`
	// Lock is the inode of Log: wrapper and agent hold its kernel lock. 0: they don't.
	Lock uint64 `json:"lock,omitempty"`
	// Remote is the worker that has the agent; nil for one that runs here. Wrapper is gl serve.
	Remote *Remote `json:"remote,omitempty"`

	Ending       string `json:"ending,omitempty"` // why gl is ending it; written before the first signal
	EndingDetail string `json:"ending_detail,omitempty"`
	Outlived     string `json:"outlived,omitempty"` // what the agent left running that can't be ended

	ClaimedAt time.Time  `json:"claimed_at"`
	StartedAt *time.Time `json:"started_at,omitempty"` // the agent was let go
	EndedAt   *time.Time `json:"ended_at,omitempty"`   // the agent was gone
	SettledAt *time.Time `json:"settled_at,omitempty"`

	Log string `json:"-"` // path of the log, filled in by the store
}

// Judgement is how the attempt ended, from phase ended on, and what that was decided by.
type Judgement struct {
	Evidence *Evidence       `json:"evidence,omitempty"` // none for a crash
	Outcome  outcome.Outcome `json:"outcome,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Effect   tracker.Effect  `json:"effect,omitempty"`
	Seen     *plan.Mark      `json:"seen,omitempty"`  // the slice when it was judged
	After    *plan.Mark      `json:"after,omitempty"` // the slice as settling leaves it
	Tests    int             `json:"tests,omitempty"` // the slice's tests when it was judged

	// Verdict is of the tests that gl ran on its work: merged or, with Conditions.Test, in the
	// checkout.
	Verdict    *testrun.Verdict `json:"verdict,omitempty"`
	Unverified string           `json:"unverified,omitempty"` // why they weren't run in the checkout
	Verified   plan.Verified    `json:"verified,omitempty"`   // of an attempt that is done
	Gate       *gate.Ruling     `json:"gate,omitempty"`       // see Ruled for older records

	Compared Comparison `json:"-"` // of the tests in the checkout; Gate has the result
}

// Errand is what a task's agent is to leave behind, and whether it has.
type Errand struct {
	Summary    string   `json:"summary,omitempty"`     // where its summary belongs, relative to the root
	Wants      *Wants   `json:"wants,omitempty"`       // what it must leave behind to be done
	HasSummary bool     `json:"has_summary,omitempty"` // the summary was there when it was judged
	Lacks      []string `json:"lacks,omitempty"`       // what of Wants the agent hasn't left
	Refused    string   `json:"refused,omitempty"`     // why its verdict is no
}

// Aftermath is what a person has done since the attempt ended.
type Aftermath struct {
	Retried  bool      `json:"retried,omitempty"`
	Rejected string    `json:"rejected,omitempty"` // why the work was sent back
	Comments []Comment `json:"comments,omitempty"` // on its lines
	Answered *Answer   `json:"answered,omitempty"` // where it ended with a question
	Undone   *Undo     `json:"undone,omitempty"`   // where it landed
	At       time.Time `json:"at,omitzero"`        // when it was put back last
	Fixed    bool      `json:"fixed,omitempty"`    // what had failed the tests; they passed since
}

// Terms are what a person had decided about a slice when it was claimed. Its agent can write to
// the slice's file and to contracts; what it changes there makes nothing easier for it.
type Terms struct {
	Review string `json:"review,omitempty"` // why a person is to approve it; "" for no reason
	Wraps  bool   `json:"wraps,omitempty"`  // it replaces wrapped code, and may remove the tests that lock that
}

// Unfinished reports whether the item is still what the attempt is to do. A staged one says so
// by its step: its system may have no word for being worked on.
func (l *Life) Unfinished(it plan.Item) bool {
	if it.Staged {
		return it.Step == l.Before.Step && plan.Classify(it.Status) != plan.Done
	}
	return plan.Classify(it.Status) == plan.Active
}

// Name is the record's file name without its ending: "S-01.3".
func (id *Identity) Name() string { return fmt.Sprintf("%s.%d", id.Slice, id.N) }

// IsOf reports whether the attempt was at the item, not at one that had its id before.
// Ids of units come back (core, api, tests): a failure in one work must not hold up the unit of
// the same name in the next.
func (id *Identity) IsOf(it *plan.Item) bool { return id.Of == "" || id.Of == it.Of }

// Cost is what the agent says it cost, in US dollars; nil for unknown.
func (j *Judgement) Cost() *float64 {
	if j.Evidence == nil || j.Evidence.Result == nil {
		return nil
	}
	return j.Evidence.Result.CostUSD
}

// Why gl ended the agent itself: Life.Ending.
const (
	EndStop    = "stop"    // gl stop, Ctrl-C
	EndSilence = "silence" // no event for the silent limit
	EndGrace   = "grace"   // still there long after its result
	EndCommand = "command" // the slash command isn't installed
	EndAbandon = "abandon" // gl retry --abandon: where it ran is gone
)

// Evidence is what the wrapper saw of the agent's end, before it is judged.
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
