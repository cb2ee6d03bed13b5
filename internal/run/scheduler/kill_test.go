package scheduler_test

import (
	"bytes"
	"errors"
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

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

// A night is a project whose runs are processes, to be killed, and whose agents leave a trace of
// each start.
type night struct {
	*project.Project
	t      testing.TB
	graph  graph
	gl     string
	max    int
	random *rand.Rand
	pace   time.Duration // of one gl, here and now
}

func newNight(t testing.TB, n, limit int) *night {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	g := randomGraph(random, n)
	self, err := os.Executable()
	check(t, err)
	gl := filepath.Join(t.TempDir(), "gl")
	check(t, os.Symlink(self, gl))
	w := &night{Project: g.write(t, agentConfig), t: t, graph: g, gl: gl, max: limit, random: random}
	w.script("")
	t.Cleanup(w.sweep)
	began := time.Now()
	w.run("trust", "--yes")
	w.run("status")
	w.pace = time.Since(began)
	return w
}

// agentConfig names the agent of a night.
const agentConfig = `{"parallel": {"agents": {"traced": {"command": ["sh", "{dir}/agent.sh", "{slice}"]}}}}`

// script writes the agent: it leaves its trace, runs the commands given, and completes its slice.
func (n *night) script(commands string) {
	n.t.Helper()
	text := fmt.Sprintf("echo \"$GL_SLICE.$GL_ATTEMPT $GL_SESSION\" >> \"$GREENLIGHT_ROOT/trace\"\n%s\n"+
		"exec %q rehearsal-agent --spec 'seed=%d,min=5ms,max=60ms' \"$1\"\n", commands, n.gl, n.random.Uint32())
	check(n.t, os.WriteFile(filepath.Join(n.Root, "agent.sh"), []byte(text), 0o755))
}

// sweep ends what a failed test leaves running.
func (n *night) sweep() {
	for _, pid := range processes(n.Root) {
		if pid, err := strconv.Atoi(pid); err == nil && pid != os.Getpid() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A watch is one gl slice --watch.
type watch struct {
	*exec.Cmd
	gone chan struct{}
	out  bytes.Buffer
}

func (n *night) watch() *watch {
	n.t.Helper()
	w := &watch{gone: make(chan struct{})}
	w.Cmd = exec.Command(n.gl, "-C", n.Root, "slice", "--watch", "--runner", "process", "--agent", "traced", "--max", fmt.Sprint(n.max))
	w.Stdout, w.Stderr = &w.out, &w.out
	w.WaitDelay = time.Second
	check(n.t, w.Start())
	go func() {
		w.Wait()
		close(w.gone)
	}()
	return w
}

// within reports whether it ended by itself in that time.
func (w *watch) within(d time.Duration) bool {
	select {
	case <-w.gone:
		return true
	case <-time.After(d):
		return false
	}
}

func (w *watch) kill() {
	w.Process.Kill()
	<-w.gone
}

// killWrapper kills one of the wrappers that run, if there is one whose agent has begun.
func (n *night) killWrapper() bool {
	live, _, err := n.Runs.Live()
	check(n.t, err)
	for _, i := range n.random.Perm(len(live)) {
		if r := live[i]; r.Life.Phase == plan.Started && r.Life.Wrapper.Signal(syscall.SIGKILL) == nil {
			return true
		}
	}
	return false
}

func (n *night) run(args ...string) string {
	out, err := exec.Command(n.gl, append([]string{"-C", n.Root}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.t.Fatal(err)
	}
	return string(out)
}

// finish runs what is left, putting back what crashed, until all is done.
func (n *night) finish() {
	n.t.Helper()
	for range 50 {
		w := n.watch()
		if !w.within(testfiles.Patience) {
			w.Process.Signal(syscall.SIGQUIT)
			w.within(time.Minute) // for the traces of its goroutines
			n.t.Fatalf("the drain doesn't end; it said %s\n%s", &w.out, scene(n.Project))
		}
		if w.ProcessState.ExitCode() == 0 {
			return
		}
		retried := n.run("retry", "--all-failed")
		if !strings.Contains(retried, "pending") {
			n.t.Fatalf("the drain ended with %d and nothing to retry: %s\n%s\n%s", w.ProcessState.ExitCode(), &w.out, retried, n.run("status"))
		}
	}
	n.t.Fatal("it never ends well")
}

// verify checks the end: all complete, and each attempt's agent started once. Attempts beside the
// last one of a slice are only those whose wrapper was killed.
func (n *night) verify(killed int) {
	n.t.Helper()
	want := map[string]plan.Class{}
	for _, id := range n.graph.ids {
		want[id] = plan.Done
	}
	checkClasses(n.t, n.Project, want)
	all := history(n.t, n.Project)
	checkOrder(n.t, n.graph, all, n.max)
	crashed := 0
	for id, records := range all {
		for i, r := range records {
			last := i == len(records)-1
			if last && r.Judged.Outcome != outcome.Done || !last && r.Judged.Outcome != outcome.Crashed {
				n.t.Errorf("%s: %s (%s), %d of %s's %d attempts", r.ID.Name(), r.Judged.Outcome, r.Judged.Detail, i+1, id, len(records))
			}
			if !last {
				crashed++
			}
		}
	}
	if crashed > killed {
		n.t.Errorf("%d attempts crashed, %d wrappers were killed", crashed, killed)
	}
	n.verifyTrace(all)
	checkTidy(n.t, n.Project)
	checkJournal(n.t, n.Project, all)
	n.t.Logf("%d slices, %d wrappers killed, %d attempts crashed", len(n.graph.ids), killed, crashed)
}

// verifyTrace compares what the agents say with the records.
func (n *night) verifyTrace(all map[string][]*attempt.Record) {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.Root, "trace"))
	check(n.t, err)
	starts := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		starts[line]++
	}
	for _, records := range all {
		for _, r := range records {
			line := r.ID.Name() + " " + r.ID.Token
			if times := starts[line]; times > 1 || times == 0 && r.Judged.Outcome == outcome.Done {
				n.t.Errorf("the agent of %s ran %d times", line, times)
			}
			delete(starts, line)
		}
	}
	for line, times := range starts {
		n.t.Errorf("an agent ran %d times without a record: %s", times, line)
	}
}

// One run is killed again and again, wrappers now and then: the same end, and nothing launched
// twice.
func TestDrainKilled(t *testing.T) {
	t.Parallel()
	n := newNight(t, testfiles.Sized(16, 200), 4)
	killed := 0
	for range testfiles.Sized(5, 200) {
		w := n.watch()
		if w.within(n.moment()) {
			if w.ProcessState.ExitCode() == 0 {
				t.Log("it was through before the last kill")
				break
			}
			n.run("retry", "--all-failed")
			continue
		}
		if n.random.IntN(4) == 0 && n.killWrapper() {
			killed++
		}
		w.kill()
		if n.random.IntN(6) == 0 && n.killWrapper() { // while no gl watches
			killed++
		}
	}
	n.finish()
	n.verify(killed)
}

// moment is how long a run lives before it is killed: some die before they have begun. On a busy
// machine all takes longer, the time to the first launch, too.
func (n *night) moment() time.Duration {
	return time.Duration(n.random.Int64N(int64(max(150*time.Millisecond, 8*n.pace))))
}

// Wrappers die under a run that lives: their agents are ended, and it goes on with the rest.
func TestWrappersKilled(t *testing.T) {
	t.Parallel()
	n, most := newNight(t, testfiles.Sized(14, 40), 4), testfiles.Sized(3, 10)
	killed := 0
	for range 10 {
		w := n.watch()
		for !w.within(n.moment()) {
			if killed < most && n.killWrapper() {
				killed++
			}
		}
		if w.ProcessState.ExitCode() == 0 {
			break
		}
		n.run("retry", "--all-failed")
	}
	n.finish()
	n.verify(killed)
}

// leader is the pid in the run's lock.
func (n *night) leader() int {
	data, _ := os.ReadFile(n.Runs.Control.LeaderLock())
	pid, _, _ := strings.Cut(string(data), " ")
	id, _ := strconv.Atoi(pid)
	return id
}

// Two runs at once: one leads, the other looks on, and takes over when the first is killed.
func TestDrainTakenOver(t *testing.T) {
	t.Parallel()
	n := newNight(t, testfiles.Sized(14, 40), 3)
	first := n.watch()
	until(t, "the first leads", func() bool { return n.leader() == first.Process.Pid })
	second := n.watch()
	until(t, "some slices are done", func() bool {
		p, err := n.Plan(time.Now(), n.Options())
		check(t, err)
		return p.Done >= testfiles.Sized(5, 8)
	})
	if n.leader() != first.Process.Pid || second.within(0) {
		t.Fatalf("the second one doesn't look on: %s", &second.out)
	}
	first.kill()
	if !second.within(testfiles.Patience) {
		second.kill()
		t.Fatalf("the second doesn't end: %s", &second.out)
	}
	if code := second.ProcessState.ExitCode(); code != 0 || n.leader() != second.Process.Pid {
		t.Errorf("exit %d, leader %d, want %d: %s", code, n.leader(), second.Process.Pid, &second.out)
	}
	n.verify(0)
}

// Three runs of one project, killed and started anew at random.
func TestThreeDrains(t *testing.T) {
	t.Parallel()
	n := newNight(t, testfiles.Sized(14, 50), 4)
	var drains [3]*watch
	for i := range drains {
		drains[i] = n.watch()
	}
	for range testfiles.Sized(3, 12) {
		time.Sleep(n.moment()) // at any instant
		i := n.random.IntN(len(drains))
		drains[i].kill()
		drains[i] = n.watch()
	}
	for _, w := range drains {
		if !w.within(testfiles.Patience) {
			t.Fatalf("it doesn't end: %s\n%s", &w.out, n.run("status"))
		}
		if code := w.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit %d: %s", code, &w.out)
		}
	}
	n.verify(0)
}
