package lane_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

var stride = flag.Int("stride", 0, "kill before one of so many calls each, 1: before every one; 0: before a single one")

// killedAnywhere kills a worker before a call of its own that changes a file: a random one of the
// first width calls or, with -stride, every n-th one. begin prepares the site that the worker works
// on, and returns a function that checks the site afterwards. config is the project's.
func killedAnywhere(t *testing.T, width int, config string, env []string, begin func(t *testing.T, s *site) (check func(t *testing.T))) (calls int) {
	t.Helper()
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	t.Parallel()
	if *stride > 0 {
		width = *stride
	}
	for step := 1 + int(time.Now().UnixNano()/1000)%width; ; step += *stride {
		s := newSiteAt(t, filepath.Join(t.TempDir(), "p"), "", config)
		check := begin(t, s)
		killed, call := crashtest.At(t, step, append([]string{"GREENLIGHT_TEST_ROOT=" + s.root}, env...)...)
		t.Run(fmt.Sprintf("%d %s", step, call), func(t *testing.T) {
			s.t = t
			check(t)
		})
		switch {
		case !killed:
			return step
		case *stride == 0:
			return 0
		}
	}
}

// A worker is killed before any of its own calls that change a file. The next one brings the rest
// to the same end.
func TestKilledAnywhere(t *testing.T) {
	const config = `"git": {"isolation": "worktree"}, "test": {"command": "./test.sh"}`
	calls := killedAnywhere(t, 1000, config, nil, func(t *testing.T, s *site) func(*testing.T) {
		s.write("notes", "mine\n")
		s.write("staged", "mine\n")
		s.git("add", "staged")
		lands := s.queue("S-1", list(t, "S-1"))
		conflicts := s.queue("S-2", func(dir string) {
			list(t, "S-2")(dir)
			testfiles.Put(t, dir, "left", "uncommitted")
		})
		red := s.queue("S-3", func(dir string) { testfiles.Put(t, dir, "src/S-3", "not listed") })
		return func(t *testing.T) {
			s.workAfterKill()
			if final := s.landed(lands); final.Judged.Verified != plan.Green {
				t.Errorf("verified %q", final.Judged.Verified)
			}
			s.undelivered("")
			if got := s.landings("main"); !slices.Equal(got, []string{"S-1"}) {
				t.Errorf("landed: %q", got)
			}
			if got := s.settled(conflicts, outcome.Conflict, "list"); got.Landing.Why == "" || !slices.Equal(got.Landing.Paths, []string{"list"}) {
				t.Errorf("the agent in conflict is told %+v", got.Landing)
			}
			if got := s.settled(red, outcome.Red, "exit status 1"); got.Landing.Why == "" || got.Landing.Output == "" {
				t.Errorf("the agent of what is red is told %+v", got.Landing)
			}
			for _, id := range []string{"S-2", "S-3"} {
				if s.field(id, "status") == "complete" || s.field(id, "session") != "" {
					t.Errorf("%s: status %s, session %s", id, s.field(id, "status"), s.field(id, "session"))
				}
			}
			s.git("cat-file", "-e", conflicts.Place.Branch+":left")
			s.git("cat-file", "-e", red.Place.Branch+":src/S-3")
			if got := s.git("status", "--porcelain", "--", ":!.greenlight"); got != " M notes\nA  staged" {
				t.Errorf("git status:\n%s", got)
			}
			if got := s.git("diff", "--cached", "--name-only"); got != "staged" {
				t.Errorf("staged: %s", got)
			}
			s.git("fsck", "--connectivity-only")
			again := s.queue("S-2", func(dir string) {
				if got := gitIn(t, dir, "diff", "--name-only", "--diff-filter=U"); got != "list" {
					t.Errorf("in conflict: %q", got)
				}
				testfiles.Put(t, dir, "list", "S-2\nS-1\n")
			})
			s.work()
			s.landed(again)
			s.delivered()
			s.green("main")
		}
	})
	if calls > 0 && calls < 100 {
		t.Errorf("only %d steps", calls)
	}
}

// busy reports whether something of a landing is still to be done.
func (s *site) busy() bool {
	s.t.Helper()
	queue, err := s.project().Runs.Queue()
	check(s.t, err)
	return len(queue) > 0 || len(s.status().Undelivered) > 0
}
