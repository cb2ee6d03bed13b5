package lane_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/state/journal"
)

// sideBySide is a project whose queue tests four merges at once.
const sideBySide = `"git": {"isolation": "worktree", "commit_state": false}, "test": {"command": "./test.sh", "parallel": 4}`

// slowTest is testScript that waits until TEST_TOGETHER runs have begun, each with a file in
// TEST_RUNNING. It waits at least three minutes, and longer on a busy machine.
var slowTest = strings.Replace(testScript, "fail=0\n", `if [ -n "$TEST_RUNNING" ]; then
	touch "$TEST_RUNNING/$$"
	i=0
	while [ "$(ls "$TEST_RUNNING" | wc -l)" -lt "$TEST_TOGETHER" ] && [ $i -lt 3600 ]; do sleep 0.05; i=$((i+1)); done
	[ $i -lt 3600 ] || { echo "too few run at once"; exit 1; }
fi
fail=0
`, 1)

// together has no run of the tests end before n have begun.
func (s *site) together(n int) (dir string) {
	s.t.Helper()
	dir = s.t.TempDir()
	s.env = append(s.env, "TEST_RUNNING="+dir, fmt.Sprint("TEST_TOGETHER=", n))
	return dir
}

// newCars is a site whose queue tests side by side.
func newCars(t *testing.T) *site {
	t.Helper()
	s := newSite(t, sideBySide)
	s.write("test.sh", slowTest)
	check(t, os.Chmod(filepath.Join(s.root, "test.sh"), 0o755))
	s.git("commit", "-qam", "slow tests")
	return s
}

// What waits is tested side by side, each on top of those ahead of it, and each of the target's
// first-parent commits is a tested tree. One run for each is enough.
func TestCars(t *testing.T) {
	s := newCars(t)
	runs := s.countTests()
	s.together(4)
	recs := s.queueSeveral(4, apart)
	s.work()
	for _, r := range recs {
		if final := s.landed(r); final.Judged.Verified != plan.Green || final.Landing.Batch != nil || final.Landing.Train != nil {
			t.Errorf("%s: verified %q, %+v", r.ID.Slice, final.Judged.Verified, final.Landing)
		}
	}
	if got := s.landings("main"); !slices.Equal(got, []string{"S-4", "S-3", "S-2", "S-1"}) {
		t.Errorf("merged: %q", got)
	}
	if runs() != 4 {
		t.Errorf("the tests ran %d times:\n%s", runs(), strings.Join(s.said, "\n"))
	}
	s.delivered()
	s.green("main")
}

// A red one is set aside, those behind it go on without it, and it is sent back after a second run,
// with nothing in its branch that isn't merged.
func TestCarsRed(t *testing.T) {
	testfiles.Slow(t)
	s := newCars(t)
	first := s.queue("S-1", apart(t, "S-1"))
	red := s.queue("S-2", lie(t, "S-2"))
	last := s.queue("S-3", apart(t, "S-3"))
	s.work()
	s.landed(first)
	s.landed(last)
	final := s.settled(red, outcome.Red, "exit status 1")
	if final.Landing.Why == "" || final.Landing.Output == "" {
		t.Errorf("its agent is told %+v", final.Landing)
	}
	s.ownOnly(red)
	s.delivered()
	s.green("main")
}

// ownOnly checks that a slice's branch has nothing of others that isn't merged.
func (s *site) ownOnly(r *attempt.Record) {
	s.t.Helper()
	for _, c := range strings.Fields(s.git("rev-list", "--merges", r.Place.Branch)) {
		for _, p := range strings.Fields(s.git("log", "-1", "--format=%P", c))[1:] {
			s.git("merge-base", "--is-ancestor", p, s.laneTip())
		}
	}
}

// What conflicts with one ahead is set aside, and goes back to its agent once that has merged.
func TestCarsConflict(t *testing.T) {
	testfiles.Slow(t)
	s := newCars(t)
	a, b := s.queue("S-1", list(t, "S-1")), s.queue("S-2", list(t, "S-2"))
	c := s.queue("S-3", apart(t, "S-3"))
	s.work()
	s.landed(a)
	s.landed(c)
	s.settled(b, outcome.Conflict, "list")
	s.delivered()
	s.green("main")
	aside := s.events(journal.SetAside)
	if len(aside) != 1 || aside[0].Slice != "S-2" || aside[0].Outcome != "conflict" || !strings.Contains(aside[0].Reason, "S-1") {
		t.Errorf("the journal has %+v", aside)
	}
}

// events returns what the journal has of a kind.
func (s *site) events(kind journal.Kind) (list []journal.Event) {
	s.t.Helper()
	for e, err := range s.project().Runs.Journal().ReaderOf(time.Time{}, kind).All() {
		check(s.t, err)
		list = append(list, e)
	}
	return list
}

