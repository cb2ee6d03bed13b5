package hands

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/remote"
)

// A home is the coordinator of a test: its machine, and what it has collected.
type home struct {
	*bench
	machine *remote.Coordinator
	begun   time.Time
	log     []byte
	news    []remote.News
	settled []remote.Result
	files   string // of the collected commit
	heard   bool   // a worker said hello
}

func (h *home) step(e remote.CoordinatorEvent) {
	for _, effect := range h.machine.Step(time.Since(h.begun), e) {
		switch e := effect.(type) {
		case remote.Append:
			h.log = append(h.log, e.Data...)
		case remote.SendToWorker:
			data, err := remote.Encode(e.Message)
			testfiles.Check(h, err)
			testfiles.Check(h, h.hub.Send(h.Context(), e.Worker, data))
		case remote.Publish:
			testfiles.Check(h, h.hub.Grant(h.Context(), e.Worker, e.Fence))
			testfiles.Check(h, h.hub.Publish(h.Context(), e.Fence, e.Commit))
			h.step(remote.Published{Fence: e.Fence})
		case remote.Settle:
			h.settled = append(h.settled, e.Result)
			if e.Result.Commit != "" {
				got, err := h.hub.Collect(h.Context(), e.Fence, "refs/gl/got")
				testfiles.Check(h, err)
				h.files = h.git(h.project, "ls-tree", "-r", "--name-only", got)
			}
			h.step(remote.Done{Fence: e.Fence})
		case remote.Run:
			h.step(remote.Answered{Answer: remote.Answer{Fence: e.Fence, Number: e.Ask.Number,
				Output: []byte("home has " + strings.Join(e.Ask.Argv, " ") + "\n")}})
		case remote.Notice:
			h.news = append(h.news, e.What)
			h.heard = h.heard || e.What == remote.NewsHello
		}
	}
}

// until works until something is so.
func (h *home) until(what string, ok func() bool) {
	h.Helper()
	limit := time.After(time.Minute)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !ok() {
		select {
		case e := <-h.hub.Messages():
			m, err := remote.DecodeToCoordinator(e.Data)
			testfiles.Check(h, err)
			h.step(remote.FromWorker{Worker: e.Worker, Message: m})
		case <-ticker.C:
			h.step(remote.Tick{})
		case <-limit:
			h.Fatalf("never: %s; news %q, log %s", what, h.news, h.log)
		}
	}
}

// A worker takes a job from its placement to its confirmation, and leaves when it is told to:
// everything goes through both machines.
func TestWork(t *testing.T) {
	h := &home{bench: newBench(t), begun: time.Now()}
	h.machine = remote.NewCoordinator(remote.DefaultPolicy, nil, nil)
	stop := make(chan os.Signal, 3)
	dir := filepath.Join(h.place.files.dir, "state")
	o := Options{
		Dir: dir, Self: h.place.self, Environ: h.place.environ, Plugin: "/plugin", Slots: 2,
		Agents: []string{"rehearsal"}, Policy: remote.DefaultPolicy, Hub: h.hub.Join("w2"),
		Print: func(line string) { t.Log(line) }, Stop: stop,
	}
	done := make(chan error, 1)
	go func() { done <- Work(t.Context(), o) }()
	h.step(remote.Begin{})
	h.until("it says hello", func() bool { return h.heard })
	again := o
	again.Hub = h.hub.Join("w3")
	if err := Work(t.Context(), again); err == nil || !strings.Contains(err.Error(), "another gl worker") {
		t.Errorf("a second one: %v", err)
	}
	j := h.job(h.base, `echo work > work.txt; read a; echo "heard $a"; gl ask state; echo done`)
	j.Command.Talks, j.Save = true, 50
	h.step(remote.Assign{Attempt: tried, Worker: "w2", Job: *j, Talk: [][]byte{[]byte("hello\n")}})
	h.until("it settles", func() bool { return len(h.settled) > 0 })
	want := "heard hello\nhome has state\ndone\n"
	if !strings.HasSuffix(string(h.log), want) {
		t.Errorf("its log is\n%s", h.log)
	}
	if r := h.settled[0]; r.How != remote.Exited || r.ExitCode != 0 || h.files != "a.txt\nwork.txt" {
		t.Errorf("%+v, %q", r, h.files)
	}
	stop <- syscall.SIGTERM
	h.until("it says goodbye", func() bool {
		for _, n := range h.news {
			if n == remote.NewsGoodbye {
				return true
			}
		}
		return false
	})
	testfiles.Check(t, <-done)
	if left, _ := filepath.Glob(filepath.Join(dir, "leases", "*")); len(left) > 0 {
		t.Error(left)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "repo.gl", "*")); len(left) > 0 {
		t.Error(left)
	}
}

// One whose key is refused ends with that reason.
func TestClosedConnection(t *testing.T) {
	b := newBench(t)
	w := b.hub.Join("w2")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testfiles.Check(t, w.Close())
	if err := Work(ctx, Options{Dir: b.place.files.path("state"), Self: b.place.self, Slots: 1,
		Policy: remote.DefaultPolicy, Hub: w, Print: func(string) {}}); ctx.Err() != nil {
		t.Error(err)
	}
}
