package runner_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"greenlight/internal/attempt"
	"greenlight/internal/runner"
)

// A stocked runner has a spare for each attempt.
type stocked struct{ *runner.Process }

func newStocked(s *site) stocked {
	p := stocked{runner.NewProcess(s.self, s.Root, s.env, nil, 8)}
	p.KeepSpares(1)
	s.t.Cleanup(p.Close)
	return p
}

func (p stocked) Start(r *attempt.Record) error {
	p.Restock()
	return p.Process.Start(r)
}

// Spares that are killed cost nothing, and those that nobody needs end with their gates.
func TestSpares(t *testing.T) {
	s := newSite(t, "shop")
	s.slice("S-1", "")
	p := newStocked(s)
	p.KeepSpares(2)
	p.Restock()
	pids := p.SparePIDs()
	if len(pids) != 2 {
		t.Fatalf("spares %v", pids)
	}
	for _, pid := range pids {
		check(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	until(t, "nobody counts on what was killed", func() bool { return len(p.SparePIDs()) == 0 })
	rec := s.claim("S-1", "gl state set S-1 status=complete")
	check(t, p.Process.Start(rec))
	if final := s.settled(rec); final.Outcome != attempt.Done || final.Wrapper.PID == pids[0] || final.Wrapper.PID == pids[1] {
		t.Errorf("%s by %d", final.Outcome, final.Wrapper.PID)
	}
	if e := <-p.Exits(); e.Token != rec.Token || len(p.Exits()) > 0 {
		t.Errorf("%+v, and %d more", e, len(p.Exits()))
	}
	p.Restock()
	s.slice("S-1", "")
	pids = p.SparePIDs()
	rec = s.claim("S-1", `test "$MINE" = 1 && gl state set S-1 status=complete`)
	rec.Environ = []string{"MINE=1"}
	check(t, p.Process.Start(rec))
	if final := s.settled(rec); final.Outcome != attempt.Done || final.Wrapper.PID != pids[0] {
		t.Errorf("%s by %d, spares %v", final.Outcome, final.Wrapper.PID, pids)
	}
	p.Close()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("no /proc")
	}
	until(t, "all are gone", func() bool { return len(workersIn(s.Root)) == 0 })
}

// workersIn are the processes, but this one, that have the directory as theirs.
func workersIn(dir string) (list []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		if at, err := os.Readlink(filepath.Join(p, "cwd")); err == nil && at == dir {
			list = append(list, p)
		}
	}
	return list
}
