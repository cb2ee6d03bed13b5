package lane_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// Work that passes lands: it is in the target, complete and verified, with the proof in the commit.
// Its worktree is removed, its branch stays.
func TestGreenLands(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	if got := s.field("S-1", "status"); got != "verifying" {
		t.Errorf("queued, the slice says %q", got)
	}
	s.work()
	final := s.landed(r)
	if final.Judged.Verified != plan.Green || s.field("S-1", "verified") != "true" || s.field("S-1", "step") != "complete" {
		t.Errorf("verified %q, the file says %q, step %q", final.Judged.Verified, s.field("S-1", "verified"), s.field("S-1", "step"))
	}
	s.delivered()
	if body := s.git("log", "-1", "--format=%B", "main"); !strings.HasPrefix(body, "Land S-1: Slice 1\n\nSlice: S-1\nAttempt: 1\nVerified: ./test.sh, exit 0, ") {
		t.Errorf("the commit says:\n%s", body)
	}
	if got := s.read("list"); got != "S-1\n" {
		t.Errorf("the checkout has %q", got)
	}
	if got := s.git("status", "--porcelain", "--", "list", "src"); got != "" {
		t.Errorf("git status:\n%s", got)
	}
	if dirs, _ := filepath.Glob(s.top + ".gl/*/*/S-1*"); len(dirs) > 0 {
		t.Errorf("left: %q", dirs)
	}
	if s.git("for-each-ref", final.Place.Branch) == "" {
		t.Error("its branch is gone")
	}
	s.green("main")
}

// Several whose work doesn't overlap land one after the other in one turn, and no tree is tested
// twice.
func TestSeveralLand(t *testing.T) {
	s := newSite(t, "")
	runs := s.countTests()
	recs := s.queueSeveral(3, apart)
	s.work()
	for _, r := range recs {
		s.landed(r)
	}
	if got := s.landings("main"); !slices.Equal(got, []string{"S-3", "S-2", "S-1"}) {
		t.Errorf("landed: %q", got)
	}
	s.delivered()
	if runs() != 3 {
		t.Errorf("the tests ran %d times", runs())
	}
	s.work() // nothing is left to do
	if runs() != 3 {
		t.Error("tests ran again")
	}
}

// Red goes on once in its lineage, with the output; then a person is needed.
func TestRed(t *testing.T) {
	s := newSite(t, "")
	lie := func(dir string) { testfiles.Put(t, dir, "list", "S-1\n") }
	r := s.queue("S-1", lie)
	s.work()
	final := s.settled(r, outcome.Red, "tests: exit status 1")
	if !final.PlanOutcome().Continue || s.class("S-1") != plan.Available {
		t.Errorf("it doesn't go on: %s", s.class("S-1"))
	}
	if s.field("S-1", "session") != "" || len(s.landings("main")) > 0 {
		t.Error("it has a session, or has landed")
	}
	again := s.queue("S-1", func(dir string) {})
	if c := again.Talk.Continues; c == nil || c.Mends != outcome.Red || !strings.Contains(c.Output, "FAIL S-1") || again.Place.Lineage != r.Place.Lineage {
		t.Errorf("it continues with %+v", c)
	}
	runs := s.countTests()
	s.work()
	s.settled(again, outcome.Red, "exit status 1")
	if c := s.class("S-1"); c != plan.Red {
		t.Errorf("class %s", c)
	}
	if n := runs(); n != 2 { // no test is known to have failed: it may have been the machine; and what is red may be flaky
		t.Errorf("tested %d times, want 2", n)
	}
	third := s.queue("S-1", func(dir string) { testfiles.Put(t, dir, "src/S-1", "1\n") })
	s.work()
	s.landed(third)
	s.green("main")
}

