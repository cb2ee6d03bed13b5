package cli

import (
	"cmp"
	"fmt"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/plan"
)

// A claimant is who calls gl, as far as the claim of one slice goes. The zero claimant is a person at a shell.
type claimant struct {
	token  string // of the claim that the caller was started under
	holder string // the caller's session of Claude Code or codex, where there is no token
}

// newClaimant says who calls: gl's agents bear the token of their own slice, other sessions of Claude Code and codex an id.
func newClaimant(app *cmdutil.App, id string) claimant {
	if token := app.Getenv("GL_SESSION"); token != "" && app.Getenv("GL_SLICE") == id {
		return claimant{token: token}
	}
	return claimant{holder: cmp.Or(app.Getenv("CLAUDE_CODE_SESSION_ID"), app.Getenv("CODEX_THREAD_ID"))}
}

func (c claimant) nobody() bool { return c == claimant{} }

// holds says whether the slice's claim is the caller's. The agent of an open attempt holds its slice also while the
// slice's file names no session.
func (c claimant) holds(runs *attempt.Store, st *plan.State) bool {
	switch {
	case c.token != "" && st.Session == "":
		return st.Attempt.Open() && st.Attempt.Token == c.token
	case c.token != "":
		return st.Session == c.token
	case c.holder != "":
		return runs.Holder(st.ID, st.Session) == c.holder
	}
	return false
}

// foreign says whether the slice is somebody else's.
func (c claimant) foreign(runs *attempt.Store, st *plan.State) bool {
	return st.Session != "" && st.Class != plan.Done && !c.holds(runs, st)
}

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
