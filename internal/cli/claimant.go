package cli

import (
	"fmt"
	"time"

	"greenlight/internal/plan"
)

// claimText says who holds a slice and since when: "S-3 is claimed by session 2026-…-a7f3, last change 5m ago".
func claimText(st *plan.State, now time.Time) string {
	s := st.ID + " is claimed by unknown"
	if st.Session != "" {
		s = st.ID + " is claimed by session " + st.Session
	}
	if !st.Changed.IsZero() {
		s += fmt.Sprintf(", last change %s ago", plan.Age(now.Sub(st.Changed)))
	}
	if st.Stale {
		s += ", stale"
	}
	return s
}