// Tests that fail on the target, too: without names, the work waits; sent back, it is red.
func TestBaseRed(t *testing.T) {
	s := newSite(t, "")
	s.write("list", "missing\n")
	s.git("commit", "-qam", "break it")
	r := s.queue("S-1", apart(t, "S-1"))
	red, err := s.lane().TestBase(t.Context())
	check(t, err)
	if !strings.HasPrefix(red, "the tests fail on main (") || !strings.HasSuffix(red, "): their output doesn't name the failures, so a slice is merged only if all tests pass with it") {
		t.Errorf("the base: %q", red)
	}
	s.work()
	s.queued(r, "fails on main as well")
	s.work()
	s.queued(r, "fails on main as well")
	s.write("src/missing", "here\n")
	s.git("add", "src")
	s.git("commit", "-qm", "mend it")
	s.work()
	s.landed(r)
	s.delivered()
}

func TestBaseRedIsSentBack(t *testing.T) {
	s := newSite(t, "")
	s.write("list", "missing\n")
	s.git("commit", "-qam", "break it")
	runs := s.countTests()
	r, alike := s.queue("S-1", func(dir string) {
		testfiles.Put(t, dir, "list", "missing\ngone\n")
	}), s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.queued(r, "base red")
	s.queued(alike, "the test command fails on main as well (exit status 1: FAIL missing); fix main")
	if n := runs(); n != 6 { // two for each of the slices, and two for the target
		t.Errorf("tests ran %d times", n)
	}
	check(t, s.lane().SendBack(t.Context()))
	s.settled(r, outcome.Red, "they fail without it, too")
	s.queued(alike, "the test command fails on main as well") // no attempt is spent on it
}

// The queue makes a deleted worktree again without setting it up: the next attempt does that.
func TestDeletedWorktreeIsntSetUp(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", func(dir string) {
		testfiles.Put(t, dir, "list", "missing\n")
		gitIn(t, dir, "commit", "-qam", "S-1")
	})
	check(t, os.RemoveAll(r.Job.Dir))
	s.work()
	s.settled(r, outcome.Red, "")
	repo, err := s.project().Worktrees(t.Context())
	check(t, err)
	calls := 0
	l, err := repo.Lineages.Get(r.ID.System, r.ID.Slice)
	check(t, err)
	hold, err := repo.Make(t.Context(), l, worktree.Making{Command: "x", Setup: func(context.Context, string, []*os.File) error { calls++; return nil }})
	check(t, err)
	check(t, hold.Release())
	if calls != 1 || l.Phase != worktree.Ready {
		t.Errorf("setup ran %d times, and the worktree is %s", calls, l.Phase)
	}
}

// Tests that fail on the target, too, and have names: work that adds no failure lands, and says so.
func TestBaseRedByNames(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, `"test": {"command": "sh tap.sh"}`)
	s.write("tap.sh", "set -e\n. ./source.sh\nn=0 bad=0\nfor f in t/*; do n=$((n+1))\n  if sh $f; then echo \"ok $n - $f\"; else echo \"not ok $n - $f\"; bad=1; fi\ndone\necho 1..$n\nexit $bad\n")
	s.write("source.sh", "")
	s.write("t/old", "exit 1")
	s.write("t/other", "exit 0")
	s.git("add", "-A")
	s.git("commit", "-qm", "break it")
	red, err := s.lane().TestBase(t.Context())
	check(t, err)
	if !strings.HasSuffix(red, "): failures that are there without a slice's work aren't held against it") {
		t.Errorf("the base: %q", red)
	}
	good := s.queue("S-1", apart(t, "S-1"))
	bad := s.queue("S-2", func(dir string) { testfiles.Put(t, dir, "t/new", "exit 1") })
	broken := s.queue("S-3", func(dir string) { testfiles.Put(t, dir, "source.sh", "(") })
	s.work()
	if final := s.landed(good); final.Judged.Verified != plan.KnownRed || s.field("S-1", "verified") != string(plan.KnownRed) {
		t.Errorf("verified %q", final.Judged.Verified)
	}
	s.settled(bad, outcome.Red, "t/new")
	if got := s.get(broken); got.Judged.Outcome == outcome.Done {
		t.Errorf("what doesn't run at all landed: %s", got.Judged.Detail)
	}
}

