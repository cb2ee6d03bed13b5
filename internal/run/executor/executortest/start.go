package executortest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/executor"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	check(t, err)
	return n
}

func promiseWords(t *testing.T, s *Subject) {
	j := s.shell(t, "")
	odd, n, size, large := "\xff", 20, 50_000, 100_000
	if s.Worker { // what is sent to one is UTF-8, in one message
		odd, n, size, large = "\u00ff", 20, 20_000, 50_000
	}
	j.Argv = []string{"sh", "-c", `printf '%s|' "$#" "$@" "$LINES_OF" "${#V7}" "${#LARGE}"; env | grep -c ^V; pwd`, "sh", "", odd, "a b", "1\n2", "$HOME", "'"}
	j.Env = append(sized(j.Env, n, size), "LINES_OF=one\n\ntwo", "LARGE="+strings.Repeat("y", large))
	want := "6||" + odd + "|a b|1\n2|$HOME|'|one\n\ntwo|" + itoa(size) + "|" + itoa(large) + "|20\n" + j.Dir + "\n"
	if got := s.run(t, j); got.err != nil || got.out != want {
		t.Errorf("%.200q, %v; want %.200q", got.out, got.err, want)
	}
	if s.Worker { // it is refused, not changed
		j.Argv[4] = "\xff"
		if _, err := s.Executor.Start(t.Context(), j, recorded); err == nil {
			t.Error("a word that can't be sent was sent")
		}
		j.Argv[4], j.Env = "", sized(j.Env, 20, 100_000)
		if _, err := s.Executor.Start(t.Context(), j, recorded); err == nil {
			t.Error("a job that is too large was sent")
		}
	}
}

func promiseTwice(t *testing.T, s *Subject) {
	j := s.shell(t, `env | grep ^TWICE`)
	j.Env = append(j.Env, "TWICE=1", "TWICE=2")
	if got := s.run(t, j); got.out != "TWICE=2\n" {
		t.Errorf("%q", got.out)
	}
}

func promiseSession(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
		j := s.shell(t, `(: </dev/tty) 2>/dev/null && echo a terminal; read x; echo $?; ps -o sid= -p $$; ps -o sid= -p $STARTER`)
		j.Leaves, j.Env = leaves, append(j.Env, "STARTER="+itoa(os.Getpid()))
		got := s.run(t, j)
		if f := strings.Fields(got.out); len(f) < 2 || f[0] != "1" ||
			len(f) == 3 && f[1] == f[2] || len(f) > 3 {
			t.Errorf("%q: %v", got.out, got.err)
		}
	}
}

