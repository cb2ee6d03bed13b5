// Package eventtext puts the events of the journal into words. Callers sanitize the texts for a
// terminal or a page.
package eventtext

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

// Of returns what happened on one line, with facts in brackets.
func Of(e journal.Event) string {
	if e.Kind == journal.Held || e.Kind == journal.HoldEnded {
		return holdEventText(e)
	}
	// An event of another version of gl may lack fields.
	text := cmp.Or(happened(e), kindText(e.Kind))
	return text + words.InBrackets(strings.Join(eventFacts(e), ", "), "")
}

// happened returns what happened. For a kind that isn't here, it is the name and the fields.
func happened(e journal.Event) string {
	switch e.Kind {
	case journal.DrainStarted:
		return "run started"
	case journal.DrainEnded:
		return "run ended: " + e.Ending()
	case journal.Claimed:
		if e.By != "" {
			return "claimed by " + e.By
		}
		return "claimed"
	case journal.Launched:
		return e.Agent + " started"
	case journal.Step:
		return stepText(e)
	case journal.Tests:
		return testsText(e)
	case journal.Renamed:
		return "renamed from " + e.From
	case journal.Ended:
		return outcome.Outcome(e.Outcome).Text(e.Detail)
	case journal.Settled:
		return "settled as " + outcome.Outcome(e.Outcome).Traits().Shown.Words
	case journal.Stopped:
		return "being ended: " + withDetail(e.Reason, e.Detail)
	case journal.NeedsYou:
		return "needs you: " + e.Reason
	case journal.Queued:
		return "enters the merge queue"
	case journal.Merge, journal.Verdict, journal.Landed, journal.Delivered, journal.Undelivered,
		journal.PullRequest:
		return laneText(e)
	case journal.LateWork:
		if e.Branch == "" {
			return "worker " + e.Worker + " has work that no longer counts, and that gl doesn't take: " + e.Reason +
				". It stays there until gl workers revoke " + e.Worker
		}
		return "worker " + e.Worker + " brought work that no longer counts: kept as " + e.Branch
	case journal.SetAside:
		return "set aside: " + e.Reason
	case journal.Undone:
		return strings.TrimSuffix("taken back: "+e.Reason, ": ")
	case journal.Unheard:
		return journal.NobodyRead + ": " + e.Reason
	case journal.Answered:
		return "answered: " + e.Reason
	case journal.Budget:
		return e.Setting + " is now " + e.Value
	case journal.Proposal:
		return "proposes " + e.Setting + " = " + e.Value
	}
	text := kindText(e.Kind)
	for _, s := range []string{e.Outcome, e.Target, e.Commit, withDetail(e.Reason, e.Detail)} {
		if s != "" {
			text += ": " + s
		}
	}
	return text
}

// stepText returns a slice's step and status: "step tests, status in_progress", or only one of them
// if they are the same.
func stepText(e journal.Event) string {
	switch {
	case e.Step == "" || e.Step == "none":
		return "status " + e.Status
	case e.Status == e.Step:
		return "step " + e.Step
	}
	return "step " + e.Step + ", status " + e.Status
}

// eventFacts returns what is known of an event besides what happened.
func eventFacts(e journal.Event) []string {
	var list []string
	if e.Attempt > 0 {
		list = append(list, fmt.Sprintf("attempt %d", e.Attempt))
	}
	switch e.Kind {
	case journal.DrainStarted:
		return []string{e.Agent, words.Count(e.Max, "slot")}
	case journal.DrainEnded:
		if t := e.Totals; t != nil {
			list = append(list, sumsText(t))
		}
	case journal.Ended:
		list = append(list, endText(e)...)
	case journal.Settled:
		if e.Status == "" { // a task has none
			return nil
		}
		return []string{"status " + e.Status}
	case journal.NeedsYou:
		return nil
	case journal.Merge, journal.Landed, journal.Delivered, journal.Undelivered, journal.PullRequest:
		// their duration doesn't matter
	default:
		if e.DurationMS != nil {
			list = append(list, eventAge(e))
		}
	}
	return list
}

// laneText returns what the merge queue did.
func laneText(e journal.Event) string {
	target := orUnknown(e.Target)
	switch {
	case e.Kind == journal.Merge && e.Outcome == journal.Conflicts:
		return "conflicts with what was merged: " + e.Detail
	case e.Kind == journal.Merge:
		return "merges with what was merged before"
	case e.Kind == journal.Landed && e.Outcome == journal.Untested:
		return withDetail("not tested", strings.TrimPrefix(e.Detail, "unverified: "))
	case e.Kind == journal.Landed:
		return withDetail("tested", e.Detail)
	case e.Kind == journal.Delivered && e.Outcome == "undone":
		return "taken back on " + target
	case e.Kind == journal.Delivered:
		return "merged into " + target
	case e.Kind == journal.PullRequest:
		return "in a pull request: " + e.Detail
	case e.Kind == journal.Undelivered:
		return "not merged into " + target + " yet: " + withDetail(e.Reason, e.Detail)
	}
	text := "tests pass"
	if e.Outcome != "green" {
		text = "tests fail"
	}
	switch {
	case e.Reason != "":
		text += " on " + e.Reason + " together"
	case e.Slice == "":
		text += " on " + target
	}
	switch {
	case e.Outcome != "green":
		text = withDetail(text, e.Detail)
	case e.Passed != nil:
		text += ": " + words.Count(*e.Passed, "test")
	}
	return text
}

func kindText(k journal.Kind) string { return strings.ReplaceAll(string(k), "_", " ") }

func withDetail(reason, detail string) string {
	if reason == "" || detail == "" {
		return reason + detail
	}
	return reason + ": " + detail
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func holdEventText(e journal.Event) string {
	if e.Kind == journal.HoldEnded && e.Agent != "" {
		return "launching " + e.Agent + " again"
	}
	if e.Kind == journal.HoldEnded {
		return "launching again"
	}
	h := plan.Hold{Agent: e.Agent, Kind: e.Reason, Reason: e.Detail, By: e.By}
	if e.Until != nil {
		h.Until = *e.Until
	}
	return h.Sentence(e.Time)
}

func testsText(e journal.Event) string {
	var parts []string
	for _, c := range []struct {
		n    *int
		what string
	}{{e.Tests, ""}, {e.Failing, "failing"}, {e.SecurityTests, "security"}} {
		switch {
		case c.n == nil || c.what != "" && *c.n == 0:
		case c.what == "":
			parts = append(parts, words.Count(*c.n, "test"))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", *c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

func endText(e journal.Event) []string {
	var more []string
	if e.DurationMS != nil {
		more = append(more, eventAge(e))
	}
	if e.Turns > 0 {
		more = append(more, words.Count(e.Turns, "turn"))
	}
	if e.CostUSD != nil {
		more = append(more, fmt.Sprintf("$%.2f", *e.CostUSD))
	}
	return more
}

func eventAge(e journal.Event) string {
	return plan.Age(time.Duration(min(*e.DurationMS,
		int64(time.Duration(1<<62)/time.Millisecond))) * time.Millisecond)
}

func sumsText(t *journal.Sums) string {
	text := fmt.Sprintf("%d/%d done", t.Done, t.Total)
	for _, c := range []struct {
		n    int
		what string
	}{{t.Failed, "failed"}, {t.Stalled, "stalled"}, {t.Waiting, "waiting"},
		{t.Blocked, "blocked"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
}
