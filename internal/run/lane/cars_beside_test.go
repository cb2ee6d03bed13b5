package lane_test

import (
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
	"greenlight/internal/workspace/worktree"
)

// parallel has the queue test so many merges side by side from now on.
func (s *site) parallel(n int) {
	s.t.Helper()
	s.write(".greenlight/config.json", strings.Replace(s.read(".greenlight/config.json"),
		`"command": "./test.sh"`, fmt.Sprintf(`"command": "./test.sh", "parallel": %d`, n), 1))
	s.git("commit", "-qam", "side by side")
}

// In each shape of git.land the trees that were tested side by side are what lands, once.
func TestCarsShapes(t *testing.T) {
	testfiles.Slow(t)
	for _, shape := range []string{"squash", "rebase"} {
		t.Run(shape, func(t *testing.T) {
			s := newSite(t, strings.Replace(sideBySide, `"git": {`, fmt.Sprintf(`"git": {"land": %q, `, shape), 1))
			log := s.logTests()
			red := s.queue("S-2", lie(t, "S-2"))
			recs := []*attempt.Record{s.queue("S-1", apart(t, "S-1")), s.queue("S-3", apart(t, "S-3")),
				s.queue("S-4", apart(t, "S-4"))}
			s.work()
			for _, r := range recs {
				if g := s.landed(r).Landing; g.As != shape {
					t.Errorf("%s landed as %q", r.ID.Slice, g.As)
				}
			}
			s.settled(red, outcome.Red, "exit status 1")
			s.ownOnly(red)
			if got := s.git("rev-list", "--merges", "main"); got != "" {
				t.Errorf("merges: %s", got)
			}
			if got := s.landings("main"); len(got) != 3 {
				t.Errorf("landed: %q", got)
			}
			// the queue's own worktree is only for the base, which the red one is compared with
			if strings.Count(log(), "/lane.") > 1 || !strings.Contains(log(), "/lane-") {
				t.Errorf("what was tested side by side was tested again:\n%s", log())
			}
			s.delivered()
			s.green("main")
		})
	}
}

// A task is a car as a slice is, and leaves the queue as one does.
func TestCarsWithTasks(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, sideBySide)
	task := func(name string) *attempt.Record {
		return s.claim(stint{id: attempt.TaskID(name), task: &attempt.Task{Name: name, Text: name, Builds: true},
			work: func(dir string, _ *worktree.Lineage) { apart(t, name)(dir) }})
	}
	s.write("test.sh", slowTest)
	s.git("commit", "-qam", "slow tests")
	s.together(3)
	a, b, c := task("one"), s.queue("S-1", apart(t, "S-1")), task("two")
	s.work()
	for _, r := range []*attempt.Record{a, b, c} {
		if got := s.get(r); got.Judged.Outcome != outcome.Done || got.Judged.Verified != plan.Green {
			t.Errorf("%s is %s: %s", r.ID.Label(), got.Judged.Outcome, got.Judged.Detail)
		}
	}
	s.delivered()
	s.green("main")
}

// On a red base nothing is tested side by side, and what waits names the base; once a person has
// mended it, all merges.
func TestCarsOnARedBase(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, sideBySide)
	s.write("list", "missing\n")
	s.git("commit", "-qam", "break it")
	recs := s.queueSeveral(3, apart)
	s.work()
	for _, r := range recs {
		s.queued(r, "fails on main as well")
	}
	s.write("src/missing", "here\n")
	s.git("add", "src")
	s.git("commit", "-qm", "mend it")
	s.work()
	for _, r := range recs {
		s.landed(r)
	}
	s.delivered()
}

// What is taken back while others wait stays out: those that are tested next are merged without it.
func TestCarsAfterUndo(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, sideBySide)
	first, second := s.queue("S-1", apart(t, "S-1")), s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.landed(first)
	s.landed(second)
	recs := []*attempt.Record{s.queue("S-3", apart(t, "S-3")), s.queue("S-4", apart(t, "S-4"))}
	_, err := s.lane().Undo(t.Context(), "S-1", "no", false)
	check(t, err)
	s.work()
	for _, r := range recs {
		s.landed(r)
	}
	s.delivered()
	s.green("main")
	if files := strings.Fields(s.git("ls-tree", "--name-only", "main", "doc/")); !slices.Equal(files,
		[]string{"doc/S-2", "doc/S-3", "doc/S-4"}) {
		t.Errorf("main has %q", files)
	}
}

