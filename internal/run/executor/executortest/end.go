package executortest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/run/executor"
)

// endings lists scripts with how they end.
var endings = map[string]string{
	"true":                 "",
	"exit 3":               "exit status 3",
	"exit 7":               "exit status 7",
	"kill -9 $$":           "signal: killed",
	"kill -TERM $$":        "signal: terminated",
	"kill -QUIT $$":        "signal: quit",
	"echo out >&2; exit 1": "exit status 1: out",
}

func promiseEnds(t *testing.T, s *Subject) { s.ends(t, "") }

func promiseSupervisedEnds(t *testing.T, s *Subject) { s.ends(t, "GL_TESTS="+t.Name()) }

func (s *Subject) ends(t *testing.T, mark string) {
	for script, want := range endings {
		c := s.spec(t, "ulimit -c 0; "+script)
		c.Mark = mark
		res, err := s.command(t, c)
		got := ""
		if !res.OK() {
			got = res.How("1m")
		}
		if err != nil || got != want || res.Duration <= 0 || res.OutOfMemory || res.Unseen {
			t.Errorf("%s: %q, want %q, %+v, %v", script, got, want, res, err)
		}
	}
}

func promiseLastWords(t *testing.T, s *Subject) {
	for script, want := range map[string]string{
		"echo reason >&2; echo; exit 3":    "reason",
		"exit 3":                           "",
		`printf 'a\033[31mb'; exit 1`:      `a\x1b[31mb`,
		"echo why; echo exit status 3":     "why",
		"echo why; printf 'FAIL\tpkg\n'":   "why",
		"echo first; echo second; exit 12": "second",
	} {
		if res, err := s.command(t, s.spec(t, script)); err != nil || res.Last != want {
			t.Errorf("%s: %q, %v", script, res.Last, err)
		}
	}
}

// An out-of-memory killer may choose any process, and the gate above the program is one.
func promiseGateKilled(t *testing.T, s *Subject) {
	linux(t)
	j := s.shell(t, `echo $$ > pid; kill -9 $PPID; exec sleep 600`)
	if got := s.run(t, j); got.Signal != "killed" || got.err != nil || got.Leftover != nil {
		t.Errorf("%+v", got)
	}
	gone(t, j.Dir, "pid")
}

func promiseGrace(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
		j := s.shell(t,
			`trap 'sleep 0.2; echo saved; exit 5' TERM; : > up; while :; do sleep 0.01; done`)
		j.Leaves, j.Apart = leaves, true // the shell tells of its child's signal
		run := s.start(t, j)
		until(t, "it runs", func() bool { return exists(j.Dir, "up") })
		run.End()
		run.End() // changes nothing
		if got := finish(run); got.out != "saved\n" || got.ExitCode != 5 || got.TimedOut {
			t.Errorf("%+v", got)
		}
	}
}

func promiseKill(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
		j := s.shell(t, `trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.01; done`)
		j.Leaves = leaves
		run := s.start(t, j)
		until(t, "it runs", func() bool { return file(j.Dir, "pid") != "" })
		run.Kill() // alone: End would kill it, too, after its grace
		select {
		case <-run.Exited():
		case <-time.After(patience):
			t.Fatal("it lives")
		}
		run.Kill()
		if got := finish(run); got.Signal != "killed" {
			t.Errorf("%+v", got)
		}
		gone(t, j.Dir, "pid")
	}
}

func promiseStopped(t *testing.T, s *Subject) {
	j := s.shell(t, `echo $$ > pid; kill -STOP $$; sleep 600`)
	j.Leaves = executor.Services
	run := s.start(t, j)
	until(t, "it runs", func() bool { return file(j.Dir, "pid") != "" })
	run.End()
	if got := finish(run); got.Signal != "terminated" && got.Signal != "killed" {
		t.Errorf("%+v", got)
	}
}

// left lists the ways in which a program leaves processes behind. Each writes its pid; $name is
// a file of its own.
var left = map[string]string{
	"in its group":              `sh -c 'echo $$ >$1; exec sleep 1200' x $name &`,
	"in a session of its own":   `setsid sh -c 'echo $$ >$1; exec sleep 1200' x $name &`,
	"without its environment":   `env -i PATH="$PATH" setsid sh -c 'echo $$ >$1; exec sleep 1200' x $name &`,
	"without a parent":          `env -i PATH="$PATH" setsid sh -c 'setsid sh -c "echo \$\$ >$1; exec sleep 1200" &' x $name`,
	"deaf":                      `setsid sh -c 'trap "" TERM HUP INT; echo $$ >$1; while :; do sleep 1200; done' x $name &`,
	"frozen":                    `setsid sh -c 'echo $$ >$1; kill -STOP $$; sleep 1200' x $name &`,
	"forking while it is ended": `setsid sh -c 'echo $$ >$1; f() { (trap "" TERM; echo x >>$1.beat; sleep 0.01; f $1 & sleep 0.02); }; f $1 & f $1 & wait' x $name &`,
}

// leaving returns a job that leaves a process, whose pid is then in the file pid.
func (s *Subject) leaving(t *testing.T, name string) executor.Job {
	if strings.HasPrefix(name, "without") {
		linux(t)
	}
	j := s.shell(t, "")
	j.Argv[2] = "name=" + filepath.Join(j.Dir, "pid") + "\n" + left[name] +
		"\nuntil test -s $name; do sleep 0.01; done; echo done; exit 3"
	return j
}

func promiseNothingLeft(t *testing.T, s *Subject) {
	for name := range left {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := s.leaving(t, name)
			got := s.run(t, j)
			if got.err != nil || got.ExitCode != 3 || got.Leftover != nil || got.out != "done\n" {
				t.Errorf("%+v", got)
			}
			gone(t, j.Dir, "pid")
			noneLeft(t, j.Dir, got.Left)
		})
	}
}

