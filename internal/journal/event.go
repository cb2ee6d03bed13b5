// Package journal is the project's record of events: .greenlight/runs/journal.jsonl, one JSON object a line. Whoever does
// something appends the event before it is shown, so everything that reads the journal tells the same story. The records
// of attempts remain the truth about attempts: nothing is decided by the journal.
//
// # Writing
//
// An append is one write(2) with O_APPEND of whole lines, under the kernel's lock on the file. The lock is held for
// microseconds, and not waited for longer than lockWait: without it a line still goes in whole, and only what mends the
// file (below) is left out. A process that is killed in a write leaves a part of a line. The next writer ends it with a
// newline, and readers skip it and count it. What a full disk doesn't take is kept in memory, and goes in with the next
// append of the process. The caller's deed doesn't fail because of it. The file is only ever appended to, so a reader's
// place in it stays right.
//
// # Once
//
// A state change is written to its file first, and its event after that, so that the journal tells of nothing that didn't
// happen. A kill between the two loses the event until somebody finishes what the dead process began: a settler appends
// the events that the record proves, with the record's times, by AppendOnce, which leaves out what the journal has. An
// event that may be told again has a Key. So an attempt that is settled has each of its events once, in order. What isn't
// finished by anybody else has no second chance: a drain that is killed has no drain_ended.
//
// Only events that mark the end of work are flushed to the disk (Kind.durable). What a power cut takes of the others is
// told again as above.
//
// # Rotation
//
// At 8 MiB the file becomes journal.1.jsonl, and so on to journal.4.jsonl; the oldest goes. An event has about 250 bytes
// and an attempt about ten of them: that is the history of 16,000 attempts in 40 MiB, enough to learn durations from, and one
// file is read in a tenth of a second. A reader has a file open and so sees its end, whatever its name has become.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"greenlight/internal/jsondoc"
)

// A Kind says what happened. To add one, add a line here; run make docs, since the JSON Schema lists them.
type Kind string

const (
	DrainStarted Kind = "drain_started" // a gl began to launch agents
	DrainEnded   Kind = "drain_ended"   // and stopped; missing if it was killed
	Claimed      Kind = "claimed"       // a slice was taken: for an attempt, or by a session (no attempt)
	Launched     Kind = "launched"      // the agent of an attempt was started
	Step         Kind = "step"          // a slice's step or status changed
	Tests        Kind = "tests"         // a slice's test counts changed
	SetupFailed  Kind = "setup_failed"  // the worktree of an attempt couldn't be made ready
	Stopped      Kind = "stopped"       // gl began to end an attempt; reason says why
	Ended        Kind = "ended"         // the agent is gone, and the attempt has its outcome
	Settled      Kind = "settled"       // the slice's file follows the outcome
	GivenBack    Kind = "given_back"    // a claim was undone: no agent ran for it, or its session released it
	NeedsYou     Kind = "needs_you"     // a slice began to wait for a person
	Held         Kind = "hold"          // launching is paused until a time
	HoldEnded    Kind = "hold_ended"    // and goes on
	Budget       Kind = "budget"        // a person set what agents may cost
	Retried      Kind = "retried"       // a person put a slice back
	Renamed      Kind = "renamed"       // a person gave a slice another id; from is the one before
	Accepted     Kind = "accepted"      // a person approved a slice
	Rejected     Kind = "rejected"      // a person sent a slice back
	Answered     Kind = "answered"      // a person answered a slice's question
	Proposal     Kind = "proposal"      // an agent proposed a setting that it may not change
	Queued       Kind = "queued"        // a slice waits for the lane
	Merge        Kind = "merge"         // the lane merged a slice, or met a conflict
	Verdict      Kind = "verdict"       // the tests were run on a tree
	Undone       Kind = "undone"        // a person took back what had landed
	Landed       Kind = "landed"        // a slice is in the lane
	Delivered    Kind = "delivered"     // the target has the lane's commits
	Undelivered  Kind = "undelivered"   // the target can't be moved now
	PullRequest  Kind = "pull_request"  // the lane was pushed, and is in a pull request
	Said         Kind = "said"          // a person said something to a slice's agent
	Heard        Kind = "heard"         // and the agent of an attempt has it
	Unheard      Kind = "unheard"       // and nobody will have it: the work is done
	Notified     Kind = "notified"      // a drain begins to tell a person of a transition; reason is its kind
	Told         Kind = "told"          // and all of its channels are through with that
)

