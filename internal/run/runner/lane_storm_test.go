package runner_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// farmer is an agent that puts its slice into a list, with a file of its own: in the first line,
// where it conflicts with all others that do so, or, if the list has rows, mostly in its own row,
// where it merges with all others. It resolves the conflict when it is handed one, line by line,
// and then what is wrong in the list: a slice that was taken back and landed again may be in it
// twice.
const farmer = `#!/bin/sh
exec 9>>"$OUT/$GL_SLICE.busy"
flock -n 9 || echo "$GL_SLICE: $GL_SESSION" >>"$OUT/twice"
echo '{"type":"system","subtype":"init"}'
set -e
if [ -n "$(git ls-files -u)" ]; then
	sed '/^[<=>|]\{7\}/d' list >"$TMPDIR/list" 9>&-
	cat "$TMPDIR/list" >list
	git add list 9>&-
	git diff --name-only --diff-filter=U 9>&- | while read -r f; do # the person's
		git checkout -q --theirs -- "$f" 9>&- && git add "$f" 9>&-
	done
	git commit -qm merge 9>&-
fi
text="$GL_SLICE $GL_ATTEMPT $$"
mkdir -p src/"$GL_SLICE"
echo "$text" >"src/$GL_SLICE/$GL_ATTEMPT-$$" && printf '%s\t%s\n' "$text" src >>"$OUT/ledger"
if ! grep -qx "$GL_SLICE" list; then
	if grep -qx ".${GL_SLICE#S-}" list && [ $(( $$ % 4 )) -gt 0 ]; then
		awk -v row=".${GL_SLICE#S-}" -v id="$GL_SLICE" '{ print } $0 == row { print id }' list
	else
		echo "$GL_SLICE"; cat list
	fi >"$TMPDIR/new" 9>&-
	cat "$TMPDIR/new" >list 9>&-
fi
if ! sh test.sh >"$TMPDIR/out" 9>&-; then
	ls src | cat list - | awk '!seen[$0]++' | while read -r r; do case $r in .*) echo "$r";; *) if [ -d "src/$r" ]; then echo "$r"; fi; esac; done >"$TMPDIR/tidy" 9>&-
	cat "$TMPDIR/tidy" >list
fi
sleep 0.$(( $$ % 9 + 1 )) 9>&-
if [ $(( $$ % 3 )) -gt 0 ]; then
	git add -A 9>&-
	git commit -qm "$text" 9>&-
fi
for i in 1 2 3 4 5 6 7 8 9 10; do
	if gl state set "$GL_SLICE" status=complete step=complete tests=1 9>&-; then
		echo '{"type":"result","subtype":"success","num_turns":3}'
		break
	fi
	sleep 0.2 9>&-
done
`

// harvest are the tests: every line of the list has its files and is there once, and all files are
// listed. Those of the queue note how many run at once.
const harvest = `fail=0
if [ -n "$GL_TESTS" ]; then
	for n in 1 2 3 4 5 6 7 8; do
		exec 8>>"$OUT/tests.$n"
		flock -n 8 && break
	done
	echo "$n" >>"$OUT/tests"
	sleep 0.6
fi
for r in $(grep -v '^\.' list); do [ -d "src/$r" ] && [ "$(grep -cx "$r" list)" = 1 ] || { echo "FAIL $r"; fail=1; }; done
for d in src/*/; do d=${d#src/}; d=${d%/}; [ "$d" = "*" ] || grep -qx "$d" list || { echo "FAIL $d isn't listed"; fail=1; }; done
exit $fail
`

// Whatever is killed, and when, while slices land whose edits conflict and a person takes some
// back: each lands once, and once more for each time that it was taken back, every commit of the
// target is green, and neither an agent's nor the person's work is lost. GREENLIGHT_KILLS and
// GREENLIGHT_SEED are as for TestNothingIsLost; GREENLIGHT_STORM=30m repeats it for so long. In two
// of three rounds, on average, the queue may test side by side. With GREENLIGHT_PERSON=1 the person
// works with git beside them.
func TestLandedOnce(t *testing.T) {
	testfiles.Slow(t)
	length, _ := time.ParseDuration(os.Getenv("GREENLIGHT_STORM"))
	beside := 0
	for end := time.Now().Add(length); ; {
		killRounds(t, 3, func(random *rand.Rand, counts map[string]int, kills int) int {
			defer func(before int) { beside += counts[testsBeside] - before }(counts[testsBeside])
			return landRound(t, random, counts, kills, os.Getenv("GREENLIGHT_PERSON") != "" && counts["rounds"]%4 < 3)
		})
		if t.Failed() || time.Now().After(end) {
			break
		}
	}
	if length > 0 && beside == 0 && !t.Failed() {
		t.Error("no tests ran side by side")
	}
}

