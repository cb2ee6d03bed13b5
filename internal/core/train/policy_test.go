package train_test

import (
	"slices"
	"testing"

	"greenlight/internal/core/train"
)

// These are single decisions: what a mutation of the policy changes without harm to what merges.

// three is a world with three entries of the same weight.
func three(t *testing.T, width int) *world {
	w := newWorld(width, t.Fatalf)
	for _, id := range []string{"a", "b", "c"} {
		w.add(id, 0, work{takes: 9})
	}
	return w
}

func carsOf(d train.Decision) (cars []string) {
	for _, c := range d.Cars {
		if c.Aside == train.InTrain {
			cars = append(cars, c.Entry)
		}
	}
	return cars
}

func asideOf(d train.Decision, entry string) train.Aside {
	for _, c := range d.Cars {
		if c.Entry == entry {
			return c.Aside
		}
	}
	return train.InTrain
}

func wantCars(t *testing.T, d train.Decision, want ...string) {
	t.Helper()
	if got := carsOf(d); !slices.Equal(got, want) {
		t.Errorf("cars %q, want %q", got, want)
	}
}

// wantJudge wants an entry to be judged on a base, with the train kept.
func wantJudge(t *testing.T, w *world, entry string, on train.Tip) {
	t.Helper()
	w.passed = map[string]int{"z": 2}
	d := train.Decide(w.state())
	if d.Judge == nil || *d.Judge != (train.Judge{Entry: entry, On: on}) {
		t.Errorf("judged: %+v", d.Judge)
	}
	if !slices.Equal(d.Train, w.train) || d.Passed["z"] != 2 {
		t.Errorf("the train is %q, passed %v", d.Train, d.Passed)
	}
}

// First comes what most waits for, then the older one, and before these what three have overtaken.
// What doesn't fit into the width isn't even merged.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		weights [3]int
		passed  int // of c
		first   string
	}{
		"the oldest":           {first: "a"},
		"what is waited for":   {weights: [3]int{0, 2, 1}, first: "b"},
		"two have overtaken":   {weights: [3]int{0, 2, 1}, passed: 2, first: "b"},
		"three have overtaken": {weights: [3]int{0, 2, 1}, passed: 3, first: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			w := three(t, 1)
			for i := range w.queue {
				w.queue[i].Weight = c.weights[i]
			}
			slices.Reverse(w.queue)
			w.passed = map[string]int{"c": c.passed}
			s, merged := w.state(), map[string]bool{}
			s.Merge = func(on train.Tip, e train.Entry) train.Merged {
				merged[e.Name] = true
				return w.merge(on, e)
			}
			wantCars(t, train.Decide(s), c.first)
			if len(merged) != 1 {
				t.Errorf("merged %v", merged)
			}
		})
	}
	w := three(t, 2)
	wantCars(t, train.Decide(w.state()), "a", "b")
}

// Only what is younger overtakes, and once.
func TestOvertaking(t *testing.T) {
	w := three(t, 1)
	w.queue[1].Weight = 5
	d := train.Decide(w.state())
	if d.Passed["a"] != 1 || d.Passed["c"] != 0 {
		t.Errorf("b is a car; passed %v", d.Passed)
	}
	w.train, w.passed = d.Train, d.Passed
	if d = train.Decide(w.state()); d.Passed["a"] != 1 {
		t.Errorf("b is still a car; passed %v", d.Passed)
	}
}

// What conflicts with what is merged is judged at once, behind whatever runs.
func TestConflictIsJudgedBehindCars(t *testing.T) {
	w := three(t, 3)
	w.base = train.Tip{Commit: "x", Tree: "x"}
	w.clash[[2]string{"x", "b"}] = true
	wantJudge(t, w, "b", w.base)
}

// What is tested on a base is judged on that, also when the base has moved on.
func TestTestedIsJudgedWhereItWasTested(t *testing.T) {
	w := three(t, 3)
	old := train.Tip{}
	w.base, w.train = train.Tip{Commit: "x", Tree: "x"}, []string{"a", "b"}
	w.tested["b"] = train.Tested{On: old, Red: true}
	wantJudge(t, w, "b", old)
}

