package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/statcache"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/tracker"
)

// Any graph, with any faults, at any --max, ends in the state that graph and faults imply, each
// slice launched once for each of its attempts, in order, and never too many at a time.
func TestDrain(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 2, 5, 9, 14, 25}
	if testfiles.Long() {
		for range 20 {
			sizes = append(sizes, 40, 80, 120, 200)
		}
	}
	for i, n := range sizes {
		t.Run(fmt.Sprintf("%d of %d", i, n), func(t *testing.T) { drainOnce(t, n, rand.Uint64()) })
	}
}

func drainOnce(t *testing.T, n int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	limit := 1 + random.IntN(8)
	g := randomGraph(random, n)
	text := fmt.Sprintf("seed=%d,min=1ms,max=20ms,reset=200ms", random.Uint32())
	for kind, most := range map[rehearsal.Kind]int{
		rehearsal.Fail: 5, rehearsal.Turns: 3, rehearsal.Crash: 3, rehearsal.Quit: 3, rehearsal.Park: 3,
		rehearsal.Refuse: 3, rehearsal.Limit: 4, rehearsal.Hang: 1, rehearsal.NoCommand: 1,
	} {
		if random.IntN(2) == 0 {
			text += fmt.Sprintf(",%s=%d%%", kind, random.IntN(most+1))
		}
	}
	t.Logf("seed %d: max %d, %s", seed, limit, text)
	spec, err := rehearsal.ParseSpec(text)
	check(t, err)
	// Long enough for no agent but one that hangs to be silent for, on a busy machine as well.
	pr := g.write(t, `{"parallel": {"silent_minutes": 0.2, "tool_minutes": 0.2, "hold_seconds": 0.3}}`)

	cfg := config(t, pr, "rehearsal:"+text, limit)
	launched := map[string]int{}
	ended := map[string]int{}
	cfg.Output.Report = func(r scheduler.Report) {
		for _, rec := range r.Launched {
			launched[rec.ID.Name()]++
		}
		for _, rec := range r.Ended {
			ended[rec.ID.Name()]++
		}
		for _, w := range r.Warnings {
			t.Errorf("warning: %s", w)
		}
	}
	res := run(t, cfg)

	classes, attempts := expect(spec, g)
	checkClasses(t, pr, classes)
	all := history(t, pr)
	checkOrder(t, g, all, limit)
	total := 0
	for _, id := range g.ids {
		total += attempts[id]
		if len(all[id]) != attempts[id] {
			t.Errorf("%s has %d attempts, want %d", id, len(all[id]), attempts[id])
		}
		for _, r := range all[id] {
			if launched[r.ID.Name()] != 1 || ended[r.ID.Name()] != 1 {
				t.Errorf("%s was launched %d times and ended %d times", r.ID.Name(), launched[r.ID.Name()], ended[r.ID.Name()])
			}
		}
	}
	if len(launched) != total || len(res.Open) != 0 || len(res.Ended) != total {
		t.Errorf("%d launched, %d ended, %d open, want %d", len(launched), len(res.Ended), len(res.Open), total)
	}
	checkTidy(t, pr)
	checkJournal(t, pr, all)
}

// A run neither waits for nor touches what it can't build: claims of others, cycles, unknown needs,
// corrupt files.
func TestDrainEndsBesideOthers(t *testing.T) {
	t.Parallel()
	g := graph{
		ids:  []string{"ok", "theirs", "after", "c1", "c2", "lost"},
		deps: map[string][]string{"after": {"theirs"}, "c1": {"c2"}, "c2": {"c1"}, "lost": {"nowhere"}},
	}
	pr := g.write(t, `{}`)
	other := pr.Slices
	check(t, other.Do(t.Context(), claimFor("theirs", "other")))
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 4)
	res := run(t, cfg)
	if res.Plan.Done != 1 || strings.Join(res.Plan.Lists.Running, " ") != "theirs" || len(res.Ended) != 1 {
		t.Errorf("done %d, running %v, ended %d", res.Plan.Done, res.Plan.Lists.Running, len(res.Ended))
	}
	if st := res.Plan.State("theirs"); st.Session != "other" || st.Class != plan.Active {
		t.Errorf("the claim of another session is %+v", st)
	}
}

