package lane

import (
	"testing"

	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
)

// A car behind others is called tested only if it is: its tests may not have begun, while others are
// repeated alone.
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
