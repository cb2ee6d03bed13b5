package main

import (
	"crypto/sha1"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testclock"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

var (
	slicesFlag = flag.Int("slices", 0, "have a long storm, over a graph of `N` slices")
	// compiling the standard library anew takes minutes
	programsFlag = flag.String("programs", "",
		"keep the programs of a long storm in `DIR`, and use those that are there")
	seedFlag = flag.Uint64("seed", 0, "the order of a storm's harms, if not their instants")
)

// builder is an agent that writes files of its own, each noted in the ledger once it is closed, and
// now and then a line into a list that others edit, too; its work may be red at first. It fails,
// hangs, dies or forgets to say that it is done, each in a few of a hundred attempts.
const builder = `#!/bin/sh
[ "$1" = --version ] && { echo 1.0; exit; }
echo '{"type":"system","subtype":"init","session_id":"c1"}'
chance=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
name=$GL_SLICE-$chance
roll() { chance=$(( (chance * 1103515245 + 12345) % 2147483648 )); rolled=$(( chance / 65536 % $1 )); }
mine=src/$GL_SLICE
mkdir -p "$mine"
if [ -n "$(git ls-files -u)" ]; then
	sed '/^[<=>|]\{7\}/d' list >"$TMPDIR/list" && cat "$TMPDIR/list" >list
	git add list && git commit -qm merge
fi
put() { echo "$name $1" >"$mine/$name-$1" && echo "$name $1" >>"$OUT/ledger"; }
put first
roll "${LISTERS:-4}"
if [ $rolled = 0 ] && ! grep -qx "$GL_SLICE" list; then
	{ echo "$GL_SLICE"; cat list; } >"$TMPDIR/list" && cat "$TMPDIR/list" >list
fi
roll 10
if [ -e "$mine/red" ]; then
	rm "$mine/red"
elif [ $rolled = 0 ] && [ ! -e "$mine/was-red" ]; then
	echo >"$mine/red"
	echo >"$mine/was-red"
fi
roll 3
[ $rolled = 0 ] || { git add -A && git commit -qm "$name"; }
roll 100
sleep "$(( rolled % ${LONGEST:-2} )).$(( rolled % 50 + 10 ))"
put last
roll 100
case $rolled in
[0-5]) exit 3 ;;
6) [ -z "$LONGEST" ] || sleep 1000 ;;
7 | 8 | 9) kill -9 $$ ;;
10 | 11) exit 0 ;;
esac
for i in 1 2 3 4 5 6 7 8 9 10; do
	if gl state set "$GL_SLICE" status=complete step=complete tests=1 >&2; then
		echo '{"type":"result","subtype":"success","is_error":false,"num_turns":3,"session_id":"c1"}'
		exit
	fi
	sleep 0.3
done
`

// suite are the tests: no slice is listed twice or without its files, and none is red.
const suite = `fail=0
for r in $(cat list); do [ -d "src/$r" ] || { echo "FAIL $r"; fail=1; }; done
for f in src/*/red; do if [ -e "$f" ]; then echo "FAIL $f"; fail=1; fi; done
[ -z "$(sort list | uniq -d)" ] || { echo "FAIL twice"; fail=1; }
exit $fail
`

// A storm is everything at once: workers, gl serve, gl slice, agents, gates and gits are killed,
// networks are cut, held up and slow, processes freeze, clocks are hours apart and jump. In the
// calm that follows all becomes green by the commands that gl itself names. Then each slice was
// merged once, every commit of the target is green, whatever an agent has written and closed is
// under a ref at home, and no lease and no process is left.
//
// The long form has four workers and the programs themselves, with clocks that can be set:
//
//	make storm SLICES=300
func TestStorm(t *testing.T) {
	testfiles.Slow(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	s := &storm{n: 6, random: rand.New(rand.NewPCG(seed, 40)), counts: map[string]int{}}
	crew, programs := 2, ""
	if *slicesFlag > 0 {
		s.n, crew, programs = *slicesFlag, 4, build(t)
	}
	defer func() { t.Logf("seed %d: %v", seed, s.counts) }()
	s.begin(t, programs, crew)
	for _, part := range []struct {
		name string
		do   func()
	}{{"rage", s.rage}, {"calm", s.calm}, {"merges", s.checkMerges}, {"ledger", s.checkLedger}, {"end", s.checkEnd}} {
		began := time.Now()
		part.do()
		t.Logf("%s: %.1f s", part.name, time.Since(began).Seconds())
	}
}

// build builds gl and gl-remote with clocks that can be set, and returns their directory.
func build(t *testing.T) string {
	t.Helper()
	dir := *programsFlag
	if dir == "" {
		dir = t.TempDir()
	}
	check(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"gl", "gl-remote"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			testclock.Build(t, path, "greenlight/cmd/"+name)
		}
	}
	return dir
}

type storm struct {
	*fleet
	n      int
	random *rand.Rand
	watch  *part
	clocks []testclock.Clock // of home and of each worker; none in the short form
	later  []deed
	retry  time.Time // not before
	counts map[string]int
}

// A deed is what is to be done, such as starting what was killed.
type deed struct {
	at time.Time
	do func()
}

func (s *storm) begin(t *testing.T, programs string, crew int) {
	t.Helper()
	s.fleet = newFleet(t, programs)
	var clocks []string
	for i := range crew + 1 {
		c := testclock.New(t, filepath.Join(s.dir, fmt.Sprint("clock", i)))
		clocks = append(clocks, testclock.Variable+"="+c.File)
		if programs != "" {
			s.clocks = append(s.clocks, c)
		}
	}
	s.env = append(s.env, clocks[0])
	if programs != "" {
		// LONGEST is in seconds of an agent's work; a hung one takes a minute. Those that edit the
		// list conflict with each other and are merged one after the other: with one in four that
		// takes hours
		s.env = append(s.env, "LONGEST=10", "LISTERS=12")
	}
	s.project(s.n, func(i int) (ids []string) {
		for range s.random.IntN(3) {
			if id := fmt.Sprint("S-", i-1-s.random.IntN(8)); i > 8 && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}, builder, map[string]string{"list": "", "test.sh": suite}, map[string]any{
		"parallel": parallel(1),
		"test":     map[string]any{"command": "sh test.sh"},
		"git":      map[string]any{"snapshot_minutes": 0.05},
		"workers":  map[string]any{"lost_minutes": 0.25},
	})
	s.serves()
	for i, c := range s.clocks {
		c.Set(t, []time.Duration{0, 5 * time.Hour, -7 * time.Hour, 0, 26 * time.Hour}[i])
	}
	for i := range crew {
		s.worker(2, clocks[i+1])
	}
	s.watch = s.fleet.watch()
}

// rage does harm until most slices are merged: about as often as one is, so that a slow machine
// gets on, too.
func (s *storm) rage() {
	harms, lastly := 0, time.Now()
	for merged := 0; merged < s.n*9/10; merged = len(s.merged()) {
		time.Sleep(time.Duration(s.random.IntN(400)) * time.Millisecond) // at any instant
		s.tend()
		if harms > merged+3 && time.Since(lastly) < 20*time.Second {
			continue
		}
		if what := s.harm(); what != "" {
			s.counts[what]++
			harms, lastly = harms+1, time.Now()
		}
		if harms > 20*s.n {
			s.Fatalf("%d of %d slices are merged after %d harms:\n%s", merged, s.n, harms, s.state())
		}
	}
}

// tend does what is due, and what a person does whose run has ended.
func (s *storm) tend() {
	now := time.Now()
	due := func(d deed) bool { return !d.at.After(now) }
	for _, d := range s.later {
		if due(d) {
			d.do()
		}
	}
	s.later = slices.DeleteFunc(s.later, due)
	over := s.watch.over() && !s.watch.killed
	if over || now.After(s.retry) {
		s.again()
		s.retry = now.Add(10 * time.Second)
	}
	if over {
		s.counts["runs"]++
		s.watch.start()
	}
	s.mustRun()
}

// again retries what has failed, and lifts the hold that follows when several agents in a row have
// been killed.
func (s *storm) again() {
	s.gl("retry", "--all-failed")
	if strings.Contains(s.gl("hold"), "gl hold --lift") {
		s.counts["holds"]++
		s.gl("hold", "--lift")
	}
}

// mustRun fails the test if what runs until it is stopped has ended by itself.
func (s *storm) mustRun() {
	for _, p := range append(s.fleet.workers, s.serve) {
		if !p.killed {
			p.mustRun()
		}
	}
}

// soon has something done within that time.
func (s *storm) soon(most time.Duration, do func()) {
	s.later = append(s.later, deed{time.Now().Add(time.Duration(s.random.Int64N(int64(most)))), do})
}

// harm does one thing that gl must survive, and says which; "" for nothing.
func (s *storm) harm() string {
	w := s.fleet.workers[s.random.IntN(len(s.fleet.workers))]
	parts := []*part{w, w, s.serve, s.watch}
	switch p := parts[s.random.IntN(len(parts))]; s.random.IntN(10) {
	case 0, 1:
		if p.over() {
			return ""
		}
		p.kill()
		s.soon(s.length(), p.start)
		return "kill " + strings.TrimRight(p.name, "0123456789")
	case 2, 3, 4:
		return s.killOther()
	case 5:
		w.link.cut()
		s.soon(s.length(), w.link.mend)
		return "cut"
	case 6:
		length := s.length()
		w.link.hold(length)
		return "hold"
	case 7:
		w.link.delay(300 * time.Millisecond)
		s.soon(s.length(), w.link.mend)
		return "slow"
	case 8:
		if p.over() {
			return ""
		}
		process := p.cmd.Process
		_ = process.Signal(syscall.SIGSTOP)
		s.soon(2*time.Second, func() { _ = process.Signal(syscall.SIGCONT) })
		return "freeze"
	default:
		if len(s.clocks) == 0 {
			return ""
		}
		s.clocks[s.random.IntN(len(s.clocks))].Jump(s, s.random)
		return "clock"
	}
}

// length is how long a part is away: seconds, and now and then longer than a worker takes to be
// lost.
func (s *storm) length() time.Duration {
	if *slicesFlag > 0 && s.random.IntN(3) == 0 {
		return time.Minute
	}
	return 5 * time.Second
}

// killOther kills an agent, a gate, a wrapper, a git or whatever else runs.
func (s *storm) killOther() string {
	all, err := testfiles.Processes(s.dir)
	check(s, err)
	mine := map[string]bool{}
	for _, p := range append(s.fleet.workers, s.serve, s.watch) {
		mine[fmt.Sprint(p.cmd.Process.Pid)] = true
	}
	all = slices.DeleteFunc(all, func(line string) bool { return mine[strings.Fields(line)[0]] })
	if len(all) == 0 {
		return ""
	}
	line := all[s.random.IntN(len(all))]
	signal(line, os.Kill)
	what := strings.Fields(line)[1:]
	name := filepath.Base(what[0])
	if len(what) > 1 && (name == "gl" || name == "gl-remote") || name == "git" {
		name += " " + what[1]
	}
	return "kill " + name
}

// calm mends everything, and goes on until all is green, by what a person would type.
func (s *storm) calm() {
	for _, d := range s.later {
		d.do()
	}
	s.later = nil
	for _, w := range s.fleet.workers {
		w.link.mend()
	}
	for range 30 {
		s.await(s.watch)
		if s.watch.cmd.ProcessState.ExitCode() == 0 {
			return
		}
		s.counts["calm rounds"]++
		s.again()
		s.watch.start()
	}
	s.Fatalf("not green after the calm:\n%s\n%s", last(s.watch.out.String()), s.state())
}

// await waits for a run's end, as long as slices are merged.
func (s *storm) await(p *part) {
	merged, since := len(s.merged()), time.Now()
	for !p.over() {
		time.Sleep(100 * time.Millisecond)
		if now := len(s.merged()); now > merged {
			merged, since = now, time.Now()
		}
		if time.Since(since) > testfiles.Patience {
			s.Fatalf("gl slice doesn't get on in the calm:\n%s\n%s", last(p.out.String()), s.state())
		}
		s.mustRun()
	}
}

// merged are the slices on the target's first-parent line.
func (s *storm) merged() []string {
	return strings.Fields(s.git("log", "--first-parent", "--format=%(trailers:key=Slice,valueonly)", "main"))
}

// state is what gl and the machine say.
func (s *storm) state() string {
	left, _ := testfiles.Processes(s.dir)
	text := s.gl("status") + s.gl("workers") + strings.Join(left, "\n") + "\ngl serve:\n" + last(s.serve.out.String())
	for _, w := range s.fleet.workers {
		text += "\n" + w.name + ":\n" + last(w.out.String())
	}
	return text
}

// checkMerges checks that each slice was merged once, and each commit of the target is green.
func (s *storm) checkMerges() {
	times := map[string]int{}
	for _, id := range s.merged() {
		times[id]++
	}
	for i := 1; i <= s.n; i++ {
		if id := fmt.Sprint("S-", i); times[id] != 1 {
			s.Errorf("%s was merged %d times:\n%s", id, times[id], s.gl("why", id))
		}
	}
	commits := strings.Fields(s.git("rev-list", "--first-parent", "main"))
	for _, commit := range commits {
		cmd := exec.Command("sh", "-c", `git archive "$1" | tar -x -C "$2" && cd "$2" && sh test.sh`, "sh", commit, s.TB.TempDir())
		cmd.Dir = s.root
		if out, err := cmd.CombinedOutput(); err != nil {
			s.Errorf("%s isn't green: %v\n%s", commit, err, out)
		}
	}
	s.counts["commits"] = len(commits)
}

// checkLedger checks that all that agents have written is under a ref at home.
func (s *storm) checkLedger() {
	missing := map[string]string{}
	data, err := os.ReadFile(filepath.Join(s.dir, "out", "ledger"))
	check(s, err)
	for line := range strings.Lines(string(data)) {
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(line), line))
		missing[hex.EncodeToString(sum[:])] = strings.TrimSpace(line)
	}
	s.counts["files written"] = len(missing)
	for line := range strings.Lines(s.git("rev-list", "--objects", "--branches", "--glob=refs/gl")) {
		hash, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		delete(missing, hash)
	}
	for _, line := range missing {
		id := strings.Join(strings.Split(line, "-")[:2], "-")
		s.Errorf("lost: %s\n%s", line, s.gl("why", id))
	}
}

