package scheduler_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/statedir"
)

// lockedProject returns a project whose lock is held, as by a stopped gl.
func lockedProject(t *testing.T) (scheduler.Config, *durable.Held) {
	t.Helper()
	pr := graph{ids: []string{"a", "b"}, deps: map[string][]string{"b": {"a"}}}.write(t, `{}`)
	lock, err := durable.Lock(t.Context(), statedir.Path(pr.Root, ".lock"))
	check(t, err)
	return config(t, pr, "rehearsal:min=1ms,max=5ms", 2), lock
}

// A run waits for the project's lock as long as it takes, and tells who holds it.
func TestDrainWaitsForTheLock(t *testing.T) {
	t.Parallel()
	cfg, lock := lockedProject(t)
	told := ""
	cfg.Output.Report = func(r scheduler.Report) {
		if r.Locked != "" && told == "" {
			told = r.Locked
			check(t, lock.Unlock())
		}
	}
	res := run(t, cfg)
	if !strings.HasPrefix(told, "pid ") || res.Plan.Done != 2 {
		t.Errorf("told %q, %d done", told, res.Plan.Done)
	}
	checkTidy(t, cfg.Project)
}

// Ctrl-C ends a run that waits for the lock, and nothing is launched.
func TestDrainHearsWhileItWaitsForTheLock(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	cfg, lock := lockedProject(t)
	defer lock.Unlock()
	signals := make(chan os.Signal, 1)
	cfg.Signals = signals
	cfg.Output.Report = func(r scheduler.Report) {
		if r.Locked != "" {
			signals <- syscall.SIGINT
		}
		for _, w := range r.Warnings {
			t.Error(w)
		}
	}
	res := run(t, cfg)
	if res.Signal != syscall.SIGINT || len(res.Open) > 0 || res.Plan.Done != 0 {
		t.Errorf("signal %v, open %v", res.Signal, res.Open)
	}
}
