package executor_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// left are processes that a command leaves behind, each by another way. Each writes its pid;
// $name is a file of its own.
var left = map[string]string{
	"in its group":              `sh -c 'echo $$ >$1; exec sleep 1200' x $name &`,
	"in a session of its own":   `setsid sh -c 'echo $$ >$1; exec sleep 1200' x $name &`,
	"without its environment":   `env -i PATH="$PATH" setsid sh -c 'echo $$ >$1; exec sleep 1200' x $name &`,
	"without a parent":          `env -i PATH="$PATH" setsid sh -c 'setsid sh -c "echo \$\$ >$1; exec sleep 1200" &' x $name`,
	"deaf":                      `setsid sh -c 'trap "" TERM HUP INT; echo $$ >$1; while :; do sleep 1200; done' x $name &`,
	"frozen":                    `setsid sh -c 'echo $$ >$1; kill -STOP $$; sleep 1200' x $name &`,
	"forking while it is ended": `setsid sh -c 'echo $$ >$1; f() { (trap "" TERM; sleep 0.01; f & sleep 0.02); }; f & f & wait' x $name &`,
}

func TestWhatIsLeftRunningEnds(t *testing.T) {
	for name, script := range left {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && strings.HasPrefix(name, "without") {
				t.Skip("nothing finds it here: SECURITY.md says so")
			}
			file := filepath.Join(t.TempDir(), "pid")
			s := spec(t, "name="+file+"\n"+script+"\nuntil test -s "+file+"; do sleep 0.01; done; echo done; exit 3")
			s.Mark = "GL_TESTS=" + file
			var log bytes.Buffer
			s.Log = &log
			res, err := run(t.Context(), s)
			if err != nil || res.ExitCode != 3 || res.Leftover != nil || len(res.Left) == 0 || log.String() != "done\n" {
				t.Errorf("%+v, %v, %q", res, err, log.String())
			}
			checkGone(t, file)
		})
	}
}

func checkGone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("%d is still there: %v", pid, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A command that may leave a service behind, such as git.setup, still can.
func TestServicesSurvive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	s := spec(t, `setsid sh -c 'echo $$ >$1; exec sleep 1200' x `+file+` </dev/null >/dev/null 2>&1 & until test -s `+file+`; do sleep 0.01; done`)
	if res, err := run(t.Context(), s); err != nil || !res.OK() {
		t.Fatalf("%+v, %v", res, err)
	}
	data, _ := os.ReadFile(file)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the service is gone: %v", err)
	}
}

// A command ends the same way under a gate.
func TestSupervisedEnds(t *testing.T) {
	for script, how := range map[string]string{
		"true":                 "",
		"exit 3":               "exit status 3",
		"kill -9 $$":           "signal: killed",
		"kill -TERM $$":        "signal: terminated",
		"kill -QUIT $$":        "signal: quit",
		"echo out >&2; exit 1": "exit status 1: out",
		// the gate: an out-of-memory killer may choose any process
		"kill -9 $PPID; sleep 9": "signal: killed",
	} {
		s := spec(t, "ulimit -c 0; "+script)
		s.Mark = "GL_TESTS=" + s.Dir
		res, err := run(t.Context(), s)
		got := ""
		if !res.OK() {
			got = res.How("1m")
		}
		if err != nil || got != how {
			t.Errorf("%s: %q, want %q, %v", script, got, how, err)
		}
	}
	s := spec(t, "")
	s.Argv, s.Mark = []string{s.Dir + "/none"}, "GL_TESTS=x"
	if err := os.WriteFile(s.Argv[0], []byte("#!/no/such/shell\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "can't be started") {
		t.Errorf("%v", err)
	}
}

// A program that ignores signals is killed along with what it started, and the gate survives to
// do that.
func TestDeafTreeIsEnded(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it takes seconds, and a subreaper")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	s := spec(t, `trap "" TERM; env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo $$ >$1; while :; do sleep 1200; done' x `+file+` & while :; do sleep 1; done`)
	s.Mark = "GL_TESTS=" + file
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !hasText(file) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if res, err := run(ctx, s); !errors.Is(err, context.Canceled) || res.Signal != "killed" {
		t.Errorf("%+v, %v", res, err)
	}
	checkGone(t, file)
}

func hasText(file string) bool {
	data, err := os.ReadFile(file)
	return err == nil && len(data) > 1
}
