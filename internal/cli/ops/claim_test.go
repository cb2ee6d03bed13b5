package ops

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

var (
	me     = attempt.Claimant{Holder: "me"}
	you    = attempt.Claimant{Holder: "you"}
	person = attempt.Claimant{}
)

func TestClaim(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; step: none; session:", "S-2": "status: pending; deps: S-1; session:"})
	first, err := Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: me})
	must(t, err)
	if y.mark("S-1") != "in_progress none "+first.Token || first.Notes != nil {
		t.Errorf("%q, %+v", y.mark("S-1"), first)
	}
	again, err := Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: me})
	if err != nil || again.Token != first.Token {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: you})
	var taken *TakenError
	if !errors.As(err, &taken) || taken.Claim == nil || taken.Claim.Session != first.Token {
		t.Fatalf("another session: %v", err)
	}
	blocked, err := Claim(t.Context(), y.Project, "S-2", ClaimOptions{Who: you})
	if err != nil || len(blocked.Notes) != 1 ||
		!strings.Contains(blocked.Notes[0], "S-2 needs S-1") {
		t.Errorf("%+v, %v", blocked, err)
	}
}

func TestTakeOver(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; session:", "done": "status: complete", "run": "status: pending; session:"})
	first, err := Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: me})
	must(t, err)
	other := "another"
	if _, err := Claim(t.Context(), y.Project, "S-1",
		ClaimOptions{Who: you, Over: &other}); err == nil {
		t.Error("took over a claim without asking")
	}
	second, err := Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: you, Over: &first.Token})
	must(t, err)
	third, err := Claim(t.Context(), y.Project, "S-1", ClaimOptions{Who: me, Force: true})
	if err != nil || third.Token == second.Token || len(third.Notes) != 1 ||
		!strings.Contains(third.Notes[0], "taken over") {
		t.Errorf("%+v, %v", third, err)
	}
	if _, err := Claim(t.Context(), y.Project, "S-1",
		ClaimOptions{Who: attempt.Claimant{Token: second.Token}, Force: true}); err == nil {
		t.Error("an agent took back a claim that it had lost")
	}
	if _, err := Claim(t.Context(), y.Project, "done", ClaimOptions{Who: me}); err == nil {
		t.Error("claimed a complete slice")
	}
	_, err = Claim(t.Context(), y.Project, "done", ClaimOptions{Who: me, Force: true})
	must(t, err)
	y.attempt("run")
	var taken *TakenError
	if _, err := Claim(t.Context(), y.Project, "run",
		ClaimOptions{Who: me, Force: true}); !errors.As(err, &taken) || taken.Claim != nil {
		t.Errorf("beside an attempt: %v", err)
	}
}

// One of any number of concurrent claims wins.
func TestClaimsRace(t *testing.T) {
	y := newYard(t, map[string]string{"S-1": "status: pending; session:"})
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		pr, err := project.Open(y.Root)
		must(t, err)
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = Claim(t.Context(), pr, "S-1",
				ClaimOptions{Who: attempt.Claimant{Holder: string(rune('a' + i))}})
		}()
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		var taken *TakenError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &taken):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
}

func TestRelease(t *testing.T) {
	y := newYard(t, map[string]string{"fresh": "status: pending; session:", "begun": "status: pending; session:", "free": "status: pending"})
	for _, id := range []string{"fresh", "begun"} {
		_, err := Claim(t.Context(), y.Project, id, ClaimOptions{Who: me})
		must(t, err)
	}
	changes, err := ParseChanges([]string{"status=implementing", "step=implementing"})
	must(t, err)
	_, err = Set(t.Context(), y.Project, "begun", changes, me)
	must(t, err)

	var taken *TakenError
	for _, who := range []attempt.Claimant{you, person} {
		if _, err := Release(t.Context(), y.Project, "fresh", who, false); !errors.As(err, &taken) {
			t.Errorf("%+v: %v", who, err)
		}
	}
	status, err := Release(t.Context(), y.Project, "fresh", me, false)
	if err != nil || status != "pending" || y.mark("fresh") != "pending" {
		t.Errorf("%q, %v; %s", status, err, y.mark("fresh"))
	}
	status, err = Release(t.Context(), y.Project, "begun", you, true)
	if err != nil || status != "implementing" || y.state("begun").Class != plan.Stalled {
		t.Errorf("%q, %v; %s", status, err, y.state("begun").Class)
	}
	if _, err := Release(t.Context(), y.Project, "free", me, false); !errors.Is(err,
		ErrNothingToDo) {
		t.Error(err)
	}
}

// A file that git brought back calls the slice complete by an earlier attempt's word. Clearing the
// claim doesn't make that a person's word.
func TestGiveBackOfAnEarlierWord(t *testing.T) {
	f, err := slice.ParseFile([]byte("---\nid: S-1\nstatus: complete\nstep: complete\nsession: t\n---\n"))
	must(t, err)
	st := &plan.State{Class: plan.Active, Item: &plan.Item{ID: "S-1", Status: "in_progress",
		Step: "verifying", Reverted: &plan.Mark{Status: "complete", Step: "complete", Session: "t"}}}
	status, err := giveBack(st, f)
	must(t, err)
	want := "---\nid: S-1\nstatus: in_progress\nstep: verifying\nsession:\n---\n"
	if got := string(f.Bytes()); status != "in_progress" || got != want {
		t.Errorf("%s:\n%s", status, got)
	}
}
