package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
	"greenlight/internal/proc"
	"greenlight/internal/slice"
	"greenlight/internal/tracker"
)

// A spy is a tracker that takes a copy of the project before and after a slice's file is settled: what a kill there
// would leave.
type spy struct {
	tracker.Tracker
	copy func(when string)
}

func (s spy) Do(ctx context.Context, f func(tracker.Tx) error) error {
	return s.Tracker.Do(ctx, func(tx tracker.Tx) error { return f(spyTx{tx, s.copy}) })
}

type spyTx struct {
	tracker.Tx
	copy func(when string)
}

func (s spyTx) Settle(id string, e tracker.Effect, before tracker.Before) (plan.Mark, error) {
	s.copy("judged")
	mark, err := s.Tx.Settle(id, e, before)
	s.copy("written")
	return mark, err
}

func evidences() []*Evidence {
	reset := noon.Add(time.Hour)
	return []*Evidence{
		nil, exited(0).with(success), exited(0), exited(7), exited(1).with(maxTurns), exited(1).with(limitHit).limited(rateLimit),
		exited(143).limited(&agent.Limit{Kind: agent.RateLimit, Reset: &reset}), exited(143).with(apiError), {Missing: "claude"},
		{Exec: "no"}, {Signal: "killed"},
	}
}

var (
	befores = []string{"pending/none", "failed/tests", "in_progress/implementing", "complete/complete"}
	worked  = []string{"in_progress/none", "tests/tests", "verifying/verifying", "complete/complete", "pending/none", "odd/odd"}
	endings = []string{"", EndStop, EndSilence, EndGrace, EndCommand}
)

// A picture is what matters of a project after an attempt is over.
type picture struct {
	Mark    plan.Mark
	Outcome plan.Outcome
	Detail  string
	After   plan.Mark
	Hold    int
	Live    int
	Records int
}

func (b *bench) picture(r *Record) picture {
	b.t.Helper()
	disk := b.get(r)
	history, err := b.store.History(r.Slice)
	must(b.t, err)
	p := picture{Mark: b.mark(r.Slice), Outcome: disk.Outcome, Detail: disk.Detail, Live: len(b.live()), Records: len(history)}
	if disk.After != nil {
		p.After = *disk.After
	}
	if h := b.store.Hold(); h != nil {
		p.Hold = h.Count
	}
	return p
}

// Wherever a settler is killed, the next one leaves what the first would have left.
func TestSettleTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, remove := tempDir(t)
		defer remove()
		before := rapid.SampledFrom(befores).Draw(t, "before")
		b := newBench(t, filepath.Join(dir, "start"), map[string]string{"S-1.2": before})
		r := b.start(b.claim("S-1.2"))
		r.Evidence = rapid.SampledFrom(evidences()).Draw(t, "evidence")
		r.Ending = rapid.SampledFrom(endings).Draw(t, "ending")
		must(t, b.store.putLive(r))
		status, step, _ := strings.Cut(rapid.SampledFrom(worked).Draw(t, "worked"), "/")
		b.set("S-1.2", "status", status, "step", step)
		if rapid.Bool().Draw(t, "cleared") {
			b.set("S-1.2", "session", "")
		}
		if rapid.Bool().Draw(t, "waits") {
			b.set("S-1.2", "waiting_for", "somebody")
		}

		stops := killPoints(t, dir, r)
		want := openBench(t, stops["over"]).picture(r)
		if want.Live != 0 || want.Records != 1 || want.Mark.Session == r.Token || want.After != want.Mark {
			t.Fatalf("settled as %+v", want)
		}
		for name, root := range stops {
			k := openBench(t, root)
			k.now = k.now.Add(time.Second)
			for _, live := range k.live() {
				if live.Evidence == nil {
					live.Evidence = r.Evidence // as its own wrapper would try again; a dead one is another test's
				}
				if _, err := k.settler(k.state).Settle(context.Background(), live); err != nil {
					t.Fatalf("killed when %s: %v", name, err)
				}
			}
			if diff := cmp.Diff(want, k.picture(r)); diff != "" {
				t.Fatalf("killed when %s (-want +got): %s", name, diff)
			}
		}
	})
}

