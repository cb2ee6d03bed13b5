// Package journal is the project's record of events: .greenlight/runs/journal.jsonl, one JSON
// object per line. An event is appended before it is shown, so every reader of the journal
// tells the same story. The records of attempts remain the source of truth: no decision depends
// on the journal.
//
// # Writing
//
// An append is one write(2) of whole lines with O_APPEND, under the kernel's lock on the file.
// The lock is held for microseconds, and a writer waits for it at most lockWait: without it a
// line is still written whole, and only the repairs of the file (below) are skipped. A process
// killed during a write leaves a partial line. The next writer ends it with a newline, and
// readers skip and count it. Events that a full disk rejects stay in memory and are written
// with the process's next append; the caller's operation doesn't fail because of that. The file
// is only ever appended to, so a reader's position stays valid.
//
// # Once
//
// A state change is first written to its file, and then to the journal, so that the journal
// never reports what didn't happen. A kill between the two loses the event until another
// process completes the dead process's work: a settler appends the events that the record
// proves, with the record's times, by AppendOnce, which omits those that the journal has. An
// event that may be repeated has a Key. So a settled attempt has each of its events once, in
// order. Work that no other process completes has no second chance: a run that is killed has
// no drain_ended.
//
// Only events that mark the end of work are flushed to disk (Kind.durable). Others that a power
// cut destroys are repeated as above.
//
// # Rotation
//
// At 8 MiB the file becomes journal.1.jsonl, and so on up to journal.4.jsonl; the oldest is
// deleted. An event takes about 250 bytes and an attempt has about ten: 40 MiB hold the history
// of 16,000 attempts, enough to learn durations from, and one file takes a tenth of a second to
// read. A reader keeps its file open and so sees its end, even after a rename.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/jsondoc"
)

// A Kind is the type of an event. To add one, add a line here and run make docs, since the JSON
// Schema lists them.
type Kind string

const (
	DrainStarted Kind = "drain_started" // a gl began to launch agents
	DrainEnded   Kind = "drain_ended"   // and stopped; missing if it was killed
	// a slice was claimed: for an attempt, or by a session (no attempt)
	Claimed     Kind = "claimed"
	Launched    Kind = "launched"     // the agent of an attempt was started
	Step        Kind = "step"         // a slice's step or status changed
	Tests       Kind = "tests"        // a slice's test counts changed
	SetupFailed Kind = "setup_failed" // the worktree of an attempt couldn't be prepared
	Stopped     Kind = "stopped"      // gl began to end an attempt; reason tells why
	Ended       Kind = "ended"        // the agent has exited, and the attempt has its outcome
	Settled     Kind = "settled"      // the slice's file reflects the outcome
	// a claim was undone: no agent ran for it, or its session released it
	GivenBack Kind = "given_back"
	NeedsYou  Kind = "needs_you"  // a slice began to wait for a person
	Held      Kind = "hold"       // launching is paused until a time
	HoldEnded Kind = "hold_ended" // and resumed
	Budget    Kind = "budget"     // a person set a budget for agents
	Retried   Kind = "retried"    // a person reset a slice
	Renamed   Kind = "renamed"    // a person gave a slice another id; from is the previous one
	Accepted  Kind = "accepted"   // a person approved a slice
	Rejected  Kind = "rejected"   // a person sent a slice back
	Answered  Kind = "answered"   // a person answered a slice's question
	// an agent proposed a setting that it may not change itself
	Proposal Kind = "proposal"
	Queued   Kind = "queued"  // a slice entered the merge queue
	Merge    Kind = "merge"   // the merge queue merged a slice, or met a conflict
	Verdict  Kind = "verdict" // the tests were run on a tree
	// an entry of the merge queue was set aside: those behind it are tested without it; reason
	// tells why, in words
	SetAside    Kind = "set_aside"
	Undone      Kind = "undone"      // a person undid a merge
	Landed      Kind = "landed"      // a slice was merged
	Delivered   Kind = "delivered"   // the target branch has the merged commits
	Undelivered Kind = "undelivered" // the target branch can't be moved at the moment
	// the merged commits were pushed, and are in a pull request
	PullRequest Kind = "pull_request"
	Said        Kind = "said"    // a person sent a message to a slice's agent
	Heard       Kind = "heard"   // and the agent of an attempt received it
	Unheard     Kind = "unheard" // and no agent will receive it: the work is done
	// a worker has work of an attempt that no longer counts; gl has kept it under the branch, or
	// reason tells why not
	LateWork Kind = "late_work"
	// gl began to notify a person of a transition; reason is its kind
	Notified Kind = "notified"
	Told     Kind = "told" // and all channels have been tried
)

