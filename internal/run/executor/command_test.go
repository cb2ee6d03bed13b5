package executor_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/run/executor"
)

// TestMain makes the test binary act as gl when it is called as gl: gates are real processes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" && len(os.Args) > 1 && os.Args[1] == command.GateArg {
		os.Exit(command.Gate(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func spec(t *testing.T, script string) command.Spec {
	t.Helper()
	return command.Spec{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: os.Environ(), Limit: time.Minute}
}

// run runs a command as local processes.
func run(ctx context.Context, s command.Spec) (command.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return command.Result{}, err
	}
	return executor.Command(ctx, executor.NewLocal(self), s)
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, script string
		how          string // "" for OK
		log          string
	}{
		{"success", "echo out; echo err >&2", "", "out\nerr\n"},
		{"nothing to read", "read x; echo $?", "", "1\n"},
		{"failure", "echo reason >&2; echo; exit 3", "exit status 3: reason", "reason\n\n"},
		{"failure without a word", "exit 3", "exit status 3", ""},
		{"unsafe last line", `printf 'a\033[31mb'; exit 1`, `exit status 1: a\x1b[31mb`, "a\x1b[31mb"},
		{"signal", "kill -9 $$", "signal: killed", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := spec(t, test.script)
			var log bytes.Buffer
			s.Log = &log
			res, err := run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			how := ""
			if !res.OK() {
				how = res.How("1m")
			}
			if how != test.how || log.String() != test.log || res.Duration <= 0 {
				t.Errorf("%q, log %q, %v", how, log.String(), res.Duration)
			}
		})
	}
}

// The command runs only once its process is recorded, and never if that fails.
func TestStarted(t *testing.T) {
	s := spec(t, "echo $$; : > ran")
	var id proc.ID
	var log bytes.Buffer
	s.Log = &log
	s.Started = func(h command.Handle) error {
		id = h.Process
		if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
			t.Error("it ran before it was recorded")
		}
		return nil
	}
	if _, err := run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if pid := strings.TrimSpace(log.String()); pid == "" || pid != strconv.Itoa(id.PID) {
		t.Errorf("process %q, recorded %d", pid, id.PID)
	}

	s = spec(t, ": > ran")
	refused := errors.New("refused")
	s.Started = func(h command.Handle) error { id = h.Process; return refused }
	if _, err := run(t.Context(), s); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil || id.Alive() {
		t.Error("a command that couldn't be recorded ran")
	}
}

// A command is ended at its time limit or with its context, along with what it started in its
// group.
func TestEnded(t *testing.T) {
	for _, byLimit := range []bool{true, false} {
		s := spec(t, "sleep 600 & echo $! > child; : > up; wait")
		ctx, cancel := context.WithCancel(t.Context())
		if byLimit {
			s.Limit = 500 * time.Millisecond
		} else {
			go func() {
				for _, err := os.Stat(filepath.Join(s.Dir, "up")); err != nil; _, err = os.Stat(filepath.Join(s.Dir, "up")) {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
		}
		res, err := run(ctx, s)
		cancel()
		if byLimit && (err != nil || !res.TimedOut || res.OK() || res.How("a moment") != "not done after a moment") {
			t.Errorf("at its limit: %+v, %v", res, err)
		}
		if !byLimit && !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %+v, %v", res, err)
		}
		if childLives(t, s.Dir) {
			t.Errorf("by limit %v: its child lives on", byLimit)
		}
	}
}

// Processes that a command leaves in its group are ended with it, even if they hold the output
// open.
func TestLeftover(t *testing.T) {
	s := spec(t, "sleep 600 & echo $! > child; echo done")
	res, err := run(t.Context(), s)
	if err != nil || !res.OK() || res.Last != "done" || res.Leftover != nil {
		t.Errorf("%+v, %v", res, err)
	}
	if childLives(t, s.Dir) {
		t.Error("its child lives on")
	}
}

// childLives reports whether the process lives whose pid a command wrote.
func childLives(t *testing.T, dir string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "child"))
	if errors.Is(err, fs.ErrNotExist) { // ended before it had one
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(pid)
	return err == nil && id.Alive()
}

func TestInherits(t *testing.T) {
	s := spec(t, "for n in 3 4 5 6 7 8 9; do (cat <&$n) 2>/dev/null; done")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString("handed on\n")
	w.Close()
	defer r.Close()
	s.Files = []*os.File{r}
	if res, err := run(t.Context(), s); err != nil || res.Last != "handed on" {
		t.Errorf("%+v, %v", res, err)
	}
}

// Arguments and variables arrive unchanged, even more than a socket holds at once; a variable
// given twice counts once.
func TestAsItIs(t *testing.T) {
	s := spec(t, "")
	s.Argv = []string{"sh", "-c", `printf '%s|' "$#" "$@" "$TWICE" "${#V7}"; env | grep -c ^V; pwd`, "sh", "", "\xff", "a b", "1\n2"}
	s.Env = append(s.Env, "TWICE=1", "TWICE=2")
	for i := range 20 {
		s.Env = append(s.Env, "V"+strconv.Itoa(i)+"="+strings.Repeat("x", 50_000))
	}
	var log bytes.Buffer
	s.Log = &log
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "4||\xff|a b|1\n2|2|50000|20\n" + dir + "\n"
	if _, err := run(t.Context(), s); err != nil || log.String() != want {
		t.Errorf("%.100q, %v; want %.100q", log.String(), err, want)
	}
}

func TestCantRun(t *testing.T) {
	s := spec(t, "")
	s.Argv = nil
	if _, err := run(t.Context(), s); err == nil {
		t.Error("an empty command ran")
	}
	s.Argv = []string{"no-such-program-anywhere"}
	if _, err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("%v", err)
	}
	path := filepath.Join(s.Dir, "bad")
	if err := os.WriteFile(path, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Argv = []string{"./bad"}
	if _, err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "can't be started") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Argv = []string{"sh", "-c", ": > ran"}
	if _, err := run(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}
