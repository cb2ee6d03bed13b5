// Package notify tells a person about the transitions of a run: each once, but again those that
// a killed run was just announcing. It reads the journal and records there what it is about to
// announce, so that no two processes announce the same, and what it has announced. Messages go
// to channels: gl's terminal, the desktop, a webhook, ntfy, a command. Each channel has a queue
// and a goroutine, so a hanging one delays nothing else.
package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/scrub"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

// A Kind is a type of transition that a person may want to hear about.
type Kind string

const (
	NeedsYou Kind = "needs_you" // only a person can move a slice on
	Failed   Kind = "failed"    // an attempt failed
	Hold     Kind = "hold"      // launching is paused
	Budget   Kind = "budget"    // launching is paused because a budget is spent
	End      Kind = "end"       // the run has ended
	Done     Kind = "done"      // a slice or task is complete
)

// Kinds returns all of them. Done is off by default.
func Kinds() []Kind { return []Kind{NeedsYou, Failed, Hold, Budget, End, Done} }

// Default returns the kinds announced without a setting.
func Default() []Kind { return []Kind{NeedsYou, Failed, Hold, Budget, End} }

// A Message is an announcement to a person; commands and webhooks get it as JSON. Its texts are
// sanitized, with anything that looks like a key removed.
type Message struct {
	SchemaVersion int       `json:"schema_version"` // 1
	Kind          Kind      `json:"kind"`           //
	Time          time.Time `json:"time"`           // of the event
	Project       string    `json:"project"`        // name of its directory
	Root          string    `json:"root"`           // its absolute path
	Slice         string    `json:"slice"`          // slice or task (@quick); "" for the whole run
	Attempt       int       `json:"attempt"`        // 0 for none
	Title         string    `json:"title"`          // "shop: S-3 needs you"
	Text          string    `json:"text"`           // the reason
	Link          string    `json:"link"`           // of its page in gl web; "" without web.url
}

// JSON returns the message as one line.
func (m Message) JSON() []byte {
	data, _ := json.Marshal(m) // can't fail
	return append(data, '\n')
}

const longest = 300 // characters of a title or a text

// of returns the message about an event; false if the event isn't a transition for people.
func of(e *journal.Event) (Message, bool) {
	m := Message{SchemaVersion: 1, Time: e.Time, Slice: e.Slice, Attempt: e.Attempt, Text: e.Detail}
	who := e.Subject()
	switch {
	case e.Kind == journal.NeedsYou:
		m.Kind, m.Title, m.Text = NeedsYou, who+" needs you", e.Reason
	case e.Kind == journal.Unheard:
		m.Kind, m.Title, m.Text = NeedsYou, who+" "+journal.NobodyRead, e.Reason
	case e.Kind == journal.Ended:
		shown := outcome.Of(e.Outcome).Shown
		m.Kind, m.Title = toldAs[shown.Told], who+" "+shown.Said()
		return m, m.Kind != ""
	case e.Kind == journal.Held && e.Reason == plan.HeldByPerson: // the person knows already
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
	case e.Kind == journal.DrainEnded && (e.Reason == journal.NothingLeft || e.Reason == journal.LaunchedOver || e.Reason == "error" || e.Reason == "held"):
		// the others were caused by a person
		m.Kind, m.Title, m.Text = End, "the run is over", ending(e)
	default:
		return m, false
	}
	return m, true
}

// toldAs has the kinds of messages about outcomes.
var toldAs = map[outcome.Told]Kind{outcome.AsFailure: Failed, outcome.AsDone: Done}

// ending describes the slices at the end of a run.
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

// clean sanitizes the texts for any channel, and puts the project before the title.
func (m Message) clean(project string) Message {
	m.Project = sanitize.Line(project)
	m.Title = sanitize.Excerpt(m.Project+": "+m.Title, longest)
	m.Text = sanitize.Excerpt(scrub.Text(m.Text), longest)
	return m
}