// durable says whether the event must outlast a power cut: nobody tells it again.
func (k Kind) durable() bool { return k == Settled || k == Landed }

// An Event is one line of the journal. Of the optional keys an event has those that its kind needs; a missing one is
// unknown or doesn't apply.
type Event struct {
	SchemaVersion int       `json:"schema_version"`    // 1
	Time          time.Time `json:"time"`              // UTC, with milliseconds
	Kind          Kind      `json:"kind"`              //
	Key           string    `json:"key,omitempty"`     // the event's own: no two events have the same
	System        string    `json:"system,omitempty"`  // state format of the slice, where a project has several
	Slice         string    `json:"slice,omitempty"`   // or the id of a task, @quick
	Attempt       int       `json:"attempt,omitempty"` // number of the slice's attempt

	Agent  string `json:"agent,omitempty"`
	Runner string `json:"runner,omitempty"` // tmux or process
	PID    int    `json:"pid,omitempty"`    // of the gl that drains, or of the agent
	Max    int    `json:"max,omitempty"`    // slots of the drain
	Fixed  bool   `json:"fixed,omitempty"`  // by --max: they follow parallel.max only when somebody sets it later
	Totals *Sums  `json:"totals,omitempty"` // drain_ended: the slices, as the drain leaves them

	Status string `json:"status,omitempty"` // of the slice now
	Step   string `json:"step,omitempty"`   // of the slice now
	From   string `json:"from,omitempty"`   // step: the step or status before; renamed: the id before

	Tests         *int `json:"tests,omitempty"` // of the slice now, as its agent counts
	SecurityTests *int `json:"security_tests,omitempty"`
	Failing       *int `json:"failing,omitempty"`

	Outcome    string   `json:"outcome,omitempty"`     // of the attempt; of a verdict: green or red
	Detail     string   `json:"detail,omitempty"`      // in a few words
	CostUSD    *float64 `json:"cost_usd,omitempty"`    // as agents say: of the attempt; of all that ended during the drain; missing for unknown
	Tokens     *Tokens  `json:"tokens,omitempty"`      // as the agent counts; missing for unknown
	Turns      int      `json:"turns,omitempty"`       //
	DurationMS *int64   `json:"duration_ms,omitempty"` // of the agent's run, the merge or the tests

	AgentEnded *time.Time `json:"agent_ended,omitempty"` // ended: when the agent ended, if the attempt then awaited the lane, or a person

	Branch  string `json:"branch,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Target  string `json:"target,omitempty"`  // the branch that is delivered to
	Tree    string `json:"tree,omitempty"`    // that was tested
	Command string `json:"command,omitempty"` // the test command
	Exit    *int   `json:"exit,omitempty"`    // its exit code; missing if it has none
	Passed  *int   `json:"passed,omitempty"`  // tests
	Failed  *int   `json:"failed,omitempty"`  // tests

	Until  *time.Time `json:"until,omitempty"`  // end of a hold
	Reason string     `json:"reason,omitempty"` // why, in a word or in somebody's own words
	By     string     `json:"by,omitempty"`     // whose limit holds everybody, or which session claimed

	Setting string `json:"setting,omitempty"` // a proposal's key
	Value   string `json:"value,omitempty"`   // and value
}

// Subject is the slice or, since a task's id is that of its kind, the task's attempt: "S-1", "@quick.2".
func (e *Event) Subject() string {
	if strings.HasPrefix(e.Slice, "@") && e.Attempt > 0 {
		return fmt.Sprintf("%s.%d", e.Slice, e.Attempt)
	}
	return e.Slice
}

// Tokens are those of a run. No two of the counts have a token in common.
type Tokens struct {
	Input      int64 `json:"input" jsonschema:"minimum=0"`       // not from a cache
	Output     int64 `json:"output" jsonschema:"minimum=0"`      //
	CacheRead  int64 `json:"cache_read" jsonschema:"minimum=0"`  // input that the service had
	CacheWrite int64 `json:"cache_write" jsonschema:"minimum=0"` // input that it keeps
}

// Sums count the slices of a project or of the part that is drained.
type Sums struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Stalled int `json:"stalled"`
	Stopped int `json:"stopped,omitempty"` // of those that are stalled: by a person
	Waiting int `json:"waiting"`
	Blocked int `json:"blocked"`
}

// NobodyRead is what an event Unheard says of its slice or task, for everything that tells it; the event's reason has what was said.
const NobodyRead = "is complete, and no agent has read what you said"

// NothingLeft is why a drain ended that has done what it could.
const NothingLeft = "nothing left to do"

const (
	longestText = 1000      // bytes of any text in an event
	longestLine = 256 << 10 // what is longer isn't an event
	timeLayout  = "2006-01-02T15:04:05.000Z"
)

// Line is the event as one line of JSON, without its end: the line of the journal, safe to look at.
func (e Event) Line() ([]byte, error) {
	for _, s := range []*string{&e.Key, &e.System, &e.Slice, &e.Agent, &e.Runner, &e.Status, &e.Step, &e.From, &e.Outcome, &e.Detail,
		&e.Branch, &e.Commit, &e.Target, &e.Tree, &e.Command, &e.Reason, &e.By, &e.Setting, &e.Value} {
		*s = clip(*s)
	}
	e.SchemaVersion = 1
	text, err := jsondoc.Marshal(wire{e.SchemaVersion, stamp(e.Time), &e}, "")
	return []byte(text), err
}

// wire has the time with its milliseconds, all three digits of them.
type wire struct {
	SchemaVersion int    `json:"schema_version"`
	Time          string `json:"time"`
	*Event
}

func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }

// clip shortens a text to what an event may hold.
func clip(s string) string {
	if len(s) <= longestText {
		return s
	}
	cut := longestText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// parse reads one line. Anything may be in it.
func parse(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, err
	}
	e.Time = e.Time.UTC()
	switch year := e.Time.Year(); {
	case e.Kind == "" || e.Time.IsZero() || year < 1970 || year > 9999:
		return Event{}, errors.New("not an event")
	case e.Attempt < 0 || e.Until != nil && (e.Until.UTC().Year() < 0 || e.Until.UTC().Year() > 9999):
		return Event{}, fmt.Errorf("%s: not an event", e.Kind)
	}
	return e, nil
}

// A Progress is what the journal tells of a slice's file.
type Progress struct {
	Status, Step                  string
	Tests, SecurityTests, Failing int
}

// Since returns the events that lead from before to p. Slice and attempt are for the caller to fill in: of is an event that
// has them.
func (p Progress) Since(before Progress, of Event) []Event {
	var events []Event
	if p.Status != before.Status || p.Step != before.Step {
		e := of
		e.Kind, e.Status, e.Step, e.From = Step, p.Status, p.Step, before.Step
		if before.Step == "" || strings.EqualFold(p.Step, before.Step) {
			e.From = before.Status
		}
		events = append(events, e)
	}
	if p.Tests != before.Tests || p.SecurityTests != before.SecurityTests || p.Failing != before.Failing {
		e := of
		e.Kind, e.Tests, e.SecurityTests = Tests, &p.Tests, &p.SecurityTests
		if p.Failing >= 0 { // else nobody knows how many
			e.Failing = &p.Failing
		}
		events = append(events, e)
	}
	return events
}
