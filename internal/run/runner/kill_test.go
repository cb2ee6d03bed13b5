package runner_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/tmux"
)

// newTmuxSite is a site of n slices, each with up to two needs.
func newTmuxSite(t *testing.T, n int) *site {
	t.Helper()
	if !tmux.Installed() {
		t.Skip("tmux is not installed")
	}
	s := newSite(t, "shop")
	random := rand.New(rand.NewPCG(7, uint64(n)))
	for i := 1; i <= n; i++ {
		var deps []string
		for range random.IntN(3) {
			if i > 4 {
				deps = append(deps, fmt.Sprint("S-", max(1, i-1-random.IntN(8))))
			}
		}
		slices.Sort(deps)
		s.slice(fmt.Sprint("S-", i), strings.Join(slices.Compact(deps), ", "))
	}
	return s
}

// An output is what a process that runs has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// A glProcess is a gl that runs beside the test.
type glProcess struct {
	*exec.Cmd
	out  output // complete after done
	done chan struct{}
}

func (s *site) gl(args ...string) *glProcess {
	s.t.Helper()
	g := &glProcess{Cmd: exec.Command(s.self, args...), done: make(chan struct{})}
	g.Dir, g.Env = s.Root, s.env
	g.Stdout, g.Stderr = &g.out, &g.out
	check(s.t, g.Start())
	go func() {
		g.Wait()
		close(g.done)
	}()
	return g
}

func (s *site) drain(agentName string) *glProcess {
	return s.gl("slice", "--watch", "--max", "4", "--agent", agentName)
}

// finish waits for gl's end and returns its output.
func (g *glProcess) finish(t *testing.T, code int) string {
	t.Helper()
	select {
	case <-g.done:
	case <-time.After(testfiles.Patience):
		g.Process.Kill()
		<-g.done
		t.Fatalf("gl didn't end:\n%s", g.out.String())
	}
	if got := g.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, not %d:\n%s", got, code, g.out.String())
	}
	return g.out.String()
}

// kill kills gl alone, unless it has ended.
func (g *glProcess) kill() {
	g.Process.Kill()
	<-g.done
}

// pick returns a started attempt, nil if there is none just now.
func (s *site) pick(random *rand.Rand) *attempt.Record {
	return s.pickOf(random, func(r *attempt.Record) bool { return r.Life.Phase == plan.Started })
}

// pickOf returns a live attempt that is one of those, nil if there is none just now.
func (s *site) pickOf(random *rand.Rand, is func(*attempt.Record) bool) *attempt.Record {
	recs, _, err := s.Runs.Live()
	check(s.t, err)
	recs = slices.DeleteFunc(recs, func(r *attempt.Record) bool { return !is(r) })
	if len(recs) == 0 {
		return nil
	}
	return recs[random.IntN(len(recs))]
}

// once checks that every slice of n is complete, was attempted once, and never by two at a time.
func (s *site) once(n int) {
	s.t.Helper()
	attempts := map[string]int{}
	for _, r := range s.records() {
		attempts[r.ID.Slice]++
		if r.Judged.Outcome != outcome.Done {
			s.t.Errorf("%s: %s (%s)", r.ID.Name(), r.Judged.Outcome, r.Judged.Detail)
		}
	}
	for i := 1; i <= n; i++ {
		if id := fmt.Sprint("S-", i); attempts[id] != 1 || s.status(id) != "complete" {
			s.t.Errorf("%s is %s after %d attempts", id, s.status(id), attempts[id])
		}
	}
	if live, _, _ := s.Runs.Live(); len(live) > 0 {
		s.t.Errorf("%d attempts are left", len(live))
	}
	if left, _ := filepath.Glob(filepath.Join(s.Runs.Files.Dir(), "env", "*")); len(left) > 0 {
		s.t.Errorf("environments are left: %q", left)
	}
}

const work = "rehearsal:here,min=20ms,max=200ms"

