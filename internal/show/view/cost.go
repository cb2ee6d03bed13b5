package view

import (
	"fmt"

	"greenlight/internal/run/attempt"
)

// A Cost is what attempts have cost, as their agents say. An attempt whose agent doesn't say is counted, not taken for free.
type Cost struct {
	USD     float64 `json:"usd" jsonschema:"minimum=0"`     // of the attempts whose cost is known
	Known   int     `json:"known" jsonschema:"minimum=0"`   // how many these are
	Unknown int     `json:"unknown" jsonschema:"minimum=0"` // attempts that have ended, and nobody knows what they cost
}

// Add adds an attempt. One that runs hasn't a cost yet, and one whose agent never ran has none.
func (c *Cost) Add(r *attempt.Record) {
	switch usd := r.Judged.Cost(); {
	case usd != nil:
		c.USD += *usd
		c.Known++
	case r.Life.StartedAt != nil && r.Life.EndedAt != nil:
		c.Unknown++
	}
}

// Plus is the sum of both.
func (c Cost) Plus(o Cost) Cost { return Cost{c.USD + o.USD, c.Known + o.Known, c.Unknown + o.Unknown} }

// String is "$4.20", "$4.20 + 2 unknown", "unknown"; "" where nothing has run.
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
