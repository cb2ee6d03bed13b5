package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/tracker"
)

// An unwilling tracker fails the next claims of an item.
type unwilling struct {
	tracker.Tracker
	left map[string]int
}

func (u unwilling) Do(ctx context.Context, f func(tx tracker.Tx) error) error {
	return u.Tracker.Do(ctx, func(tx tracker.Tx) error { return f(unwillingTx{tx, u.left}) })
}

type unwillingTx struct {
	tracker.Tx
	left map[string]int
}

func (u unwillingTx) Claim(id, token string) error {
	if u.left[id] > 0 {
		u.left[id]--
		return errors.New("no space left on device")
	}
	return u.Tx.Claim(id, token)
}

// A claim that fails is tried again a few times before its slice is left alone; the others are
// built meanwhile.
func TestDrainClaimsAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fails int
		done  string
	}{{1, "a b"}, {100, "b"}} {
		t.Run(fmt.Sprint(test.fails), func(t *testing.T) {
			t.Parallel()
			pr := graph{ids: []string{"a", "b"}}.write(t, `{}`)
			pr.Tracker = unwilling{pr.Tracker, map[string]int{"a": test.fails}}
			cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 2)
			cfg.Pace.ClaimAgain = []time.Duration{time.Millisecond, 10 * time.Millisecond}
			var warnings []string
			cfg.Output.Report = func(r scheduler.Report) { warnings = append(warnings, r.Warnings...) }
			res := run(t, cfg)
			var done []string
			for _, e := range res.Ended {
				if e.Judged.Outcome == outcome.Done {
					done = append(done, e.ID.Slice)
				}
			}
			said := strings.Join(warnings, "\n")
			if got := strings.Join(done, " "); len(got) != len(test.done) ||
				!strings.Contains(said, "a can't be claimed, trying again: ") ||
				strings.Contains(said, "a can't be claimed: ") != (test.fails > 1) {
				t.Errorf("done: %s; warnings:\n%s", got, said)
			}
		})
	}
}
