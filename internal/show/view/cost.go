package view

import (
	"fmt"

	"greenlight/internal/run/attempt"
)

// A Cost is the cost of attempts, as reported by their agents. An attempt whose agent didn't report
// it is counted as unknown, not as free.
type Cost struct {
	USD     float64 `json:"usd" jsonschema:"minimum=0"`     // of the attempts whose cost is known
	Known   int     `json:"known" jsonschema:"minimum=0"`   // number of these
	Unknown int     `json:"unknown" jsonschema:"minimum=0"` // attempts that ended without a known cost
}

// Add adds an attempt. A running one has no cost yet, and one whose agent never ran has none.
func (c *Cost) Add(r *attempt.Record) {
	switch usd := r.Judged.Cost(); {
	case usd != nil:
		c.USD += *usd
		c.Known++
	case r.Life.StartedAt != nil && r.Life.EndedAt != nil:
		c.Unknown++
	}
}

// Plus returns the sum of both.
func (c Cost) Plus(o Cost) Cost {
	return Cost{c.USD + o.USD, c.Known + o.Known, c.Unknown + o.Unknown}
}

// String returns "$4.20", "$4.20 + 2 unknown" or "unknown"; "" if nothing has run.
func (c Cost) String() string {
	switch {
	case c.Known == 0 && c.Unknown == 0:
		return ""
	case c.Known == 0:
		return "unknown"
	case c.Unknown > 0:
		return fmt.Sprintf("$%.2f + %d unknown", c.USD, c.Unknown)
	}
	return fmt.Sprintf("$%.2f", c.USD)
}
