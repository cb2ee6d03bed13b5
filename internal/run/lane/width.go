package lane

import (
	"context"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/core/train"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
)

// A widthNote is what runs/train.json has of the width that was measured, for the next worker.
type widthNote struct {
	Command string    `json:"command"`        // the test command
	At      time.Time `json:"at"`             // when it was first run
	Told    bool      `json:"told,omitempty"` // that tests run side by side
	train.Measured
}

// mostMeasured is the most tests at once that are tried: each needs a worktree of its own.
const mostMeasured = 8

// noteLasts is how long a measurement counts: tests change.
const noteLasts = 7 * 24 * time.Hour

// A width is how many tests of merges may run at once, by the setting or by measuring.
type width struct {
	commands *commands
	beds     *beds // its note has what was measured
	most     int   // the most at once that are tried
	gauge    *train.Gauge
	memory   memoryNeed
	tell     func(format string, a ...any)
}

// follow starts from what the last worker measured of the test command.
func (w *width) follow() {
	w.gauge = &train.Gauge{Most: w.most}
	if n := w.noted(); n != nil {
		w.gauge.Measured = n.Measured
	}
}

// measures reports whether the width is found by measuring.
func (w *width) measures() bool { return w.commands.conf.Config.Test.Parallel == 0 }

// alone reports whether failed tests are repeated alone. A number in the setting says that tests
// can run side by side, which counts once some have passed that way.
func (w *width) alone() bool { return w.measures() || !w.gauge.Proven() }

// wanted returns how many tests should run at once.
func (w *width) wanted() int {
	if w.measures() {
		return w.gauge.Width()
	}
	return w.commands.conf.Config.Test.Parallel
}

// atOnce returns how many tests may run at once now. A measured width counts only worktrees that
// are set up: until then, testing one at a time is at least as fast as waiting for setup.
func (w *width) atOnce() int {
	if w.measures() {
		return max(1, w.beds.ready(w.wanted()))
	}
	return w.wanted()
}

// prepare sets up the worktrees that are wanted and missing, if enough entries wait for that to
// pay.
func (w *width) prepare(ctx context.Context, waiting int) {
	if w.measures() && waiting > 1 {
		w.beds.prepare(ctx, w.wanted())
	}
}

// noted returns what others have measured of the test command, nil for nothing.
func (w *width) noted() *widthNote {
	return w.beds.note.Width.of(w.commands.conf.Config.Test.Command)
}

// of returns the note if it is about the test command, and not too old.
func (n *widthNote) of(command testrun.Command) *widthNote {
	if n == nil || n.Command != command.Line || now().Sub(n.At) > noteLasts {
		return nil
	}
	return n
}

// TestsShare reports whether the project's tests were found to fail side by side and pass alone, so
// that the queue runs them one after the other.
func TestsShare(pr *project.Project) bool {
	b := &beds{attempts: pr.Runs}
	b.open()
	w := b.note.Width.of(pr.Config.Test.Command)
	return pr.Config.Test.Parallel == 0 && w != nil && (&train.Gauge{Measured: w.Measured}).Shares()
}

// keep notes what was measured, for the next worker.
func (w *width) keep(change func(*widthNote)) {
	note := widthNote{Command: w.commands.conf.Config.Test.Command.Line, At: now()}
	if n := w.noted(); n != nil {
		note = *n
	}
	note.Measured = w.gauge.Measured
	change(&note)
	if err := w.beds.change(func(n *trainNote) { n.Width = &note }); err != nil {
		w.tell("what was measured of the tests can't be kept: %v", err)
	}
}

// took takes in a green run while so many ran at once.
func (w *width) took(atOnce float64, v *testrun.Verdict) {
	if w.commands.conf.Config.Test.Parallel == 1 {
		return
	}
	r := train.Run{AtOnce: atOnce, Took: v.Duration(), Own: v.Used.Own, Idle: v.Used.Idle}
	if w.gauge.Took(r); r.Took >= train.Worth {
		w.keep(func(*widthNote) {})
	}
}

// vanished takes in that tests which failed beside others passed alone.
func (w *width) vanished() {
	shared := w.gauge.Shares()
	w.gauge.Vanish()
	w.keep(func(*widthNote) {})
	if shared || !w.gauge.Shares() {
		return
	}
	what := "gl settings set test.parallel 1 tests one merge after the other"
	if w.measures() {
		what = "testing one merge after the other; gl settings set test.parallel 1 keeps it so"
	}
	w.tell("the tests fail side by side and pass alone, as if they shared a port or a database: %s",
		what)
}

// mayBegin reports whether there is memory for one more run.
func (w *width) mayBegin() bool {
	runs := len(w.beds.runs)
	available, short := w.memory.short(runs)
	if short && !w.memory.told {
		w.memory.told = true
		w.tell("memory is short (%d MB are available): no more than %s at once for now",
			available>>20, words.Count(runs, "test run"))
	}
	if !short && runs > 0 {
		w.tellFirst()
	}
	return !short
}

// tellFirst tells once in a project that tests run side by side, unless the setting asks for that.
func (w *width) tellFirst() {
	if n := w.noted(); !w.measures() || n != nil && n.Told {
		return
	}
	w.keep(func(n *widthNote) { n.Told = true })
	w.tell("testing merges side by side, since that finishes more of them. If your tests can't run at the same time (a fixed port, one database): gl settings set test.parallel 1")
}

// A memoryNeed finds out whether there is memory for one more run of the tests.
type memoryNeed struct {
	free func() (available, total uint64, known bool)

	before uint64 // what was available before the first of the current runs
	most   uint64 // the most that a run seems to have taken
	told   bool
}

// memoryKept must be available for one more run, or a tenth of all memory if that is less.
const memoryKept = 1 << 30

// look takes in how much memory so many runs take.
func (m *memoryNeed) look(runs int) {
	if available, _, known := m.free(); known && runs > 0 && available < m.before {
		m.most = max(m.most, (m.before-available)/uint64(runs))
	}
}

// short reports whether there is too little for one more beside so many.
func (m *memoryNeed) short(runs int) (available uint64, short bool) {
	available, total, known := m.free()
	if runs == 0 || !known {
		m.before = available
		return available, false
	}
	m.look(runs)
	return available, available < max(m.most, min(memoryKept, total/10))
}