// A conflict is left in the slice's worktree for its agent, once. Others in the same paths wait
// meanwhile.
func TestConflict(t *testing.T) {
	s := newSite(t, "")
	a, b, c := s.queue("S-1", list(t, "S-1")), s.queue("S-2", list(t, "S-2")), s.queue("S-3", list(t, "S-3"))
	s.work()
	s.landed(a)
	final := s.settled(b, outcome.Conflict, "list")
	if final.Landing.Why == "" || !slices.Equal(final.Landing.Paths, []string{"list"}) {
		t.Errorf("the record says %+v", final.Landing)
	}
	s.queued(c, "behind S-2")
	resolve := func(dir string) {
		if got := gitIn(t, dir, "diff", "--name-only", "--diff-filter=U"); got != "list" {
			t.Errorf("in conflict: %q", got)
		}
		text, err := os.ReadFile(filepath.Join(dir, "list"))
		check(t, err)
		if !strings.Contains(string(text), "<<<<<<<") {
			t.Errorf("no marks: %s", text)
		}
		testfiles.Put(t, dir, "list", "S-2\nS-1\n")
	}
	again := s.queue("S-2", resolve)
	s.work()
	s.landed(again)
	third := s.settled(c, outcome.Conflict, "list")
	if !third.PlanOutcome().Continue {
		t.Error("it isn't told")
	}
	s.landed(again)
	last := s.queue("S-3", func(dir string) { testfiles.Put(t, dir, "list", "S-3\nS-2\nS-1\n") })
	s.work()
	s.landed(last)
	s.delivered()
	s.green("main")
	if got := s.landings("main"); !slices.Equal(got, []string{"S-3", "S-2", "S-1"}) {
		t.Errorf("landed: %q", got)
	}
}

// An attempt that is to resolve a conflict may be blocked before it begins, because what it needs
// is taken back. Then the others don't wait for it, since what it needs might be among them.
func TestConflictBlocked(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	s.set("S-2", "deps", "S-1")
	a, b, c := s.queue("S-1", list(t, "S-1")), s.queue("S-2", list(t, "S-2")), s.queue("S-3", list(t, "S-3"))
	s.work()
	s.landed(a)
	s.settled(b, outcome.Conflict, "list")
	s.queued(c, "behind S-2")
	_, err := s.lane().Undo(t.Context(), "S-1", "no", false)
	check(t, err)
	s.work()
	s.landed(c)
	again := s.queue("S-1", func(dir string) { testfiles.Put(t, dir, "list", "S-1\nS-3\n") })
	s.work()
	if got := s.get(again); got.Life.Phase != plan.Settled {
		t.Errorf("S-1 waits: %s", got.Landing.Text())
	}
}

