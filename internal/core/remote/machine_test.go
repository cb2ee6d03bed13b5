package remote_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/remote"
)

// bench is a coordinator with one worker that has said hello.
type bench struct {
	*testing.T
	c   *remote.Coordinator
	now time.Duration
}

var small = remote.Job{Kind: remote.Agent, Slice: "S-1", Lineage: "S-1", Commit: strings.Repeat("a", 40), Work: true,
	Command: remote.Command{Program: "agent", Argv: []string{"agent"}, Talks: true}}

var aLease = remote.Fence{Attempt: "S-1.1", Lease: 1}

func newBench(t *testing.T, change func(*remote.Hello)) *bench {
	b := &bench{T: t, c: remote.NewCoordinator(remote.DefaultPolicy, nil, nil)}
	b.step(remote.Begin{})
	hello := &remote.Hello{Protocol: remote.Version, Boot: 1, Slots: 1, OS: "linux", Arch: "arm64", Agents: []string{"claude"},
		Labels: []string{"big"}, Included: []string{".env"}}
	change(hello)
	b.step(remote.FromWorker{Worker: "w", Message: hello})
	return b
}

func (b *bench) step(e remote.CoordinatorEvent) []remote.CoordinatorEffect {
	b.now += time.Second
	return b.c.Step(b.now, e)
}

// find returns the first effect of a type.
func find[E remote.CoordinatorEffect](effects []remote.CoordinatorEffect) (found E, ok bool) {
	for _, e := range effects {
		if found, ok = e.(E); ok {
			return found, true
		}
	}
	return found, false
}

func assign(change func(*remote.Job)) remote.Assign {
	job := small
	change(&job)
	return remote.Assign{Attempt: "S-1.1", Worker: "w", Job: job}
}

// A worker that can't have a job isn't given it, and the reason is told.
func TestNotPlaced(t *testing.T) {
	same := func(*remote.Hello) {}
	for name, c := range map[string]struct {
		hello func(*remote.Hello)
		job   func(*remote.Job)
		why   string
	}{
		"version":  {func(h *remote.Hello) { h.Protocol = 99 }, func(*remote.Job) {}, "install the same gl"},
		"slots":    {func(h *remote.Hello) { h.Slots = 0 }, func(*remote.Job) {}, "no free slot"},
		"draining": {func(h *remote.Hello) { h.Draining = true }, func(*remote.Job) {}, "accepts no more"},
		"full":     {func(h *remote.Hello) { h.Full = true }, func(*remote.Job) {}, "disk is full"},
		"os":       {same, func(j *remote.Job) { j.Needs.Labels = []string{"arm64", "darwin"} }, "it has no label darwin"},
		"agent":    {same, func(j *remote.Job) { j.Needs.Agent = "codex" }, "no agent codex"},
		"sandbox":  {same, func(j *remote.Job) { j.Needs.Sandbox = "bwrap" }, "no sandbox bwrap"},
		"label":    {same, func(j *remote.Job) { j.Needs.Labels = []string{"big", "gpu"} }, "label gpu"},
		"file":     {same, func(j *remote.Job) { j.Needs.Files = []string{".env", "key"} }, "key isn't there"},
		"size":     {same, func(j *remote.Job) { j.Command.Env = []string{"A=" + strings.Repeat("x", 2<<20)} }, "are more than"},
		"merge":    {same, func(j *remote.Job) { j.Merge = &remote.Merge{Commit: "main"} }, "full name"},
		"commit":   {same, func(j *remote.Job) { j.Commit = "HEAD" }, "full name"},
	} {
		b := newBench(t, c.hello)
		v, ok := find[remote.Vacant](b.step(assign(c.job)))
		if !ok || !strings.Contains(string(v.Why), c.why) {
			t.Errorf("%s: %+v, %v", name, v, ok)
		}
	}
	b := newBench(t, same)
	if v, bad := find[remote.Vacant](b.step(assign(func(j *remote.Job) { j.Needs.Files = []string{".env"} }))); bad {
		t.Errorf("a job that fits isn't placed: %+v", v)
	}
	b = newBench(t, same)
	if v, bad := find[remote.Vacant](b.step(assign(func(j *remote.Job) { j.Needs.Labels = []string{"linux", "arm64", "big"} }))); bad {
		t.Errorf("a job for its system and processor isn't placed: %+v", v)
	}
}

// running brings the bench's job to where its program runs.
func (b *bench) running() {
	b.step(assign(func(*remote.Job) {}))
	b.step(remote.Published{Fence: aLease})
	b.step(remote.FromWorker{Worker: "w", Message: &remote.Accept{Fence: aLease}})
	b.step(remote.FromWorker{Worker: "w", Message: &remote.Started{Fence: aLease}})
}