func promiseNothingBelow(t *testing.T, s *Subject) {
	for name := range left {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := s.leaving(t, name)
			j.Leaves = executor.NothingBelow
			st := s.starter(t, j)
			res := st.result(t)
			if res.ExitCode != 3 {
				t.Errorf("%+v", res)
			}
			gone(t, j.Dir, "pid")
			noneLeft(t, j.Dir, res.Left)
		})
	}
}

// noneLeft checks that what a job has left is named and gone. Processes that fork without end are
// gone once their file no longer grows: none of them lives long enough for its name to be certain.
func noneLeft(t *testing.T, dir string, named []string) {
	beats := file(dir, "pid.beat")
	if beats == "" {
		if len(named) == 0 || named[0] == "" {
			t.Errorf("what was left isn't named: %q", named)
		}
		return
	}
	time.Sleep(100 * time.Millisecond) // several lives of such a process
	if file(dir, "pid.beat") != beats {
		t.Error("processes go on forking")
	}
}

func promiseLeftNamed(t *testing.T, s *Subject) {
	j := s.leaving(t, "in a session of its own")
	got := s.run(t, j)
	if want := "sleep (" + file(j.Dir, "pid") + ")"; len(got.Left) != 1 || got.Left[0] != want {
		t.Errorf("%q, want %q", got.Left, want)
	}
}

func promiseService(t *testing.T, s *Subject) {
	c := s.spec(t, `setsid sh -c 'echo $$ > pid; exec sleep 1200' </dev/null >/dev/null 2>&1 & until test -s pid; do sleep 0.01; done`)
	if res, err := s.command(t, c); err != nil || !res.OK() {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := syscall.Kill(atoi(t, file(c.Dir, "pid")), syscall.SIGKILL); err != nil {
		t.Errorf("the service is gone: %v", err)
	}
}

func promiseGroup(t *testing.T, s *Subject) {
	c := s.spec(t, "sleep 600 & echo $! > pid; echo done")
	if res, err := s.command(t, c); err != nil || !res.OK() || res.Last != "done" ||
		res.Leftover != nil {
		t.Errorf("%+v, %v", res, err)
	}
	gone(t, c.Dir, "pid")
}

func promiseLimit(t *testing.T, s *Subject) {
	for _, mark := range []string{"", "GL_TESTS=" + t.TempDir()} {
		c := s.spec(t, "sleep 600 & echo $! > pid; wait")
		c.Mark, c.Limit = mark, 300*time.Millisecond
		res, err := s.command(t, c)
		if err != nil || !res.TimedOut || res.OK() ||
			res.How("a moment") != "not done after a moment" {
			t.Errorf("%+v, %v", res, err)
		}
		if file(c.Dir, "pid") != "" {
			gone(t, c.Dir, "pid")
		}
	}
}

func promiseContext(t *testing.T, s *Subject) {
	for _, mark := range []string{"", "GL_TESTS=" + t.TempDir()} {
		c := s.spec(t, "sleep 600 & echo $! > pid; : > up; wait")
		c.Mark = mark
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil && !exists(c.Dir, "up") {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if res, err := executor.Command(ctx, s.Executor, c); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", res, err)
		}
		gone(t, c.Dir, "pid")
	}
}

func promiseContextOver(t *testing.T, s *Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := s.spec(t, ": > ran")
	if _, err := executor.Command(ctx, s.Executor, c); !errors.Is(err, context.Canceled) ||
		exists(c.Dir, "ran") {
		t.Errorf("%v", err)
	}
}

func promiseLocks(t *testing.T, s *Subject) {
	path := filepath.Join(t.TempDir(), "lock")
	mine, err := os.Create(path)
	check(t, err)
	check(t, syscall.Flock(int(mine.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	j := s.shell(t, `: > up; exec sleep 600`)
	j.Files = []*os.File{mine}
	run := s.start(t, j)
	mine.Close()
	until(t, "it runs", func() bool { return exists(j.Dir, "up") })
	other, err := os.Open(path)
	check(t, err)
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err,
		syscall.EWOULDBLOCK) {
		t.Errorf("the lock is free while the program lives: %v", err)
	}
	run.End()
	finish(run)
	check(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}

func exists(path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	return err == nil
}

func promiseReused(t *testing.T, s *Subject) {
	j := s.shell(t, `: > up; exec sleep 600`)
	j.Leaves = executor.Services
	run := s.start(t, j)
	until(t, "it runs", func() bool { return exists(j.Dir, "up") })
	before := run.Handle()
	before.Process.Start = "before it"
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
		lost := s.Executor.Find(executor.Lost{
			Handle: before, Marks: []string{"GL_TESTS=nothing has this"}, Leaves: leaves,
			Grace: time.Second,
		})
		lost.End()
		lost.Kill()
		if res, err := lost.Wait(); err != nil || res.Leftover != nil || len(res.Left) > 0 {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if run.Handle().Process.State() != proc.Alive {
		t.Error("another process was ended in the job's place")
	}
	run.End()
	finish(run)
}

func promiseElsewhere(t *testing.T, s *Subject) {
	for _, id := range elsewhere(proc.Self()) {
		lost := executor.Lost{Handle: handle(id), Grace: time.Second, Leaves: executor.Nothing}
		run := s.Executor.Find(lost)
		select {
		case <-run.Exited():
			t.Errorf("%+v has ended by itself", id)
		case <-time.After(200 * time.Millisecond):
		}
		run.End()
		run.Kill()
		if res, err := run.Wait(); err != nil || res.Leftover == nil ||
			!strings.Contains(res.Leftover.Error(), id.Where()) {
			t.Errorf("%+v, %v", res, err)
		}
	}
}