// testsBeside counts runs of the queue's tests that began while others went on.
const testsBeside = "tests beside others"

// rows is a list in which each slice has a row of its own, far enough from the next.
func rows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ".%d\n.%[1]da\n.%[1]db\n.%[1]dc\n", i+1)
	}
	return b.String()
}

func landRound(t *testing.T, random *rand.Rand, counts map[string]int, kills int, beside bool) (killed int) {
	s := newTmuxSite(t, hoarded())
	parallel, list := []string{"1", "4", `"auto"`}[random.IntN(3)], ""
	if parallel != "1" {
		list = rows(hoarded())
	}
	s.put("list", list)
	s.put("test.sh", harvest)
	// the person may be elsewhere when the first slice is built, which would make that the target
	s.hoard(farmer, "true", fmt.Sprintf(`, "target": "work"}, "test": {"command": "sh test.sh", "parallel": %s}`, parallel))
	counts["rounds with test.parallel "+parallel]++
	person := s.person()
	var p *gitPerson
	if beside {
		p = newGitPerson(s, random.Uint64())
	}
	args := []string{"slice", "--watch", "--max", "3", "--agent", "scribe", "--isolation", "worktree", "--force", "--runner", "process"}
	g := s.gl(args...)
	for killed < kills && !t.Failed() {
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond) // at any instant
		if g.over() {
			if g.ProcessState.ExitCode() == 0 {
				break
			}
			s.putRight(g, p, counts)
			g = s.gl(args...)
		}
		if random.IntN(3) == 0 {
			s.takeBack(random, counts)
		}
		what := ""
		if random.IntN(2) == 0 && !g.over() && killChild(g.Process.Pid) {
			what = "kill child of gl" // a git or the tests of the lane, or a wrapper
		} else {
			what = s.killOne(random, g)
		}
		if what != "" {
			counts[what]++
			killed++
			s.findAll(what, s.anywhere)
		}
	}
	if p != nil { // who goes on until what is left is merged
		s.finished(g)
		p.finish(counts)
		g = s.gl(args...) // the person's last act, as a git reset, may have followed the run's end
	}
	for range 12 {
		s.finished(g)
		// A run that finds nothing to do is green, and warns of a target that was reset.
		if g.ProcessState.ExitCode() == 0 && !strings.Contains(g.out.String(), "gl land --reset") {
			break
		}
		s.putRight(g, p, counts)
		counts["calm rounds"]++
		g = s.gl(args...)
	}
	if <-g.done; g.ProcessState.ExitCode() != 0 {
		t.Errorf("not green after the calm:\n%s", g.out.String())
	}
	s.findAll("at the end", s.underRefs)
	landed := strings.Fields(s.git("log", "--first-parent", "--format=%(trailers:key=Slice,valueonly)", "work"))
	undone := strings.Fields(s.git("log", "--first-parent", "--format=%(trailers:key=Undone,valueonly)"))
	counts["landed"] += len(landed)
	tests, _ := os.ReadFile(filepath.Join(s.dir, "out", "tests"))
	for _, n := range strings.Fields(string(tests)) {
		if counts["tests"]++; n != "1" {
			counts[testsBeside]++
		}
	}
	counts["taken back"] += len(undone)
	times := map[string]int{}
	for _, id := range landed {
		times[id]++
	}
	for _, id := range undone {
		times[id]--
	}
	for i := 1; i <= hoarded(); i++ {
		if id := fmt.Sprint("S-", i); times[id] != 1 {
			t.Errorf("%s is there %d times; landed: %q, taken back: %q\n%s\n%s", id, times[id], landed, undone,
				s.read(".greenlight", "slices", id+".md"), s.evidence(id))
		}
	}
	for _, commit := range strings.Fields(s.git("rev-list", "--first-parent", "HEAD")) {
		dir := t.TempDir()
		cmd := exec.Command("sh", "-c", `git archive "$1" list src test.sh 2>/dev/null | tar -x -C "$2" 2>/dev/null; [ -e "$2/list" ] || exit 0; cd "$2" && sh test.sh`, "sh", commit, dir)
		cmd.Dir = s.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s isn't green: %v\n%s", commit, err, out)
		}
	}
	if p != nil {
		p.kept()
	}
	if now := s.person(); now != person {
		t.Errorf("the person's checkout was\n%s\nand is\n%s", person, now)
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "out", "twice")); err == nil {
		t.Errorf("two agents at one slice:\n%s", text)
	}
	if t.Failed() {
		t.Logf("%s\n%s\neverything as it is now is in %s", g.out.String(), s.git("log", "--graph", "--oneline", "--all"), s.keepEvidence())
	}
	return max(killed, 1)
}