func promiseRecorded(t *testing.T, s *Subject) {
	j := s.shell(t, ": > ran")
	j.Leaves = executor.Services
	times := 0
	run, err := s.Executor.Start(t.Context(), j, func(command.Handle) error {
		if times++; exists(j.Dir, "ran") {
			t.Error("it ran before it was recorded")
		}
		return nil
	})
	check(t, err)
	if got := finish(run); !got.OK() || !exists(j.Dir, "ran") || times != 1 {
		t.Errorf("%+v, recorded %d times", got, times)
	}

	refused := errors.New("refused")
	j = s.shell(t, ": > ran")
	_, err = s.Executor.Start(t.Context(), j, func(command.Handle) error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if exists(j.Dir, "ran") {
		t.Error("a program that couldn't be recorded ran")
	}
}

func promiseHandle(t *testing.T, s *Subject) {
	j := s.shell(t, "echo $$")
	j.Leaves = executor.Services
	var handle command.Handle
	record := func(h command.Handle) error {
		if handle = h; !h.Process.Alive() {
			t.Errorf("recorded %+v", h)
		}
		return nil
	}
	run, err := s.Executor.Start(t.Context(), j, record)
	check(t, err)
	if got := finish(run); strings.TrimSpace(got.out) != itoa(handle.Process.PID) ||
		run.Handle() != handle {
		t.Errorf("process %q, recorded %+v", got.out, handle)
	}
	refused := errors.New("refused")
	_, err = s.Executor.Start(t.Context(), j, func(h command.Handle) error {
		handle = h
		return refused
	})
	if !errors.Is(err, refused) || handle.Process.Alive() {
		t.Errorf("%v, and the gate lives: %v", err, handle.Process.Alive())
	}
}

func promiseCommandRefused(t *testing.T, s *Subject) {
	refused := errors.New("refused")
	c := s.spec(t, ": > ran")
	c.Started = func(command.Handle) error { return refused }
	if _, err := s.command(t, c); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func promiseCantStart(t *testing.T, s *Subject) {
	j := s.shell(t, "")
	dir := t.TempDir() // a job's own may not be there yet
	text := filepath.Join(dir, "text")
	check(t, os.WriteFile(text, []byte("text\n"), 0o644))
	bad := filepath.Join(dir, "bad")
	check(t, os.WriteFile(bad, []byte("#!/no/such/interpreter\n"), 0o755))
	for name, change := range map[string]func(j *executor.Job){
		"no words": func(j *executor.Job) { j.Argv = nil },
		"not on PATH": func(j *executor.Job) {
			j.Argv = []string{"no-such-program-anywhere"}
		},
		"not executable":    func(j *executor.Job) { j.Argv = []string{text} },
		"no directory":      func(j *executor.Job) { j.Dir = filepath.Join(j.Dir, "none") },
		"not a directory":   func(j *executor.Job) { j.Dir = text },
		"a bad path":        func(j *executor.Job) { j.Path = filepath.Join(j.Dir, "none") },
		"a bad interpreter": func(j *executor.Job) { j.Argv = []string{bad} },
	} {
		if s.Worker && name == "no directory" {
			continue // a worker makes the project's directory
		}
		for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
			j := j
			j.Leaves = leaves
			change(&j)
			run, err := s.Executor.Start(t.Context(), j, recorded)
			if err != nil {
				continue
			}
			if got := finish(run); got.NotStarted == "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

func promiseCommandCantStart(t *testing.T, s *Subject) {
	for _, mark := range []string{"", "GL_TESTS=" + t.TempDir()} {
		c := s.spec(t, "")
		bad := filepath.Join(t.TempDir(), "bad")
		c.Mark, c.Argv = mark, []string{bad}
		check(t, os.WriteFile(bad, []byte("#!/no/such/interpreter\n"), 0o755))
		if _, err := s.command(t, c); err == nil ||
			!strings.Contains(err.Error(), "/bad can't be started: ") {
			t.Errorf("%v", err)
		}
		c.Argv = []string{"no-such-program-anywhere"}
		if _, err := s.command(t, c); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%v", err)
		}
	}
}

func promiseFiles(t *testing.T, s *Subject) {
	r, w, err := os.Pipe()
	check(t, err)
	_, _ = w.WriteString("handed on\n")
	w.Close()
	defer r.Close()
	j := s.shell(t, "for n in 3 4 5 6 7 8 9; do (cat <&$n) 2>/dev/null; done; exit 0")
	j.Files = []*os.File{r}
	if got := s.run(t, j); got.out != "handed on\n" {
		t.Errorf("%+v", got)
	}
}

func promiseNoBox(t *testing.T, s *Subject) {
	j := s.shell(t, ": > ran")
	why := errors.New("no bwrap")
	j.Box = func(command.Program) (*command.Box, error) { return nil, why }
	_, err := s.Executor.Start(t.Context(), j, func(command.Handle) error {
		t.Error("recorded")
		return nil
	})
	if !errors.As(err, new(*executor.BoxError)) || !errors.Is(err, why) ||
		err.Error() != why.Error() {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(j.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// boxed puts a job in a sandbox that confines nothing: env runs what is inside.
func (s *Subject) boxed(t *testing.T, j *executor.Job) {
	t.Helper()
	j.Box = func(p command.Program) (*command.Box, error) {
		if p.Dir != j.Dir || p.Path == "" {
			t.Errorf("a sandbox for %+v", p)
		}
		return &command.Box{
			Path: "/usr/bin/env", Gl: s.Self, Env: append(p.Env, "BOXED=yes"),
			Command: func(argv []string) []string {
				return append([]string{"env", "INSIDE=yes"}, argv...)
			},
		}, nil
	}
}

func promiseBox(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
		j := s.shell(t, `echo $BOXED $INSIDE; kill -TERM $$; echo lives`)
		j.Leaves = leaves
		s.boxed(t, &j)
		if got := s.run(t, j); got.out != "yes yes\n" || got.Signal != "terminated" {
			t.Errorf("%+v", got)
		}
	}
}

// The sandbox's program exits with 128 and the signal's number, as a shell does.
func promiseUnwrap(t *testing.T, s *Subject) {
	for _, test := range []struct {
		unwrap bool
		code   int
		want   string
	}{
		{true, 137, "killed"}, {true, 143, "terminated"},
		{true, 7, ""}, {true, 128, ""}, {true, 255, ""}, {false, 137, ""},
	} {
		j := s.shell(t, "exit "+itoa(test.code))
		j.Leaves, j.Unwrap = executor.Services, test.unwrap
		s.boxed(t, &j)
		got := s.run(t, j)
		if got.Signal != test.want || (test.want == "") != (got.ExitCode == test.code) {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

func promiseMany(t *testing.T, s *Subject) {
	dir := t.TempDir()
	n := 40
	if s.Worker { // each job is a worktree
		n = testfiles.Sized(12, n)
	}
	// A line for each job: one that polls takes processor time.
	pipe := filepath.Join(dir, "go")
	check(t, syscall.Mkfifo(pipe, 0o600))
	lines, err := os.OpenFile(pipe, os.O_RDWR, 0)
	check(t, err)
	defer lines.Close()
	var runs []executor.Run
	for i := range n {
		j := s.shell(t, `: > "$GO.`+itoa(i)+`"; read line <"$GO"; echo `+itoa(i))
		j.Env, j.Leaves = append(j.Env, "GO="+pipe), executor.Leaves(i%2)
		runs = append(runs, s.start(t, j))
	}
	until(t, "all run", func() bool {
		begun, err := filepath.Glob(filepath.Join(dir, "go.*"))
		return err == nil && len(begun) == len(runs)
	})
	_, err = lines.WriteString(strings.Repeat("\n", len(runs)))
	check(t, err)
	for i, run := range runs {
		if got := finish(run); got.err != nil || got.out != itoa(i)+"\n" || !got.OK() {
			t.Errorf("job %d: %+v", i, got)
		}
	}
}

func promiseFullDisk(t *testing.T, s *Subject) {
	c := s.spec(t, "echo one; sleep 0.1; echo two; exit 3")
	c.Log = fullDisk{}
	if res, err := s.command(t, c); err != nil || res.ExitCode != 3 || res.Last != "two" {
		t.Errorf("%+v, %v", res, err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// linux skips what no system but Linux can do: SECURITY.md says so.
func linux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds all processes")
	}
}

// elsewhere returns a process in another PID namespace, and one on another host.
func elsewhere(id proc.ID) []proc.ID {
	inside, away := id, id
	inside.NS += "-other"
	away.Host, away.Boot = "elsewhere", "another"
	if id.NS == "" {
		return []proc.ID{away}
	}
	return []proc.ID{inside, away}
}