// What conflicts with, or is red on top of, one that fails itself merges.
func TestCarsBehindARedOne(t *testing.T) {
	testfiles.Slow(t)
	s := newCars(t)
	red := s.queue("S-1", func(dir string) {
		list(t, "S-1")(dir)
		testfiles.Put(t, dir, "src/other", "not listed")
	})
	b := s.queue("S-2", list(t, "S-2"))
	s.work()
	s.settled(red, outcome.Red, "exit status 1")
	s.landed(b)
	s.delivered()
	s.green("main")
}

// Work that removes a test awaits a person, after it was tested on what is merged; nothing is built
// on it.
func TestCarsAsk(t *testing.T) {
	s := newCars(t)
	s.write("a_test.go", "package a\n\nfunc TestA() {}\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "a test")
	asks := s.queue("S-1", func(dir string) {
		check(t, os.Remove(filepath.Join(dir, "a_test.go")))
		gitIn(t, dir, "commit", "-qam", "less")
	})
	b := s.queue("S-2", apart(t, "S-2"))
	s.work()
	final := s.settled(asks, outcome.Waiting, "")
	if !final.Judged.Verdict.Green() {
		t.Errorf("verdict %+v", final.Judged.Verdict)
	}
	s.landed(b)
	s.delivered()
}

// The person's own commits become a car, and are delivered with what is merged.
func TestCarsWithTarget(t *testing.T) {
	testfiles.Slow(t)
	s := newCars(t)
	a := s.queue("S-1", apart(t, "S-1"))
	s.work()
	s.landed(a)
	b, c := s.queue("S-2", apart(t, "S-2")), s.queue("S-3", apart(t, "S-3"))
	running := s.together(3)
	done := make(chan error, 1)
	go func() { done <- worker(t.Context(), s.root, s.env, nil) }()
	// the tests may begin before the record says so
	testfiles.Until(t, "S-3 in the second place of the train, and both being tested", func() bool {
		entries, err := os.ReadDir(running)
		g := s.get(c).Landing
		return err == nil && len(entries) == 2 && g.Text() == "testing on top of S-2" &&
			g.Train != nil && g.Train.Position == 2
	})
	s.write("mine", "1\n")
	s.git("add", "mine")
	s.git("commit", "-qm", "mine")
	check(t, <-done)
	s.landed(b)
	s.landed(c)
	s.work()
	s.delivered()
	s.green("main")
	s.git("cat-file", "-e", "main:mine")
}

// A worker that tests side by side is killed before any of its own calls that change a file. The
// next one brings the rest to the same end.
func TestCarsKilledAnywhere(t *testing.T) {
	testfiles.Slow(t)
	killedAnywhere(t, 900, sideBySide, nil, func(t *testing.T, s *site) func(*testing.T) {
		recs := []*attempt.Record{s.queue("S-1", list(t, "S-1")), s.queue("S-2", apart(t, "S-2")),
			s.queue("S-3", lie(t, "S-3")), s.queue("S-4", list(t, "S-4"))}
		return func(t *testing.T) {
			s.workAfterKill()
			s.landed(recs[0])
			s.landed(recs[1])
			s.settled(recs[2], outcome.Red, "exit status 1")
			s.ownOnly(recs[2])
			s.settled(recs[3], outcome.Conflict, "list")
			if got := s.landings("main"); !slices.Equal(got, []string{"S-2", "S-1"}) && !slices.Equal(got, []string{"S-1", "S-2"}) {
				t.Errorf("merged: %q", got)
			}
			s.delivered()
			s.green("main")
			s.git("fsck", "--connectivity-only")
		}
	})
}

// measured is a project whose queue measures how many tests at once are best.
const measured = `"git": {"isolation": "worktree", "commit_state": false}, "parallel": {"max": 8}, "test": {"command": "./test.sh", "parallel": "auto"}`

// measuredBefore has an earlier worker have found that four at once are best, and made worktrees
// for them. The arguments tell of runs beside others, as train.Measured's Vanished.
func (s *site) measuredBefore(vanished ...bool) {
	s.t.Helper()
	list, err := json.Marshal(vanished)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(".greenlight/runs/train.json", fmt.Sprintf(`{"schema_version": 1,
		"manifests": {"1": "an earlier one's", "2": "an earlier one's", "3": "an earlier one's", "4": "an earlier one's"}, "width":
		{"command": "./test.sh", "at": %q, "now": 4, "best": 4, "vanished": %s}}`,
		time.Now().Format(time.RFC3339), list))
}

// heard reports whether the queue has told a line that contains the text.
func (s *site) heard(text string) bool {
	return slices.ContainsFunc(s.said, func(line string) bool { return strings.Contains(line, text) })
}

// needsPort is for test.extra: tests that fail if others run at the same time. Each run of a tree
// that hasn't failed yet waits for another run until two failures have vanished, so that which runs
// meet isn't left to chance. The queue ends a failed run's neighbors to repeat it alone, perhaps
// after they have failed, too, and before it has seen that: only the first failure is sure to
// count. The first %q is a directory of theirs, the second one runs/train.json.
const needsPort = `tree=$(git rev-parse HEAD^{tree})
cd %q
exec 9>at.$$
flock 9
vanished() { awk '/"vanished"/,/]/' %q 2>/dev/null | grep -c true; }
met() {
	for other in at.*; do
		[ $other = at.$$ ] || flock -n $other true || { : > met.${other#at.}; : > met.$$; }
	done
	[ -e met.$$ ]
}
i=0
until met || [ -e failed.$tree ] || [ "$(vanished)" -ge 2 ] || [ $i -ge 200 ]; do # none comes where the queue waits for this one
	sleep 0.05 9>&-
	i=$((i+1))
done
if [ -e met.$$ ]; then
	: > failed.$tree
	echo in use
	exit 1
fi
rm at.$$
`

// Tests that share a port fail side by side and pass alone: nothing goes back to its agent for it,
// and gl says what to set, and remembers it.
func TestCarsThatShare(t *testing.T) {
	testfiles.Slow(t)
	for name, config := range map[string]string{"auto": measured, "4": sideBySide} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, config)
			s.measuredBefore(true) // a second failure that vanishes is one too many
			s.write("test.extra", fmt.Sprintf(needsPort, t.TempDir(),
				filepath.Join(s.root, ".greenlight/runs/train.json")))
			s.git("add", "-A")
			s.git("commit", "-qm", "tests that need a port")
			recs := s.queueSeveral(5, apart)
			s.work()
			for _, r := range recs {
				if final := s.landed(r); final.Judged.Verified != plan.Green {
					t.Errorf("%s: verified %q", r.ID.Slice, final.Judged.Verified)
				}
			}
			if !s.heard("as if they shared a port or a database") || !s.heard("gl settings set test.parallel 1") {
				t.Errorf("gl said:\n%s", strings.Join(s.said, "\n"))
			}
			if config == measured && !lane.TestsShare(s.project()) {
				t.Error("the next worker doesn't know of it")
			}
			s.delivered()
		})
	}
}