// An agent that resolves nothing has its marks found, however it calls the slice complete.
func TestConflictLeft(t *testing.T) {
	testfiles.Slow(t)
	for name, leave := range map[string]func(dir string){
		"as it is":  func(string) {},
		"committed": func(dir string) { gitIn(t, dir, "commit", "-qam", "resolved") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, `"test": {"command": "true"}`)
			edit := func(text string) func(string) {
				return func(dir string) {
					testfiles.Put(t, dir, "notes", text)
					gitIn(t, dir, "commit", "-qam", text)
				}
			}
			a, b := s.queue("S-1", edit("a\n")), s.queue("S-2", edit("b\n"))
			s.work()
			s.landed(a)
			s.settled(b, outcome.Conflict, "notes")
			again := s.queue("S-2", leave)
			s.work()
			if got := s.get(again); got.Life.Phase != plan.Settled || got.Judged.Outcome != outcome.Conflict && got.Judged.Outcome != outcome.Red {
				t.Errorf("%s %s: %s", got.Life.Phase, got.Judged.Outcome, got.Judged.Detail)
			}
			// A second conflict is for a person; that the marks are there is said to the agent
			// once.
			if c := s.class("S-2"); c != plan.Conflict && (c != plan.Available || s.get(again).Judged.Outcome != outcome.Red) {
				t.Errorf("class %s", c)
			}
			if got := s.read("notes"); got != "a\n" {
				t.Errorf("the target has %q", got)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", nil)
	s.work()
	s.settled(r, outcome.Empty, "")
	if c := s.class("S-1"); c == plan.Done || c == plan.Available {
		t.Errorf("class %s", c)
	}
}

func TestUnsaved(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	s.change(r, func(r *attempt.Record) { r.Place.Unsaved = "big: too big" })
	s.work()
	s.settled(r, outcome.Waiting, "too big")
	if len(s.landings("main")) > 0 {
		t.Error("landed in part")
	}
}

func TestNoCommand(t *testing.T) {
	s := newSite(t, `"git": {"isolation": "worktree", "commit_state": false}`)
	r := s.queue("S-1", list(t, "S-1"))
	s.work()
	if final := s.landed(r); final.Judged.Verified != plan.Unverified {
		t.Errorf("verified %q", final.Judged.Verified)
	}
	s.delivered()
}

func TestTimedOut(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, `"test": {"command": "./test.sh", "timeout_minutes": 0.01}`)
	r := s.queue("S-1", func(dir string) { testfiles.Put(t, dir, "test.extra", "sleep 1000") })
	s.work()
	s.settled(r, outcome.Red, "not done after")
}

func TestFlaky(t *testing.T) {
	s := newSite(t, "")
	mark := filepath.Join(t.TempDir(), "ran")
	r := s.queue("S-1", func(dir string) {
		testfiles.Put(t, dir, "test.extra", "[ -f "+mark+" ] || { touch "+mark+"; exit 1; }")
	})
	s.work()
	if final := s.landed(r); final.Judged.Verdict == nil || len(final.Judged.Verdict.Flaky) == 0 {
		t.Errorf("nothing is said of it: %+v", final.Judged.Verdict)
	}
}

// What one test run leaves behind doesn't affect the next, whether git ignores it or not.
func TestLeftovers(t *testing.T) {
	s := newSite(t, "")
	a := s.queue("S-1", func(dir string) {
		testfiles.Put(t, dir, "test.extra", "mkdir -p out.ignored/d nr; touch nr/x out.ignored/d/x")
	})
	s.work()
	s.landed(a)
	b := s.queue("S-2", func(dir string) { testfiles.Put(t, dir, "test.extra", "[ ! -e out.ignored ] && [ ! -e nr ]") })
	s.work()
	s.landed(b)
}

// Setup runs again where what it reads has changed.
func TestSetupAgain(t *testing.T) {
	count := filepath.Join(t.TempDir(), "setups")
	s := newSite(t, fmt.Sprintf(`"git": {"isolation": "worktree", "commit_state": false, "setup": ["sh", "-c", "case $PWD in *lane*) echo x >>%s;; esac"]}, "test": {"command": "./test.sh"}`, count))
	setups := func() int { data, _ := os.ReadFile(count); return strings.Count(string(data), "x") }
	a := s.queue("S-1", apart(t, "S-1"))
	s.work()
	s.landed(a)
	before := setups()
	if before == 0 {
		t.Fatal("never set up")
	}
	b := s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.landed(b)
	if setups() != before {
		t.Error("set up again for nothing")
	}
	c := s.queue("S-3", func(dir string) { testfiles.Put(t, dir, "go.mod", "module x\n") })
	s.work()
	s.landed(c)
	if setups() != before+1 {
		t.Errorf("set up %d times, then %d", before, setups())
	}
}

// State on the slice's branch never lands.
func TestStateStays(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", func(dir string) {
		list(t, "S-1")(dir)
		testfiles.Put(t, dir, ".greenlight/slices/S-2.md", "broken")
		testfiles.Put(t, dir, ".greenlight/slices/S-9.md", "new")
		gitIn(t, dir, "rm", "-q", ".greenlight/slices/S-3.md")
		gitIn(t, dir, "add", "-A", ".")
		gitIn(t, dir, "commit", "-qm", "state")
	})
	s.work()
	s.landed(r)
	s.delivered()
	if got := s.git("diff", "--name-only", "main~1", "main", "--", ".greenlight"); got != "" {
		t.Errorf("state has landed: %s", got)
	}
	only := s.queue("S-2", func(dir string) { testfiles.Put(t, dir, ".greenlight/slices/S-2.md", "broken") })
	s.work()
	s.settled(only, outcome.Empty, "")
}