// Conflicts is the outcome of a Merge that found conflicts.
const Conflicts = "conflict"

// Untested is the outcome of a Landed without a test command.
const Untested = "untested"

// durable reports whether the event must survive a power cut, because it isn't repeated.
func (k Kind) durable() bool { return k == Settled || k == Landed }

// An Event is one line of the journal. Of the optional keys, an event has those that its kind
// needs; a missing one is unknown or doesn't apply.
type Event struct {
	SchemaVersion int       `json:"schema_version"` // 1
	Time          time.Time `json:"time"`           // UTC, with milliseconds
	Kind          Kind      `json:"kind"`           //
	Key           string    `json:"key,omitempty"`  // unique id of the event
	// state format of the slice, if a project has several
	System  string `json:"system,omitempty"`
	Slice   string `json:"slice,omitempty"`   // or the id of a task, @quick
	Attempt int    `json:"attempt,omitempty"` // number of the slice's attempt

	Agent  string `json:"agent,omitempty"`
	Runner string `json:"runner,omitempty"` // tmux, process or worker
	Worker string `json:"worker,omitempty"` // that has the attempt, with its machine; missing for this one
	PID    int    `json:"pid,omitempty"`    // of the gl that drains, or of the agent
	Max    int    `json:"max,omitempty"`    // slots of the run
	// set by --max: a later change of parallel.max overrides it
	Fixed  bool  `json:"fixed,omitempty"`
	Totals *Sums `json:"totals,omitempty"` // drain_ended: the slices at the end of the run

	Status string `json:"status,omitempty"` // of the slice now
	Step   string `json:"step,omitempty"`   // of the slice now
	// step: the previous step or status; renamed: the previous id
	From string `json:"from,omitempty"`

	Tests         *int `json:"tests,omitempty"` // of the slice now, as its agent counts
	SecurityTests *int `json:"security_tests,omitempty"`
	Failing       *int `json:"failing,omitempty"`

	// of the attempt; of a verdict: green or red; set_aside: conflict, failed, again, person or
	// base
	Outcome string `json:"outcome,omitempty"`
	Detail  string `json:"detail,omitempty"` // a short explanation
	// as reported by agents: of the attempt; of all that ended during the run; missing if
	// unknown
	CostUSD *float64 `json:"cost_usd,omitempty"`
	Tokens  *Tokens  `json:"tokens,omitempty"` // as the agent counts; missing if unknown
	Turns   int      `json:"turns,omitempty"`  //
	// of the agent's run, the merge or the tests
	DurationMS *int64 `json:"duration_ms,omitempty"`

	// ended: when the agent exited, if the attempt then awaited the merge queue or a person
	AgentEnded *time.Time `json:"agent_ended,omitempty"`

	Branch  string `json:"branch,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Target  string `json:"target,omitempty"`  // the branch that work is merged to
	Tree    string `json:"tree,omitempty"`    // the tree that was tested
	Command string `json:"command,omitempty"` // the test command
	Exit    *int   `json:"exit,omitempty"`    // its exit code; missing if it has none
	Passed  *int   `json:"passed,omitempty"`  // tests
	Failed  *int   `json:"failed,omitempty"`  // tests

	Until  *time.Time `json:"until,omitempty"`  // end of a hold
	Reason string     `json:"reason,omitempty"` // why, in one word or verbatim
	// whose limit holds all agents, or which session claimed
	By string `json:"by,omitempty"`

	Setting string `json:"setting,omitempty"` // key of a proposal
	Value   string `json:"value,omitempty"`   // value of a proposal
}

// Subject returns the slice or, for a task, whose id is that of its kind, its attempt: "S-1",
// "@quick.2".
func (e *Event) Subject() string {
	if strings.HasPrefix(e.Slice, "@") && e.Attempt > 0 {
		return fmt.Sprintf("%s.%d", e.Slice, e.Attempt)
	}
	return e.Slice
}

// Tokens are the tokens of a run. The counts are disjoint.
type Tokens struct {
	Input  int64 `json:"input" jsonschema:"minimum=0"`  // not from a cache
	Output int64 `json:"output" jsonschema:"minimum=0"` //
	// input read from the service's cache
	CacheRead int64 `json:"cache_read" jsonschema:"minimum=0"`
	// input written to the service's cache
	CacheWrite int64 `json:"cache_write" jsonschema:"minimum=0"`
}

// Sums count the slices of a project, or of the part being drained.
type Sums struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Stalled int `json:"stalled"`
	Stopped int `json:"stopped,omitempty"` // stalled slices that a person stopped
	Waiting int `json:"waiting"`
	Blocked int `json:"blocked"`
}

// NobodyRead is the text of an event Unheard, behind its slice or task. The event's reason has
// the unread message.
const NobodyRead = "is complete, and no agent has read what you said"

// NothingLeft is the reason of a run that ended because nothing could go on without a person.
const NothingLeft = "nothing left to do"

// NothingReady is what Ending calls it where items are left that wait for a person.
const NothingReady = "nothing was ready any more"

// LaunchedOver is the reason of a run that wasn't to do more: it had named slices to do, or one
// round, after which others are ready.
const LaunchedOver = "what it had launched was over"

// Interrupted is what Ending calls the end by Ctrl-C.
const Interrupted = "interrupted"

// Ending returns in words why a run ended.
func (e Event) Ending() string {
	text := e.Reason
	if text == "signal: interrupt" { // as os.Signal writes it
		text = Interrupted
	}
	if t := e.Totals; text == NothingLeft && t != nil && t.Done < t.Total {
		text = NothingReady
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

const (
	longestText = 1000      // bytes of any text in an event
	longestLine = 256 << 10 // a longer line isn't an event
	timeLayout  = "2006-01-02T15:04:05.000Z"
)

// Line returns the event as one line of JSON without a line ending, as in the journal, safe to
// display.
func (e Event) Line() ([]byte, error) {
	for _, s := range []*string{&e.Key, &e.System, &e.Slice, &e.Agent, &e.Runner, &e.Status,
		&e.Step, &e.From, &e.Outcome, &e.Detail, &e.Branch, &e.Commit, &e.Target, &e.Tree,
		&e.Command, &e.Reason, &e.By, &e.Setting, &e.Value} {
		*s = clip(*s)
	}
	e.SchemaVersion = 1
	text, err := jsondoc.Marshal(wire{e.SchemaVersion, stamp(e.Time), &e}, "")
	return []byte(text), err
}

// wire formats the time with exactly three digits of milliseconds.
type wire struct {
	SchemaVersion int    `json:"schema_version"`
	Time          string `json:"time"`
	*Event
}

func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }

// clip shortens a text to the limit of an event.
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

// parse parses one line with any content.
func parse(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, err
	}
	e.Time = e.Time.UTC()
	switch year := e.Time.Year(); {
	case e.Kind == "" || e.Time.IsZero() || year < 1970 || year > 9999:
		return Event{}, errors.New("not an event")
	case e.Attempt < 0 ||
		e.Until != nil && (e.Until.UTC().Year() < 0 || e.Until.UTC().Year() > 9999):
		return Event{}, fmt.Errorf("%s: not an event", e.Kind)
	}
	return e, nil
}

// A Progress is the part of a slice's file that the journal records.
type Progress struct {
	Status, Step                  string
	Tests, SecurityTests, Failing int
}

// Since returns the events that lead from before to p. of is an event with the caller's Slice
// and Attempt set.
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
	if p.Tests != before.Tests || p.SecurityTests != before.SecurityTests ||
		p.Failing != before.Failing {
		e := of
		e.Kind, e.Tests, e.SecurityTests = Tests, &p.Tests, &p.SecurityTests
		if p.Failing >= 0 { // negative if unknown
			e.Failing = &p.Failing
		}
		events = append(events, e)
	}
	return events
}