// A verdict that a killed worker had just found is used: the entry isn't tested anew.
func TestRedIsKnownAfterAKill(t *testing.T) {
	w := three(t, 3)
	w.verdicts["a"] = train.Red
	wantJudge(t, w, "a", w.base)
}

// What is repeated, or tested for a person, ends on the base it began on, while others merge.
func TestRunsOnTheBaseEnd(t *testing.T) {
	for why, job := range map[train.Aside]train.Job{
		train.Repeated: {Entry: "b", Tip: train.Tip{Commit: "b", Tree: "b"}, Again: true},
		train.Person:   {Entry: "b", Tip: train.Tip{Commit: "b", Tree: "b"}, Kind: train.Apart},
	} {
		w := three(t, 3)
		w.base = train.Tip{Commit: "x", Tree: "x"}
		w.running = []train.Job{job}
		d := train.Decide(w.state())
		if len(d.End) > 0 || asideOf(d, "b") != why {
			t.Errorf("%s: ended %+v, b is %q", why, d.End, asideOf(d, "b"))
		}
	}
}

// Nothing is built on what failed behind others.
func TestNothingIsBuiltOnAFailure(t *testing.T) {
	for _, v := range []train.Verdict{train.Failed, train.Red} {
		w := three(t, 3)
		w.verdicts["a+b"] = v
		d := train.Decide(w.state())
		wantCars(t, d, "a", "c")
		if asideOf(d, "b") != train.Failing {
			t.Errorf("b is %q", asideOf(d, "b"))
		}
	}
}

// What is red waits until it is known whether the base is, which is tested once for all, and again
// if that has failed.
func TestBaseIsTestedFirst(t *testing.T) {
	for _, known := range []train.Verdict{train.Unknown, train.Failed} {
		w := three(t, 8)
		w.verdicts[""] = known
		w.tested["a"], w.tested["b"] = train.Tested{Red: true}, train.Tested{Red: true}
		d := train.Decide(w.state())
		var base []train.Job
		for _, j := range d.Start {
			if j.Kind == train.OfBase {
				base = append(base, j)
			}
		}
		if d.Judge != nil || len(base) != 1 || base[0].Again != (known == train.Failed) {
			t.Errorf("%v: judged %+v, the base is tested by %+v", known, d.Judge, base)
		}
		if asideOf(d, "a") != train.BaseUnknown {
			t.Errorf("a is %q", asideOf(d, "a"))
		}
	}
}

// The target's own commits that have failed once are repeated before all else.
func TestTargetIsRepeatedAlone(t *testing.T) {
	w := three(t, 3)
	w.train, w.target = []string{"main"}, "main"
	w.failed["main"] = true
	d := train.Decide(w.state())
	wantCars(t, d)
	if len(d.Start) != 1 || d.Start[0].Entry != "main" || !d.Start[0].Again {
		t.Errorf("started %+v", d.Start)
	}
}

// The target's own commits go first if they conflict with the cars ahead of them.
func TestTargetGoesFirstWhenInConflict(t *testing.T) {
	w := three(t, 3)
	w.train, w.target = []string{"a", "main"}, "main"
	w.clash[[2]string{"a", "main"}] = true
	d := train.Decide(w.state())
	if d.Judge != nil || len(d.Cars) == 0 || d.Cars[0].Entry != "main" || len(d.Cars[0].Ahead) > 0 {
		t.Errorf("judged %+v, cars %+v", d.Judge, d.Cars)
	}
}

// A car whose tree is a new one needs a place among the runs as a new entry does: where that of the
// first is repeated and the second tested anew, a width of two has none for the third.
func TestCarsKeepToTheWidth(t *testing.T) {
	w := three(t, 3)
	w.decide()
	if len(w.running) != 3 {
		t.Fatalf("running: %+v", w.running)
	}
	first := w.running[0].Tip.Tree
	w.failed[first], w.running, w.width = true, w.running[1:], 2
	d := train.Decide(w.state())
	wantCars(t, d, "b")
	if got := asideOf(d, "a"); got != train.Repeated {
		t.Errorf("a: %q", got)
	}
	w.act(d)
}