// A person who changes a queued slice through gl takes it out of the queue.
func TestChangedWhileQueued(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	pr := s.project()
	check(t, pr.Tracker.Do(t.Context(), func(tx tracker.Tx) error {
		return pr.Runs.Within(tx.Held()).MarkTaken("S-1", r.ID.N)
	}))
	s.set("S-1", "status", "pending", "session", "")
	s.work()
	s.settled(r, outcome.Interrupted, "a person has changed the slice")
	if got := s.field("S-1", "status"); got != "pending" {
		t.Errorf("the slice says %q", got)
	}
	if len(s.landings("main")) > 0 {
		t.Error("it has landed")
	}
	s.git("cat-file", "-e", r.Place.Branch+":src/S-1")
}

// git stash and git checkout bring the file of a queued slice back as it was, remove it, or leave
// conflict marks in it. The slice lands all the same, once its file can be read.
func TestRevertedWhileQueued(t *testing.T) {
	testfiles.Slow(t)
	for name, c := range map[string]struct {
		revert func(s *site)
		waits  bool
	}{
		"pending":    {func(s *site) { s.set("S-1", "status", "pending", "step", "none", "session", "") }, false},
		"older":      {func(s *site) { s.set("S-1", "status", "in_progress", "step", "tests", "session", "another") }, false},
		"called so":  {func(s *site) { s.set("S-1", "status", "complete", "step", "complete") }, false},
		"gone":       {func(s *site) { check(s.t, os.Remove(filepath.Join(s.root, ".greenlight/slices/S-1.md"))) }, true},
		"with marks": {func(s *site) { s.write(".greenlight/slices/S-1.md", "---\nid: S-1\n<<<<<<< Updated upstream\n---\n") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "")
			r := s.queue("S-1", list(t, "S-1"))
			before, err := os.ReadFile(filepath.Join(s.root, ".greenlight/slices/S-1.md"))
			check(t, err)
			c.revert(s)
			s.work()
			if c.waits {
				s.queued(r, "its slice file can't be read")
				check(t, os.WriteFile(filepath.Join(s.root, ".greenlight/slices/S-1.md"), before, 0o644))
				s.work()
			}
			s.landed(r)
			if status, step, session := s.field("S-1", "status"), s.field("S-1", "step"), s.field("S-1", "session"); status != "complete" || step != "complete" || session != "" {
				t.Errorf("the slice says %q, %q, %q", status, step, session)
			}
		})
	}
}

// A queued slice whose file is gone for good can be stopped.
func TestStopAway(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	check(t, os.Remove(filepath.Join(s.root, ".greenlight/slices/S-1.md")))
	settler := s.project().Settler()
	_, err := settler.Stop(t.Context(), r)
	check(t, err)
	s.settled(r, outcome.Interrupted, "its slice file was left alone")
}

// gl stop takes a slice out of the queue; its work stays.
func TestStopQueued(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	settler := s.project().Settler()
	_, err := settler.Stop(t.Context(), r)
	check(t, err)
	s.settled(r, outcome.Interrupted, "")
	s.work()
	if len(s.landings("main")) > 0 || s.field("S-1", "session") != "" {
		t.Error("it has landed, or is claimed")
	}
	s.git("cat-file", "-e", r.Place.Branch+":src/S-1")
}

