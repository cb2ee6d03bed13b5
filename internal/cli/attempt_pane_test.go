package cli

import (
	"io"
	"sync"
	"testing"
)

// Typed lines are answered among the agent's lines, and may arrive after the pane is closed.
func TestPaneViewIsForSeveral(t *testing.T) {
	for range 50 {
		v := newPaneView(io.Discard)
		var typing sync.WaitGroup
		for range 4 {
			typing.Go(func() {
				for range 2 * viewRoom {
					v.show("line")
				}
			})
		}
		v.close()
		typing.Wait()
	}
}
