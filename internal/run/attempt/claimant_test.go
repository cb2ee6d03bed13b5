package attempt

import (
	"testing"

	"greenlight/internal/core/plan"
)

func TestNewClaimant(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		slice string
		want  Claimant
	}{
		{"a person", nil, "S-1", Claimant{}},
		{"gl's agent on its own slice", map[string]string{"GL_SESSION": "t", "GL_SLICE": "S-1", "CLAUDE_CODE_SESSION_ID": "c"}, "S-1", Claimant{Token: "t"}},
		{"gl's agent on another slice", map[string]string{"GL_SESSION": "t", "GL_SLICE": "S-1", "CLAUDE_CODE_SESSION_ID": "c"}, "S-2", Claimant{Holder: "c"}},
		{"Claude Code", map[string]string{"CLAUDE_CODE_SESSION_ID": "c", "CODEX_THREAD_ID": "x"}, "S-1", Claimant{Holder: "c"}},
		{"codex", map[string]string{"CODEX_THREAD_ID": "x"}, "S-1", Claimant{Holder: "x"}},
	} {
		got := NewClaimant(func(key string) string { return tt.env[key] }, tt.slice)
		if got != tt.want || got.IsPerson() != (tt.want == Claimant{}) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestClaimantHolds(t *testing.T) {
	runs := OpenStore(t.TempDir())
	must(t, runs.Claims.PutHolder("S-1", ClaimHolder{Token: "t1", Holder: "me"}))
	state := func(session string, a *plan.Attempt) *plan.State {
		return &plan.State{Item: &plan.Item{ID: "S-1", Session: session}, Class: plan.Active, Attempt: a}
	}
	running := &plan.Attempt{Token: "t1", Phase: plan.Started}
	settled := &plan.Attempt{Token: "t1", Phase: plan.Settled}
	for _, tt := range []struct {
		name          string
		who           Claimant
		st            *plan.State
		holds, others bool
	}{
		{"the agent's token", Claimant{Token: "t1"}, state("t1", nil), true, false},
		{"another token", Claimant{Token: "t2"}, state("t1", nil), false, true},
		{"an open attempt, and a file without a session", Claimant{Token: "t1"}, state("", running), true, false},
		{"a settled attempt, and a file without a session", Claimant{Token: "t1"}, state("", settled), false, false},
		{"the session that made the claim", Claimant{Holder: "me"}, state("t1", nil), true, false},
		{"another session", Claimant{Holder: "you"}, state("t1", nil), false, true},
		{"a session, after a new claim", Claimant{Holder: "me"}, state("t9", nil), false, true},
		{"a person", Claimant{}, state("t1", nil), false, true},
		{"a person, and nobody's slice", Claimant{}, state("", nil), false, false},
	} {
		if got := tt.who.Holds(runs, tt.st); got != tt.holds {
			t.Errorf("%s: holds is %v", tt.name, got)
		}
		if got := tt.who.OtherHolds(runs, tt.st); got != tt.others {
			t.Errorf("%s: held by another is %v", tt.name, got)
		}
	}
	done := state("t1", nil)
	done.Class = plan.Done
	if (Claimant{Token: "t2"}).OtherHolds(runs, done) {
		t.Error("a finished slice is held")
	}
}
