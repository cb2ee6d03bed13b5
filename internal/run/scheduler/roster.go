package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// roster is the open attempts as the run has last seen them.
type roster struct {
	open      map[string]*attempt.Record // those this run answers for, by name
	elsewhere []*attempt.Record          // those of the project's other systems: they take slots
}

// isOpen reports whether an attempt of the slice is open. The plan may be ahead, since the attempt
// may have been settled in between, but how it ended decides whether the slice may be launched
// again.
func (o *roster) isOpen(id string) bool {
	for _, rec := range o.open {
		if rec.ID.Slice == id {
			return true
		}
	}
	return false
}

// queue returns the names of the attempts that await the merge queue, sorted.
func (o *roster) queue() []string {
	var names []string
	for name, rec := range o.open {
		if rec.Life.Phase == plan.Queued {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// withSlots counts the attempts that have agents.
func (o *roster) withSlots() int { return len(o.open) - len(o.queue()) }

// queued returns what awaits the merge queue. ended is the number of attempts that the run saw end.
func (o *roster) queued(ended int) queued {
	q := queued{names: o.queue()}
	if len(q.names) > 0 {
		q.news = fmt.Sprint(ended, o.withSlots(), strings.Join(q.names, " "))
	}
	return q
}
