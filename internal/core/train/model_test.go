package train_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/train"
)

// A world is a merge queue without git and without a clock: what its entries are, how they merge,
// and what their tests say. It does what Decide decides, and checks each step.
type world struct {
	fail  func(format string, a ...any)
	width int
	alone bool // repeated runs are alone

	work     map[string]work
	clash    map[[2]string]bool // entries that don't merge with each other
	spoil    map[[2]string]bool // entries that fail only together
	target   string             // the target's own commits that aren't merged, "" for none
	queue    []train.Entry
	base     train.Tip
	bases    map[string]bool // commits that were merged
	verdicts map[string]train.Verdict
	failed   map[string]bool // trees that have failed once: memory only
	green    map[string]bool // trees that a run has really passed
	fails    map[string]int  // runs of a tree that failed

	running  []train.Job
	began    map[string]int     // when a tree's run began
	left     map[string]float64 // how much of it is still to do
	area     map[string]float64 // how many ran at once, over time
	idle     map[string]float64 // the share of the processors that was idle, over time
	share    float64            // of the machine, that a run by itself uses
	hidden   bool               // it is of something else than the processors
	gauge    *train.Gauge       // finds the width; nil for a fixed one
	train    []string
	passed   map[string]int
	tested   map[string]train.Tested
	now      int
	merged   []string // in order
	out      map[string]string
	runs     int
	wasted   int
	overtook int // the most by which one was passed when it became a car
}

// A work is how a slice's work is.
type work struct {
	red, flaky, asks, settles bool
	takes                     int // how long its tests run
}

func newWorld(width int, fail func(string, ...any)) *world {
	return &world{
		fail: fail, width: width, work: map[string]work{}, clash: map[[2]string]bool{},
		spoil: map[[2]string]bool{}, bases: map[string]bool{"": true},
		verdicts: map[string]train.Verdict{"": train.Green}, failed: map[string]bool{},
		green: map[string]bool{"": true}, fails: map[string]int{}, began: map[string]int{},
		left: map[string]float64{}, area: map[string]float64{}, idle: map[string]float64{},
		tested: map[string]train.Tested{}, out: map[string]string{},
	}
}

func members(commit string) []string {
	if commit == "" {
		return nil
	}
	return strings.Split(commit, "+")
}

// treeOf names what is in a commit, in whatever order it was merged.
func treeOf(commit string) string {
	m := members(commit)
	slices.Sort(m)
	return strings.Join(m, "+")
}

func (w *world) merge(on train.Tip, e train.Entry) train.Merged {
	for _, m := range members(on.Commit) {
		if w.clash[[2]string{m, e.Name}] || w.clash[[2]string{e.Name, m}] {
			return train.Merged{Fit: train.Conflicts}
		}
	}
	if w.work[e.Name].settles {
		return train.Merged{Fit: train.Settles}
	}
	commit := e.Name
	if on.Commit != "" {
		commit = on.Commit + "+" + e.Name
	}
	m := train.Merged{Tip: train.Tip{Commit: commit, Tree: treeOf(commit)}}
	if w.work[e.Name].asks {
		m.Fit = train.Asks
	}
	return m
}

// isRed reports what the tests say of a tree: nothing that is in it may be red, alone or together.
func (w *world) isRed(tree string) bool {
	m := members(tree)
	for i, a := range m {
		if w.work[a].red {
			return true
		}
		for _, b := range m[:i] {
			if w.spoil[[2]string{a, b}] || w.spoil[[2]string{b, a}] {
				return true
			}
		}
	}
	return false
}

func (w *world) isFlaky(tree string) bool {
	return slices.ContainsFunc(members(tree), func(m string) bool { return w.work[m].flaky })
}

func (w *world) verdict(tree string) train.Verdict {
	if v := w.verdicts[tree]; v != train.Unknown {
		return v
	}
	if w.failed[tree] {
		return train.Failed
	}
	return train.Unknown
}

func (w *world) state() train.State {
	queue := slices.Clone(w.queue)
	if w.target != "" {
		queue = append(queue, train.Entry{Name: w.target, Target: true, Queued: -1})
	}
	return train.State{Alone: w.alone, Width: w.width, Base: w.base, Queue: queue, Train: w.train, Passed: w.passed,
		Merge: w.merge, Verdict: w.verdict, Running: slices.Clone(w.running), Tested: w.tested}
}