// change edits a record behind gl's back.
func (s *site) change(r *attempt.Record, f func(*attempt.Record)) {
	s.t.Helper()
	now := s.get(r)
	f(now)
	data, err := jsonOf(now)
	s.put(s.project().Runs.Files.LiveDir(), r.ID.Name()+".json", data, err)
}

func (s *site) put(dir, name, text string, err error) {
	s.t.Helper()
	check(s.t, err)
	testfiles.Put(s.t, dir, name, text)
}

// What another system of the project has in the queue is for that system's queue.
func TestOtherSystem(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	s.change(r, func(r *attempt.Record) { r.ID.System = "gsd" })
	s.work()
	if now := s.get(r); now.Life.Phase != plan.Queued {
		t.Errorf("%s %s", now.Life.Phase, now.Judged.Detail)
	}
}

// A repository in the state may be an agent's, and any git there runs what its configuration names:
// where agents are in a sandbox, nothing is tested or merged beside one.
func TestRepositoryInTheState(t *testing.T) {
	s := newSite(t, `"test": {"command": "true"}, "sandbox": "bwrap"`)
	r := s.queue("S-1", apart(t, "S-1"))
	s.write(".greenlight/slices/.git", "gitdir: elsewhere\n")
	s.work()
	s.queued(r, "slices/.git is a git repository, which an agent may have made")
	if got := s.landings("main"); len(got) > 0 {
		t.Errorf("landed: %q", got)
	}
}

// A run of tests that replaces what setup made doesn't decide about the next slice. Caches survive,
// and the verdict names them.
func TestSetupIsAsItWas(t *testing.T) {
	testfiles.Slow(t)
	for how, poison := range map[string]string{
		"in its place":     "printf 'exit 0' >node_modules/.bin/check",
		"another file":     "printf 'exit 0' >x; mv x node_modules/.bin/check",
		"with its time":    "cp -p node_modules/.bin/check old; printf 'exit 0 #%200s' x >node_modules/.bin/check; truncate -r old node_modules/.bin/check; touch -r old node_modules/.bin/check",
		"behind a link":    "mv node_modules/.bin node_modules/.cache/bin; ln -s .cache/bin node_modules/.bin; printf 'exit 0' >node_modules/.bin/check",
		"a cache, no harm": "touch node_modules/.cache/y",
	} {
		t.Run(how, func(t *testing.T) {
			count := filepath.Join(t.TempDir(), "setups")
			s := newSite(t, `"git": {"isolation": "worktree", "commit_state": false, "setup": ["sh", "setup.src"]}, "test": {"command": "sh node_modules/.bin/check"}`)
			s.write("setup.src", "case $PWD in *lane*) echo x >>"+count+";; esac\nmkdir -p node_modules/.bin node_modules/.cache\n"+
				"[ -e node_modules/.bin/check ] || cp check.src node_modules/.bin/check\n")
			s.write("check.src", "mkdir -p target; echo x >>target/x\nif [ -e poison ]; then . ./poison; exit 1; fi\n[ ! -e broken ]\n")
			s.write(".git/info/exclude", "/node_modules/\n/target/\n")
			s.git("add", "-A")
			s.git("commit", "-qm", "checks")
			setups := func() int { data, _ := os.ReadFile(count); return strings.Count(string(data), "x") }
			bad := s.queue("S-1", func(dir string) { testfiles.Put(t, dir, "poison", poison+"\n") })
			s.work()
			s.settled(bad, outcome.Red, "")
			before := setups()
			broken := s.queue("S-2", func(dir string) { testfiles.Put(t, dir, "broken", how) })
			s.work()
			s.settled(broken, outcome.Red, "")
			good := s.queue("S-3", apart(t, "S-3"))
			s.work()
			if v := s.landed(good).Judged.Verdict; v == nil || !slices.Contains(v.Caches, "target") {
				t.Errorf("the verdict doesn't name the cache: %+v", v)
			}
			if how == "a cache, no harm" && setups() != before {
				t.Error("set up again because of a cache")
			}
		})
	}
}
