package lane

import (
	"testing"

	"greenlight/internal/core/plan"
	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
)

// A car behind others is called tested only if it is: its tests may not have begun, while others
// are repeated alone.
func TestSignOfACarBehindOthers(t *testing.T) {
	car := train.Car{Entry: "b", Tip: train.Tip{Tree: "t"}, Ahead: []string{"a"}}
	behind := func(verdict train.Verdict, runs ...*run) string {
		return signOf(car, 2, &attempt.Record{}, nil, runs,
			func(string) train.Verdict { return verdict }).text
	}
	const on = "the target's own commits"
	for want, got := range map[string]string{
		"testing on top of " + on:              behind(train.Unknown, &run{job: train.Job{Tip: car.Tip}}),
		"tested; merges after " + on:           behind(train.Green),
		"waiting to be tested on top of " + on: behind(train.Unknown),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What was set aside says why, and not only what happens next.
func TestSignOfOneSetAside(t *testing.T) {
	for aside, want := range map[train.Aside][2]string{
		train.Repeated:    {"testing again", "its tests failed, which counts once they have failed again by themselves"},
		train.BaseUnknown: {"tested; its base is being tested", "its tests failed, and it is being tested whether they do so without it, too"},
		train.Person:      {"testing by itself: a person has to look at it", "testing by itself: a person has to look at it"},
		train.Conflicting: {"set aside: it doesn't merge with the target's own commits, which may merge first", "it doesn't merge with the target's own commits, which may merge first"},
	} {
		s := signOf(train.Car{Entry: "b", Ahead: []string{"a"}, Aside: aside}, 2, &attempt.Record{}, nil, nil, nil)
		if got := [2]string{s.text, s.train.Aside}; got != want || s.train.Position != 0 {
			t.Errorf("%s: %q at %d, want %q", aside, got, s.train.Position, want)
		}
	}
}

// While the first of the train is judged and merged it is still shown as the first.
func TestTheFirstIsJudgedInItsPlace(t *testing.T) {
	first, second := &plan.InTrain{Position: 1}, &plan.InTrain{Position: 2}
	if got := judged(first); got != first {
		t.Errorf("the first: %+v", got)
	}
	if got := judged(second); got != nil { // of a train that is over
		t.Errorf("the second: %+v", got)
	}
}
