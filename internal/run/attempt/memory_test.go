package attempt

import (
	"io"
	"os"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
)

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
	if n := testfiles.Allocated(t, func() { final, err = b.settler(b.state).Recover(t.Context(), r) }); n > 32*lines.Max>>20 {
		t.Errorf("allocated %d MiB", n)
	}
	must(t, err)
	if final == nil || final.Judged.Outcome != outcome.Stalled || final.Judged.Evidence.Result.Turns != 4 {
		t.Errorf("%+v", final)
	}
}
