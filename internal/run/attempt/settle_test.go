package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/rapidtest"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A spy is a tracker that takes a copy of the project before and after a slice's file is settled:
// what a kill there would leave.
type spy struct {
	tracker.Tracker
	copy func(when string)
}

func (s spy) Do(ctx context.Context, f func(tracker.Tx) error) error {
	return s.Tracker.Do(ctx, func(tx tracker.Tx) error { return f(spyTx{tx, tx.(tracker.Lander), s.copy}) })
}

type spyTx struct {
	tracker.Tx
	tracker.Lander
	copy func(when string)
}

func (s spyTx) Settle(id string, e tracker.Effect, before tracker.Before) (plan.Mark, error) {
	s.copy("judged")
	mark, err := s.Tx.Settle(id, e, before)
	s.copy("written")
	return mark, err
}

func (s spyTx) Ask(id, reason string) (plan.Mark, error) {
	s.copy("judged")
	mark, err := s.Lander.Ask(id, reason)
	s.copy("written")
	return mark, err
}

func (s spyTx) Land(id string, as tracker.Landed) (plan.Mark, error) {
	s.copy("judged")
	mark, err := s.Lander.Land(id, as)
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
	Outcome outcome.Outcome
	Detail  string
	After   plan.Mark
	Hold    int
	Live    int
	Records int
}

func (b *bench) picture(r *Record) picture {
	b.t.Helper()
	disk := b.get(r)
	history, err := b.store.History(r.ID.Slice)
	must(b.t, err)
	p := picture{Mark: b.mark(r.ID.Slice), Outcome: disk.Judged.Outcome, Detail: disk.Judged.Detail, Live: len(b.live()), Records: len(history)}
	if disk.Judged.After != nil {
		p.After = *disk.Judged.After
	}
	if h := b.store.HoldFile.All(); h != nil {
		p.Hold = h[0].Count
	}
	return p
}

