package runner_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testclock"
	"greenlight/internal/base/testfiles"
)

// worker is an agent that notes, in a directory that isn't cleaned, if it isn't the only one at its
// slice. It holds a kernel lock, since a pid may be a zombie's or another process's by now; what it
// starts doesn't hold the lock.
const worker = `#!/bin/sh
exec 9>>"$OUT/$GL_SLICE.busy"
flock -n 9 || echo "$GL_SLICE: $GL_SESSION" >>"$OUT/twice"
[ -n "$STORM_CLOCK" ] || echo "$GL_SLICE: $GL_SESSION" >>"$OUT/unset"
echo '{"type":"system","subtype":"init"}'
sleep 0.$(( ($$ * 7919) % 700 + 100 )) 9>&-
for i in 1 2 3 4 5 6 7 8 9 10; do
	if gl state set "$GL_SLICE" status=complete step=complete tests=1 9>&-; then
		echo '{"type":"result","subtype":"success","num_turns":3}'
		break
	fi
	sleep 0.2 9>&-
done
`

// A storm is everything at once: gl, wrappers, agents and tmux are killed and frozen, runs/ is
// removed, the disk is full, the clock jumps, again and again. No slice is ever worked on by two
// agents at a time, no completed slice is lost, and in the calm that follows everything becomes
// green by the commands that gl itself names. GREENLIGHT_STORM=30m is a long one; GREENLIGHT_SEED
// repeats the order of the harms, if not their instants.
func TestStorm(t *testing.T) {
	testfiles.Slow(t)
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("flock is not installed")
	}
	length := time.Duration(0) // one round
	gl := ""
	if text := os.Getenv("GREENLIGHT_STORM"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		check(t, err)
		gl = filepath.Join(t.TempDir(), "gl")
		testclock.Build(t, gl, "greenlight/cmd/gl")
	} else {
		t.Parallel() // without the clock, for which the standard library is compiled anew: in one round jumps find little
	}
	seed, random := seeded()
	counts := map[string]int{}
	end, rounds := time.Now().Add(length), 0
	for ; rounds == 0 || time.Now().Before(end) && !t.Failed(); rounds++ {
		storm(t, random, gl, counts, rounds)
	}
	t.Logf("seed %d: %d rounds, %v", seed, rounds, counts)
}

// seeded is chance, and the seed that GREENLIGHT_SEED repeats it with.
func seeded() (seed uint64, random *rand.Rand) {
	seed = rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("GREENLIGHT_SEED"), 10, 64); err == nil {
		seed = n
	}
	return seed, rand.New(rand.NewPCG(seed, 1))
}

// storm is one round, with the gl of its own clock, or with the test binary and half as much.
func storm(t *testing.T, random *rand.Rand, gl string, counts map[string]int, round int) {
	s := newTmuxSite(t, 0)
	if gl != "" {
		s.install(gl)
	}
	watch := testclock.New(t, filepath.Join(s.dir, "clock"))
	small := s.onSmallDisk()
	stormy, harms := 10, 12 // slices, and what is done to them
	if gl != "" {
		stormy, harms = 16, 25
	}
	for i := 1; i <= stormy; i++ {
		deps := ""
		if i > 4 {
			deps = fmt.Sprint("S-", i-1-random.IntN(4))
		}
		s.slice(fmt.Sprint("S-", i), deps)
	}
	out := filepath.Join(s.dir, "out")
	check(t, os.Mkdir(out, 0o755))
	agent := filepath.Join(s.dir, "bin", "worker")
	check(t, os.WriteFile(agent, []byte(worker), 0o755))
	check(t, os.WriteFile(filepath.Join(s.Root, ".greenlight", "config.json"),
		fmt.Appendf(nil, `{"parallel": {"agents": {"worker": {"command": [%q]}}}}`, agent), 0o644))
	s.env = append(s.env, "OUT="+out, testclock.Variable+"="+watch.File)
	s.gl("trust", "--yes").finish(t, 0)

	args := []string{"slice", "--watch", "--max", "4", "--agent", "worker", "--runner", []string{"tmux", "process"}[round%2]}
	g := s.gl(args...)
	for range harms {
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond) // at any instant
		if g.over() {
			g = s.gl(args...)
		}
		name := s.harm(random, g, small, watch)
		counts[name]++
	}
	s.calm(t, args, g, counts)
	for i := 1; i <= stormy; i++ {
		if id := fmt.Sprint("S-", i); s.status(id) != "complete" {
			t.Errorf("%s is %s", id, s.status(id))
		}
	}
	for file, what := range map[string]string{"twice": "two agents at one slice", "unset": "agents without the storm's clock"} {
		if text, err := os.ReadFile(filepath.Join(out, file)); err == nil {
			t.Errorf("%s:\n%s", what, text)
		}
	}
}