// harm is done to a run at random instants, each of some rounds; then it goes on as if nothing
// had been.
func TestHarm(t *testing.T) {
	n, times := testfiles.Sized(8, 30), testfiles.Sized(1, 4)
	for name, harm := range map[string]func(s *site, random *rand.Rand){
		"the server is killed":     func(s *site, _ *rand.Rand) { syscall.Kill(cmpPID(s.serverPID()), syscall.SIGKILL) },
		"the server is told to go": func(s *site, _ *rand.Rand) { s.tmux("kill-server") },
		"a pane is killed":         func(s *site, random *rand.Rand) { s.tmux("kill-pane", "-t", s.one("#{pane_id}", random)) },
		"a window is closed":       func(s *site, random *rand.Rand) { s.tmux("kill-window", "-t", s.one("#{window_id}", random)) },
		"the session is closed":    func(s *site, _ *rand.Rand) { s.tmux("kill-session", "-t", "="+s.session().Name) },
		"the socket is removed":    func(s *site, _ *rand.Rand) { s.removeSocket() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTmuxSite(t, n)
			random := rand.New(rand.NewPCG(1, rand.Uint64()))
			g := s.drain(work)
			for i := range times {
				until(t, "it gets on", func() bool { return len(s.records()) > i*5 || g.over() })
				time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond) // at any instant
				harm(s, random)
			}
			g.finish(t, 0)
			s.once(n)
		})
	}
}

func (g *glProcess) over() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// cmpPID keeps a pid that isn't known from being everybody's.
func cmpPID(pid int) int {
	if pid <= 1 {
		return 1 << 30
	}
	return pid
}

// one is what the format says of a random pane; what isn't there tmux refuses.
func (s *site) one(format string, random *rand.Rand) string {
	all := strings.Fields(s.tmux("list-panes", "-s", "-t", "="+s.session().Name+":", "-F", format))
	if len(all) == 0 {
		return "%999"
	}
	return all[random.IntN(len(all))]
}

// removeSocket makes the server unreachable; site.end knows of it.
func (s *site) removeSocket() {
	sockets, _ := filepath.Glob(filepath.Join(s.dir, "tmux-*", "gl-*"))
	for _, path := range sockets {
		os.Remove(path)
	}
}

// The run is killed again and again, and started again: the agents in the panes don't notice.
func TestDrainKilled(t *testing.T) {
	t.Parallel()
	n := testfiles.Sized(10, 40)
	s := newTmuxSite(t, n)
	random := rand.New(rand.NewPCG(2, rand.Uint64()))
	for range testfiles.Sized(3, 10) {
		g := s.drain(work)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond) // at any instant
		g.kill()
	}
	s.drain(work).finish(t, 0)
	s.once(n)
}

// Wrappers are killed in their panes: their agents don't outlive them for long, their slices are
// stalled, the rest goes on, and after gl retry everything is done.
func TestWrappersKilled(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	n := testfiles.Sized(10, 30)
	s := newTmuxSite(t, n)
	random := rand.New(rand.NewPCG(3, rand.Uint64()))
	g := s.drain(work)
	killed := map[string]*attempt.Record{}
	for len(killed) < 4 && !g.over() {
		if r := s.pick(random); r != nil && killed[r.ID.Slice] == nil && r.Life.Wrapper.Signal(syscall.SIGKILL) == nil {
			killed[r.ID.Slice] = r
		}
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond) // at any instant
	}
	<-g.done
	for _, r := range killed {
		if r.Life.Process.Alive() {
			t.Errorf("the agent of %s lives on", r.ID.Name())
		}
	}
	for range 3 { // what failed holds up others that are then ready
		s.gl("retry", "--all-failed").finish(t, 0)
		g = s.drain(work)
		<-g.done
		if g.ProcessState.ExitCode() == 0 {
			break
		}
	}
	for i := 1; i <= n; i++ {
		if id := fmt.Sprint("S-", i); s.status(id) != "complete" {
			t.Errorf("%s is %s:\n%s", id, s.status(id), g.out.String())
		}
	}
	for _, r := range s.records() {
		if r.Judged.Outcome != outcome.Done && killed[r.ID.Slice] == nil {
			t.Errorf("%s: %s (%s)", r.ID.Name(), r.Judged.Outcome, r.Judged.Detail)
		}
	}
}