// What a command prints beyond a message's room is cut, and the agent is told.
func TestLongAnswerIsCut(t *testing.T) {
	b := newBench(t, func(*remote.Hello) {})
	b.running()
	ask := &remote.Ask{Fence: aLease, Number: 1, Below: 1, Argv: []string{"slice"}}
	if _, ok := find[remote.Run](b.step(remote.FromWorker{Worker: "w", Message: ask})); !ok {
		t.Fatal("the command doesn't run")
	}
	long := bytes.Repeat([]byte("x"), remote.MaxOutput+1)
	sent, _ := find[remote.SendToWorker](b.step(remote.Answered{Answer: remote.Answer{Fence: aLease, Number: 1, ExitCode: -1, Output: long}}))
	answer, ok := sent.Message.(*remote.Answer)
	if !ok || len(answer.Output) != remote.MaxOutput || !bytes.HasSuffix(answer.Output, []byte("256 KiB]\n")) {
		t.Fatalf("the answer is %+v", sent)
	}
	if _, err := remote.Encode(answer); err != nil {
		t.Error(err)
	}
}

// A line that can't be sent, or for which there is no agent, is told at once.
func TestLineIsUnheard(t *testing.T) {
	b := newBench(t, func(*remote.Hello) {})
	b.running()
	for name, e := range map[string]remote.Speak{
		"too long":     {Attempt: "S-1.1", Line: make([]byte, remote.MaxLine+1)},
		"no such one":  {Attempt: "S-2.1", Line: []byte("hello")},
		"end and line": {Attempt: "S-1.1", Line: []byte("hello"), Close: true},
	} {
		if u, ok := find[remote.Unheard](b.step(e)); !ok || u.Why == "" {
			t.Errorf("%s: %+v, %v", name, u, ok)
		}
	}
	if s, ok := find[remote.SendToWorker](b.step(remote.Speak{Attempt: "S-1.1", Line: []byte("hello")})); !ok {
		t.Errorf("a line isn't sent: %+v", s)
	}
}

// A coordinator that was stopped for a day has heard no worker, and loses none for that.
func TestOwnAbsenceCountsForNoWorker(t *testing.T) {
	b := newBench(t, func(*remote.Hello) {})
	b.running()
	for range 3 {
		b.now += 24 * time.Hour
		if n, ok := find[remote.Notice](b.step(remote.Tick{})); ok && n.What == remote.NewsLost {
			t.Fatalf("%+v", n)
		}
	}
	for range int(remote.DefaultPolicy.Lost/time.Second) + 1 {
		if _, lost := find[remote.Vacant](b.step(remote.Tick{})); lost {
			return
		}
	}
	t.Error("a worker that is silent for ten minutes isn't lost")
}

// A lost worker that comes back before its job has another lease goes on with it.
func TestLostWorkerComesBack(t *testing.T) {
	b := newBench(t, func(*remote.Hello) {})
	b.running()
	for range int(remote.DefaultPolicy.Lost/time.Second) + 1 {
		b.step(remote.Tick{})
	}
	beat := &remote.Beat{Boot: 1, State: remote.State{Serial: 1, Held: []remote.Held{{Fence: aLease, Stage: remote.Running}}}}
	back := b.step(remote.FromWorker{Worker: "w", Message: beat})
	news := 0
	for _, e := range back {
		if n, ok := e.(remote.Notice); ok && n.What == remote.NewsContact && n.Fence == aLease {
			news++
		}
	}
	if news != 1 {
		t.Errorf("contact isn't told once: %+v", back)
	}
	if again := b.step(assign(func(*remote.Job) {})); len(again) != 0 {
		t.Errorf("the job is given away: %+v", again)
	}
}

