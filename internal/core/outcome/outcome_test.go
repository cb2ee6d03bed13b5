package outcome_test

import (
	"slices"
	"testing"

	"greenlight/internal/core/outcome"
)

// A row without what every outcome needs would be shown or notified wrong, and nothing else would
// tell.
func TestEveryRowIsWhole(t *testing.T) {
	for _, o := range outcome.All() {
		tr := o.Traits()
		s := tr.Shown
		if tr.Outcome != o || s.Words == "" {
			t.Errorf("%q has the row %+v", o, tr)
		}
		tones := []outcome.Tone{outcome.Good, outcome.Wait, outcome.Bad, outcome.Plain}
		if !slices.Contains(tones, s.Tone) {
			t.Errorf("%s has the tone %q", o, s.Tone)
		}
		if !slices.Contains([]outcome.Told{outcome.AsFailure, outcome.AsDone, outcome.NotAtAll}, s.Told) {
			t.Errorf("%s is told as %q", o, s.Told)
		}
		worths := []outcome.Worth{outcome.Useful, outcome.Neutral, outcome.Repairable, outcome.Wasted}
		if !slices.Contains(worths, tr.Worth) {
			t.Errorf("%s has the worth %q", o, tr.Worth)
		}
	}
}

// The columns agree with each other.
func TestRowsAreConsistent(t *testing.T) {
	for _, o := range outcome.All() {
		tr := o.Traits()
		s := tr.Shown
		if tr.Success != (s.Tone == outcome.Good) || tr.Success != (s.Told == outcome.AsDone) {
			t.Errorf("%s: success %v, tone %q, told %q", o, tr.Success, tr.Shown.Tone, tr.Shown.Told)
		}
		if tr.Success && tr.Worth != outcome.Useful {
			t.Errorf("%s is a success of worth %q", o, tr.Worth)
		}
		if tr.Shown.Tone == outcome.Bad && !tr.Active.Troubled() && !tr.Available.Troubled() {
			t.Errorf("%s is bad, and its item is in no trouble", o)
		}
		if (tr.Worth == outcome.Repairable) != tr.Continue {
			t.Errorf("%s: worth %q, continue %v", o, tr.Worth, tr.Continue)
		}
		if p := tr.Plan(); p.Name != string(o) || p.Stopped != tr.Stopped || p.Success != tr.Success {
			t.Errorf("%s is %+v for the plan", o, p)
		}
	}
}

// An outcome of a later gl is notified, and nothing is known of one that hasn't come yet.
func TestUnknown(t *testing.T) {
	for name, want := range map[string]outcome.Traits{
		"out_of_paper": {Outcome: "out_of_paper", Worth: outcome.Wasted,
			Shown: outcome.Shown{Words: "out_of_paper", Tone: outcome.Plain, Told: outcome.AsFailure}},
		"": {Worth: outcome.Neutral, Shown: outcome.Shown{Tone: outcome.Plain, Told: outcome.NotAtAll}},
	} {
		if got := outcome.Of(name); got != want || outcome.Outcome(name).Known() {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
}