// killPoints settles the attempt of the project dir/start and returns the project as it was after each step.
func killPoints(t fataler, dir string, r *Record) map[string]string {
	t.Helper()
	stops := map[string]string{"start": filepath.Join(dir, "start")}
	from := func(name, base string) *bench {
		stops[name] = filepath.Join(dir, name)
		copyTree(t, stops[base], stops[name])
		return openBench(t, stops[name])
	}
	over := from("over", "start")
	_, err := over.settler(spy{over.state, func(when string) { from(when, "over") }}).Settle(context.Background(), r)
	must(t, err)
	if stops["judged"] == "" {
		t.Fatalf("the slice's file was not settled")
	}
	// The hold is written before the record, the settled record before the live one is removed.
	holding := from("holding", "judged")
	must(t, os.Rename(filepath.Join(copyOf(t, dir, stops["start"]), ".greenlight/runs/live", r.Name()+".json"), holding.store.livePath(r.Slice, r.N)))
	both := from("both", "over")
	must(t, os.Rename(filepath.Join(copyOf(t, dir, stops["written"]), ".greenlight/runs/live", r.Name()+".json"), both.store.livePath(r.Slice, r.N)))
	return stops
}

func copyOf(t fataler, dir, root string) string {
	t.Helper()
	to, err := os.MkdirTemp(dir, "copy")
	must(t, err)
	copyTree(t, root, to)
	return to
}

// Somebody writes the slice after it was judged and before the judgement reached its file. While the claim is there,
// what they wrote is judged; once it is gone, it stays.
func TestSettleAfterAChange(t *testing.T) {
	for _, tt := range []struct {
		name, session string
		change        []string
		outcome       plan.Outcome
		want          plan.Mark
	}{
		{"completed under the claim", "ours", []string{"status", "complete", "step", "complete"}, plan.Complete, plan.Mark{Status: "complete", Step: "complete"}},
		{"worked on under the claim", "ours", []string{"step", "security"}, plan.FailedOut, plan.Mark{Status: "failed", Step: "security"}},
		{"set back", "", []string{"status", "pending", "step", "none", "session", ""}, plan.FailedOut, plan.Mark{Status: "pending", Step: "none"}},
		{"taken over", "", []string{"session", "theirs"}, plan.FailedOut, plan.Mark{Status: "tests", Step: "tests", Session: "theirs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			b := newBench(t, filepath.Join(dir, "start"), map[string]string{"S-1": "pending/none"})
			r := b.start(b.claim("S-1"))
			b.set("S-1", "status", "tests", "step", "tests")
			r.Evidence = exited(7)
			k := openBench(t, killPoints(t, dir, r)["judged"])
			k.set("S-1", tt.change...)
			final, err := k.settler(k.state).Recover(t.Context(), k.live()[0])
			must(t, err)
			if final.Outcome != tt.outcome || k.mark("S-1") != tt.want || *final.After != tt.want {
				t.Errorf("%s, %+v, after %+v; want %s, %+v", final.Outcome, k.mark("S-1"), final.After, tt.outcome, tt.want)
			}
		})
	}
}

// Another session holds the slice: the attempt is recorded and the slice left alone.
func TestSettleTakenOver(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	b.set("S-1", "session", "theirs")
	r.Evidence = exited(7)
	final, err := b.settler(b.state).Settle(t.Context(), r)
	must(t, err)
	want := plan.Mark{Status: "in_progress", Step: "none", Session: "theirs"}
	if final.Outcome != plan.FailedOut || b.mark("S-1") != want || len(b.live()) != 0 {
		t.Errorf("%s, %+v", final.Outcome, b.mark("S-1"))
	}
}

