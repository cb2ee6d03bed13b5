package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/tracker"
)

// While runs/ is removed again and again (git clean -fdx), also in the instant of a claim, the
// launcher remembers its claims: no slice keeps the token of an attempt that is gone, and the run
// builds them all.
func TestDrainSurvivesCleaning(t *testing.T) {
	t.Parallel()
	const seed = 4713
	slices := testfiles.Sized(14, 27)
	random := rand.New(rand.NewPCG(seed, 1))
	pr := randomGraph(random, slices).write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=20ms", 4)
	stop := make(chan struct{})
	cleaned := make(chan int)
	go func() {
		n := 0
		defer func() { cleaned <- n }()
		for ; n < 50; n++ { // a slow machine gets nothing done between two
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(random.IntN(100)) * time.Millisecond):
				os.RemoveAll(pr.Runs.Files.Dir())
			}
		}
		<-stop
	}()
	cfg.Output.Report = func(r scheduler.Report) {
		for _, w := range r.Warnings {
			t.Log(w)
		}
	}
	res := run(t, cfg)
	close(stop)
	t.Logf("seed %d: cleaned %d times", seed, <-cleaned)
	if res.Plan.Done != slices {
		t.Errorf("%d of %d done\n%s", res.Plan.Done, slices, scene(pr))
	}
	want := map[string]plan.Class{}
	for _, id := range res.Plan.IDs() {
		want[id] = plan.Done
	}
	checkClasses(t, pr, want)
	until(t, "the project's processes are gone", func() bool { return len(processes(pr.Root)) == 0 })
}

// A cleaning that falls between a claim and the start of its wrapper: deterministically, once for
// each slice.
func TestDrainTakesLostClaimsBack(t *testing.T) {
	t.Parallel()
	g := graph{deps: map[string][]string{}}
	for i := range 6 {
		g.ids = append(g.ids, fmt.Sprint("S-", i+1))
	}
	pr := g.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 3)
	cfg.Pace.Interval = time.Hour
	lost := map[string]bool{}
	cfg.Tools.Runner = &losing{Runner: cfg.Tools.Runner, lose: func(r *attempt.Record) {
		if !lost[r.ID.Slice] {
			lost[r.ID.Slice] = true
			for os.RemoveAll(pr.Runs.Files.Dir()) != nil { // wrappers are writing there
			}
		}
	}}
	var warnings []string
	cfg.Output.Report = func(r scheduler.Report) { warnings = append(warnings, r.Warnings...) }
	res := run(t, cfg)
	if res.Plan.Done != len(g.ids) || len(lost) != len(g.ids) || len(warnings) > 0 {
		t.Errorf("%d done, %d lost, warnings %q", res.Plan.Done, len(lost), warnings)
	}
	checkTidy(t, pr)
}

// A cleaning that falls behind the start of the agent, whose wrapper is gone, too: nothing tells of
// the agent but its environment. The slice isn't launched again beside it.
func TestDrainWaitsForAnAgentWithoutRecord(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"S-1"}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Pace.Interval = 20 * time.Millisecond
	orphan := exec.Command("sleep", "600")
	starts := 0
	var ended atomic.Bool
	cfg.Tools.Runner = &replaced{Runner: cfg.Tools.Runner, start: func(r *attempt.Record) bool {
		if starts++; starts > 1 {
			if !ended.Load() {
				t.Error("the slice was launched again beside its agent")
			}
			return false
		}
		orphan.Env = append(os.Environ(), "GL_SESSION="+r.ID.Token)
		check(t, orphan.Start())
		check(t, os.RemoveAll(pr.Runs.Files.Dir()))
		time.AfterFunc(300*time.Millisecond, func() { // some passes of the run later
			ended.Store(true)
			orphan.Process.Kill()
			orphan.Wait()
		})
		return true
	}}
	if res := run(t, cfg); res.Plan.Done != 1 || starts != 2 {
		t.Errorf("%d done after %d starts", res.Plan.Done, starts)
	}
}

// A mark of gl stop --all that is cleaned away is no new one.
func TestDrainDisregardsLostStopMark(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"a", "b"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
	check(t, pr.Runs.Files.Prepare())
	check(t, pr.Tracker.Do(t.Context(), func(tracker.Tx) error { return pr.Runs.Control.PutStopMark(time.Now()) }))
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Output.Report = func(r scheduler.Report) {
		if len(r.Launched) > 0 {
			os.Remove(filepath.Join(pr.Runs.Files.Dir(), "stop.json"))
		}
	}
	if res := run(t, cfg); res.Stopped || res.Plan.Done != 2 {
		t.Errorf("stopped %v, done %d", res.Stopped, res.Plan.Done)
	}
}

// gl stop --all ends what a person has been told of, also while its run has yet to begin.
func TestStoppedBeforeItBegins(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"a"}}.write(t, `{}`)
	check(t, pr.Runs.Files.Prepare())
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Stop = pr.Runs.Control.WatchStop()
	check(t, pr.Tracker.Do(t.Context(), func(tracker.Tx) error { return pr.Runs.Control.PutStopMark(time.Now()) }))
	if res := run(t, cfg); !res.Stopped || res.Plan.Done != 0 {
		t.Errorf("stopped %v, done %d", res.Stopped, res.Plan.Done)
	}
}

// If the record of a claim is garbled (by a merge, an editor) before its wrapper reads it, the
// launcher remembers the claim, as if the record were gone.
func TestDrainTakesGarbledClaimsBack(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"S-1"}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	garbled := 0
	cfg.Tools.Runner = &losing{Runner: cfg.Tools.Runner, lose: func(r *attempt.Record) {
		if garbled++; garbled == 1 {
			check(t, os.WriteFile(filepath.Join(pr.Runs.Files.LiveDir(), r.ID.Name()+".json"), []byte("<<<<<<< HEAD\n"), 0o600))
		}
	}}
	if res := run(t, cfg); res.Plan.Done != 1 || garbled != 2 {
		t.Errorf("%d done after %d starts", res.Plan.Done, garbled)
	}
	checkTidy(t, pr)
}
