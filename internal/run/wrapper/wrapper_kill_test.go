package wrapper_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

// rewrite changes an open record as only a test may.
func rewrite(t testing.TB, s *site, r *attempt.Record, f func(*attempt.Record)) {
	t.Helper()
	f(r)
	data, err := json.Marshal(r)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(s.Runs.Files.LiveDir(), r.ID.Name()+".json"), data, 0o644))
}

func rounds(normal int) int {
	switch {
	case testfiles.Long():
		return normal * 10
	case testing.Short():
		return normal / 4
	}
	return normal / 3
}

// clean is what the next gl does about an attempt whose wrapper was killed and whose launcher is
// gone, too.
func (s *site) clean(r *attempt.Record) *attempt.Record {
	s.t.Helper()
	settler := s.Settler()
	disk := s.get(r)
	switch disk.Life.Phase {
	case plan.Settled: // maybe killed before it could remove the live record
		final, err := settler.Settle(s.t.Context(), disk)
		check(s.t, err)
		return final
	case plan.Claimed:
		check(s.t, settler.GiveBack(s.t.Context(), disk))
		return disk
	}
	final, err := settler.Recover(s.t.Context(), disk)
	check(s.t, err)
	if final == nil {
		s.t.Fatalf("%s isn't settled: its wrapper is killed, and phase %s", r.ID.Name(), disk.Life.Phase)
	}
	return final
}

// A wrapper is killed at any instant between its start and the middle of its agent's work. No agent
// ever runs that isn't on record, and none outlives the recovery.
func TestWrapperKilledEarly(t *testing.T) {
	s := newSite(t, "", "ran; set_ step tests; sleep 600 & exec sleep 600")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	began := s.measure(t)
	for i := range rounds(40) {
		id := fmt.Sprintf("S-%d", 2+i%8)
		s.reset(id)
		r := s.claim(id)
		w := s.start(r)
		time.Sleep(time.Duration(random.Int64N(int64(began * 3 / 2)))) // at any instant
		check(t, w.Process.Kill())
		w.await(t)
		until(t, "a gate without a wrapper is gone", func() bool {
			return s.get(r).Life.Phase != plan.Claimed || len(bearers(t, r.ID.Token)) == 0
		})
		ran := s.ran(r)
		killed := s.get(r)
		final := s.clean(r)
		nobodyLeft(t, killed)
		switch {
		case killed.Life.Phase == plan.Claimed && ran:
			t.Fatalf("round %d: the agent ran, and there is no record of it", i)
		case killed.Life.Phase == plan.Claimed && s.mark(id) != plan.Mark{Status: "pending", Step: "none"}:
			t.Fatalf("round %d: given back as %+v", i, s.mark(id))
		case killed.Life.Phase != plan.Claimed && final.Judged.Outcome != outcome.Crashed:
			t.Fatalf("round %d: %s", i, final.Judged.Outcome)
		}
		if live, _, err := s.Runs.Live(); err != nil || len(live) != 0 {
			t.Fatalf("round %d: live %v %v", i, live, err)
		}
	}
}

// measure is how long a wrapper takes until its agent runs, here and now.
func (s *site) measure(t *testing.T) time.Duration {
	r := s.claim("S-1")
	start := time.Now()
	w := s.start(r)
	s.awaitRun(r)
	took := time.Since(start)
	check(t, w.Process.Signal(syscall.SIGTERM))
	w.await(t)
	return took
}

func (s *site) reset(id string) {
	text := fmt.Sprintf("---\nid: %s\nstatus: pending\nstep: none\nwaiting_for:\nsession:\ntests: 0\n---\n\n# %s\n", id, id)
	check(s.t, os.WriteFile(filepath.Join(s.Root, ".greenlight", "slices", id+".md"), []byte(text), 0o644))
}

