// Package spending adds up the costs of agents from the journal: by slice, by agent, by day. An
// unreported cost is unknown and counted separately, never as 0. Failed attempts cost like
// others.
package spending

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/core/outcome"
	"greenlight/internal/state/journal"
)

// A Total is the cost of some attempts.
type Total struct {
	// attempts that ran an agent
	Attempts int `json:"attempts" jsonschema:"minimum=0"`
	// of those that reported it; null if none did
	CostUSD *float64 `json:"cost_usd"`
	// attempts that didn't report it
	UnknownCost int `json:"unknown_cost" jsonschema:"minimum=0"`
	// part of cost_usd: of attempts that came to nothing: neither stopped by a limit, a question
	// or gl stop, nor red or in conflict and put right by a later one
	FailedUSD float64 `json:"failed_usd" jsonschema:"minimum=0"`
	// of those that reported them; null if none did
	Tokens *journal.Tokens `json:"tokens"`
	// attempts that didn't report them
	UnknownTokens int `json:"unknown_tokens" jsonschema:"minimum=0"`
}

// A Row is the total of one slice, agent or day.
type Row struct {
	Key string `json:"key"` // id of the slice or task, name of the agent, or local day
	Total
}

// A Book contains all totals.
type Book struct {
	all              Total
	slice, agent, on map[string]*Total
}

// Ways returns the ways to break down a book.
func Ways() []string { return []string{"slice", "agent", "day"} }

// Since adds up the journal from a time on.
func Since(j *journal.Journal, from time.Time) (*Book, error) {
	r := j.ReaderOf(from, journal.Queued, journal.Ended)
	defer r.Close()
	return Read(r.All(), from, time.Local)
}

// Read adds up the attempts whose agents have ended since from. Work that awaits the merge
// queue already has its full cost: the end of an attempt only adds its outcome. The error is
// the first from the events; those before it are counted.
func Read(events iter.Seq2[journal.Event, error], from time.Time,
	local *time.Location) (*Book, error) {
	b := &Book{slice: map[string]*Total{}, agent: map[string]*Total{}, on: map[string]*Total{}}
	queued := map[string]time.Time{} // by attempt, when it was counted
	l := ledger{branch: map[string]string{}}
	defer func() { l.close(b) }()
	for e, err := range events {
		if err != nil {
			return b, err
		}
		if e.Kind != journal.Ended && e.Kind != journal.Queued {
			continue
		}
		attempt, _ := strings.CutSuffix(e.Key, "."+string(e.Kind))
		at, counted := queued[attempt]
		if !counted {
			at = cmp.Or(deref(e.AgentEnded), e.Time).In(local)
		}
		// without a duration no agent ran: an approval, a missing program
		ours := e.DurationMS != nil && !at.Before(from)
		l.take(attempt, e, at, ours)
		if ours && !counted {
			b.each(&e, at, (*Total).add)
			if e.Kind == journal.Queued {
				queued[attempt] = at
			}
		}
	}
	return b, nil
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// A ledger records how attempts ended, until it is known which of them came to nothing.
type ledger struct {
	branch map[string]string // by attempt that went through the merge queue
	tried  []Tried
	ends   []end
}

type end struct {
	event journal.Event
	at    time.Time
	ours  bool // whether it counts
}

func (l *ledger) take(attempt string, e journal.Event, at time.Time, ours bool) {
	if e.Kind == journal.Queued {
		l.branch[attempt] = e.Branch
		return
	}
	l.tried = append(l.tried, Tried{e.Slice, l.branch[attempt], e.Outcome})
	l.ends = append(l.ends, end{e, at, ours})
}

// close counts the cost of attempts that came to nothing.
func (l *ledger) close(b *Book) {
	for i, lost := range Lost(l.tried) {
		if lost && l.ends[i].ours {
			b.each(&l.ends[i].event, l.ends[i].at, (*Total).fail)
		}
	}
}

// A Tried is an attempt that has ended.
type Tried struct {
	Slice   string
	Branch  string // the branch it worked on; "" in the checkout
	Outcome string
}

// Lost reports which attempts came to nothing, oldest first. An attempt whose work can be repaired
// isn't lost if a later one on the same branch did that.
func Lost(tried []Tried) []bool {
	lost := make([]bool, len(tried))
	right := map[Tried]bool{} // without the outcome
	for i := len(tried) - 1; i >= 0; i-- {
		t := tried[i]
		place := Tried{Slice: t.Slice, Branch: t.Branch}
		switch outcome.Of(t.Outcome).Worth {
		case outcome.Useful:
			right[place] = true
		case outcome.Repairable:
			lost[i] = !right[place]
		case outcome.Wasted:
			lost[i] = true
		case outcome.Neutral:
		}
	}
	return lost
}

// Rename adds the row of a slice's earlier id, if any, to that of the slice.
func (b *Book) Rename(from, id string) {
	t := b.slice[from]
	if t == nil || from == id {
		return
	}
	delete(b.slice, from)
	sum := entry(b.slice, id)
	*sum = sum.plus(*t)
}

// plus returns the sum of both.
func (t Total) plus(o Total) Total {
	t.Attempts += o.Attempts
	t.UnknownCost += o.UnknownCost
	t.UnknownTokens += o.UnknownTokens
	t.FailedUSD += o.FailedUSD
	if o.CostUSD != nil {
		sum := t.USD() + *o.CostUSD
		t.CostUSD = &sum
	}
	if o.Tokens != nil {
		sum := *o.Tokens
		if t.Tokens != nil {
			sum.Input, sum.Output = sum.Input+t.Tokens.Input, sum.Output+t.Tokens.Output
			sum.CacheRead, sum.CacheWrite = sum.CacheRead+t.Tokens.CacheRead,
				sum.CacheWrite+t.Tokens.CacheWrite
		}
		t.Tokens = &sum
	}
	return t
}

// each calls take for all totals that an event belongs to.
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

// fail counts the cost of a failed attempt.
func (t *Total) fail(e *journal.Event) {
	if e.CostUSD != nil && *e.CostUSD >= 0 {
		t.FailedUSD += *e.CostUSD
	}
}

// Total returns the total of all attempts.
func (b *Book) Total() Total { return b.all }

// Slice returns the total of a slice or task.
func (b *Book) Slice(id string) Total {
	if t := b.slice[id]; t != nil {
		return *t
	}
	return Total{}
}

// By breaks down the total by one of Ways. Days are in order; others are sorted by cost,
// highest first.
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

// USD returns the known cost.
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

// Text briefly describes the cost: "$4.20", "$4.20 and 2 attempts of unknown cost", "unknown
// cost".
func (t Total) Text() string {
	switch {
	case t.Attempts == 0:
		return "$0.00"
	case t.CostUSD == nil:
		return "unknown cost"
	case t.UnknownCost > 0:
		return fmt.Sprintf("$%.2f and %s of unknown cost", *t.CostUSD,
			words.Count(t.UnknownCost, "attempt"))
	}
	return fmt.Sprintf("$%.2f", *t.CostUSD)
}