// The record under the attempt's number is another claim's: it is nobody's business but that claim's.
func TestSettleLeavesAnothersRecord(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	mine := b.start(b.claim("S-1"))
	must(t, os.RemoveAll(b.store.Dir()))
	must(t, b.store.Prepare())
	theirs := b.claim("S-1")
	if theirs.N != mine.N {
		t.Fatalf("attempt %d", theirs.N)
	}
	mine.Evidence = exited(0)
	_, err := b.settler(b.state).Settle(t.Context(), mine)
	must(t, err)
	if live := b.live(); len(live) != 1 || live[0].Token != theirs.Token {
		t.Errorf("live: %v", live)
	}
	if m := b.mark("S-1"); m.Session != theirs.Token {
		t.Errorf("slice: %+v", m)
	}
}

// Somebody cleaned the directory while the agent ran: the outcome isn't lost.
func TestSettleAfterClean(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	b.set("S-1", "status", "complete")
	must(t, os.RemoveAll(b.store.Dir()))
	r.Evidence = exited(0).with(success)
	_, err := b.settler(b.state).Settle(t.Context(), r)
	must(t, err)
	if got := b.get(r); got.Outcome != plan.Complete || b.mark("S-1").Session != "" {
		t.Errorf("%s, %+v", got.Outcome, b.mark("S-1"))
	}
}

func TestSettleUnreadableSlice(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"corrupt": func(path string) error { return os.WriteFile(path, []byte("no front\nmatter\n"), 0o644) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none"})
			r := b.start(b.claim("S-1"))
			must(t, spoil(b.file("S-1")))
			left, _ := os.ReadFile(b.file("S-1"))
			r.Evidence = exited(1).with(limitHit).limited(rateLimit)
			final, err := b.settler(b.state).Settle(t.Context(), r)
			must(t, err)
			if final.Outcome != plan.HeldOut || !strings.Contains(final.Detail, "left alone") || len(b.live()) != 0 {
				t.Errorf("%s: %s, %d live", final.Outcome, final.Detail, len(b.live()))
			}
			if now, _ := os.ReadFile(b.file("S-1")); string(now) != string(left) {
				t.Errorf("the file is now %q", now)
			}
			if b.store.Hold() == nil {
				t.Error("a limit holds everybody, whatever the slice's file is like")
			}
		})
	}
}

func TestRecover(t *testing.T) {
	const resultLine = `{"type":"result","subtype":"success","is_error":false,"num_turns":4,"total_cost_usd":0.5}` + "\n"
	const limitLine = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1938326400}}` + "\n"
	tests := []struct {
		name, log string
		set       []string
		ending    string
		want      plan.Outcome
		mark      plan.Mark
	}{
		{"no trace", "", nil, "", plan.Crashed, plan.Mark{Status: "in_progress", Step: "none"}},
		{"in a step", "some text\n", []string{"status", "tests", "step", "tests"}, "", plan.Crashed, plan.Mark{Status: "tests", Step: "tests"}},
		{"complete", "", []string{"status", "complete"}, "", plan.Complete, plan.Mark{Status: "complete", Step: "none"}},
		{"result in the log", resultLine, nil, "", plan.StalledOut, plan.Mark{Status: "in_progress", Step: "none"}},
		{"result, then a cut line", resultLine + `{"type":"assi`, nil, "", plan.StalledOut, plan.Mark{Status: "in_progress", Step: "none"}},
		{"result quoted on stderr", `{"gl":"stderr","text":"{\"type\":\"result\",\"subtype\":\"success\"}"}` + "\n", nil, "", plan.Crashed, plan.Mark{Status: "in_progress", Step: "none"}},
		{"limit in the log", limitLine, []string{"status", "tests", "step", "tests"}, "", plan.HeldOut, plan.Mark{Status: "pending", Step: "none"}},
		{"waiting", resultLine, []string{"waiting_for", "a word"}, "", plan.WaitingOut, plan.Mark{Status: "in_progress", Step: "none"}},
		{"stopped", "", nil, EndStop, plan.Interrupted, plan.Mark{Status: "pending", Step: "none"}},
		{"silent", "", nil, EndSilence, plan.Hung, plan.Mark{Status: "failed", Step: "none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.claim("S-1")
			r.Stream = agent.StreamClaude
			r.Ending = tt.ending
			r = b.start(r)
			must(t, os.WriteFile(b.store.LogPath(r.Slice, r.N), []byte(tt.log), 0o644))
			b.set("S-1", tt.set...)
			final, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if final == nil || final.Outcome != tt.want || b.mark("S-1") != tt.mark {
				t.Fatalf("%+v, %+v; want %s, %+v", final, b.mark("S-1"), tt.want, tt.mark)
			}
			again, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if diff := cmp.Diff(final, again); diff != "" {
				t.Errorf("recovered twice: %s", diff)
			}
		})
	}
}

