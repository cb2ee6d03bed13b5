package lane

import (
	"time"

	"greenlight/internal/core/train"
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

// noteLasts is how long a worker goes by what others have measured: tests change.
const noteLasts = 7 * 24 * time.Hour

// gaugeAnew goes on with what the last worker has measured of the test command.
func (c *cars) gaugeAnew() {
	c.gauge = &train.Gauge{Most: min(c.project.Config.Max, mostMeasured)}
	if w := c.noted(); w != nil {
		c.gauge.Measured = w.Measured
	}
}

// noted returns what others have measured of the test command, nil for nothing.
func (c *cars) noted() *widthNote {
	w := c.beds.note.Width
	if w == nil || w.Command != c.commands.conf.Config.Test.Command.Line ||
		now().Sub(w.At) > noteLasts {
		return nil
	}
	return w
}

// keep notes what was measured, for the next worker.
func (c *cars) keep(change func(*widthNote)) {
	w := c.noted()
	if w == nil {
		w = &widthNote{Command: c.commands.conf.Config.Test.Command.Line, At: now()}
	}
	again := *w
	again.Measured = c.gauge.Measured
	change(&again)
	if err := c.beds.change(func(n *trainNote) { n.Width = &again }); err != nil {
		c.tell("what was measured of the tests can't be kept: %v", err)
	}
}

// took takes in how long a green run took while so many ran at once.
func (c *cars) took(atOnce float64, d time.Duration) {
	if c.commands.conf.Config.Test.Parallel == 1 {
		return
	}
	if c.gauge.Took(atOnce, d); d >= train.Worth {
		c.keep(func(*widthNote) {})
	}
}

// vanished takes in that tests failed beside others, and passed alone.
func (c *cars) vanished() {
	shared := c.gauge.Shares()
	c.gauge.Vanish()
	c.keep(func(*widthNote) {})
	if shared || !c.gauge.Shares() {
		return
	}
	what := "gl settings set test.parallel 1 tests one merge after the other"
	if c.measures() {
		what = "testing one merge after the other; gl settings set test.parallel 1 keeps it so"
	}
	c.tell("the tests fail side by side and pass alone, as if they shared a port or a database: %s",
		what)
}

// tellFirst tells once in a project that tests run side by side, if nobody has asked for that.
func (c *cars) tellFirst() {
	if w := c.noted(); !c.measures() || w != nil && w.Told {
		return
	}
	c.keep(func(w *widthNote) { w.Told = true })
	c.tell("testing merges side by side, since that finishes more of them. If your tests can't run at the same time (a fixed port, one database): gl settings set test.parallel 1")
}

// A memoryNeed finds out whether there is memory for one more run of the tests.
type memoryNeed struct {
	free func() (available, total uint64, known bool)

	before uint64 // what was available before the first of the runs that go on
	most   uint64 // what a run has taken, as far as that shows
	told   bool
}

// memoryKept is what has to be available for one more run, or a tenth of all where that is less.
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
