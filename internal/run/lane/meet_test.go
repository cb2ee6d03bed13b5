package lane_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

// meanwhile commits to main as the person while the tests run for the nth time. had is what main
// had landed by then.
func (s *site) meanwhile(n int, extra, path, text string) (had func() []string) {
	s.t.Helper()
	dir := s.t.TempDir()
	hook := fmt.Sprintf(`echo >>%[1]q/runs
[ "$(wc -l <%[1]q/runs)" -eq %[2]d ] || return 0
[ -e %[1]q/had ] && return 0
git -C %[3]q log --format='%%(trailers:key=Slice,valueonly)' main >%[1]q/had
(cd %[3]q && mkdir -p "$(dirname %[4]q)" && echo %[5]q >%[4]q && git add %[4]q && git commit -qm mine -- %[4]q)
`, dir, n, s.top, path, text)
	check(s.t, os.WriteFile(filepath.Join(dir, "hook"), []byte(hook), 0o644))
	s.write("test.extra", fmt.Sprintf("meanwhile() { . %q/hook; }\nmeanwhile\n%s\n", dir, extra))
	s.git("add", "test.extra")
	s.git("commit", "-qm", "extra")
	return func() []string {
		data, err := os.ReadFile(filepath.Join(dir, "had"))
		check(s.t, err)
		return strings.Fields(string(data))
	}
}

// What has landed is delivered before the next is tested. A commit of the person's is tested with
// the next work, not by itself.
func TestDeliveredOneByOne(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	had := s.meanwhile(2, "", "mine", "mine")
	runs := s.countTests()
	recs := []*attempt.Record{s.queue("S-1", apart(t, "S-1")), s.queue("S-2", apart(t, "S-2")), s.queue("S-3", apart(t, "S-3"))}
	s.work()
	for _, r := range recs {
		s.landed(r)
	}
	if !slices.Equal(had(), []string{"S-1"}) {
		t.Errorf("while S-2 was tested main had %q", had())
	}
	if runs() != 3 {
		t.Errorf("the tests ran %d times:\n%s", runs(), strings.Join(s.said, "\n"))
	}
	if got := s.landings("main"); !slices.Equal(got, []string{"S-3", "S-2", "S-1"}) || s.read("mine") == "" {
		t.Errorf("landed: %q", got)
	}
	s.delivered()
	s.green("main")
}

// The same for several that are tested together.
func TestBatchWithTarget(t *testing.T) {
	s := newSite(t, "")
	s.meanwhile(1, "", "mine", "mine")
	runs := s.countTests()
	first := s.queue("S-1", apart(t, "S-1"))
	alone := s.queue("S-2", list(t, "S-2"))
	s.slow()
	s.work()
	s.landed(first)
	s.landed(alone)
	s.delivered() // nothing else waits, so the target's commit was tested with both
	if runs() != 2 {
		t.Errorf("the tests ran %d times:\n%s", runs(), strings.Join(s.said, "\n"))
	}
	s.green("main")
}

// Work that is red together with a commit of the person's that is red by itself isn't to blame: it
// waits.
func TestTargetRedMeanwhile(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	s.meanwhile(2, "", "src/mine", "not listed")
	a, b, c := s.queue("S-1", apart(t, "S-1")), s.queue("S-2", apart(t, "S-2")), s.queue("S-3", apart(t, "S-3"))
	s.work()
	s.landed(a)
	s.landed(b)
	s.queued(c, "fails on main as well")
	if got := s.landings("main"); !slices.Equal(got, []string{"S-2", "S-1"}) {
		t.Errorf("landed: %q", got)
	}
	s.delivered()
}

// Red together with a commit of the person's although each is green: the lane stands still, and
// says so; the next work isn't to blame, and each that waits costs no run.
func TestTargetAndLaneRed(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	s.meanwhile(2, "! { [ -e mine ] && [ -e doc/S-2 ]; }", "mine", "mine")
	runs := s.countTests()
	a, b := s.queue("S-1", apart(t, "S-1")), s.queue("S-2", apart(t, "S-2"))
	c, d := s.queue("S-3", apart(t, "S-3")), s.queue("S-4", apart(t, "S-4"))
	s.work()
	s.landed(a)
	s.landed(b)
	s.queued(c, "not on both together")
	s.queued(d, "not on both together")
	s.undelivered("not on both together", "S-2")
	// S-1; S-2; S-3 with the target, twice; the lane with the target, twice; the target. Another
	// worker doubts what names no test: twice more.
	if runs() != 9 {
		t.Errorf("the tests ran %d times:\n%s", runs(), strings.Join(s.said, "\n"))
	}
	if got := s.landings("main"); !slices.Equal(got, []string{"S-1"}) {
		t.Errorf("landed: %q", got)
	}
}

// A worker is killed while the target moves, and git prune runs after it. The next one brings the
// rest to the same end.
func TestTargetMovesKilledAnywhere(t *testing.T) {
	testfiles.Slow(t)
	killedAnywhere(t, 600, "", nil, func(t *testing.T, s *site) func(*testing.T) {
		s.meanwhile(1, "", "mine", "mine")
		recs := []*attempt.Record{s.queue("S-1", apart(t, "S-1")), s.queue("S-2", list(t, "S-2"))}
		return func(t *testing.T) {
			s.git("prune", "--expire=now")
			s.workAfterKill()
			for _, r := range recs {
				s.landed(r)
			}
			if got := s.landings("main"); !slices.Equal(got, []string{"S-2", "S-1"}) || s.read("mine") == "" {
				t.Errorf("landed: %q", got)
			}
			s.delivered()
			s.green("main")
			s.git("fsck", "--connectivity-only")
		}
	})
}

