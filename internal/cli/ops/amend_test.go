package ops

import (
	"errors"
	"sync"
	"testing"

	"greenlight/internal/run/attempt"
)

// Two commands that change the same settled record at the same time both succeed.
func TestNotesAtTheSameTime(t *testing.T) {
	for range 20 {
		y := newYard(t, map[string]string{"S-1": "status: pending; step: none; session:"})
		y.failed("S-1")
		var rejected, reopened error
		var both sync.WaitGroup
		both.Go(func() {
			rejected = amend(t.Context(), y.Project, func(w *attempt.Writer) error {
				return w.MarkRejected("S-1", "the wrong color", nil)
			})
		})
		both.Go(func() {
			change := []Change{{Key: "status", Value: "pending"}}
			_, reopened = afterSet(t.Context(), y.Project, "S-1", change, false, false)
		})
		both.Wait()
		must(t, errors.Join(rejected, reopened))
		recs, err := y.Runs.History("S-1")
		must(t, err)
		if r := recs[0]; !r.Since.Retried || r.Since.Rejected != "the wrong color" {
			t.Fatalf("retried %t, rejected %q", r.Since.Retried, r.Since.Rejected)
		}
	}
}