// slowBesideOthers is for test.extra: tests that reach their limit if others run at the same time.
// The first run waits for another one, but not up to its own limit.
const slowBesideOthers = `cd %q
exec 8>>busy
flock -n 8 || { : >met; exec sleep 600; }
i=0
until [ -e met ] || [ $i -ge 40 ]; do sleep 0.05; i=$((i+1)); done
`

// Tests that reach their limit beside others are repeated alone before that counts.
func TestCarsTooSlowTogether(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, strings.Replace(measured, `"test": {`, `"test": {"timeout_minutes": 0.1, `, 1))
	s.measuredBefore()
	s.write("test.extra", fmt.Sprintf(slowBesideOthers, t.TempDir()))
	s.git("add", "-A")
	s.git("commit", "-qm", "tests that take long beside others")
	recs := s.queueSeveral(2, apart)
	s.work()
	for _, r := range recs {
		s.landed(r)
	}
	s.delivered()
}

// A width that is measured merges everything, too, and says once that tests run side by side.
func TestCarsMeasured(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, measured)
	s.measuredBefore()
	a, red := s.queue("S-1", apart(t, "S-1")), s.queue("S-2", lie(t, "S-2"))
	b, c := s.queue("S-3", apart(t, "S-3")), s.queue("S-4", apart(t, "S-4"))
	s.work()
	for _, r := range []*attempt.Record{a, b, c} {
		s.landed(r)
	}
	s.settled(red, outcome.Red, "exit status 1")
	s.ownOnly(red)
	s.delivered()
	s.green("main")
	if !s.heard("testing merges side by side") {
		t.Errorf("gl said:\n%s", strings.Join(s.said, "\n"))
	}
}

// With nothing else in the queue or at work, one entry is tested as without the setting: in the
// queue's own worktree.
func TestCarsOfOne(t *testing.T) {
	s := newSite(t, measured)
	s.measuredBefore()
	r := s.queue("S-1", apart(t, "S-1"))
	s.work()
	s.landed(r)
	if cars, _ := filepath.Glob(filepath.Join(s.root+".gl", "*", "lane-*")); len(cars) > 0 {
		t.Errorf("worktrees %q", cars)
	}
	s.delivered()
}
