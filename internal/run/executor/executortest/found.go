package executortest

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/run/executor"
)

func handle(id proc.ID) command.Handle { return command.Handle{Process: id} }

// Starter starts the job that is described in dir, in a process of its own, which a test may
// kill: before the record if the file early is there, else while the job runs. It writes the
// handle to a file, and how the job ended. It returns an exit code.
func Starter(x executor.Executor, dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, "job"))
	var d described
	if err != nil || json.Unmarshal(data, &d) != nil {
		return 2
	}
	j := executor.Job{Argv: d.Argv, Dir: d.Dir, Env: d.Env, Marks: d.Marks, Leaves: d.Leaves,
		Apart: d.Apart}
	run, err := x.Start(context.Background(), j, func(h command.Handle) error {
		if err := put(filepath.Join(dir, "handle"), h); err != nil {
			return err
		}
		if exists(dir, "early") {
			time.Sleep(patience) // until it is killed
		}
		return nil
	})
	if err != nil {
		return 3
	}
	for range run.Output() {
	}
	res, err := run.Wait()
	if err != nil || res.Leftover != nil {
		return 4
	}
	if put(filepath.Join(dir, "result"), result{res.ExitCode, res.Signal, res.Left}) != nil {
		return 5
	}
	return 0
}

// described is a job on its way to a starter.
type described struct {
	Argv   []string
	Dir    string
	Env    []string
	Marks  []string
	Leaves executor.Leaves
	Apart  bool
}

// A result is what a starter tells of a job's end.
type result struct {
	ExitCode int
	Signal   string
	Left     []string
}

// put writes a document whole.
func put(path string, doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// started is a process that starts a job.
type started struct {
	cmd *exec.Cmd
	dir string
}

// starter has another process start the job.
func (s *Subject) starter(t *testing.T, j executor.Job, files ...string) *started {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	check(t,
		put(filepath.Join(dir, "job"), described{j.Argv, j.Dir, j.Env, j.Marks, j.Leaves, j.Apart}))
	st := &started{s.Starter(dir), dir}
	st.cmd.Stdout, st.cmd.Stderr = io.Discard, os.Stderr
	check(t, st.cmd.Start())
	t.Cleanup(st.kill)
	until(t, "the job is recorded", func() bool { return exists(dir, "handle") })
	return st
}

func (st *started) kill() {
	_ = st.cmd.Process.Kill()
	_ = st.cmd.Wait()
}

func (st *started) handle(t *testing.T) (h command.Handle) {
	t.Helper()
	check(t, json.Unmarshal([]byte(file(st.dir, "handle")), &h))
	return h
}

// find returns the starter's job as another process finds it.
func (s *Subject) find(t *testing.T, st *started, j executor.Job) executor.Run {
	t.Helper()
	return s.Executor.Find(executor.Lost{
		Handle: st.handle(t), Marks: j.Marks, Leaves: executor.Nothing, Grace: 5 * time.Second,
	})
}

// result waits for the starter's end.
func (st *started) result(t *testing.T) (r result) {
	t.Helper()
	check(t, st.cmd.Wait())
	check(t, json.Unmarshal([]byte(file(st.dir, "result")), &r))
	return r
}

func promiseStarterKilledEarly(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing,
		executor.NothingBelow} {
		j := s.shell(t, ": > ran")
		j.Leaves, j.Apart = leaves, leaves == executor.NothingBelow
		st := s.starter(t, j, "early")
		id := st.handle(t).Process
		st.kill()
		until(t, "the gate is gone", id.Dead)
		if exists(j.Dir, "ran") {
			t.Error("a program ran that isn't recorded")
		}
	}
}

func promiseFoundAlive(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Nothing, executor.NothingBelow} {
		j := s.shell(t, `setsid sh -c 'echo $$ > child; exec sleep 600' & echo $$ > pid; wait`)
		j.Leaves = leaves
		st := s.starter(t, j)
		until(t, "it runs", func() bool {
			return file(j.Dir, "pid") != "" && file(j.Dir, "child") != ""
		})
		st.kill()
		id := st.handle(t).Process
		if !id.Alive() {
			t.Error("the program died with its starter")
		}
		run := s.find(t, st, j)
		select {
		case <-run.Exited():
			t.Error("a program that runs has exited")
		default:
		}
		if err := run.Talk([]byte("hello\n")); err == nil {
			t.Error("it hears")
		}
		run.End()
		got := finish(run)
		if got.err != nil || got.Leftover != nil || !got.Unseen || got.OK() ||
			got.out != "" || !id.Dead() {
			t.Errorf("%+v", got)
		}
		gone(t, j.Dir, "pid")
		gone(t, j.Dir, "child")
	}
}

func promiseFoundDead(t *testing.T, s *Subject) {
	j := s.shell(t, `setsid sh -c 'echo $$ > child; exec sleep 600' & until test -s child; do sleep 0.01; done; until test -e go; do sleep 0.01; done`)
	j.Leaves = executor.NothingBelow
	st := s.starter(t, j)
	until(t, "it runs", func() bool { return file(j.Dir, "child") != "" })
	st.kill()
	run := s.find(t, st, j)
	check(t, os.WriteFile(filepath.Join(j.Dir, "go"), nil, 0o600))
	if got := finish(run); got.err != nil || got.Leftover != nil || !got.Unseen { // without End
		t.Errorf("%+v", got)
	}
	gone(t, j.Dir, "child")
}

func promiseKillFound(t *testing.T, s *Subject) {
	j := s.shell(t, `trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done`)
	run := s.start(t, j)
	until(t, "it runs", func() bool { return file(j.Dir, "pid") != "" })
	s.Executor.Find(executor.Lost{Handle: run.Handle(), Marks: j.Marks}).Kill()
	if got := finish(run); got.Signal != "killed" {
		t.Errorf("%+v", got)
	}
	gone(t, j.Dir, "pid")
}
