package journal

import (
	"iter"
	"slices"
	"time"
)

// recent is how many verdicts a median is of: a test suite grows.
const recent = 50

// MedianVerdict is how long the test command takes, by its last runs that came to an end, and how many those are. 0 runs
// mean that nobody knows. An empty command is any command.
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