// tmux is removed in the middle of a run, or doesn't answer any more: the rest goes on without
// panes, and gl says so.
func TestTmuxFails(t *testing.T) {
	testfiles.Slow(t)
	for name, fail := range map[string]func(s *site, bin string){
		"removed": func(s *site, bin string) { check(s.t, os.Remove(filepath.Join(bin, "tmux"))) },
		"stopped": func(s *site, _ string) {
			pid := s.serverPID()
			check(s.t, syscall.Kill(cmpPID(pid), syscall.SIGSTOP))
			s.t.Cleanup(func() { syscall.Kill(cmpPID(pid), syscall.SIGCONT) })
		},
		"broken": func(s *site, bin string) {
			check(s.t, os.Remove(filepath.Join(bin, "tmux")))
			check(s.t, os.WriteFile(filepath.Join(bin, "tmux"), []byte("#!/bin/sh\necho something new >&2\nexit 1\n"), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testfiles.Sized(6, 20)
			s := newTmuxSite(t, n)
			program, err := exec.LookPath("tmux")
			check(t, err)
			bin := filepath.Join(s.dir, "bin")
			check(t, os.Symlink(program, filepath.Join(bin, "tmux")))
			whole := s.env
			s.env = append(slices.Clone(s.env), "PATH="+bin)
			g := s.drain(work)
			s.env = whole
			until(t, "it gets on", func() bool { return len(s.records()) > testfiles.Sized(1, 4) || g.over() })
			fail(s, bin)
			out := g.finish(t, 0)
			if !regexp.MustCompile(`(?m)^warning: S-\d+ runs without a pane: .*tmux.*; gl logs -f S-\d+ shows it$`).MatchString(out) {
				t.Errorf("nothing is said:\n%s", out)
			}
			s.once(n)
		})
	}
}

// What a person types into a pane, and a tmux that doesn't take any more, doesn't keep an agent
// from its work: C-s, C-z and words; C-c and C-\ end it as interrupted.
func TestKeystrokes(t *testing.T) {
	for name, test := range map[string]struct {
		keys    []string
		outcome outcome.Outcome
	}{
		"stop the screen": {[]string{"C-s"}, outcome.Done},
		"suspend":         {[]string{"C-z"}, outcome.Done},
		"words":           {[]string{"rm", "Enter", "C-d", "q"}, outcome.Done},
		"interrupt":       {[]string{"C-c"}, outcome.Interrupted},
		"quit":            {[]string{`C-\`}, outcome.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTmuxSite(t, 1)
			r := runners["tmux"](s)
			rec := s.claim("S-1", begun+"while [ ! -e go ]; do sleep 0.02; done; seq 50000; gl state set S-1 status=complete")
			check(t, r.Start(rec))
			s.running(rec)
			s.tmux(append([]string{"send-keys", "-t", s.session().Name + ":"}, test.keys...)...)
			if test.outcome == outcome.Done {
				check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
			}
			if final := s.settled(rec); final.Judged.Outcome != test.outcome {
				t.Errorf("%s (%s)", final.Judged.Outcome, final.Judged.Detail)
			}
		})
	}
}

// A server that is stopped while an agent says much: the agent goes on, and its log has all.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	s := newTmuxSite(t, 1)
	r := runners["tmux"](s)
	rec := s.claim("S-1", begun+"while [ ! -e go ]; do sleep 0.02; done; seq 50000; gl state set S-1 status=complete")
	check(t, r.Start(rec))
	s.running(rec)
	pid := cmpPID(s.serverPID())
	check(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer syscall.Kill(pid, syscall.SIGCONT)
	check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
	if final := s.settled(rec); final.Judged.Outcome != outcome.Done {
		t.Errorf("%s (%s)", final.Judged.Outcome, final.Judged.Detail)
	}
	if log := s.read(".greenlight", "runs", "log", "S-1.1.log"); !strings.Contains(log, "\n49999\n50000\n") {
		t.Errorf("the log ends in %q", log[max(0, len(log)-100):])
	}
}

// The real project, 46 slices of which 27 are done, is drained in tmux.
func TestRealProject(t *testing.T) {
	t.Parallel()
	from := testfiles.Corpus(t, "project")[0]
	s := newTmuxSite(t, 0)
	check(t, os.RemoveAll(filepath.Join(s.Root, ".greenlight")))
	check(t, os.CopyFS(s.Root, os.DirFS(from)))
	s.gl("settings", "set", "test.command", "true").finish(t, 0) // there is no code to test
	s.gl("trust", "--yes").finish(t, 0)
	g := s.drain("rehearsal:here,min=10ms,max=100ms")
	if out := g.finish(t, 0); !strings.Contains(out, "46/46 done") {
		t.Errorf("it ends with\n%s", out)
	}
}
