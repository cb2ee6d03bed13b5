package ops

import (
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
)

func TestStop(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; session:", "S-2": "status: pending; session:", "S-3": "status: pending"})
	y.attempt("S-1")
	y.attempt("S-2")
	s, err := PrepareStop(t.Context(), y.Project, []string{"s1", "S-3", "S-9"}, false)
	must(t, err)
	if len(s.Attempts) != 1 || s.Attempts[0].ID.Slice != "S-1" || len(s.Notes) != 1 ||
		s.Settled != nil {
		t.Errorf("%+v", s)
	}
	for _, says := range []string{"S-3 isn't running", "no such slice"} {
		if s.Err == nil || !strings.Contains(s.Err.Error(), says) {
			t.Errorf("%v, want %q", s.Err, says)
		}
	}
	var stopped []Stopped
	must(t, s.End(t.Context(), func(e Stopped) { stopped = append(stopped, e) }))
	if len(stopped) != 1 || stopped[0].Err != nil || stopped[0].Final == nil ||
		stopped[0].Final.Judged.Outcome != outcome.Interrupted {
		t.Errorf("%+v", stopped)
	}
	if y.mark("S-1") != "pending" {
		t.Error(y.mark("S-1"))
	}
	live, err := Running(y.Project)
	if err != nil || len(live) != 1 || live[0].ID.Slice != "S-2" {
		t.Errorf("%+v, %v", live, err)
	}
}

// Stopping all ends the runs, too, even if nothing runs at the moment.
func TestStopAll(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; session:"})
	for _, n := range []int{1, 0} {
		if n > 0 {
			y.attempt("S-1")
		}
		before := y.Runs.Control.StopMark()
		s, err := PrepareStop(t.Context(), y.Project, nil, true)
		must(t, err)
		if y.Runs.Control.StopMark() == before {
			t.Error("drains aren't told to end")
		}
		ended := 0
		must(t, s.End(t.Context(), func(Stopped) { ended++ }))
		if ended != n {
			t.Errorf("ended %d of %d", ended, n)
		}
	}
}
