package relay

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
)

func listen(t *testing.T, answer func(context.Context, Call) Reply) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay") // t.TempDir may be too long for a socket
	testfiles.Check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	testfiles.Check(t, err)
	t.Cleanup(func() { l.Close() })
	go Serve(l, answer)
	return path
}

func TestCallsAreAnswered(t *testing.T) {
	var got Call
	path := listen(t, func(_ context.Context, c Call) Reply {
		got = c
		return Reply{ExitCode: 3, Output: []byte("out\n"), Errors: []byte{0, 0xff}}
	})
	call := Call{Argv: []string{"state", "set", "--", "S-1"}, Dir: "/w", Input: []byte("a\x00b")}
	r, err := Ask(t.Context(), path, call)
	testfiles.Check(t, err)
	if d := cmp.Diff(call, got); d != "" {
		t.Error(d)
	}
	want := Reply{ExitCode: 3, Output: []byte("out\n"), Errors: []byte{0, 0xff}}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
}

// A caller that is gone ends its command, and what isn't a call is dropped without an answer.
func TestCallersThatGoAway(t *testing.T) {
	ended := make(chan bool)
	path := listen(t, func(ctx context.Context, _ Call) Reply {
		<-ctx.Done()
		ended <- true
		return Reply{}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, path, Call{}); err == nil {
		t.Error("there is no answer")
	}
	<-ended
	for _, text := range []string{"no call", `{"argv":"` + strings.Repeat("x", callBytes)} {
		conn, err := net.Dial("unix", path)
		testfiles.Check(t, err)
		_, _ = conn.Write([]byte(text + "\n")) // it may be refused before its end
		if n, _ := conn.Read(make([]byte, 1)); n != 0 {
			t.Errorf("%.20q has an answer", text)
		}
		conn.Close()
	}
	if _, err := Ask(t.Context(), path+"x", Call{}); err == nil {
		t.Error("there is no socket")
	}
}
