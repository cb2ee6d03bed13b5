package drain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/drain"
	"greenlight/internal/durable"
	"greenlight/internal/plan"
	"greenlight/internal/proc"
	"greenlight/internal/tracker"
)

// Who stood by for the drain's lock in vain leaves it to others.
func TestStandingByEnds(t *testing.T) {
	pr := graph{ids: []string{"a"}, deps: map[string][]string{}}.write(t, `{}`)
	check(t, pr.Runs.Prepare())
	lock, err := durable.TryLock(pr.Runs.LeaderLock())
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	told := false
	cfg.Report = func(r drain.Report) {
		if r.Leader != "" {
			told = true
			cancel()
		}
		if len(r.Launched) > 0 {
			t.Error("launched beside the leader")
		}
	}
	if _, err := drain.Run(ctx, cfg); err == nil || !told {
		t.Errorf("ended with %v, told of the leader: %v", err, told)
	}
	check(t, lock.Unlock())
	until(t, "the lock is free", func() bool {
		lock, err := durable.TryLock(pr.Runs.LeaderLock())
		if err == nil {
			check(t, lock.Unlock())
		}
		return err == nil
	})
}

// openAttempt leaves an attempt of a gl that is gone: its launcher, its wrapper and its agent are as change makes them.
func openAttempt(t *testing.T, cfg drain.Config, id string, change func(*attempt.Record)) *attempt.Record {
	t.Helper()
	pr := cfg.Project
	check(t, pr.Runs.Prepare())
	var rec *attempt.Record
	check(t, pr.Tracker.Do(t.Context(), func(tx tracker.Tx) (err error) {
		rec, err = pr.Runs.Claim(tx, attempt.Request{ID: id, Agent: cfg.Agent, Job: cfg.Job, Runner: "process"}, time.Now())
		return err
	}))
	gone := proc.Self()
	gone.Start = "before"
	now := time.Now().UTC()
	rec.Launcher, rec.Phase, rec.Wrapper, rec.StartedAt = gone, plan.Started, &gone, &now
	change(rec)
	data, err := json.Marshal(rec)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(pr.Runs.LiveDir(), rec.Name()+".json"), data, 0o644))
	return rec
}

// A drain adopts what an earlier one has left: the dead are settled, and their slots used.
func TestDrainAdopts(t *testing.T) {
	pr := graph{ids: []string{"a", "b", "c", "d"}, deps: map[string][]string{"d": {"b"}}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	openAttempt(t, cfg, "a", func(*attempt.Record) {})
	openAttempt(t, cfg, "b", func(r *attempt.Record) { r.Phase, r.Wrapper, r.StartedAt = plan.Claimed, nil, nil })
	adopted := map[string]bool{}
	cfg.Report = func(r drain.Report) {
		for _, rec := range r.Adopted {
			adopted[rec.Slice] = true
		}
	}
	res, err := drain.Run(t.Context(), cfg)
	check(t, err)
	if len(adopted) != 2 || res.Plan.Done != 3 || !slices.Equal(res.Plan.Stalled, []string{"a"}) {
		t.Errorf("adopted %v, done %d, stalled %v", adopted, res.Plan.Done, res.Plan.Stalled)
	}
	all := history(t, pr)
	if len(all["b"]) != 1 || len(all["a"]) != 1 || all["a"][0].Outcome != attempt.Crashed {
		t.Errorf("attempts: a %d, b %d", len(all["a"]), len(all["b"]))
	}
	checkTidy(t, pr)
}

// A wrapper that dies before its agent starts is tried again, three times; then its slice is left alone, as it was.
func TestDrainMisfires(t *testing.T) {
	pr := graph{ids: []string{"a", "b"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 2)
	cfg.Job.Dir = filepath.Join(pr.Root, "not", "there")
	var warnings []string
	cfg.Report = func(r drain.Report) { warnings = append(warnings, r.Warnings...) }
	res, err := drain.Run(t.Context(), cfg)
	check(t, err)
	if len(warnings) != 3 || len(res.Ended) != 0 || res.Plan.State("a").Class != plan.Available || res.Plan.State("a").Session != "" {
		t.Errorf("%q, %d ended, %+v", warnings, len(res.Ended), res.Plan.State("a").Item)
	}
	if used := res.Plan.Snapshot.Used["a"]; used != 0 {
		t.Errorf("%d attempts used up", used)
	}
	checkTidy(t, pr)
}

// An agent whose directory of runs is cleaned away is not launched again, and its outcome counts.
func TestDrainAfterClean(t *testing.T) {
	pr := graph{ids: []string{"a", "b"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=400ms,max=500ms", 2)
	cfg.Interval = 50 * time.Millisecond
	launched := map[string]int{}
	cleaned := false
	cfg.Report = func(r drain.Report) {
		for _, rec := range r.Launched {
			launched[rec.Slice]++
		}
		live, _, _ := pr.Runs.Live()
		if !cleaned && len(live) > 0 && live[0].Phase == plan.Started {
			check(t, os.RemoveAll(pr.Runs.Dir()))
			cleaned = true
		}
	}
	res, err := drain.Run(t.Context(), cfg)
	check(t, err)
	if !cleaned || res.Plan.Done != 2 || fmt.Sprint(launched) != "map[a:1 b:1]" {
		t.Errorf("cleaned %v, done %d, launched %v", cleaned, res.Plan.Done, launched)
	}
}
