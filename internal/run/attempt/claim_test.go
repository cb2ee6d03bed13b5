package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// A claim that can't reach the slice's file leaves no record.
func TestClaimFails(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	must(t, os.WriteFile(b.file("S-1"), []byte("---\nno end"), 0o644))
	err := b.state.Do(t.Context(), func(tx tracker.Tx) error {
		_, err := b.store.Within(tx.Held()).Claim(tx, Request{ID: "S-1", Agent: mustAgent(t)}, b.now)
		return err
	})
	var corrupt *slice.CorruptError
	if !errors.As(err, &corrupt) || len(b.live()) != 0 {
		t.Errorf("%v, %d live", err, len(b.live()))
	}
}

func mustAgent(t fataler) agent.Agent {
	a, err := agent.Find("x", agent.Config{Custom: map[string]agent.Custom{"x": {Command: []string{"true"}}}})
	must(t, err)
	return a
}

func TestAdmit(t *testing.T) {
	items := []*plan.Item{
		{ID: "ready", Status: "pending"}, {ID: "blocked", Status: "pending", Deps: []string{"failed"}},
		{ID: "failed", Status: "failed"}, {ID: "stalled", Status: "tests"}, {ID: "done", Status: "complete"},
		{ID: "waiting", Status: "verifying", WaitingFor: "you"}, {ID: "fresh", Status: "tests", Changed: noon},
		{ID: "stale", Status: "tests", Changed: noon.Add(-5 * time.Hour)}, {ID: "odd", Status: "quux"},
		{ID: "corrupt", Corrupt: "why"}, {ID: "running", Status: "tests"}, {ID: "orphan", Status: "tests"},
	}
	s := &plan.Snapshot{Items: items, Attempts: map[string]*plan.Attempt{
		"running": {N: 1, Phase: plan.Started}, "orphan": {N: 1, Phase: plan.Started, Dead: true},
		"stalled": {N: 1, Phase: plan.Settled, Outcome: outcome.Stalled.Traits().Plan(), After: plan.Mark{Status: "tests"}},
	}}
	p := plan.New(s, noon, plan.Options{StaleAfter: 2 * time.Hour})
	const yes, no, taken = "yes", "no", "taken"
	for _, tt := range []struct{ id, auto, named, force string }{
		{"ready", yes, yes, yes},
		{"blocked", no, no, yes},
		{"failed", no, yes, yes},
		{"stalled", no, yes, yes},
		{"done", no, no, yes},
		{"waiting", no, no, yes},
		{"fresh", taken, taken, yes},
		{"stale", taken, taken, yes},
		{"odd", no, no, yes},
		{"corrupt", no, no, no},
		{"running", taken, taken, taken},
		{"orphan", taken, taken, taken},
	} {
		for mode, want := range map[string]string{"auto": tt.auto, "named": tt.named, "force": tt.force} {
			err := Admit(p, Request{ID: tt.id, Named: mode != "auto", Force: mode == "force"}, noon)
			got := yes
			var refusal *AdmitError
			switch {
			case errors.As(err, &refusal) && refusal.Taken:
				got = taken
			case err != nil:
				got = no
			}
			if got != want || err != nil && !strings.Contains(err.Error(), tt.id) {
				t.Errorf("%s, %s: %s (%v), want %s", tt.id, mode, got, err, want)
			}
		}
	}
	if err := Admit(p, Request{ID: "blocked", Named: true, Within: map[string]bool{"failed": true}}, noon); err != nil {
		t.Errorf("what it needs is built in the same run: %v", err)
	}
	if err := Admit(p, Request{ID: "nobody"}, noon); !errors.Is(err, tracker.ErrNotFound) {
		t.Errorf("unknown id: %v", err)
	}
}

func TestStopMark(t *testing.T) {
	b := benchFor(t, nil)
	seen := map[string]bool{"": true}
	if b.store.Control.StopMark() != "" {
		t.Error("a mark that nobody put")
	}
	for i := range 3 {
		must(t, b.store.Control.PutStopMark(noon.Add(-time.Duration(i)*time.Hour))) // a clock that goes backwards
		if m := b.store.Control.StopMark(); seen[m] {
			t.Errorf("mark %q again", m)
		} else {
			seen[m] = true
		}
	}
}

func TestStopClaimed(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "failed/tests"})
	r := b.claim("S-1")
	final, err := b.settler(b.state).Stop(t.Context(), r)
	must(t, err)
	want := plan.Mark{Status: "failed", Step: "tests"}
	if final.Judged.Outcome != outcome.Interrupted || b.mark("S-1") != want || len(b.live()) != 0 {
		t.Errorf("%s, %+v", final.Judged.Outcome, b.mark("S-1"))
	}
	again, err := b.settler(b.state).Stop(t.Context(), r)
	must(t, err)
	if diff := cmp.Diff(final, again); diff != "" {
		t.Errorf("stopped twice: %s", diff)
	}
}

// The wrapper and its agent are gone: stopping settles, by what the log says.
func TestStopDead(t *testing.T) {
	for log, want := range map[string]outcome.Outcome{"": outcome.Interrupted, `{"type":"result","subtype":"success","is_error":false,"num_turns":4}`: outcome.Stalled} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.claim("S-1")
			r.Job.Stream = agent.StreamClaude
			r = b.start(r)
			must(t, os.WriteFile(b.store.Files.Log(r.ID.Slice, r.ID.N), []byte(log), 0o644))
			final, err := b.settler(b.state).Stop(t.Context(), r)
			must(t, err)
			if final.Judged.Outcome != want || b.mark("S-1").Session != "" || len(b.live()) != 0 {
				t.Errorf("%s, %+v", final.Judged.Outcome, b.mark("S-1"))
			}
		})
	}
}

// Stopping a claim was cut short after its judgement.
func TestStopStopped(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "failed/tests"})
	r := b.claim("S-1")
	dir := t.TempDir()
	_, err := b.settler(spy{b.state, func(when string) { copyTree(t, b.root, filepath.Join(dir, when)) }}).Stop(t.Context(), r)
	must(t, err)
	for _, when := range []string{"judged", "written"} {
		k := openBench(t, filepath.Join(dir, when))
		final, err := k.settler(k.state).Stop(t.Context(), k.live()[0])
		must(t, err)
		if final.Judged.Outcome != outcome.Interrupted || k.mark("S-1") != (plan.Mark{Status: "failed", Step: "tests"}) || len(k.live()) != 0 {
			t.Errorf("%s: %s, %+v", when, final.Judged.Outcome, k.mark("S-1"))
		}
	}
}