// decide does what Decide says until it says nothing new.
func (w *world) decide() {
	for range 1000 {
		d := train.Decide(w.state())
		if d.Judge == nil {
			w.act(d)
			return
		}
		w.judge(*d.Judge)
	}
	w.fail("the queue judges for ever: %+v", w.queue)
}

// narrow checks that each car has a place among the runs: what has none isn't even merged, also if
// it was in the train before.
func (w *world) narrow(d train.Decision) {
	runs := 0
	for _, c := range d.Cars {
		running := slices.ContainsFunc(w.running, func(j train.Job) bool { return j.Tip.Tree == c.Tip.Tree })
		switch {
		case c.Aside == train.Repeated, c.Aside == train.Person, c.Aside == train.BaseUnknown:
			runs++
		case c.Aside != train.InTrain, w.verdict(c.Tip.Tree) != train.Unknown:
		case runs >= w.width && !running:
			w.fail("%s is a car behind %d runs, %d are allowed", c.Entry, runs, w.width)
		default:
			runs++
		}
	}
}

// act ends and starts runs.
func (w *world) act(d train.Decision) {
	w.narrow(d)
	for _, j := range d.End {
		i := slices.IndexFunc(w.running, func(r train.Job) bool { return r.Tip.Tree == j.Tip.Tree })
		w.running = slices.Delete(w.running, i, i+1)
		w.wasted++
	}
	for _, j := range d.Start {
		if slices.ContainsFunc(w.running, func(r train.Job) bool { return r.Tip.Tree == j.Tip.Tree }) {
			w.fail("%+v runs already", j)
		}
		if v := w.verdict(j.Tip.Tree); v == train.Green || v == train.Red {
			w.fail("%+v is known", j)
		}
		if !w.bases[j.Base.Commit] {
			w.fail("%+v is decided on a base that isn't merged", j)
		}
		w.running = append(w.running, j)
		w.began[j.Tip.Tree], w.left[j.Tip.Tree], w.area[j.Tip.Tree] = w.now, float64(w.takes(j)), 0
		w.idle[j.Tip.Tree] = 0
		w.runs++
	}
	if again := slices.ContainsFunc(w.running, func(j train.Job) bool { return j.Again }); again && w.alone && len(w.running) > 1 && len(d.Start) > 0 {
		w.fail("a repeated run isn't alone: %+v", w.running)
	}
	if len(w.running) > w.width && len(d.Start) > 0 {
		w.fail("%d runs at once, %d allowed", len(w.running), w.width)
	}
	for _, c := range d.Cars {
		if !slices.Contains(w.train, c.Entry) {
			w.overtook = max(w.overtook, w.passed[c.Entry])
		}
	}
	w.train, w.passed = d.Train, d.Passed
}

// judge does what the merge queue does with one entry on a merged base.
func (w *world) judge(j train.Judge) {
	if !w.bases[j.On.Commit] {
		w.fail("%s is judged on %q, which isn't merged", j.Entry, j.On.Commit)
	}
	if w.out[j.Entry] != "" {
		w.fail("%s is judged again after it was %s", j.Entry, w.out[j.Entry])
	}
	delete(w.tested, j.Entry)
	m := w.merge(j.On, w.entry(j.Entry))
	v := w.verdict(m.Tip.Tree)
	switch {
	case m.Fit == train.Conflicts:
		w.leave(j.Entry, "in conflict")
	case m.Fit == train.Settles:
		w.leave(j.Entry, "settled")
	case v != train.Green && v != train.Red:
		w.fail("%s is judged untested: %+v", j.Entry, m)
	case m.Fit == train.Asks:
		w.leave(j.Entry, "asked")
	case v == train.Red:
		if w.verdict(j.On.Tree) == train.Unknown && j.Entry != w.target {
			w.fail("%s is red on an unknown base", j.Entry)
		}
		if w.fails[m.Tip.Tree] < 2 {
			w.fail("%s is sent back after %d runs", j.Entry, w.fails[m.Tip.Tree])
		}
		w.leave(j.Entry, "red")
	case j.On.Commit != w.base.Commit: // green on an earlier base: it goes on as a car
	case !w.green[m.Tip.Tree]:
		w.fail("%s merges, and its tree was never green", j.Entry)
	default:
		w.base = m.Tip
		w.bases[m.Tip.Commit] = true
		w.merged = append(w.merged, j.Entry)
		w.leave(j.Entry, "merged")
	}
}

