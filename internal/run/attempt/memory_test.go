package attempt

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/executor"
)

// allocated is how many MiB f allocates in all. Short tests leave it out: the race detector allocates as well.
func allocated(t *testing.T, f func()) uint64 {
	if testing.Short() {
		t.Skip("not with -short")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// What a line without end costs is the bound, some times over: decoding and printing it.
const someTimes = 16 * lines.Max >> 20

// A wrapper holds no more of its agent's output than the bound, and its log no more than the cap.
func TestWrapperOfALineWithoutEnd(t *testing.T) {
	for name, stderr := range map[string]bool{"stdout": false, "stderr": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			log, err := openLog(path)
			must(t, err)
			defer log.close()
			printed := 0
			l := newListener(agent.StreamClaude, log, func(ev agent.Event) { printed += len(ev.Text) }, func() {})
			c := executor.Chunk{Stderr: stderr, Data: bytes.Repeat([]byte("x"), 64<<10)}
			const size = 100 << 20
			most := uint64(someTimes)
			if stderr {
				most = 8 * size >> 20 // each piece once as text, as JSON, as a line; all are garbage at once
			}
			if n := allocated(t, func() {
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
			must(t, err)
			kept := int64(0)
			for _, name := range names {
				info, err := os.Stat(name)
				must(t, err)
				kept += info.Size()
			}
			if kept > 64<<20 || kept < 48<<20 {
				t.Errorf("the log has %d bytes", kept)
			}
		})
	}
}

// The log of a wrapper that died settles its attempt, whatever lines are in it.
func TestRecoverFromALineWithoutEnd(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.claim("S-1")
	r.Job.Stream = agent.StreamClaude
	r = b.start(r)
	f, err := os.Create(b.store.Files.Log(r.ID.Slice, r.ID.N))
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(300<<20)) // zeros take no room on the disk
	_, err = f.Seek(0, io.SeekEnd)
	must(t, err)
	_, err = f.WriteString("\n" + `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":4}` + "\n")
	must(t, err)
	var final *Record
	if n := allocated(t, func() { final, err = b.settler(b.state).Recover(t.Context(), r) }); n > 2*someTimes {
		t.Errorf("allocated %d MiB", n)
	}
	must(t, err)
	if final == nil || final.Judged.Outcome != outcome.Stalled || final.Judged.Evidence.Result.Turns != 4 {
		t.Errorf("%+v", final)
	}
}
