package wrapper

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/executor"
)

// What a line without end costs is the bound, some times over: decoding and printing it.
const someTimes = 16 * lines.Max >> 20

// A wrapper holds no more of its agent's output than the bound, and its log no more than the cap.
func TestWrapperOfALineWithoutEnd(t *testing.T) {
	for name, stderr := range map[string]bool{"stdout": false, "stderr": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			log, err := openLog(path)
			testfiles.Check(t, err)
			defer log.close()
			printed := 0
			l := newListener(agent.StreamClaude, log, func(ev agent.Event) { printed += len(ev.Text) }, func() {})
			c := executor.Chunk{Stderr: stderr, Data: bytes.Repeat([]byte("x"), 64<<10)}
			const size = 100 << 20
			most := uint64(someTimes)
			if stderr {
				most = 8 * size >> 20 // each piece once as text, as JSON, as a line; all are garbage at once
			}
			if n := testfiles.Allocated(t, func() {
				for range size / len(c.Data) {
					l.take(c)
				}
				l.takeUnended()
			}); n > most {
				t.Errorf("allocated %d MiB", n)
			}
			if !stderr && printed > 2*lines.Max {
				t.Errorf("printed %d bytes", printed)
			}
			names, err := filepath.Glob(path + "*")
			testfiles.Check(t, err)
			kept := int64(0)
			for _, name := range names {
				info, err := os.Stat(name)
				testfiles.Check(t, err)
				kept += info.Size()
			}
			if kept > 64<<20 || kept < 48<<20 {
				t.Errorf("the log has %d bytes", kept)
			}
		})
	}
}
