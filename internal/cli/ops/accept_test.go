package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/state/tracker"
)

// decisions lists slices in all states that a decision may find them in.
var decisions = map[string]string{
	"waiting":   "status: verifying; step: verifying; session: token; waiting_for: a look",
	"next":      "status: pending; step: none; deps: waiting",
	"ready":     "status: pending; step: none",
	"done":      "status: complete; step: complete",
	"paused":    "status: paused; step: tests",
	"verifying": "status: verifying; step: verifying; session: token",
	"building":  "status: implementing; step: implementing; session: token",
}

func TestAccept(t *testing.T) {
	y := newYard(t, decisions)
	a, err := Accept(t.Context(), y.Project, "waiting", nil, Approval{})
	if err != nil {
		t.Fatal(err)
	}
	ready, err := a.Ready()
	if err != nil || !slices.Equal(ready, []string{"next"}) {
		t.Errorf("ready %q, %v", ready, err)
	}
	if got := y.mark("waiting"); got != "complete complete" {
		t.Error(got)
	}
	if _, err := Accept(t.Context(), y.Project, "waiting", nil, Approval{}); !errors.Is(err,
		ErrNothingToDo) {
		t.Error(err)
	}
	if _, err := Accept(t.Context(), y.Project, "verifying", nil, Approval{Force: true}); err != nil ||
		y.mark("verifying") != "complete complete" {
		t.Error(err, y.mark("verifying"))
	}
}

func TestReject(t *testing.T) {
	y := newYard(t, decisions)
	must(t, Reject(t.Context(), y.Project, "waiting", "too slow", nil, false))
	if got := y.mark("waiting"); got != "pending none" || y.state("waiting").WaitingFor != "" {
		t.Error(got)
	}
	if text := y.read("slices/waiting.md"); !strings.Contains(text, "## Decisions\n- ") || !strings.Contains(text, ": Rejected: too slow\n") {
		t.Error(text)
	}
	if err := Reject(t.Context(), y.Project, "done", "x", nil, false); err == nil ||
		errors.Is(err, ErrNothingToDo) {
		t.Errorf("a complete slice: %v", err)
	}
}

func TestOnlyWhatAwaitsApprovalIsDecided(t *testing.T) {
	y := newYard(t, decisions)
	y.attempt("ready")
	for _, tt := range []struct {
		id, says string
		force    bool
		taken    bool
	}{
		{"next", "isn't awaiting approval", true, false},
		{"paused", "gl state set paused status=pending", true, false},
		{"verifying", "gl accept verifying --force", false, true},
		{"building", "building is claimed", true, true},
		{"ready", "gl stop ready", true, true},
		{"gone", tracker.ErrNotFound.Error(), false, false},
	} {
		_, accept := Accept(t.Context(), y.Project, tt.id, nil, Approval{Force: tt.force})
		reject := Reject(t.Context(), y.Project, tt.id, "x", nil, tt.force)
		for _, err := range []error{accept, reject} {
			var taken *TakenError
			if err == nil || !strings.Contains(err.Error(), tt.says) ||
				errors.As(err, &taken) != tt.taken {
				t.Errorf("%s: %v, want %q, taken %v", tt.id, err, tt.says, tt.taken)
			}
		}
	}
	if got := y.mark("building"); got != "implementing implementing token" {
		t.Error(got)
	}
}
