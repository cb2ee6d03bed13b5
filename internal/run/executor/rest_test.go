//go:build go1.25

package executor

import (
	"testing"
	"testing/synctest"
	"time"
)

// An agent's last output is read to its end, however slowly it arrives on a busy machine; a
// process that holds the pipe open doesn't delay the attempt for long.
func TestTakeRest(t *testing.T) {
	for _, test := range []struct {
		name   string
		gap    time.Duration // between chunks
		chunks int           // then the pipe is at its end, or stays open
		open   bool
		want   int
		took   time.Duration
	}{
		{"comes slowly", 300 * time.Millisecond, 20, false, 20, 6 * time.Second},
		{"held open in silence", 0, 1, true, 1, pipeTick * pipeTicks},
		{"held open for good", 110 * time.Millisecond, 1000, true, 90, pipeLimit},
		{"comes too late", time.Second, 1, true, 0, pipeTick * pipeTicks},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines, over := make(chan []byte), make(chan struct{})
				go func() {
					for range test.chunks {
						select {
						case <-time.After(test.gap):
						case <-over:
							return
						}
						select {
						case lines <- nil:
						case <-over:
							return
						}
					}
					if !test.open {
						close(lines)
					}
				}()
				taken, began := 0, time.Now()
				takeRest(lines, func([]byte) { taken++ })
				took := time.Since(began)
				close(over)
				if taken != test.want || took != test.took {
					t.Errorf("took %d chunks in %v, want %d in %v", taken, took, test.want, test.took)
				}
			})
		})
	}
}
