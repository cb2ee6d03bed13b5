// Package notify tells a person of what a drain meets: once for each transition, and of what a drain was just telling when it was killed once
// more. It reads the journal and writes there what it is about to tell, so that no two processes tell the same, and what it has told. How it is told is up to
// channels: the drain's terminal, the desktop, a webhook, ntfy, a command. Each has a queue and a goroutine, so one that hangs delays nobody.
package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/journal"
	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/scrub"
)

// A Kind is a transition that somebody may want to hear of.
type Kind string

const (
	NeedsYou Kind = "needs_you" // nothing but a person moves a slice on
	Failed   Kind = "failed"    // an attempt came to nothing
	Hold     Kind = "hold"      // nothing is launched for a while
	Budget   Kind = "budget"    // nothing is launched, since a budget is spent
	End      Kind = "end"       // the drain is over
	Done     Kind = "done"      // a slice or task is complete
)

// Kinds are all of them. Done isn't told unless somebody asks for it.
func Kinds() []Kind { return []Kind{NeedsYou, Failed, Hold, Budget, End, Done} }

// Default are those that are told where nobody has chosen.
func Default() []Kind { return []Kind{NeedsYou, Failed, Hold, Budget, End} }

// A Message is what a person is told; commands and webhooks get it as JSON. Its texts have been made safe, and what looks like a key is
// taken out.
type Message struct {
	SchemaVersion int       `json:"schema_version"` // 1
	Kind          Kind      `json:"kind"`           //
	Time          time.Time `json:"time"`           // of the event
	Project       string    `json:"project"`        // name of its directory
	Root          string    `json:"root"`           // its absolute path
	Slice         string    `json:"slice"`          // or a task, @quick; "" for the whole drain
	Attempt       int       `json:"attempt"`        // 0 for none
	Title         string    `json:"title"`          // "shop: S-3 needs you"
	Text          string    `json:"text"`           // why
}

// JSON is the message as one line.
func (m Message) JSON() []byte {
	data, _ := json.Marshal(m) // nothing in it can fail
	return append(data, '\n')
}

const longest = 300 // characters of a title or a text

// of is the message about an event; false for one that isn't a transition for people.
func of(e *journal.Event) (Message, bool) {
	m := Message{SchemaVersion: 1, Time: e.Time, Slice: e.Slice, Attempt: e.Attempt, Text: e.Detail}
	who := e.Subject()
	switch {
	case e.Kind == journal.NeedsYou:
		m.Kind, m.Title, m.Text = NeedsYou, who+" needs you", e.Reason
	case e.Kind == journal.Unheard:
		m.Kind, m.Title, m.Text = NeedsYou, who+" "+journal.NobodyRead, e.Reason
	case e.Kind == journal.Ended && slices.Contains(failures, e.Outcome):
		m.Kind, m.Title = Failed, who+" "+e.Outcome
	case e.Kind == journal.Ended && e.Outcome == "done":
		m.Kind, m.Title = Done, who+" complete"
	case e.Kind == journal.Held && e.Reason == plan.HeldByPerson: // who knows
		return m, false
	case e.Kind == journal.Held && e.Until != nil:
		h := plan.Hold{Kind: e.Reason, Until: *e.Until}
		m.Kind, m.Title = Hold, "launching is held "+h.End(e.Time)
		if e.Agent != "" {
			m.Title = e.Agent + " is held " + h.End(e.Time)
		}
		if e.Reason == plan.HeldByBudget {
			m.Kind, m.Title = Budget, "the budget is spent"
		}
		if m.Slice = ""; m.Text == "" {
			m.Text = e.Reason
		}
	case e.Kind == journal.DrainEnded && (e.Reason == journal.NothingLeft || e.Reason == "error" || e.Reason == "held"): // the others a person did
		m.Kind, m.Title, m.Text = End, "the drain is over", ending(e)
	default:
		return m, false
	}
	return m, true
}

// failures are the outcomes that came to nothing. Red and conflicting work is a question to a person, or mended.
var failures = []string{"failed", "stalled", "hung", "crashed"}

// ending says how a drain left the slices.
func ending(e *journal.Event) string {
	parts := []string{}
	if t := e.Totals; t != nil {
		parts = append(parts, fmt.Sprintf("%d of %d done", t.Done, t.Total))
		for _, c := range []struct {
			n    int
			word string
		}{{t.Failed + t.Stalled - t.Stopped, "failed"}, {t.Stopped, "stopped"}, {t.Waiting, "waiting for you"}, {t.Blocked, "blocked"}} {
			if c.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
			}
		}
	}
	if e.CostUSD != nil && *e.CostUSD > 0 { // a rehearsal costs nothing
		parts = append(parts, fmt.Sprintf("$%.2f", *e.CostUSD))
	}
	text := strings.Join(parts, ", ")
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return strings.TrimPrefix(text, ": ")
}

// clean makes the texts fit for anywhere, and puts the project before the title.
func (m Message) clean(project string) Message {
	m.Project = sanitize.Line(project)
	m.Title = sanitize.Excerpt(m.Project+": "+m.Title, longest)
	m.Text = sanitize.Excerpt(scrub.Text(m.Text), longest)
	return m
}
