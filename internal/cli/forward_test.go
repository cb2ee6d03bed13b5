package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/relay"
	"greenlight/internal/base/testfiles"
)

// On a worker, an agent's gl has its commands run by the coordinator, and what is about this gl
// runs here. Standard input is read only by commands that read it.
func TestForwarding(t *testing.T) {
	dir, err := os.MkdirTemp("", "gl")
	testfiles.Check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	testfiles.Check(t, err)
	go relay.Serve(l, func(_ context.Context, c relay.Call) relay.Reply {
		return relay.Reply{ExitCode: 3, Errors: []byte("taken\n"),
			Output: []byte(strings.Join(c.Argv, " ") + "|" + string(c.Input))}
	})
	never, _, err := os.Pipe()
	testfiles.Check(t, err)
	defer never.Close()
	gl := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		var in io.Reader = never
		if args[0] == "hook" {
			in = strings.NewReader("{}" + strings.Repeat(" ", len(args[1])*100_000))
		}
		code = Main(t.Context(), args, in, &stdout, &stderr, []string{relay.Variable + "=" + socket})
		return code, stdout.String(), stderr.String()
	}
	if code, out, errs := gl("state", "set", "S-1"); code != 3 || out != "state set S-1|" || errs != "taken\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if code, out, _ := gl("hook", "stop"); code != 3 || !strings.HasPrefix(out, "hook stop|{}") {
		t.Errorf("%d %.40q", code, out)
	}
	if code, out, _ := gl("hook", "subagent-start"); code != 0 || out != "" { // too long
		t.Errorf("%d %q", code, out)
	}
	if code, _, errs := gl("hook", "guard"); code != 3 {
		t.Errorf("%d %q", code, errs)
	}
	if code, out, _ := gl("version"); code != 0 || strings.Contains(out, "|") {
		t.Errorf("%d %q", code, out)
	}
	l.Close()
	if code, _, errs := gl("state"); code != 1 || !strings.Contains(errs, "can't be reached") {
		t.Errorf("%d %q", code, errs)
	}
	if code, _, _ := gl("hook", "guard"); code != 0 {
		t.Error("a hook prevents work")
	}
}
