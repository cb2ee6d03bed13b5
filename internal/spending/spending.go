// Package spending adds up what agents cost, from the journal: by slice, by agent, by day. What an agent doesn't tell is unknown
// and counted apart, never 0. Failed attempts cost like others.
package spending

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"greenlight/internal/journal"
	"greenlight/internal/words"
)

// A Total is what some attempts cost.
type Total struct {
	Attempts      int             `json:"attempts" jsonschema:"minimum=0"`       // that ran an agent
	CostUSD       *float64        `json:"cost_usd"`                              // of those that told it; null if none did
	UnknownCost   int             `json:"unknown_cost" jsonschema:"minimum=0"`   // attempts that didn't
	FailedUSD     float64         `json:"failed_usd" jsonschema:"minimum=0"`     // part of cost_usd: of attempts that came to nothing; a limit, a question and gl stop are nobody's failure
	Tokens        *journal.Tokens `json:"tokens"`                                // of those that told them; null if none did
	UnknownTokens int             `json:"unknown_tokens" jsonschema:"minimum=0"` // attempts that didn't
}

// A Row is the total of one slice, agent or day.
type Row struct {
	Key string `json:"key"` // the slice's or task's id, the agent's name, the local day
	Total
}

// A Book has all totals.
type Book struct {
	all              Total
	slice, agent, on map[string]*Total
}

// Ways are what a book is broken down by.
func Ways() []string { return []string{"slice", "agent", "day"} }

// Since adds up what a journal has from a time on.
func Since(j *journal.Journal, from time.Time) (*Book, error) {
	r := j.ReaderOf(from, journal.Queued, journal.Ended)
	defer r.Close()
	return Read(r.All(), from, time.Local)
}

// Read adds up the attempts whose agents have ended since from. What awaits the merge queue has cost what it has cost: the end of an attempt
// only says what came of it. The error is the first that the events have; what came before it counts.
func Read(events iter.Seq2[journal.Event, error], from time.Time, local *time.Location) (*Book, error) {
	b := &Book{slice: map[string]*Total{}, agent: map[string]*Total{}, on: map[string]*Total{}}
	queued := map[string]time.Time{} // by attempt, when it was counted
	for e, err := range events {
		if err != nil {
			return b, err
		}
		if e.Kind != journal.Ended && e.Kind != journal.Queued || e.DurationMS == nil { // no agent ran: an approval, a program that isn't there
			continue
		}
		attempt, _ := strings.CutSuffix(e.Key, "."+string(e.Kind))
		at, counted := queued[attempt]
		switch {
		case counted && e.Kind == journal.Queued:
		case counted:
			b.each(&e, at.In(local), (*Total).fail)
		case e.AgentEnded != nil && e.AgentEnded.Before(from):
		default:
			at := e.Time
			if e.AgentEnded != nil {
				at = *e.AgentEnded
			}
			if e.Kind == journal.Queued {
				queued[attempt] = at
			}
			b.each(&e, at.In(local), (*Total).add)
		}
	}
	return b, nil
}

// each has all totals that an event belongs to take it in.
func (b *Book) each(e *journal.Event, at time.Time, take func(*Total, *journal.Event)) {
	take(&b.all, e)
	take(entry(b.slice, e.Slice), e)
	take(entry(b.agent, e.Agent), e)
	take(entry(b.on, at.Format(time.DateOnly)), e)
}

func entry(in map[string]*Total, key string) *Total {
	if in[key] == nil {
		in[key] = &Total{}
	}
	return in[key]
}

func (t *Total) add(e *journal.Event) {
	t.Attempts++
	if e.CostUSD == nil || !(*e.CostUSD >= 0) {
		t.UnknownCost++
	} else {
		sum := *e.CostUSD
		if t.CostUSD != nil {
			sum += *t.CostUSD
		}
		t.CostUSD = &sum
	}
	t.fail(e)
	if e.Tokens == nil {
		t.UnknownTokens++
		return
	}
	if t.Tokens == nil {
		t.Tokens = &journal.Tokens{}
	}
	t.Tokens.Input += max(e.Tokens.Input, 0)
	t.Tokens.Output += max(e.Tokens.Output, 0)
	t.Tokens.CacheRead += max(e.Tokens.CacheRead, 0)
	t.Tokens.CacheWrite += max(e.Tokens.CacheWrite, 0)
}

// fail counts what was spent on an attempt that came to nothing.
func (t *Total) fail(e *journal.Event) {
	if e.CostUSD != nil && *e.CostUSD >= 0 && CameToNothing(e.Outcome) {
		t.FailedUSD += *e.CostUSD
	}
}

// CameToNothing says whether an attempt with this outcome is a failure. A limit, a question and gl stop are nobody's.
func CameToNothing(outcome string) bool {
	switch outcome {
	case "", "done", "advanced", "held", "waiting", "interrupted":
		return false
	}
	return true
}

// Total is that of all attempts.
func (b *Book) Total() Total { return b.all }

// Slice is the total of a slice or task.
func (b *Book) Slice(id string) Total {
	if t := b.slice[id]; t != nil {
		return *t
	}
	return Total{}
}

// By breaks the total down by one of Ways. Days come in their order; else what cost most comes first.
func (b *Book) By(way string) []Row {
	in := map[string]map[string]*Total{"slice": b.slice, "agent": b.agent, "day": b.on}[way]
	rows := []Row{}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		rows = append(rows, Row{key, *in[key]})
	}
	if way != "day" {
		slices.SortStableFunc(rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(b.USD(), a.USD()), cmp.Compare(b.tokens(), a.tokens()))
		})
	}
	return rows
}

// USD is what is known to have been spent.
func (t Total) USD() float64 {
	if t.CostUSD == nil {
		return 0
	}
	return *t.CostUSD
}

func (t Total) tokens() int64 {
	if t.Tokens == nil {
		return 0
	}
	return t.Tokens.Input + t.Tokens.Output + t.Tokens.CacheRead + t.Tokens.CacheWrite
}

// Text is the cost in a few words: "$4.20", "$4.20 and 2 attempts of unknown cost", "unknown cost".
func (t Total) Text() string {
	switch {
	case t.Attempts == 0:
		return "$0.00"
	case t.CostUSD == nil:
		return "unknown cost"
	case t.UnknownCost > 0:
		return fmt.Sprintf("$%.2f and %s of unknown cost", *t.CostUSD, words.Count(t.UnknownCost, "attempt"))
	}
	return fmt.Sprintf("$%.2f", *t.CostUSD)
}
