package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"greenlight/internal/drain"
	"greenlight/internal/eta"
	"greenlight/internal/plan"
)

// The live line keeps what is about the whole when there isn't room for every slice that runs, and is never too long.
func TestLiveLine(t *testing.T) {
	now := time.Now()
	s := &plan.Snapshot{Noun: "slice"}
	for i := range 40 {
		it := plan.Item{ID: fmt.Sprint("S-", i+1), Status: "tests", Step: "tests", Changed: now}
		if i > 30 {
			it.Status = "complete"
		}
		s.Items = append(s.Items, it)
	}
	tell := &reporter{cfg: drain.Config{Max: 31}, plan: plan.New(s, now, plan.Options{}), pace: func() eta.Pace { return eta.Of(time.Minute, time.Minute, time.Minute) }}
	for width := 2; width < 400; width++ {
		line := tell.liveText(now, width)
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d columns in %d: %q", n, width, line)
		}
		for _, want := range []string{"9/40", "of 31 slots", "about 1m left", " more"} {
			if width >= 50 && !strings.Contains(line, want) {
				t.Errorf("in %d columns no %q: %q", width, want, line)
			}
		}
	}
	if line := tell.liveText(now, 10000); !strings.Contains(line, "S-31 tests") || strings.Contains(line, "more") {
		t.Errorf("with room enough: %q", line)
	}
}
