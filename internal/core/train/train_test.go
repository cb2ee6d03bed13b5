package train_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"greenlight/internal/core/train"
)

// Whatever work comes, in whatever order its tests end, and whenever the worker is killed: nothing
// merges that wasn't green as it merges, nothing twice, each entry leaves the queue, and none is
// sent back on a base that isn't merged. The model checks these at each step.
func TestTrain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(1, 8).Draw(t, "width"), t.Fatalf)
		w.alone = rapid.Bool().Draw(t, "alone")
		n := rapid.IntRange(1, 20).Draw(t, "entries")
		rare := func(what string) bool { return rapid.IntRange(0, 6).Draw(t, what) == 0 }
		if rare("nothing is known of the base") {
			delete(w.verdicts, "")
		}
		for i := range n {
			for j := range i {
				if rapid.IntRange(0, 12).Draw(t, "pair") == 0 {
					pair := [2]string{name(j), name(i)}
					w.clash[pair] = rapid.Bool().Draw(t, "clash")
					w.spoil[pair] = !w.clash[pair]
				}
			}
		}
		for i, steps := 0, 0; i < n || len(w.queue) > 0 || w.target != ""; steps++ {
			if steps > 100*n {
				t.Fatalf("it doesn't end: %+v", w.queue)
			}
			what := rapid.IntRange(0, 9).Draw(t, "next")
			switch {
			case what < 4 && i < n:
				w.add(name(i), rapid.IntRange(0, 3).Draw(t, "weight"), work{
					red: rare("red"), flaky: rare("flaky"), asks: rare("asks"), settles: rare("settles"),
					takes: rapid.IntRange(1, 9).Draw(t, "takes")})
				i++
			case what == 4 && w.target == "" && steps < 5*n:
				w.target = fmt.Sprint("main@", steps)
				w.work[w.target] = work{takes: rapid.IntRange(1, 9).Draw(t, "takes"), red: rare("red target")}
				if len(w.work) > 1 && rare("clashes") {
					w.clash[[2]string{name(0), w.target}] = true
				}
			case what == 5 && steps < 5*n:
				w.kill()
			case what == 6 && steps < 5*n:
				w.width = rapid.IntRange(1, 8).Draw(t, "width")
			default:
				w.finish(1 << 30)
				if steps < 5*n && rare("killed before it acts on that") {
					w.kill()
				}
			}
			w.decide()
		}
		if len(w.running) > 0 {
			t.Errorf("left running: %+v", w.running)
		}
		for i := range n {
			if w.out[name(i)] == "" {
				t.Errorf("%s was lost", name(i))
			}
		}
		for i, m := range w.merged {
			if slices.Contains(w.merged[:i], m) {
				t.Errorf("%s merged twice", m)
			}
		}
	})
}

// What always comes with more weight doesn't starve what waits.
func TestNoneStarves(t *testing.T) {
	w := newWorld(2, t.Fatalf)
	w.add("first", 0, work{takes: 1})
	w.add("poor", 0, work{takes: 1})
	w.add("other", 0, work{takes: 1})
	for n := range 20 {
		w.add(name(n), 5, work{takes: 1})
		w.decide()
		w.finish(1 << 30)
		w.decide()
	}
	for _, id := range []string{"first", "poor", "other"} {
		if at := slices.Index(w.merged, id); at < 0 || at > 10 {
			t.Errorf("%s merged as number %d of %q", id, at, w.merged)
		}
	}
}

func drain(w *world) {
	w.decide()
	for w.finish(1 << 30) {
		w.decide()
	}
}

// A red car is set aside at once, and those behind go on without it. It is sent back once the cars
// ahead of it have merged, after a second run.
func TestRedIsSetAside(t *testing.T) {
	w := newWorld(3, t.Fatalf)
	w.add("a", 0, work{takes: 5})
	w.add("b", 0, work{takes: 5, red: true})
	w.add("c", 0, work{takes: 5})
	w.decide()
	if len(w.running) != 3 {
		t.Fatalf("%d runs", len(w.running))
	}
	drain(w)
	if want := []string{"a", "c"}; !slices.Equal(w.merged, want) || w.out["b"] != "red" {
		t.Errorf("merged %q, b is %s", w.merged, w.out["b"])
	}
	if w.runs != 5 { // three, c without b, b again
		t.Errorf("%d runs", w.runs)
	}
}

// The target's own commits are tested behind the cars that run. Red together with them, they go
// first, so that it shows whose the failure is.
func TestTargetGoesFirstWhenRed(t *testing.T) {
	w := newWorld(4, t.Fatalf)
	w.add("a", 0, work{takes: 9})
	w.decide()
	w.target = "main@1"
	w.work["main@1"] = work{takes: 1}
	w.spoil[[2]string{"a", "main@1"}] = true
	w.decide()
	if !slices.Equal(w.train, []string{"a", "main@1"}) {
		t.Fatalf("the train is %q", w.train)
	}
	drain(w)
	if !slices.Equal(w.merged, []string{"main@1"}) || w.out["a"] != "red" {
		t.Errorf("merged %q, a is %s", w.merged, w.out["a"])
	}
}

// A verdict that is known isn't found out again: after a kill, the next worker merges what is
// green.
func TestVerdictsLast(t *testing.T) {
	w := newWorld(3, t.Fatalf)
	for n := range 3 {
		w.add(name(n), 0, work{takes: 9 - n})
	}
	w.decide()
	w.finish(1 << 30)
	w.finish(1 << 30)
	w.kill()
	drain(w)
	if w.runs != 4 || len(w.merged) != 3 {
		t.Errorf("%d runs, merged %q", w.runs, w.merged)
	}
}

// Whatever a file has as what was measured, the width is one that is allowed.
func TestGaugeOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(-3, 12)
		g := train.Gauge{Most: rapid.IntRange(1, 8).Draw(t, "most"), Measured: train.Measured{
			Now: number.Draw(t, "now"), Best: number.Draw(t, "best"), Since: number.Draw(t, "since"),
			Room:     rapid.SliceOf(rapid.Bool()).Draw(t, "room"),
			Vanished: rapid.SliceOf(rapid.Bool()).Draw(t, "vanished"),
			Runs: rapid.MapOf(number, rapid.SliceOf(rapid.Map(number,
				func(n int) time.Duration { return time.Duration(n) * time.Second }))).Draw(t, "runs"),
		}}
		for range rapid.IntRange(0, 50).Draw(t, "more") {
			if rapid.Bool().Draw(t, "vanishes") {
				g.Vanish()
			}
			g.Took(train.Run{AtOnce: float64(number.Draw(t, "at once")), Took: time.Duration(number.Draw(t, "took")) * time.Second,
				Own: float64(number.Draw(t, "own")), Idle: float64(number.Draw(t, "idle"))})
			if w := g.Width(); w < 1 || w > g.Most {
				t.Fatalf("width %d of %d", w, g.Most)
			}
		}
	})
}
