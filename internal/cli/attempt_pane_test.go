package cli

import (
	"io"
	"sync"
	"testing"
)

// What a person types is answered beside what the agent says, and may come when the pane is done.
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