// Wherever a settler is killed, the next one leaves what the first would have left.
func TestSettleTwice(t *testing.T) {
	rapidtest.Limit(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		dir, remove := tempDir(t)
		defer remove()
		before := rapid.SampledFrom(befores).Draw(t, "before")
		b := newBench(t, filepath.Join(dir, "start"), map[string]string{"S-1.2": before})
		r := b.start(b.claim("S-1.2"))
		r.Judged.Evidence = rapid.SampledFrom(evidences()).Draw(t, "evidence")
		r.Life.Ending = rapid.SampledFrom(endings).Draw(t, "ending")
		must(t, b.store.unlocked().Put(r))
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
		if want.Live != 0 || want.Records != 1 || want.Mark.Session == r.ID.Token || want.After != want.Mark {
			t.Fatalf("settled as %+v", want)
		}
		for name, root := range stops {
			k := openBench(t, root)
			k.now = k.now.Add(time.Second)
			for _, live := range k.live() {
				if live.Judged.Evidence == nil {
					live.Judged.Evidence = r.Judged.Evidence // as its own wrapper would try again; a dead one is another test's
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

// killPoints settles the attempt of the project dir/start and returns the project as it was after
// each step.
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
	must(t, os.Rename(filepath.Join(copyOf(t, dir, stops["start"]), ".greenlight/runs/live", r.ID.Name()+".json"), holding.store.Files.livePath(r.ID.Slice, r.ID.N)))
	both := from("both", "over")
	must(t, os.Rename(filepath.Join(copyOf(t, dir, stops["written"]), ".greenlight/runs/live", r.ID.Name()+".json"), both.store.Files.livePath(r.ID.Slice, r.ID.N)))
	return stops
}

func copyOf(t fataler, dir, root string) string {
	t.Helper()
	to, err := os.MkdirTemp(dir, "copy")
	must(t, err)
	copyTree(t, root, to)
	return to
}

// Another process writes the slice after it was judged and before the judgement reaches its file.
// While the claim is there, what it wrote is judged; once the claim is gone, that stays.
func TestSettleAfterAChange(t *testing.T) {
	for _, tt := range []struct {
		name, session string
		change        []string
		outcome       outcome.Outcome
		want          plan.Mark
	}{
		{"completed under the claim", "ours", []string{"status", "complete", "step", "complete"}, outcome.Done, plan.Mark{Status: "complete", Step: "complete"}},
		{"worked on under the claim", "ours", []string{"step", "security"}, outcome.Failed, plan.Mark{Status: "failed", Step: "security"}},
		{"set back", "", []string{"status", "pending", "step", "none", "session", ""}, outcome.Failed, plan.Mark{Status: "pending", Step: "none"}},
		{"taken over", "", []string{"session", "theirs"}, outcome.Failed, plan.Mark{Status: "tests", Step: "tests", Session: "theirs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			b := newBench(t, filepath.Join(dir, "start"), map[string]string{"S-1": "pending/none"})
			r := b.start(b.claim("S-1"))
			b.set("S-1", "status", "tests", "step", "tests")
			r.Judged.Evidence = exited(7)
			k := openBench(t, killPoints(t, dir, r)["judged"])
			k.set("S-1", tt.change...)
			final, err := k.settler(k.state).Recover(t.Context(), k.live()[0])
			must(t, err)
			if final.Judged.Outcome != tt.outcome || k.mark("S-1") != tt.want || *final.Judged.After != tt.want {
				t.Errorf("%s, %+v, after %+v; want %s, %+v", final.Judged.Outcome, k.mark("S-1"), final.Judged.After, tt.outcome, tt.want)
			}
		})
	}
}

// Another session holds the slice: the attempt is recorded and the slice left alone.
func TestSettleTakenOver(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	b.set("S-1", "session", "theirs")
	r.Judged.Evidence = exited(7)
	final, err := b.settler(b.state).Settle(t.Context(), r)
	must(t, err)
	want := plan.Mark{Status: "in_progress", Step: "none", Session: "theirs"}
	if final.Judged.Outcome != outcome.Failed || b.mark("S-1") != want || len(b.live()) != 0 {
		t.Errorf("%s, %+v", final.Judged.Outcome, b.mark("S-1"))
	}
}

// If the record under the attempt's number is another claim's, only that claim may change it.
func TestSettleLeavesAnothersRecord(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	mine := b.start(b.claim("S-1"))
	must(t, os.RemoveAll(b.store.Files.Dir()))
	must(t, b.store.Files.Prepare())
	theirs := b.claim("S-1")
	if theirs.ID.N != mine.ID.N {
		t.Fatalf("attempt %d", theirs.ID.N)
	}
	mine.Judged.Evidence = exited(0)
	_, err := b.settler(b.state).Settle(t.Context(), mine)
	must(t, err)
	if live := b.live(); len(live) != 1 || live[0].ID.Token != theirs.ID.Token {
		t.Errorf("live: %v", live)
	}
	if m := b.mark("S-1"); m.Session != theirs.ID.Token {
		t.Errorf("slice: %+v", m)
	}
}

// If the directory is cleaned while the agent runs, the outcome isn't lost.
func TestSettleAfterClean(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	b.set("S-1", "status", "complete")
	must(t, os.RemoveAll(b.store.Files.Dir()))
	r.Judged.Evidence = exited(0).with(success)
	_, err := b.settler(b.state).Settle(t.Context(), r)
	must(t, err)
	if got := b.get(r); got.Judged.Outcome != outcome.Done || b.mark("S-1").Session != "" {
		t.Errorf("%s, %+v", got.Judged.Outcome, b.mark("S-1"))
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
			r.Judged.Evidence = exited(1).with(limitHit).limited(rateLimit)
			final, err := b.settler(b.state).Settle(t.Context(), r)
			must(t, err)
			if final.Judged.Outcome != outcome.Held || !strings.Contains(final.Judged.Detail, "left alone") || len(b.live()) != 0 {
				t.Errorf("%s: %s, %d live", final.Judged.Outcome, final.Judged.Detail, len(b.live()))
			}
			if now, _ := os.ReadFile(b.file("S-1")); string(now) != string(left) {
				t.Errorf("the file is now %q", now)
			}
			if len(b.store.HoldFile.All()) == 0 {
				t.Error("a limit holds everybody, whatever the slice's file is like")
			}
		})
	}
}
