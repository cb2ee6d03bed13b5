package wrapper

import "time"

const (
	longestTick = time.Second
	// a gap that no busy machine makes: gl was stopped, or the machine slept
	jump = 5 * time.Second
)

// A lull counts for how long nothing has happened, and counts only time in which this process
// ran. It is told the time by ticks. Two ticks that are far apart, or between which the wall
// clock and the monotonic one disagree, say that this process was frozen (SIGSTOP, docker
// pause, a laptop's sleep) or the clock was set. Its agent was frozen too, maybe, and a
// connection of its may have to be made anew: the count begins anew.
type lull struct {
	most   time.Duration // that a tick counts, however late it comes
	last   time.Time     // zero before the first tick
	passed time.Duration
}

func newLull(spacing time.Duration) *lull { return &lull{most: 2 * spacing} }

// begin begins to count anew.
func (l *lull) begin() { l.passed = 0 }

// tick counts the time since the last tick, and returns the count.
func (l *lull) tick(now time.Time) time.Duration {
	last := l.last
	l.last = now
	if last.IsZero() {
		return l.passed
	}
	return l.count(now.Sub(last), now.Round(0).Sub(last.Round(0)))
}

// count adds a step of the monotonic clock, which took so long by the wall clock.
func (l *lull) count(step, wall time.Duration) time.Duration {
	if skew := wall - step; step > jump || step < 0 || skew > jump || skew < -jump {
		l.passed = 0
		return 0
	}
	l.passed += min(step, l.most)
	return l.passed
}