// A queue that another gl has begun, an older one or one with a note that this one can't read, goes
// on.
func TestCarsGoOn(t *testing.T) {
	testfiles.Slow(t)
	for name, note := range map[string]string{
		"an older gl": "",
		"not JSON":    "{",
		"a newer gl":  `{"schema_version": 2, "tests": "none"}`,
		"anything":    `{"schema_version": 1, "width": {"command": "./test.sh", "at": "2999-01-01T00:00:00Z", "now": -7, "best": 900, "runs": {"900": []}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "")
			s.parallel(1)
			first := s.queue("S-1", apart(t, "S-1"))
			s.work()
			s.landed(first)
			recs := []*attempt.Record{s.queue("S-2", apart(t, "S-2")), s.queue("S-3", apart(t, "S-3"))}
			s.write(".greenlight/config.json", strings.Replace(s.read(".greenlight/config.json"),
				`"parallel": 1`, `"parallel": "auto"`, 1))
			if note != "" {
				s.write(".greenlight/runs/train.json", note)
			}
			s.work()
			for _, r := range recs {
				s.landed(r)
			}
			s.delivered()
		})
	}
}

// A worktree for a car was set up for what is merged: a car whose manifests differ has setup run
// again there, the first one, too.
func TestCarsSetUpAgain(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, strings.Replace(sideBySide, `"git": {`, `"git": {"setup": ["sh", "-c", "cp package.json installed"], `, 1))
	s.write(".gitignore", "installed\n")
	s.write("package.json", "{}\n")
	s.write("test.extra", "cmp package.json installed || exit 1\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "a manifest")
	needs := s.queue("S-1", func(dir string) {
		testfiles.Put(t, dir, "package.json", `{"dependencies": {}}`)
		gitIn(t, dir, "commit", "-qam", "S-1")
	})
	other := s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.landed(needs)
	s.landed(other)
	s.delivered()
}

// Until worktrees for more tests at once are set up, what waits is tested in the queue's own. Here
// setup needs a run of the tests to get on, and the second run needs all of setup.
func TestCarsPrepared(t *testing.T) {
	testfiles.Slow(t)
	out := t.TempDir()
	await := func(what string) string {
		return fmt.Sprintf("i=0; until %s; do sleep 0.05; i=$((i+1)); [ $i -lt 3600 ] || exit 1; done", what)
	}
	setup := fmt.Sprintf("case $PWD in *lane-*) %s; echo $PWD >>%s/setups;; esac", await("[ -e "+out+"/first ]"), out)
	s := newSite(t, strings.Replace(measured, `"git": {`, fmt.Sprintf(`"git": {"setup": ["sh", "-c", %q], `, setup), 1))
	s.write("test.extra", fmt.Sprintf("echo $PWD >>%[1]s/tests\nif [ -e %[1]s/first ]; then %[2]s; fi\ntouch %[1]s/first\n",
		out, await(fmt.Sprintf("[ $(cat %s/setups 2>/dev/null | wc -l) -ge 4 ]", out))))
	s.git("add", "-A")
	s.git("commit", "-qm", "tests that note where they run")
	s.write(".greenlight/runs/train.json", fmt.Sprintf(`{"schema_version": 1, "width":
		{"command": "./test.sh", "at": %q, "now": 4, "best": 4}}`, time.Now().Format(time.RFC3339)))
	recs := s.queueSeveral(5, apart)
	s.work()
	for _, r := range recs {
		s.landed(r)
	}
	s.delivered()
	ran, err := os.ReadFile(filepath.Join(out, "tests"))
	check(t, err)
	if first, _, _ := strings.Cut(string(ran), "\n"); strings.Contains(first, "/lane-") || !strings.Contains(string(ran), "/lane-") {
		t.Errorf("the tests ran in\n%s", ran)
	}
}