// takeBack has a person take back what has landed last, for which an earlier one would conflict,
// and kills half of these commands at any instant.
func (s *site) takeBack(random *rand.Rand, counts map[string]int) {
	log, err := s.tryGit(nil, "log", "--first-parent", "--format=%(trailers:key=Slice,valueonly)", "work")
	if err != nil && strings.Contains(err.Error(), "bad object") {
		counts["pruned until the next gl"]++ // a prune that had read the refs before gl's last commit
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	landed := strings.Fields(log)
	if len(landed) == 0 {
		return
	}
	undo := s.gl("undo", landed[0], "take it back", "--force")
	if random.IntN(2) == 0 {
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		undo.kill()
		counts["kill undo"]++
	}
	<-undo.done
	if os.Getenv("STORM_LOUD") != "" {
		s.t.Logf("undo %s: %s", landed[0], undo.out.String())
	}
}

// person is what the person has begun.
func (s *site) person() string {
	s.t.Helper()
	return s.git("status", "--porcelain", "--", ":!.greenlight") + s.git("diff", "--cached", "--", ":!.greenlight") + s.git("diff", "--", ":!.greenlight") + s.read("untracked")
}

// putRight does what a person does when a run has ended that wasn't green, by what gl tells them.
func (s *site) putRight(g *glProcess, p *gitPerson, counts map[string]int) {
	s.unlock(p, counts)
	status := s.gl("status")
	<-status.done
	said := g.out.String() + status.out.String()
	if strings.Contains(said, "gl land --reset") {
		said += s.resetLane(p, counts)
	}
	for _, m := range retryFresh.FindAllStringSubmatch(said, -1) {
		counts["retry --fresh"]++
		<-s.gl("retry", "--fresh", m[1]).done
	}
	s.restoreFormer(said, p, counts)
	<-s.gl("retry", "--all-failed").done
	s.release(counts)
	if os.Getenv("STORM_LOUD") != "" {
		s.t.Logf("put right after:\n%s", said)
	}
}

// resetLane does what a person does whom gl tells that the target was reset: unless it is only for
// a moment, and they put it back where it was.
func (s *site) resetLane(p *gitPerson, counts map[string]int) (said string) {
	if p != nil {
		p.doing.Lock()
		defer p.doing.Unlock()
	}
	land := s.gl("land")
	if <-land.done; !strings.Contains(land.out.String(), "gl land --reset") {
		return land.out.String()
	}
	counts["land --reset"]++
	reset := s.gl("land", "--reset")
	<-reset.done
	return reset.out.String()
}

var (
	retryFresh = regexp.MustCompile(`gl retry --fresh (S-[0-9]+)`)
	restored   = regexp.MustCompile(`run (git -C \S+ restore .+? -- .+?)(\. Run gl land|, gl land\))`)
)

// restoreFormer does what a person does whom gl tells that files are as they were before, and who
// hasn't edited these: a git stash of theirs may have read the index before gl's merge wrote it.
func (s *site) restoreFormer(said string, p *gitPerson, counts map[string]int) {
	s.t.Helper()
	m := restored.FindStringSubmatch(said)
	if m == nil {
		return
	}
	if p != nil {
		p.git1.Lock()
		defer p.git1.Unlock()
	}
	counts["restored"]++
	if out, err := exec.Command("sh", "-c", m[1]).CombinedOutput(); err != nil {
		s.t.Logf("%s: %v: %s", m[1], err, out) // gl or the person has done it meanwhile
	}
}

// unlock does what a person does whom gl tells that the checkout's index is locked: a git was
// killed there.
func (s *site) unlock(p *gitPerson, counts map[string]int) {
	s.t.Helper()
	if p != nil { // not while a git of their own has the lock
		p.git1.Lock()
		defer p.git1.Unlock()
	}
	if err := os.Remove(filepath.Join(s.Root, ".git", "index.lock")); err == nil {
		counts["index unlocked"]++
	}
}

// finished waits for the end of gl, which comes.
func (s *site) finished(g *glProcess) {
	s.t.Helper()
	select {
	case <-g.done:
	case <-time.After(testfiles.Patience):
		status := s.gl("status")
		<-status.done
		g.Process.Signal(syscall.SIGQUIT) // shows what it waits for
		<-g.done
		s.t.Fatalf("gl didn't end:\n%s\n%s", g.out.String(), status.out.String())
	}
}
