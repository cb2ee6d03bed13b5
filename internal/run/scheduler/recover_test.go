package scheduler_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/scheduler"
)

// adopted leaves an open attempt at a whose wrapper lives, and lets change have it when the run
// has adopted it. Then the wrapper is killed.
func adopted(t *testing.T, cfg *scheduler.Config, change func(*attempt.Record)) *attempt.Record {
	t.Helper()
	wrapper := exec.Command("sleep", "600")
	check(t, wrapper.Start())
	kill := func() {
		wrapper.Process.Kill()
		wrapper.Wait()
	}
	t.Cleanup(kill)
	id, err := proc.Of(wrapper.Process.Pid)
	check(t, err)
	rec := openAttempt(t, *cfg, "a", func(r *attempt.Record) { r.Life.Wrapper = &id })
	report := cfg.Output.Report
	cfg.Output.Report = func(r scheduler.Report) {
		report(r)
		if len(r.Adopted) > 0 {
			change(r.Adopted[0])
			kill()
		}
	}
	return rec
}

// tries are what the run did to settle the attempt.
func tries(cfg *scheduler.Config, name string) *int {
	n := new(int)
	cfg.Output.Trace = func(format string, a ...any) {
		if strings.HasPrefix(format, "settling ") && a[0] == name {
			*n++
		}
	}
	return n
}

// A settled record that can't be used is named, and its attempt isn't settled anew: that once
// started one recovery after the other, without a pause. Its slice is left alone, and the rest is
// built.
func TestDrainUnusableRecord(t *testing.T) {
	t.Parallel()
	unknown := func(r *attempt.Record) []byte {
		r.Life.Phase, r.Judged.Outcome, r.Life.SettledAt = plan.Settled, "out_of_paper", r.Life.StartedAt
		data, err := json.Marshal(r)
		check(t, err)
		return data
	}
	for name, test := range map[string]struct {
		file string
		data func(*attempt.Record) []byte
	}{
		"damaged":                    {"a.1.failed.json", func(*attempt.Record) []byte { return []byte("{ cut sho") }},
		"unknown outcome":            {"a.1.out_of_paper.json", unknown},
		"unknown outcome, in it":     {"a.1.failed.json", unknown},
		"written by a newer version": {"a.1.failed.json", func(r *attempt.Record) []byte { r.SchemaVersion++; return unknown(r) }},
	} {
		t.Run(name, func(t *testing.T) {
			pr := graph{ids: []string{"a", "b", "c"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
			cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 2)
			var warnings []string
			cfg.Output.Report = func(r scheduler.Report) {
				warnings = append(warnings, r.Warnings...)
				for _, rec := range r.Launched {
					if rec.ID.Slice != "c" {
						t.Errorf("launched %s", rec.ID.Name())
					}
				}
			}
			n := tries(&cfg, "a.1")
			path := filepath.Join(pr.Runs.Files.Dir(), "done", test.file)
			adopted(t, &cfg, func(r *attempt.Record) {
				c := *r
				check(t, os.WriteFile(path, test.data(&c), 0o644))
				check(t, os.Remove(filepath.Join(pr.Runs.Files.LiveDir(), "a.1.json")))
			})
			res := run(t, cfg)
			if *n > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], path) || !strings.Contains(warnings[0], "gl doctor") {
				t.Errorf("%d tries to settle it, warnings %q", *n, warnings)
			}
			if res.Plan.Done != 1 || !slices.Equal(res.Plan.Lists.Blocked, []string{"b"}) {
				t.Errorf("done %d, blocked %v", res.Plan.Done, res.Plan.Lists.Blocked)
			}
			if !slices.ContainsFunc(res.Plan.Warnings, func(w plan.Warning) bool { return strings.HasSuffix(w.Path, "/"+test.file) }) {
				t.Errorf("the plan doesn't name it: %v", res.Plan.Warnings)
			}
			if settled, _ := filepath.Glob(filepath.Join(pr.Runs.Files.Dir(), "done", "a.*")); !slices.Equal(settled, []string{path}) {
				t.Errorf("settled anew: %v", settled)
			}
		})
	}
}

// What hinders settling may pass: the attempt is tried again when its pause is over, without any
// other reason to look.
func TestDrainRecoversInTheEnd(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	pr := graph{ids: []string{"a"}, deps: map[string][]string{}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 1)
	cfg.Pace.Interval = time.Hour
	log := filepath.Join(pr.Runs.Files.Dir(), "log")
	n := 0
	cfg.Output.Trace = func(format string, a ...any) {
		switch {
		case strings.HasPrefix(format, "settling "):
			n++
		case strings.Contains(format, "trying again"):
			check(t, os.Remove(log))
		}
	}
	adopted(t, &cfg, func(*attempt.Record) {
		check(t, os.Remove(log))
		check(t, os.WriteFile(log, nil, 0o644)) // no directory can be made here
	})
	cfg.Output.Report = func(report func(scheduler.Report)) func(scheduler.Report) {
		return func(r scheduler.Report) {
			report(r)
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
		}
	}(cfg.Output.Report)
	res := run(t, cfg)
	if n != 2 || len(res.Ended) != 1 || res.Ended[0].Judged.Outcome != outcome.Crashed {
		t.Errorf("%d tries, ended %v", n, res.Ended)
	}
	checkTidy(t, pr)
}

// An attempt whose agent can't be ended keeps its slot, its slice and its dependants; the run
// tries a few times, goes on with the rest, says so, and ends.
func TestDrainStuckAttempt(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	pr := graph{ids: []string{"a", "b", "c"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
	cfg := config(t, pr, "rehearsal:min=1ms,max=5ms", 2)
	cfg.Pace.Interval = time.Hour
	n := tries(&cfg, "a.1")
	rec := openAttempt(t, cfg, "a", func(r *attempt.Record) {
		elsewhere := *r.Life.Wrapper
		elsewhere.Host, elsewhere.Boot = "another host", "another boot"
		r.Life.Process = &elsewhere
	})
	var warnings []string
	cfg.Output.Report = func(r scheduler.Report) { warnings = append(warnings, r.Warnings...) }
	began := time.Now()
	res := run(t, cfg)
	if took := time.Since(began); *n != 3 || took < 3*time.Second {
		t.Errorf("%d tries in %s", *n, took)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], rec.ID.Name()) || !strings.Contains(warnings[0], "gl stop a") {
		t.Errorf("warnings: %q", warnings)
	}
	if res.Plan.Done != 1 || !slices.Equal(res.Plan.Lists.Blocked, []string{"b"}) || len(res.Ended) != 1 {
		t.Errorf("done %d, blocked %v, ended %d", res.Plan.Done, res.Plan.Lists.Blocked, len(res.Ended))
	}
	if live, _, err := pr.Runs.Live(); err != nil || len(live) != 1 || live[0].ID.Token != rec.ID.Token {
		t.Errorf("live: %v %v", live, err)
	}
}
