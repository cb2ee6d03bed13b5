//go:build go1.25

package rehearsal

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Slow writes of state don't lengthen a slice: each step begins at its own time from the start.
func TestStepsKeepTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		var p *player
		p = fake(t, "step=100ms", io.Discard, io.Discard,
			func(context.Context, string, []field) error {
				at = append(at, time.Since(p.start))
				time.Sleep(60 * time.Millisecond)
				return nil
			})
		if code := p.play(t.Context()); code != 0 {
			t.Fatalf("exit %d", code)
		}
		const step = 100 * time.Millisecond
		if d := cmp.Diff([]time.Duration{0, step, 2 * step, 3 * step, 4 * step}, at); d != "" {
			t.Error(d)
		}
	})
}