// A wrapper is killed around its agent's end and while it settles. Whatever it had done, the slice
// ends as complete, stalled or failed says, and the attempt is settled once.
func TestWrapperKilledLate(t *testing.T) {
	s := newSite(t, "", `case $GL_SLICE in
S-2) set_ status complete; result;;
S-3) set_ status tests; result;;
S-4) result; ran; exit 7;;
esac; ran`)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range rounds(30) {
		id := fmt.Sprintf("S-%d", 2+i%3)
		s.reset(id)
		r := s.claim(id)
		w := s.start(r)
		s.awaitRun(r)
		time.Sleep(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // at any instant
		w.Process.Kill()
		w.await(t)
		final := s.clean(r)
		again := s.clean(r)
		nobodyLeft(t, r)
		want := map[string]plan.Mark{
			"S-2": {Status: "complete", Step: "none"}, "S-3": {Status: "tests", Step: "none"}, "S-4": {Status: "failed", Step: "none"},
		}[id]
		// Its exit code is lost. Its result says success if it has reached the log.
		crashed := id == "S-4" && (final.Judged.Outcome == outcome.Stalled || final.Judged.Outcome == outcome.Crashed)
		if crashed {
			want.Status = "in_progress"
		}
		if s.mark(id) != want || again.Judged.Outcome != final.Judged.Outcome || *final.Judged.After != want {
			t.Fatalf("round %d, %s: %s (%s), then %s, %+v", i, id, final.Judged.Outcome, final.Judged.Detail, again.Judged.Outcome, s.mark(id))
		}
		if live, _, err := s.Runs.Live(); err != nil || len(live) != 0 {
			t.Fatalf("round %d: live %v %v", i, live, err)
		}
	}
}

// A task's wrapper is killed at any instant, where there is no project. It has done its task if its
// agent's result is in the log, else it has crashed; a claim that didn't start leaves nothing.
// Nothing but runs is ever written.
func TestTaskKilledAnywhere(t *testing.T) {
	root := t.TempDir()
	pr, err := project.OpenRuns(root)
	check(t, err)
	a, err := agent.Find("script", agent.Config{Custom: map[string]agent.Custom{"script": {Command: []string{"sh", "-c", prelude + "ran; sleep 0.01; result; ran; exec sleep 600"}}}})
	check(t, err)
	s := &site{pr, t, a}
	task := &attempt.Task{Name: "quick", Prompt: "/gl:quick x", Text: "x"}
	claim := func() *attempt.Record {
		return s.request(attempt.Request{ID: "@quick", Task: task, Agent: a, Job: agent.Job{Dir: root, Prompt: task.Prompt}, Runner: "process"})
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for i := range rounds(20) {
		r := claim()
		w := s.start(r)
		if i%3 > 0 {
			s.awaitRun(r)
		}
		time.Sleep(time.Duration(random.Int64N(int64(40 * time.Millisecond)))) // at any instant
		check(t, w.Process.Kill())
		w.await(t)
		until(t, "a gate without a wrapper is gone", func() bool {
			return s.get(r).Life.Phase != plan.Claimed || len(bearers(t, r.ID.Token)) == 0
		})
		killed := s.get(r)
		final := s.clean(r)
		nobodyLeft(t, killed)
		log, _ := os.ReadFile(s.Runs.Files.Log(r.ID.Slice, r.ID.N))
		finished := bytes.Contains(log, []byte(`"success"`))
		switch {
		case killed.Life.Phase == plan.Claimed && s.ran(r):
			t.Fatalf("round %d: the agent ran, and there is no record of it", i)
		case killed.Life.Phase != plan.Claimed && finished != (final.Judged.Outcome == outcome.Done), final.Judged.Outcome == outcome.Stalled:
			t.Fatalf("round %d: %s (%s), and the log is %q", i, final.Judged.Outcome, final.Judged.Detail, log)
		}
		if live, _, err := s.Runs.Live(); err != nil || len(live) != 0 {
			t.Fatalf("round %d: live %v %v", i, live, err)
		}
		check(t, os.RemoveAll(filepath.Join(root, "ran."+r.ID.Name())))
		check(t, os.RemoveAll(s.Runs.Files.Log(r.ID.Slice, r.ID.N))) // a claim that was given back leaves its number to the next
	}
	_, err = project.Open(root)
	if !errors.Is(err, slice.ErrNoState) {
		t.Errorf("a project has come about: %v", err)
	}
}