// checkEnd checks that nothing is left: no lease at home or on a worker, no claim, and after the
// processes that a person ends no process.
func (s *storm) checkEnd() {
	pr, err := project.Open(s.root)
	check(s, err)
	deadline := time.Now().Add(testfiles.Patience)
	for {
		open, err := leases(s.fleet, pr.Runs)
		check(s, err)
		if len(open) == 0 {
			break
		}
		if time.Now().After(deadline) {
			s.Errorf("left: %q\n%s", open, s.state())
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, p := range append(s.fleet.workers, s.serve) {
		p.stop()
	}
	left, err := testfiles.Processes(s.dir)
	check(s, err)
	if len(left) > 0 {
		s.Errorf("processes are left:\n%s", strings.Join(left, ""))
	}
	for _, r := range s.records() {
		s.counts["attempts"]++
		if on := r.Life.Remote; on != nil {
			s.counts["attempts on workers"]++
			s.counts["leases"] += on.Lease
		}
	}
	s.counts["late work"] = strings.Count(s.gl("events", "--json"), `"late_work"`)
}

// leases returns the files of leases, at home and on workers, and the attempts that are open.
func leases(f *fleet, runs *attempt.Store) (open []string, err error) {
	for _, pattern := range []string{f.runs("hub", "attempts", "*.json"),
		filepath.Join(f.dir, "w*", "state", "greenlight", "worker", "*", "*", "leases", "*.json")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		open = append(open, files...)
	}
	live, _, err := runs.Live()
	for _, r := range live {
		open = append(open, r.ID.Name())
	}
	return open, err
}
