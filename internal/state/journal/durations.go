package journal

import (
	"iter"
	"slices"
	"time"
)

// recent is how many verdicts the median covers: a test suite grows.
const recent = 50

// MedianVerdict returns how long the test command takes, by its last completed runs, and their
// number; 0 runs means unknown. An empty command matches any.
func MedianVerdict(events iter.Seq[Event], command string) (median time.Duration, runs int) {
	var last []int64
	for e := range events {
		if e.Kind != Verdict || e.DurationMS == nil || *e.DurationMS < 0 || e.Exit == nil || command != "" && e.Command != clip(command) {
			continue
		}
		if last = append(last, *e.DurationMS); len(last) > recent {
			last = last[1:]
		}
	}
	if len(last) == 0 {
		return 0, 0
	}
	slices.Sort(last)
	mid := len(last) / 2
	ms := last[mid]
	if len(last)%2 == 0 {
		ms = last[mid-1] + (last[mid]-last[mid-1])/2
	}
	const most = int64(time.Duration(1<<63-1) / time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond, len(last)
}
