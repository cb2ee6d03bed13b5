package cli

import (
	"strings"
	"testing"

	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
	"greenlight/internal/show/attempttext"
)

func ended(o outcome.Outcome, detail string) *attempt.Record {
	return &attempt.Record{ID: attempt.Identity{Slice: "S-4", N: 1}, Judged: attempt.Judgement{Outcome: o, Detail: detail}}
}

func TestEndedText(t *testing.T) {
	for _, c := range []struct {
		outcome outcome.Outcome
		detail  string
		line    string
		stopped string
	}{
		{outcome.Done, "42 tests", "S-4 complete (42 tests)", "S-4 was done already (42 tests)"},
		{outcome.Done, "", "S-4 complete", "S-4 was done already"},
		{outcome.Failed, "exit 7", "S-4 failed (exit 7, gl logs S-4 --system gsd)", "S-4 had ended already: failed: exit 7"},
		{outcome.Waiting, "waiting for a look", "S-4 is waiting for a look", "S-4 had ended already: waiting for a look"},
		{outcome.Held, "rate limit", "S-4 held (rate limit)", "S-4 had ended already: held: rate limit"},
		{outcome.Interrupted, "interrupted", "S-4 interrupted", "S-4 stopped (interrupted)"},
		{outcome.Interrupted, "interrupted in tests", "S-4 interrupted in tests", "S-4 stopped (interrupted in tests)"},
	} {
		rec := ended(c.outcome, c.detail)
		if got := attempttext.Ended(rec, " --system gsd"); got != c.line {
			t.Errorf("line %q, want %q", got, c.line)
		}
		if got := attempttext.Stopped(rec); got != c.stopped {
			t.Errorf("gl stop says %q, want %q", got, c.stopped)
		}
	}
}

// Whatever an outcome is called, its line says so once, says why, and names gl logs where that
// helps.
func TestEndedTextOfAll(t *testing.T) {
	for _, o := range outcome.All() {
		traits := o.Traits()
		word := traits.Shown.Line
		if word == "" {
			word = traits.Shown.Words
		}
		for _, detail := range []string{"", "because of this", traits.Shown.Words + " in tests"} {
			line := attempttext.Ended(ended(o, detail), "")
			if !strings.HasPrefix(line, "S-4 "+word) || strings.Count(line, traits.Shown.Words) > 1 || strings.Contains(line, "()") {
				t.Errorf("%s: %q", o, line)
			}
			if why := strings.TrimPrefix(detail, traits.Shown.Words); !strings.Contains(line, why) {
				t.Errorf("%s: %q doesn't say %q", o, line, why)
			}
			if strings.Contains(line, "gl logs S-4") != traits.Shown.Logs {
				t.Errorf("%s: %q", o, line)
			}
		}
	}
}