// What the kernel hasn't noticed of a slice is found out at the latest when it is to be claimed.
func TestDrainClaimsNothingFromMemory(t *testing.T) {
	t.Cleanup(statcache.LowerTick(0)) // what is so new is read again
	pr := graph{ids: []string{"a", "b"}}.write(t, `{}`)
	const more = 1000 // a smaller project is looked at each time
	for i := range more {
		testfiles.Put(t, pr.Root, fmt.Sprintf(".greenlight/slices/done-%d.md", i),
			"---\nstatus: complete\nstep: complete\n---\n")
	}
	file, other := filepath.Join(pr.Root, ".greenlight", "slices", "b.md"), filepath.Join(pr.Root, "b")
	check(t, os.Link(file, other)) // no file event tells what is done to it by this name
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Pace.Interval = 50 * time.Millisecond
	cfg.Output.Report = func(r scheduler.Report) {
		for _, rec := range r.Launched {
			if rec.ID.Slice == "b" {
				t.Error("b was launched, which is complete")
			}
			data, err := os.ReadFile(other)
			check(t, err)
			check(t, os.WriteFile(other, []byte(strings.Replace(string(data), "pending", "complete", 1)), 0o644))
		}
	}
	if res := run(t, cfg); res.Plan.Done != more+2 || len(res.Ended) != 1 {
		t.Errorf("%d done, %d ended", res.Plan.Done, len(res.Ended))
	}
}

// A slot that another session's claim takes isn't free: with --max 1 nothing is launched beside it.
func TestDrainCountsOthers(t *testing.T) {
	t.Parallel()
	g := graph{ids: []string{"a", "theirs"}, deps: map[string][]string{}}
	pr := g.write(t, `{}`)
	check(t, pr.Slices.Do(t.Context(), claimFor("theirs", "other")))
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Pace.Interval = 20 * time.Millisecond
	looks := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg.Output.Report = func(r scheduler.Report) {
		if looks++; looks == 10 {
			cancel()
		}
		if len(r.Launched) > 0 {
			t.Errorf("launched %s beside it", r.Launched[0].ID.Name())
		}
	}
	if _, err := scheduler.Run(ctx, cfg); ctx.Err() == nil {
		t.Errorf("it ended by itself, while a slot may yet become free: %v", err)
	}
}

// The wall clock is set ahead in the instant between a claim and the start of its wrapper: the
// wrapper has as long to start as before.
func TestDrainStartsAfterTheClockWasSet(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"S-1"}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Pace.Interval = 5 * time.Millisecond
	var claimed *attempt.Record
	starts, passes := 0, 0
	wrapper := cfg.Tools.Runner
	cfg.Tools.Runner = &replaced{Runner: wrapper, start: func(r *attempt.Record) bool {
		starts++
		rec := *r
		rec.Life.ClaimedAt = rec.Life.ClaimedAt.Add(-time.Hour)
		data, err := json.Marshal(&rec)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(pr.Runs.Files.LiveDir(), r.ID.Name()+".json"), data, 0o600))
		claimed = r
		return true
	}}
	cfg.Output.Report = func(r scheduler.Report) {
		for _, w := range r.Warnings {
			t.Error(w)
		}
		if passes++; passes == 5 {
			check(t, wrapper.Start(claimed))
		}
	}
	if res := run(t, cfg); res.Plan.Done != 1 || starts != 1 {
		t.Errorf("%d done after %d starts", res.Plan.Done, starts)
	}
}

// A hold that begins and ends while the run is busy with something else has its end in the
// journal, too.
func TestDrainTellsShortHolds(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"a"}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Tools.Runner = &losing{cfg.Tools.Runner, func(*attempt.Record) { // the run waits for this
		now := time.Now()
		check(t, pr.Tracker.Do(t.Context(), func(tracker.Tx) error {
			return pr.Runs.HoldFile.PutPersons(plan.Account{Agent: "other"}, now.Add(time.Millisecond), now)
		}))
		time.Sleep(2 * time.Millisecond)
	}}
	run(t, cfg)
	var kinds []journal.Kind
	for e, err := range pr.Runs.Journal().Events(time.Time{}) {
		check(t, err)
		if e.Kind == journal.Held || e.Kind == journal.HoldEnded {
			kinds = append(kinds, e.Kind)
		}
	}
	if !slices.Equal(kinds, []journal.Kind{journal.Held, journal.HoldEnded}) {
		t.Errorf("%q", kinds)
	}
}
