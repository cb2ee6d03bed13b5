package attempt

import (
	"cmp"

	"greenlight/internal/core/plan"
)

// A Claimant is the caller of gl with respect to the claim on one slice. The zero Claimant is a
// person at a shell.
type Claimant struct {
	Token  string // of the claim that gl started the caller under
	Holder string // the caller's session of Claude Code or codex, if it has no token
}

// NewClaimant identifies the caller by its environment: an agent that gl started has the token
// of its own slice, another session of Claude Code or codex has an id.
func NewClaimant(getenv func(string) string, slice string) Claimant {
	if token := getenv("GL_SESSION"); token != "" && getenv("GL_SLICE") == slice {
		return Claimant{Token: token}
	}
	return Claimant{Holder: cmp.Or(getenv("CLAUDE_CODE_SESSION_ID"), getenv("CODEX_THREAD_ID"))}
}

// IsPerson reports whether the caller is no session at all.
func (c Claimant) IsPerson() bool { return c == Claimant{} }

// Holds reports whether the slice's claim is the caller's. The agent of an open attempt holds
// its slice even while the slice's file names no session.
func (c Claimant) Holds(runs *Store, st *plan.State) bool {
	switch {
	case c.Token != "" && st.Session == "":
		return st.Attempt.Open() && st.Attempt.Token == c.Token
	case c.Token != "":
		return st.Session == c.Token
	case c.Holder != "":
		return runs.Claims.Holder(st.ID, st.Session) == c.Holder
	}
	return false
}

// OtherHolds reports whether another session has claimed the slice.
func (c Claimant) OtherHolds(runs *Store, st *plan.State) bool {
	return st.Session != "" && st.Class != plan.Done && !c.Holds(runs, st)
}
