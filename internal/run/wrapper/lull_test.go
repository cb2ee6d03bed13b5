package wrapper

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Time passes in which this process runs; in every other way it doesn't.
func TestLull(t *testing.T) {
	const s = time.Second
	type step struct{ mono, wall time.Duration }
	ran := step{s, s}
	for name, test := range map[string]struct {
		steps []step
		want  time.Duration
	}{
		"running":                    {[]step{ran, ran, ran}, 3 * s},
		"a busy machine":             {[]step{ran, {4 * s, 4 * s}, ran}, 4 * s}, // of the late tick no more than two
		"SIGSTOP or docker pause":    {[]step{ran, ran, {3600 * s, 3600 * s}, ran}, s},
		"sleep, the clock stands":    {[]step{ran, ran, {s, 3600 * s}, ran}, s},
		"the clock is set ahead":     {[]step{ran, {s, 1e9 * s}, ran, ran}, 2 * s},
		"the clock is set back":      {[]step{ran, {s, -1e9 * s}, ran}, s},
		"the clock is corrected":     {[]step{ran, {s, s + 300*time.Millisecond}, {s, 0}}, 3 * s},
		"frozen again and again":     {[]step{ran, {9 * s, 9 * s}, ran, {9 * s, 9 * s}}, 0},
		"a tick that came before us": {[]step{ran, {0, 0}}, s},
	} {
		l := newLull(s)
		var got time.Duration
		for _, step := range test.steps {
			got = l.count(step.mono, step.wall)
		}
		if got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// However ticks come, the count is never more than the time since the last jump, nor than two
// spacings a tick.
func TestLullNeverRunsAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLull(time.Second)
		now := time.Now()
		l.tick(now)
		since, ticks := time.Duration(0), 0
		for range rapid.IntRange(1, 50).Draw(t, "ticks") {
			step := time.Duration(rapid.Int64Range(0, int64(8*time.Second)).Draw(t, "step"))
			now = now.Add(step)
			since, ticks = since+step, ticks+1
			if step > jump {
				since, ticks = 0, 0
			}
			if got := l.tick(now); got > since || got > time.Duration(ticks)*2*time.Second {
				t.Fatalf("%v after %v and %d ticks", got, since, ticks)
			}
		}
	})
}
