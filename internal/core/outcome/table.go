package outcome

import "greenlight/internal/core/plan"

// The outcomes. The JSON Schemas have these names and comments: run make docs after a change.
const (
	Done        Outcome = "done"
	Advanced    Outcome = "advanced"    // a staged item: its step is done, the next one can begin
	Stalled     Outcome = "stalled"     // the agent ended without completing the slice
	Waiting     Outcome = "waiting"     // the slice needs a person now
	Held        Outcome = "held"        // rate limit, quota, login or outage: not the slice's fault
	Failed      Outcome = "failed"      // ended with an error
	Interrupted Outcome = "interrupted" // ended by gl stop or Ctrl-C
	Crashed     Outcome = "crashed"     // the wrapper vanished, and the agent's end is unknown
	Hung        Outcome = "hung"        // silent for too long, and ended by its wrapper
	Red         Outcome = "red"         // called complete, and the tests fail on its work
	Conflict    Outcome = "conflict"    // called complete, and its work doesn't merge
	Empty       Outcome = "empty"       // called complete, and nothing was changed
)

// table has one row for each outcome.
var table = [...]Traits{
	{
		Outcome: Done, Success: true, Holds: true, Worth: Useful,
		Shown: Shown{
			Words: "done", Line: "complete", Stop: "was done already", Tone: Good, Told: AsDone,
		},
		Effect: plan.Complete, Available: plan.Stalled,
	},
	{
		Outcome: Advanced, Free: true, Relaunch: Again, Worth: Neutral,
		Shown: Shown{Words: "advanced", Tone: Plain, Told: NotAtAll},
	},
	{
		Outcome: Stalled, Holds: true, Worth: Wasted,
		Shown:     Shown{Words: "stalled", Logs: true, Tone: Bad, Told: AsFailure},
		Available: plan.Stalled, Active: plan.Stalled,
	},
	{
		Outcome: Waiting, Asks: true, Worth: Useful,
		Shown:  Shown{Words: "waiting", Line: "is waiting", Tone: Wait, Told: NotAtAll},
		Active: plan.Stalled,
	},
	{
		Outcome: Held, Limited: true, Free: true, Holds: true, Relaunch: Again, Worth: Neutral,
		Shown:  Shown{Words: "held", Tone: Wait, Told: NotAtAll},
		Effect: plan.Restore, KeepsWork: true, Active: plan.Available,
		Streak: KeepsStreak,
	},
	{
		Outcome: Failed, Worth: Wasted,
		Shown:  Shown{Words: "failed", Logs: true, Tone: Bad, Told: AsFailure},
		Effect: plan.Fail, Available: plan.Failed, Active: plan.Failed,
		Streak: ExtendsStreak,
	},
	{
		Outcome: Interrupted, Stopped: true, Relaunch: Never, Worth: Neutral,
		Shown:  Shown{Words: "interrupted", Stop: "stopped", Tone: Bad, Told: NotAtAll},
		Effect: plan.Restore, KeepsWork: true, Active: plan.Stalled,
		Review: CutShort, Streak: KeepsStreak,
	},
	{
		Outcome: Crashed, Worth: Wasted,
		Shown:     Shown{Words: "crashed", Logs: true, Tone: Bad, Told: AsFailure},
		Available: plan.Stalled, Active: plan.Stalled,
		Review: CutShort,
	},
	{
		Outcome: Hung, Worth: Wasted,
		Shown:  Shown{Words: "hung", Logs: true, Tone: Bad, Told: AsFailure},
		Effect: plan.Fail, Available: plan.Failed, Active: plan.Failed,
	},
	{
		Outcome: Red, Claimed: true, Continue: true, Worth: Repairable,
		Shown:  Shown{Words: "red", Logs: true, Tone: Bad, Told: NotAtAll},
		Effect: plan.Reopen, Available: plan.Red, Active: plan.Red,
	},
	{
		Outcome: Conflict, Claimed: true, Continue: true, Worth: Repairable,
		Shown:  Shown{Words: "in conflict", Tone: Bad, Told: NotAtAll},
		Effect: plan.Reopen, Available: plan.Conflict, Active: plan.Conflict,
	},
	{
		Outcome: Empty, Claimed: true, Worth: Wasted,
		Shown:  Shown{Words: "empty", Line: "is empty", Tone: Wait, Told: NotAtAll},
		Effect: plan.Ask, Active: plan.Stalled,
		Review: Unchanged,
	},
}
