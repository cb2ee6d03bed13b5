package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/tracker"
)

// Who stood by for the run's lock in vain leaves it to others.
func TestStandingByEnds(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"a"}, deps: map[string][]string{}}.write(t, `{}`)
	check(t, pr.Runs.Files.Prepare())
	lock, err := durable.TryLock(pr.Runs.Control.LeaderLock())
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	told := false
	cfg.Output.Report = func(r scheduler.Report) {
		if r.Leader != "" {
			told = true
			cancel()
		}
		if len(r.Launched) > 0 {
			t.Error("launched beside the leader")
		}
	}
	if _, err := scheduler.Run(ctx, cfg); err == nil || !told {
		t.Errorf("ended with %v, told of the leader: %v", err, told)
	}
	check(t, lock.Unlock())
	until(t, "the lock is free", func() bool {
		lock, err := durable.TryLock(pr.Runs.Control.LeaderLock())
		if err == nil {
			check(t, lock.Unlock())
		}
		return err == nil
	})
}

// openAttempt leaves an attempt of a gl that is gone: its launcher, its wrapper and its agent are
// as change makes them.
func openAttempt(t *testing.T, cfg scheduler.Config, id string, change func(*attempt.Record)) *attempt.Record {
	t.Helper()
	pr := cfg.Project
	check(t, pr.Runs.Files.Prepare())
	var rec *attempt.Record
	check(t, pr.Tracker.Do(t.Context(), func(tx tracker.Tx) (err error) {
		rec, err = pr.Runs.Within(tx.Held()).Claim(tx, attempt.Request{ID: id, Agent: cfg.Builders.Agents[0].Agent, Job: cfg.Builders.Agents[0].Job, Runner: "process"}, time.Now())
		return err
	}))
	gone := proc.Self()
	gone.Start = "before"
	now := time.Now().UTC()
	rec.Life.Launcher, rec.Life.Phase, rec.Life.Wrapper, rec.Life.StartedAt = gone, plan.Started, &gone, &now
	change(rec)
	data, err := json.Marshal(rec)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(pr.Runs.Files.LiveDir(), rec.ID.Name()+".json"), data, 0o644))
	return rec
}

// A run adopts what an earlier one has left: the dead are settled, and their slots used.
func TestDrainAdopts(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"a", "b", "c", "d"}, deps: map[string][]string{"d": {"b"}}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	openAttempt(t, cfg, "a", func(*attempt.Record) {})
	openAttempt(t, cfg, "b", func(r *attempt.Record) { r.Life.Phase, r.Life.Wrapper, r.Life.StartedAt = plan.Claimed, nil, nil })
	adopted := map[string]bool{}
	cfg.Output.Report = func(r scheduler.Report) {
		for _, rec := range r.Adopted {
			adopted[rec.ID.Slice] = true
		}
	}
	res := run(t, cfg)
	if len(adopted) != 2 || res.Plan.Done != 3 || !slices.Equal(res.Plan.Lists.Stalled, []string{"a"}) {
		t.Errorf("adopted %v, done %d, stalled %v", adopted, res.Plan.Done, res.Plan.Lists.Stalled)
	}
	all := history(t, pr)
	if len(all["b"]) != 1 || len(all["a"]) != 1 || all["a"][0].Judged.Outcome != outcome.Crashed {
		t.Errorf("attempts: a %d, b %d", len(all["a"]), len(all["b"]))
	}
	checkTidy(t, pr)
}

// A wrapper that dies before its agent starts is tried again, three times; then its slice has
// failed.
func TestDrainMisfires(t *testing.T) {
	t.Parallel()
	pr := graph{ids: []string{"a", "b"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 2)
	cfg.Builders.Agents[0].Job.Dir = filepath.Join(pr.Root, "not", "there")
	var warnings []string
	cfg.Output.Report = func(r scheduler.Report) { warnings = append(warnings, r.Warnings...) }
	res := run(t, cfg)
	if len(warnings) != 2 || len(res.Ended) != 1 || res.Plan.State("a").Class != plan.Failed || res.Plan.State("a").Session != "" {
		t.Errorf("%q, %d ended, %+v", warnings, len(res.Ended), res.Plan.State("a").Item)
	}
	if used := res.Plan.Snapshot.Used["a"]; used != 1 {
		t.Errorf("%d attempts used up", used)
	}
	checkTidy(t, pr)
}

// An agent whose directory of runs is cleaned away is not launched again, and its outcome counts,
// also where the run has only just launched it and doesn't know yet that it started.
func TestDrainAfterClean(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"just launched": true, "known to run": false} {
		t.Run(name, func(t *testing.T) {
			n := newNight(t, 0, 2)
			n.graph = graph{ids: []string{"a", "b"}, deps: map[string][]string{"b": {"a"}}}
			n.script(`while ! test -e "$GREENLIGHT_ROOT/go" && test -d "$GREENLIGHT_ROOT"; do sleep 0.01; done`)
			n.Project = n.graph.writeTo(t, n.Root, agentConfig)
			cfg := config(t, n.Project, "traced", 2)
			cfg.Pace.Interval = 50 * time.Millisecond
			launched, reports := map[string]int{}, 0 // reports since the agent started
			started := func() bool {
				live, _, err := n.Runs.Live()
				return err == nil && len(live) == 1 && live[0].Life.Phase == plan.Started
			}
			clean := func() {
				for os.RemoveAll(n.Runs.Files.Dir()) != nil { // the wrapper is writing there
				}
				check(t, os.WriteFile(filepath.Join(n.Root, "go"), nil, 0o644))
			}
			cfg.Output.Report = func(r scheduler.Report) {
				for _, rec := range r.Launched {
					launched[rec.ID.Slice]++
				}
				switch {
				case launched["b"] > 0 || reports < 0:
				case early && len(r.Launched) > 0: // the run waits for this call, and looks again after it
					until(t, "the agent has started", started)
					clean()
					reports = -1
				case !early && started():
					if reports++; reports == 3 { // each comes after a look at the records
						clean()
						reports = -1
					}
				}
			}
			res := run(t, cfg)
			if reports != -1 || res.Plan.Done != 2 || fmt.Sprint(launched) != "map[a:1 b:1]" {
				t.Errorf("cleaned %v, done %d, launched %v", reports == -1, res.Plan.Done, launched)
			}
		})
	}
}
