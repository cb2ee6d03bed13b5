package scheduler

import (
	"fmt"
	"os"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/notify"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
	"greenlight/internal/workspace/worktree"
)

// A Config is what a run is to do, and with what.
type Config struct {
	Project  *project.Project
	Scope    Scope
	Slots    Slots
	Mode     Mode
	Tools    Tools
	Builders Builders
	Pace     Pace
	Output   Output
	Signals  <-chan os.Signal // each one ends the run
	// Stop watches for gl stop --all from when the command began to wait, which people see before
	// the run begins; nil to watch from when the run begins.
	Stop *attempt.StopWatch
}

// A Scope is what a run builds.
type Scope struct {
	Task      *attempt.Task // this task, once, instead of slices
	IDs       []string      // the named slices, in the order given; nil for every ready one
	Milestone string
	Force     bool
	Over      map[string]string // by id: the session whose claim a person agreed to take over
}

// Slots limits how many attempts there may be at a time.
type Slots struct {
	Max    int        // attempts at a time in the whole project
	Fixed  bool       // Max is from --max: Now doesn't count until a person sets the slots again
	Now    func() int // Max by the configuration as it is now
	Serial bool       // this run has at most one attempt at a time
}

// A Mode is how a run begins, goes on and ends.
type Mode struct {
	Refill     bool     // launch again as slots free; otherwise one round
	Lead       bool     // gl slice --watch: adopt attempts; one such run decides for the project
	Foreground bool     // a signal ends the attempts; otherwise they continue
	Detach     bool     // end as soon as the first round is launched
	Attend     bool     // launch only what the merge queue sends back to its agent
	Adopt      []string // names of others' attempts that this run answers for
}

// Tools are what a run starts and merges attempts with.
type Tools struct {
	Runner runner.Runner
	Trees  *worktree.Repo // where slices are built in worktrees; nil for the checkout
	Lane   *lane.Queue    // merges and tests what is built in worktrees; nil without them
}

// Builders are the agents that a run may launch, and the trust store that allows them.
type Builders struct {
	Agents []Agent // in order of preference
	// Find returns the agent that a slice names; nil to ignore such names.
	Find func(pr *project.Project, name string) (Agent, error)
	// Renew returns one of Agents as it is configured now; nil if that doesn't change.
	Renew    func(pr *project.Project, name string) (Agent, error)
	Escalate string // attempt.Request.Escalate

	// What the person has allowed: no other command of the configuration is launched.
	Trust trust.Store
	// The project they allowed it for: this one, or the one that this is a copy of.
	TrustRoot string
}

// Pace is a run's times.
type Pace struct {
	Interval time.Duration // between two looks if no event comes
	Stagger  time.Duration // between two launches
	// after which a claim that failed is tried again; nil for claimPauses
	ClaimAgain []time.Duration
}

// Output is where a run tells what happens.
type Output struct {
	Report   func(Report)
	Channels []notify.Channel              // by which people are notified; nil for none
	Trace    func(format string, a ...any) // each decision and file event, for --verbose
}

// An Agent is one that the run may launch.
type Agent struct {
	agent.Agent
	Job     agent.Job // Dir, PluginDirs and Account; each slice adds the rest
	Environ []string  // what is added to the environment; it may hold keys
	// Instructions returns Job.Instructions for an item's prompt; nil for none
	Instructions func(prompt string) string

	named bool // only slices that name it get it
}

func (a Agent) account() plan.Account {
	return plan.Account{Agent: a.Name, ID: a.Job.Account, Named: a.named}
}

func (a Agent) instructions(prompt string) string {
	if a.Instructions == nil {
		return ""
	}
	return a.Instructions(prompt)
}

// A Report is what one pass has found and done. Plan is always there.
type Report struct {
	Plan     *plan.Plan
	Max      int               // attempts at a time, now; 0 in a report of Locked
	Adopted  []*attempt.Record // found running, of an earlier gl
	Ended    []*attempt.Record // settled
	Unheard  []journal.Event   // what a person said to agents that ended without reading it
	Launched []*attempt.Record
	Ready    int // how many were ready when the first of Launched was claimed, that one included
	Warnings []string
	Holds    []*plan.Hold // launches stop until then, all or those of an agent; each hold once
	// slices that have waited for a worker for a while, once for each reason
	Unplaced []plan.Unplaced
	Leader   string // the run that leads instead of this one; once
	Locked   string // the process that has held the project's lock for too long
	TookOver bool   // this run leads from now on
	Full     bool   // others have all slots, and this run has no attempts; once
	NoSpace  error  // no state can be written, so attempts that end aren't settled; once
}

// warn adds a warning.
func (r *Report) warn(format string, a ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, a...))
}

// A Result is how a run ended.
type Result struct {
	Plan    *plan.Plan
	Ended   []*attempt.Record // all that it saw end
	Open    []*attempt.Record // what continues without it
	Signal  os.Signal         // what ended it
	Stopped bool              // by gl stop --all
	Lane    lane.Status       // what has landed and isn't merged yet
	Lost    string            // why the target has lost merged work; "" if it hasn't
	Barred  []string          // why some of it wasn't launched: commands that aren't allowed
	Spent   spending.Total    // by what ended during the run
}