// harm does one thing that gl must survive, and says which.
func (s *site) harm(random *rand.Rand, g *glProcess, small bool, watch testclock.Clock) string {
	rec := s.pick(random)
	switch kind := random.IntN(10); {
	case kind == 0:
		g.kill()
		return "kill gl"
	case kind == 1 && rec != nil:
		rec.Life.Wrapper.Signal(syscall.SIGKILL)
		return "kill wrapper"
	case kind == 2 && rec != nil:
		rec.Life.Process.Signal(syscall.SIGKILL)
		return "kill agent"
	case kind == 3 && rec != nil:
		who := []*proc.ID{rec.Life.Wrapper, rec.Life.Process}[random.IntN(2)]
		s.freeze(random, func(sig syscall.Signal) { who.Signal(sig) })
		return "freeze attempt"
	case kind == 4:
		s.freeze(random, func(sig syscall.Signal) { g.Process.Signal(sig) })
		return "freeze gl"
	case kind == 5:
		os.RemoveAll(s.Runs.Files.Dir())
		return "remove runs/"
	case kind == 6 && small:
		ballast := filepath.Join(s.Root, "ballast")
		fill(ballast)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		os.Remove(ballast)
		return "fill disk"
	case kind == 7:
		s.tmux("kill-server")
		return "kill tmux"
	case kind >= 8:
		if watch.Jump(s.t, random) < 0 {
			return "clock back"
		}
		return "clock ahead"
	}
	return "nothing"
}

// fill makes a file that takes all the space there is.
func fill(path string) {
	if f, err := os.Create(path); err == nil {
		for block := make([]byte, 64<<10); err == nil; {
			_, err = f.Write(block)
		}
		f.Close()
	}
}

// freeze stops a process for up to half a second, and now and then for longer than a wrapper takes
// for a moment.
func (s *site) freeze(random *rand.Rand, signal func(syscall.Signal)) {
	length := time.Duration(random.IntN(500)) * time.Millisecond
	if random.IntN(12) == 0 {
		length += 6 * time.Second
	}
	signal(syscall.SIGSTOP)
	time.Sleep(length)
	signal(syscall.SIGCONT)
}

// calm goes on until all is green, by what a person would type.
func (s *site) calm(t *testing.T, args []string, g *glProcess, counts map[string]int) {
	for range 12 {
		s.free(g, counts)
		select {
		case <-g.done:
		case <-time.After(testfiles.Patience):
			table, _ := exec.Command("ps", "axww", "-o", "pid=,ppid=,stat=,etime=,args=").Output()
			status := s.gl("status")
			<-status.done
			g.Process.Signal(syscall.SIGQUIT) // shows what it waits for
			select {
			case <-g.done:
			case <-time.After(testfiles.Patience):
				g.kill()
			}
			t.Fatalf("gl didn't end in the calm:\n%s\n%s\n%s", g.out.String(), status.out.String(), of(string(table), s.dir))
		}
		if g.ProcessState.ExitCode() == 0 {
			return
		}
		counts["calm rounds"]++
		if os.Getenv("STORM_LOUD") != "" {
			t.Logf("calm round:\n%s", g.out.String())
		}
		<-s.gl("retry", "--all-failed").done
		s.release(counts)
		g = s.gl(args...)
	}
	<-g.done
	if g.ProcessState.ExitCode() != 0 {
		t.Errorf("not green after the calm:\n%s", g.out.String())
	}
}

// free does what a run asks for that waits for slots: it gives back the claims without an agent.
func (s *site) free(g *glProcess, counts map[string]int) {
	for deadline := time.Now().Add(testfiles.Patience); time.Now().Before(deadline) && !g.over(); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(g.out.String(), "slots are taken") {
			counts["slots freed"]++
			s.release(counts)
			return
		}
	}
}

// release gives back the claims without an agent.
func (s *site) release(counts map[string]int) {
	files, err := filepath.Glob(s.file("*"))
	check(s.t, err)
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".md")
		if !strings.Contains("complete pending", s.status(id)) && !s.attended(id) {
			counts["released"]++
			<-s.gl("state", "release", id, "--force").done
		}
	}
}

// of is those lines that name the directory.
func of(table, dir string) string {
	var b strings.Builder
	for line := range strings.Lines(table) {
		if strings.Contains(line, dir) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// attended reports whether an attempt of the slice lives. If its record and its wrapper are gone,
// gl knows of no agent any more; a person would look before they say --force.
func (s *site) attended(id string) bool {
	if f, err := os.Open(filepath.Join(s.dir, "out", id+".busy")); err == nil {
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			return true
		}
	}
	recs, _, _ := s.Runs.Live()
	for _, r := range recs {
		if r.ID.Slice == id && !r.Life.Dead() {
			return true
		}
	}
	return false
}
