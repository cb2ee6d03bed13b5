package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
)

// A Testing is a run of the tests that gl serve has a worker do: runs/hub/tests/NAME.json, which
// the process that wants the tests writes and removes. The run's output is in the errand's log,
// and its end in NAME.end.
type Testing struct {
	SchemaVersion int        `json:"schema_version"`
	Owner         proc.ID    `json:"owner"` // without it, the run is ended
	Worker        string     `json:"worker"`
	Job           remote.Job `json:"job"`
}

// A TestingEnd is how a Testing ended.
type TestingEnd struct {
	Lost   string         `json:"lost,omitempty"` // why no worker has a result; "" if there is one
	Result *remote.Result `json:"result,omitempty"`
}

// TestsDir is the directory of the files of Testings.
func TestsDir(runs string) string { return filepath.Join(Dir(runs), "tests") }

func testingFile(runs, name string) string { return filepath.Join(TestsDir(runs), name+".json") }
func ending(runs, name string) string      { return filepath.Join(TestsDir(runs), name+".end") }

// Log is the path of what is home of an errand's log.
func Log(runs, errand string) string { return filepath.Join(Dir(runs), "attempts", errand+".log") }

// Testings returns all Testings by their names, which are safe to use as an errand's. One that
// can't be read is removed: its owner runs the tests elsewhere.
func Testings(runs string) map[string]*Testing {
	list, err := durable.ReadDir(TestsDir(runs))
	if err != nil || len(list) == 0 { // there is none before the first
		return nil
	}
	found := map[string]*Testing{}
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || (remote.Fence{Attempt: name, Lease: 1}).Check() != nil {
			continue
		}
		t := &Testing{}
		err := durable.ReadJSON(testingFile(runs, name), t)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil || t.SchemaVersion != schemaVersion:
			_ = RemoveTesting(runs, name)
		default:
			found[name] = t
		}
	}
	return found
}

// RemoveTesting removes a Testing, whether or not it has ended.
func RemoveTesting(runs, name string) error {
	for _, path := range []string{testingFile(runs, name), ending(runs, name)} {
		if err := durable.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// End writes how a Testing ended.
func End(runs, name string, e TestingEnd) error {
	return durable.WriteJSON(ending(runs, name), e)
}

// Tester runs tests on a worker, through gl serve.
type Tester struct {
	Runs   string
	Worker string
	Job    remote.Job // without its command
	Top    string     // of the worktree with the job's commit here
}

var _ executor.Starter = (*Tester)(nil)

// Start writes the Testing. The error of its Wait is a *executor.LostError if the worker didn't run
// the tests to their end, or doesn't say that it tested the job's commit.
func (t *Tester) Start(ctx context.Context, j executor.Job,
	record func(command.Handle) error) (executor.Run, error) {
	want := Testing{SchemaVersion: schemaVersion, Owner: proc.Self(), Worker: t.Worker, Job: t.Job}
	c, err := CommandOf(j, t.Top, j.Argv[0])
	if err != nil {
		return nil, err
	}
	name := remote.AttemptName("", "tests", 1, fmt.Sprintf("%x-%d", time.Now().UnixNano(), os.Getpid()))
	// a worktree of its own: nothing that other tests have left is there
	want.Job.Command, want.Job.Lineage = c, name
	if err := Fits(name, want.Job); err != nil {
		return nil, err
	}
	if err := record(command.Handle{}); err != nil {
		return nil, err
	}
	if err := durable.MkdirPrivate(TestsDir(t.Runs)); err != nil {
		return nil, err
	}
	if err := durable.WriteJSON(testingFile(t.Runs, name), want); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &testRun{
		tester: t, name: name, cancel: cancel, output: make(chan executor.Chunk, 64),
		exited: make(chan struct{}),
	}
	go r.follow(ctx)
	return r, nil
}

// A testRun is tests that run on a worker.
type testRun struct {
	tester *Tester
	name   string
	cancel context.CancelFunc
	output chan executor.Chunk
	exited chan struct{}

	once  sync.Once
	ended bool // by End or Kill
	res   command.Result
	err   error
}

func (r *testRun) Handle() command.Handle        { return command.Handle{} }
func (r *testRun) Output() <-chan executor.Chunk { return r.output }
func (r *testRun) Talk([]byte) error             { return executor.ErrHungUp }
func (r *testRun) CloseTalk()                    {}
func (r *testRun) Kill()                         { r.End() }
func (r *testRun) Exited() <-chan struct{}       { return r.exited }

// End gives the tests up. gl serve has the worker end them.
func (r *testRun) End() {
	r.once.Do(func() {
		r.ended = true
		r.cancel()
	})
}

// Wait returns how the tests ended.
func (r *testRun) Wait() (command.Result, error) {
	<-r.exited
	return r.res, r.err
}

const (
	followEvery = 50 * time.Millisecond
	serveGone   = 20 * time.Second // without a gl serve, after which its tests are given up
)

// follow passes on the log until the tests have ended, or there is no hope of that.
func (r *testRun) follow(ctx context.Context) {
	defer r.cancel()
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	runs, pos, served := r.tester.Runs, int64(0), time.Now()
	for r.err == nil {
		end, err := r.end()
		if pos = r.pass(ctx, pos); end != nil {
			r.res, r.err = r.judge(end, pos)
			break
		}
		if err != nil {
			r.err = err
			break
		}
		if l, err := Read(runs); err == nil && l.Serving() {
			served = time.Now()
		} else if time.Since(served) > serveGone {
			r.err = r.lost("gl serve is gone")
			break
		}
		select {
		case <-ctx.Done():
			r.err = ctx.Err()
		case <-ticker.C:
		}
	}
	_ = RemoveTesting(runs, r.name) // one that stays is ended with its owner
	if r.ended && errors.Is(r.err, context.Canceled) {
		r.res, r.err = command.Result{ExitCode: -1, Signal: "terminated"}, nil
	}
	close(r.exited)
	close(r.output)
}

func (r *testRun) lost(why string) error {
	return &executor.LostError{Where: "worker " + r.tester.Worker, Why: why}
}

// end returns the end that gl serve has written; nil for none yet.
func (r *testRun) end() (*TestingEnd, error) {
	e := &TestingEnd{}
	err := durable.ReadJSON(ending(r.tester.Runs, r.name), e)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return e, err
}

// judge returns the result of a run whose log was passed on up to that many bytes.
func (r *testRun) judge(e *TestingEnd, passed int64) (command.Result, error) {
	switch {
	case e.Lost != "":
		return command.Result{}, r.lost(e.Lost)
	case e.Result == nil || passed < e.Result.Log:
		return command.Result{}, r.lost("its output isn't whole")
	}
	res, err := ResultOf(e.Result)
	if err == nil && res.Unseen {
		return res, r.lost("it was ended while the tests ran")
	}
	return res, err
}

// pass passes on what the log has from pos on, and returns its end.
func (r *testRun) pass(ctx context.Context, pos int64) int64 {
	file, err := durable.Open(Log(r.tester.Runs, r.name))
	if err != nil {
		return pos // nothing of it is home yet
	}
	defer file.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, pos)
		if n > 0 {
			select {
			case r.output <- executor.Chunk{Data: bytes.Clone(buf[:n])}:
			case <-ctx.Done():
				return pos
			}
			pos += int64(n)
		}
		if errors.Is(err, io.EOF) || err != nil || n == 0 {
			return pos
		}
	}
}
