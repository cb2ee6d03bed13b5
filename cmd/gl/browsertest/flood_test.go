//go:build browser

package browsertest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// A run doesn't feel a thousand connections to its pages that send half a request, or read nothing.
func TestRunDoesNotFeelAFlood(t *testing.T) {
	w := newWorld(t, "until [ -e $WORK/flooded ]; do sleep 0.05; done\n"+built, "S-1", "S-2", "S-3", "S-4:S-1", "S-5:S-4")
	run := w.start("gl", "slice", "--watch", "--web", "--runner", "process")
	host := strings.TrimPrefix(w.said(run, `gl web: (http://\S+)`), "http://")
	var all sync.WaitGroup
	flooded := sync.OnceFunc(func() { testfiles.Put(t, w.dir, "flooded", "") })
	for i := range 1000 {
		all.Go(func() {
			for {
				c, err := net.Dial("tcp", host)
				if err != nil { // the run ends, or is full
					select {
					case <-run.done:
						return
					case <-time.After(50 * time.Millisecond):
						continue
					}
				}
				if i == 999 {
					flooded()
				}
				if i%2 == 0 {
					_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
				} else {
					_, _ = io.WriteString(c, "POST /login HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 9999\r\n")
				}
				_, _ = io.Copy(io.Discard, c) // until it is closed
				c.Close()
			}
		})
	}
	<-run.done
	all.Wait()
	if code := run.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d: %s", code, testfiles.Get(t, "", run.out))
	}
	for id, class := range w.classes() {
		if class != "done" {
			t.Errorf("%s is %s", id, class)
		}
	}
}