// Commits that git prune has removed are named by nothing that the lane can't do without.
func TestPruned(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	const gone = "1234567890123456789012345678901234567890"
	a := s.queue("S-1", apart(t, "S-1"))
	settler := s.project().Settler()
	_, err := settler.Proceed(t.Context(), a, func(r *attempt.Record) {
		r.Landing.Commit, r.Landing.Base, r.Landing.Step = gone, s.git("rev-parse", "main"), "landing"
	})
	check(t, err)
	s.work()
	s.landed(a)

	tip := s.laneTip()
	s.git("branch", "-D", "gl/lane/_/main")
	s.write(".greenlight/runs/lane.json", fmt.Sprintf(`{"schema_version": 1, "target": "refs/heads/main", "tip": %[1]q, "seen": %[1]q,
"undelivered": [{"slice": "S-9", "commit": %[1]q}], "dropped": [{"slice": "S-8", "commit": %[1]q}]}`, gone))
	b := s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.queued(b, "git no longer has 1234567890, where gl left the branch")
	dropped, _, err := s.lane().Reset(t.Context())
	check(t, err)
	if !slices.Equal(dropped, []string{"S-9"}) {
		t.Errorf("dropped %q", dropped)
	}
	s.work()
	s.landed(b)
	s.delivered()
	if s.git("merge-base", tip, "main") != tip {
		t.Error("what had landed is gone")
	}

	c := s.queue("S-3", apart(t, "S-3"))
	_, err = settler.Proceed(t.Context(), c, func(r *attempt.Record) { r.Place.Tree = gone })
	check(t, err)
	s.work()
	s.settled(c, outcome.Interrupted, "its work is on the branch gl/s/_/greenlight/S-3/1: gl retry S-3")
}

// lose removes an object, and all second links.
func (s *site) lose(id string) {
	s.t.Helper()
	check(s.t, os.RemoveAll(filepath.Join(s.top, ".git/gl-held")))
	check(s.t, os.Remove(filepath.Join(s.top, ".git/objects", id[:2], id[2:])))
}

// takenBack has S-1 land and be taken back.
func (s *site) takenBack() {
	s.t.Helper()
	a := s.queue("S-1", list(s.t, "S-1"))
	s.work()
	s.landed(a)
	_, err := s.lane().Undo(s.t.Context(), "S-1", "no", false)
	check(s.t, err)
}

// A slice that was taken back begins at a commit that no ref has. A git prune before it has its
// branch does no harm, and where what is held is gone, too, it begins at another one.
func TestRedoPruned(t *testing.T) {
	testfiles.Slow(t)
	for _, held := range []bool{true, false} {
		t.Run(fmt.Sprint("held ", held), func(t *testing.T) {
			s := newSite(t, "")
			s.takenBack()
			redo, err := s.lane().Reader.Redo(t.Context(), "S-1")
			check(t, err)
			repo, err := s.project().OpenWorktrees(t.Context())
			check(t, err)
			l, err := repo.Lineages.Plan(t.Context(), s.project().Key(), "S-1", redo, false)
			check(t, err)
			s.git("prune", "--expire=now")
			if !held {
				check(t, os.RemoveAll(filepath.Join(s.top, ".git/gl-held")))
			}
			base, err := s.lane().Reader.Redo(t.Context(), "S-1")
			check(t, err)
			if held != (base == "") {
				t.Fatalf("begins at %q", base)
			}
			r := s.claim(stint{id: "S-1", base: base, work: func(dir string, now *worktree.Lineage) {
				if held && now.N != l.N {
					t.Errorf("lineage %d, which was %d", now.N, l.N)
				}
				if got := gitIn(t, dir, "show", "HEAD:list"); got != "S-1" {
					t.Errorf("it begins with %q", got)
				}
			}})
			s.work()
			s.landed(r)
			s.git("gc", "-q", "--prune=now")
		})
	}
}

// A slice whose base is lost stops, and begins anew. Others land meanwhile, whatever else is
// broken.
func TestLostBase(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	s.takenBack()
	redo, err := s.lane().Reader.Redo(t.Context(), "S-1")
	check(t, err)
	a := s.claim(stint{id: "S-1", base: redo, work: func(dir string, _ *worktree.Lineage) {
		testfiles.Put(t, dir, "new", "theirs\n")
		gitIn(t, dir, "add", "new")
		gitIn(t, dir, "commit", "-qm", "new")
	}})
	b := s.queue("S-2", apart(t, "S-2"))
	c := s.queue("S-3", apart(t, "S-3"))
	tip := s.git("rev-parse", c.Place.Branch)
	s.git("branch", "gl/s/_/greenlight/S-9/1", s.git("commit-tree", "-m", "of another", "-p", tip, tip+"^{tree}"))
	s.lose(s.git("rev-parse", "gl/s/_/greenlight/S-9/1"))
	s.lose(redo)
	s.work()
	s.landed(b)
	s.landed(c)
	s.settled(a, outcome.Interrupted, "the next attempt begins anew; its files are kept: gl salvage S-1")
	check(t, s.lane().Work(t.Context()))
	redo, err = s.lane().Reader.Redo(t.Context(), "S-1")
	check(t, err)
	a = s.claim(stint{id: "S-1", base: redo, work: func(string, *worktree.Lineage) {}})
	s.work()
	s.landed(a)
	s.delivered()
	s.git("update-ref", "-d", "refs/heads/gl/s/_/greenlight/S-9/1")
	s.git("gc", "-q", "--prune=now")
}