// Nobody is taken for dead without proof.
func TestRecoverLeavesTheLiving(t *testing.T) {
	elsewhere, self := deadID(1), proc.Self()
	elsewhere.Host, elsewhere.Boot = "another host", "another boot"
	for name, wrapper := range map[string]proc.ID{"alive": self, "on another host": elsewhere} {
		t.Run(name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.start(b.claim("S-1"))
			r.Wrapper = &wrapper
			must(t, b.store.putLive(r))
			final, err := b.settler(b.state).Recover(t.Context(), r)
			must(t, err)
			if final != nil || len(b.live()) != 1 {
				t.Errorf("settled: %+v", final)
			}
		})
	}
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.claim("S-1")
	_, err := b.settler(b.state).Recover(t.Context(), r)
	must(t, err)
	if len(b.live()) != 1 || b.mark("S-1").Session != r.Token {
		t.Error("the claim of a living launcher was given back")
	}
}

func TestGiveBack(t *testing.T) {
	tests := []struct {
		name, before string
		set          []string
		want         plan.Mark
	}{
		{"as claimed", "failed/tests", nil, plan.Mark{Status: "failed", Step: "tests"}},
		{"somebody began to work", "pending/none", []string{"status", "tests", "step", "tests"}, plan.Mark{Status: "tests", Step: "tests"}},
		{"somebody completed it", "pending/none", []string{"status", "complete"}, plan.Mark{Status: "complete", Step: "none"}},
		{"somebody took it", "pending/none", []string{"session", "theirs"}, plan.Mark{Status: "in_progress", Step: "none", Session: "theirs"}},
		{"somebody released it", "pending/none", []string{"session", "", "status", "pending"}, plan.Mark{Status: "pending", Step: "none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": tt.before})
			r := b.claim("S-1")
			r.Launcher = deadID(1)
			must(t, b.store.putLive(r))
			b.set("S-1", tt.set...)
			for range 2 {
				final, err := b.settler(b.state).Recover(t.Context(), r)
				must(t, err)
				if final != nil || b.mark("S-1") != tt.want || len(b.live()) != 0 {
					t.Fatalf("%+v, %+v, %d live", final, b.mark("S-1"), len(b.live()))
				}
			}
			if text, _ := os.ReadFile(b.file("S-1")); tt.want.Status == "failed" && !strings.Contains(string(text), "started:\n") {
				t.Errorf("the day of its start stays: %s", text)
			}
		})
	}
}

// A claim that has started, or that is another's by now, isn't given back.
func TestGiveBackTooLate(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none"})
	started, other := b.claim("S-1"), b.claim("S-2")
	b.start(started)
	old := *other
	old.Token = "an older claim"
	for _, r := range []*Record{started, &old} {
		must(t, b.settler(b.state).GiveBack(t.Context(), r))
	}
	if len(b.live()) != 2 || b.mark("S-1").Session != started.Token || b.mark("S-2").Session != other.Token {
		t.Error("given back")
	}
}