// Whatever the coordinator sends, a worker accepts no more jobs than it has slots, and none when it
// accepts none; what it refused it never takes.
func TestWorkerRefuses(t *testing.T) {
	w := remote.NewWorker(remote.DefaultPolicy, remote.Hello{Boot: 1, Slots: 1, OS: "linux", Arch: "amd64"}, remote.Mark{}, nil)
	now := time.Duration(0)
	step := func(e remote.WorkerEvent) (refused remote.Text, prepares bool) {
		now += time.Second
		for _, e := range w.Step(now, e) {
			switch e := e.(type) {
			case remote.SendToCoordinator:
				if r, ok := e.Message.(*remote.Refuse); ok {
					refused = r.Reason
				}
			case remote.Prepare:
				prepares = true
			}
		}
		return refused, prepares
	}
	serial := int64(0)
	place := func(attempt string, change func(*remote.Job)) (remote.Text, bool) {
		serial++
		job := small
		job.Lineage = attempt
		change(&job)
		return step(remote.FromCoordinator{Message: &remote.Place{Fence: remote.Fence{Attempt: attempt, Lease: 1}, Serial: serial, Job: job}})
	}
	same := func(*remote.Job) {}
	step(remote.Begin{})
	if why, ok := place("a", func(j *remote.Job) { j.Needs.Labels = []string{"darwin"} }); ok || !strings.HasPrefix(string(why), "it has no label darwin") {
		t.Errorf("a job for another system: %q", why)
	}
	step(remote.DiskUsed{Bytes: remote.DefaultPolicy.Disk})
	if why, ok := place("b", same); ok || why != "the worker's disk is full" {
		t.Errorf("a job for a full disk: %q", why)
	}
	step(remote.DiskUsed{})
	if why, ok := place("c", same); !ok {
		t.Errorf("the first job is refused: %s", why)
	}
	if why, ok := place("c2", func(j *remote.Job) { j.Lineage = "c" }); ok || !strings.Contains(string(why), "has the worktree") {
		t.Errorf("a job in the worktree of another: %q", why)
	}
	if why, ok := place("d", same); ok || why != "the worker has no free slot" {
		t.Errorf("a job without a slot: %q", why)
	}
	step(remote.Finished{Fence: remote.Fence{Attempt: "c", Lease: 1}, Result: remote.Result{How: remote.Failed}})
	serial = 3 // the placement that was refused comes again
	if why, ok := place("d", same); ok || why != "the placement came too late" {
		t.Errorf("a job that was refused: %q", why)
	}
	serial = 9
	if why, ok := place("e", same); !ok {
		t.Errorf("the slot isn't free again: %s", why)
	}
	step(remote.FromCoordinator{Message: &remote.Drain{Number: 1, On: true}})
	if why, ok := place("f", same); ok || why != "the worker accepts no more jobs" {
		t.Errorf("a job for a worker that accepts none: %q", why)
	}
}

// A command that no message has room for fails at once: its agent would wait for ever.
func TestHugeCommandFails(t *testing.T) {
	job := remote.Work{Fence: aLease, Serial: 1, Job: small, Stage: remote.Accepted}
	w := remote.NewWorker(remote.DefaultPolicy, remote.Hello{Boot: 1, Slots: 1, OS: "linux", Arch: "amd64"}, remote.Mark{}, []*remote.Work{&job})
	w.Step(0, remote.Begin{})
	w.Step(0, remote.Ready{Fence: aLease})
	w.Step(0, remote.Launched{Fence: aLease})
	for name, e := range map[string]remote.Inquire{
		"input":     {Fence: aLease, Key: 7, Argv: []string{"slice"}, Input: make([]byte, remote.MaxInput+1)},
		"arguments": {Fence: aLease, Key: 7, Argv: []string{strings.Repeat("x", 2<<20)}},
		"directory": {Fence: aLease, Key: 7, Argv: []string{"slice"}, Dir: "../.."},
	} {
		effects := w.Step(0, e)
		if len(effects) != 1 {
			t.Fatalf("%s: %+v", name, effects)
		}
		if r, ok := effects[0].(remote.Reply); !ok || r.Key != 7 || r.Answer.ExitCode != 1 || len(r.Answer.Errors) == 0 {
			t.Errorf("%s: %+v", name, effects)
		}
	}
}

// Nothing more can be pushed for a lease once another machine has its worker's name, and before
// what was pushed is kept: even if the worker's word that it began hasn't come.
func TestSealed(t *testing.T) {
	for _, heard := range []bool{true, false} {
		b := newBench(t, func(*remote.Hello) {})
		b.step(assign(func(*remote.Job) {}))
		b.step(remote.Published{Fence: aLease})
		if heard {
			b.step(remote.FromWorker{Worker: "w", Message: &remote.Started{Fence: aLease}})
		}
		var told []string
		for _, e := range b.step(remote.Joined{Worker: "w", Key: "another"}) {
			switch e.(type) {
			case remote.PersistAttempt, remote.Seal, remote.Keep, remote.Forget:
				told = append(told, fmt.Sprintf("%T", e))
			}
		}
		if want := []string{"remote.PersistAttempt", "remote.Seal", "remote.Keep"}; !slices.Equal(told, want) {
			t.Errorf("heard %v: %q, want %q", heard, told, want)
		}
	}
}