func (w *world) entry(name string) train.Entry {
	if name == w.target {
		return train.Entry{Name: name, Target: true}
	}
	i := slices.IndexFunc(w.queue, func(e train.Entry) bool { return e.Name == name })
	if i < 0 {
		w.fail("%s isn't in the queue", name)
	}
	return w.queue[i]
}

func (w *world) leave(name, how string) {
	w.out[name] = how
	if name == w.target {
		w.target = ""
		return
	}
	w.queue = slices.DeleteFunc(w.queue, func(e train.Entry) bool { return e.Name == name })
}

// finish ends the run that ends next, and returns false if there is none before a time.
func (w *world) finish(before int) bool {
	if len(w.running) == 0 {
		return false
	}
	j := slices.MinFunc(w.running, func(a, b train.Job) int { return cmp.Compare(w.ends(a), w.ends(b)) })
	if w.ends(j) > before {
		return false
	}
	w.advance(max(w.now, w.ends(j)))
	if w.gauge != nil {
		took := max(1, w.now-w.began[j.Tip.Tree])
		w.gauge.Took(w.measured(j, took))
		w.width = w.gauge.Width()
	}
	w.running = slices.DeleteFunc(w.running, func(r train.Job) bool { return r.Tip.Tree == j.Tip.Tree })
	w.record(j)
	return true
}

// takes is how long a run takes by itself.
func (w *world) takes(j train.Job) int {
	m := members(j.Tip.Commit)
	if len(m) == 0 {
		return 1
	}
	return max(1, w.work[m[len(m)-1]].takes)
}

// ends is when a run ends if nothing else begins or ends before.
func (w *world) ends(j train.Job) int {
	return w.now + int(math.Ceil(w.left[j.Tip.Tree]/w.pace()-1e-6))
}

// pace is how fast each of the runs is that go on.
func (w *world) pace() float64 { return 1 / max(1, w.share*float64(len(w.running))) }

// advance lets time pass in which no run begins or ends.
func (w *world) advance(to int) {
	d := float64(to - w.now)
	for _, j := range w.running {
		w.left[j.Tip.Tree] -= d * w.pace()
		w.area[j.Tip.Tree] += d * float64(len(w.running))
		w.idle[j.Tip.Tree] += d * (1 - min(1, w.share*float64(len(w.running))))
	}
	w.now = to
}

// measured is what gl measures of a run.
func (w *world) measured(j train.Job, took int) train.Run {
	tree, d := j.Tip.Tree, float64(took)
	r := train.Run{AtOnce: w.area[tree] / d, Took: time.Duration(took) * time.Second,
		Own: w.share * float64(w.takes(j)) / d, Idle: w.idle[tree] / d}
	if w.hidden {
		r.Own, r.Idle = 0, 1
	}
	return r
}

// record keeps the verdict of a run as package lane does.
func (w *world) record(j train.Job) {
	tree := j.Tip.Tree
	red := w.isRed(tree)
	if flaky := !red && w.isFlaky(tree) && w.fails[tree] == 0; (red || flaky) && !j.Again {
		w.fails[tree]++
		w.failed[tree] = true
		return
	}
	final := train.Green
	if w.green[tree] = !red; red {
		w.fails[tree]++
		final = train.Red
	}
	w.verdicts[tree] = final
	if (j.Kind == train.Apart || j.Again && final == train.Red) && j.Kind != train.OfBase &&
		j.Entry != w.target {
		w.tested[j.Entry] = train.Tested{On: j.Base, Red: final == train.Red}
	}
}

// kill forgets what only the worker's memory has.
func (w *world) kill() {
	w.running, w.train, w.passed = nil, nil, nil
	w.tested, w.failed = map[string]train.Tested{}, map[string]bool{}
}

func (w *world) add(name string, weight int, is work) {
	if _, known := w.work[name]; known {
		w.fail("%s is added twice", name)
	}
	w.work[name] = is
	w.queue = append(w.queue, train.Entry{Name: name, Queued: len(w.work), Weight: weight})
}

func name(n int) string { return fmt.Sprintf("S-%03d", n) }

func entryOf(name string, queued, weight int) train.Entry {
	return train.Entry{Name: name, Queued: queued, Weight: weight}
}