// A launcher that dies between the record and the slice's file leaves a slice as it was.
func TestGiveBackRecordOnly(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.claim("S-1")
	r.Launcher = deadID(1)
	must(t, b.store.putLive(r))
	b.write("S-1", "pending", "none", "")
	was, err := os.ReadFile(b.file("S-1"))
	must(t, err)
	_, err = b.settler(b.state).Recover(t.Context(), r)
	must(t, err)
	if now, _ := os.ReadFile(b.file("S-1")); string(now) != string(was) || len(b.live()) != 0 {
		t.Errorf("the file is now %s", now)
	}
	if again := b.claim("S-1"); again.N != 1 {
		t.Errorf("attempt %d: no attempt was used up", again.N)
	}
}

// A claim that can't reach the slice's file leaves no record.
func TestClaimFails(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	must(t, os.WriteFile(b.file("S-1"), []byte("---\nno end"), 0o644))
	err := b.state.Do(t.Context(), func(tx tracker.Tx) error {
		_, err := b.store.Claim(tx, Request{ID: "S-1", Agent: mustAgent(t)}, b.now)
		return err
	})
	var corrupt *slice.CorruptError
	if !errors.As(err, &corrupt) || len(b.live()) != 0 {
		t.Errorf("%v, %d live", err, len(b.live()))
	}
}

func mustAgent(t fataler) agent.Agent {
	a, err := agent.Find("x", agent.Config{Custom: map[string][]string{"x": {"true"}}})
	must(t, err)
	return a
}

func TestAdmit(t *testing.T) {
	items := []plan.Item{
		{ID: "ready", Status: "pending"}, {ID: "blocked", Status: "pending", Deps: []string{"failed"}},
		{ID: "failed", Status: "failed"}, {ID: "stalled", Status: "tests"}, {ID: "done", Status: "complete"},
		{ID: "waiting", Status: "verifying", WaitingFor: "you"}, {ID: "fresh", Status: "tests", Changed: noon},
		{ID: "stale", Status: "tests", Changed: noon.Add(-5 * time.Hour)}, {ID: "odd", Status: "quux"},
		{ID: "corrupt", Corrupt: "why"}, {ID: "running", Status: "tests"}, {ID: "orphan", Status: "tests"},
	}
	s := &plan.Snapshot{Items: items, Attempts: map[string]*plan.Attempt{
		"running": {N: 1, Phase: plan.Started}, "orphan": {N: 1, Phase: plan.Started, Dead: true},
		"stalled": {N: 1, Phase: plan.Settled, Outcome: plan.StalledOut, After: plan.Mark{Status: "tests"}},
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
	if b.store.StopMark() != "" {
		t.Error("a mark that nobody put")
	}
	for i := range 3 {
		must(t, b.store.PutStopMark(noon.Add(-time.Duration(i)*time.Hour))) // a clock that goes backwards
		if m := b.store.StopMark(); seen[m] {
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
	if final.Outcome != plan.Interrupted || b.mark("S-1") != want || len(b.live()) != 0 {
		t.Errorf("%s, %+v", final.Outcome, b.mark("S-1"))
	}
	again, err := b.settler(b.state).Stop(t.Context(), r)
	must(t, err)
	if diff := cmp.Diff(final, again); diff != "" {
		t.Errorf("stopped twice: %s", diff)
	}
}

// The wrapper and its agent are gone: stopping settles, by what the log says.
func TestStopDead(t *testing.T) {
	for log, want := range map[string]plan.Outcome{"": plan.Interrupted, `{"type":"result","subtype":"success","is_error":false,"num_turns":4}`: plan.StalledOut} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.claim("S-1")
			r.Stream = agent.StreamClaude
			r = b.start(r)
			must(t, os.WriteFile(b.store.LogPath(r.Slice, r.N), []byte(log), 0o644))
			final, err := b.settler(b.state).Stop(t.Context(), r)
			must(t, err)
			if final.Outcome != want || b.mark("S-1").Session != "" || len(b.live()) != 0 {
				t.Errorf("%s, %+v", final.Outcome, b.mark("S-1"))
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
		if final.Outcome != plan.Interrupted || k.mark("S-1") != (plan.Mark{Status: "failed", Step: "tests"}) || len(k.live()) != 0 {
			t.Errorf("%s: %s, %+v", when, final.Outcome, k.mark("S-1"))
		}
	}
}
