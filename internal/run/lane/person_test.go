package lane_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
)

// What a person has begun in the checkout stays as it is, and nothing waits for it.
func TestCheckoutKept(t *testing.T) {
	s := newSite(t, "")
	s.write(".env", "SECRET")
	s.write("notes", "1 staged\n2\n3\n")
	s.git("add", "notes")
	s.write("notes", "1 staged\n2\n3 edited\n")
	s.write("untracked", "mine")
	before := s.git("status", "--porcelain", "--", "notes", "untracked") + s.git("diff", "--cached", "notes") + s.git("diff", "notes")
	r := s.queue("S-1", list(t, "S-1"))
	s.work()
	s.landed(r)
	s.delivered()
	after := s.git("status", "--porcelain", "--", "notes", "untracked") + s.git("diff", "--cached", "notes") + s.git("diff", "notes")
	if before != after || s.read(".env") != "SECRET" || s.read("untracked") != "mine" {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

// If the person's files are in the way (internal/workspace/git has more of that), work lands and
// isn't delivered until they are moved.
func TestUndelivered(t *testing.T) {
	testfiles.Slow(t)
	type scene struct {
		name       string
		begin, end func(s *site)
		reason     string
	}
	edit := func(s *site) { s.write("notes", "mine\n") }
	for _, c := range []scene{
		{"edited", edit, func(s *site) { s.git("checkout", "-q", "notes") }, "the merge would overwrite your changes to notes"},
		{"ignored", func(s *site) { s.write(".env", "SECRET") }, func(s *site) {
			if got := s.read(".env"); got != "SECRET" {
				s.t.Errorf(".env is %q", got)
			}
			check(s.t, os.Remove(filepath.Join(s.root, ".env")))
		}, "the merge would overwrite your changes to .env"},
		{"rebase", func(s *site) {
			s.git("stash", "-q") // state
			s.git("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
			s.git("stash", "pop", "-q")
		}, func(s *site) { s.git("rebase", "--quit"); s.git("checkout", "-q", "main") }, "rebase in progress"},
		{"bisect", func(s *site) { s.git("bisect", "start"); s.git("bisect", "bad") }, func(s *site) { s.git("bisect", "reset") }, "bisect in progress"},
		{"merge", func(s *site) {
			s.git("merge", "-q", "--no-ff", "--no-commit", "side")
		}, func(s *site) { s.git("merge", "--abort") }, "merge in progress"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "")
			s.write("more", "1\n")
			s.git("add", "more")
			s.git("commit", "-qm", "more")
			s.git("branch", "side", "HEAD~1")
			s.git("checkout", "-q", "side")
			s.write("side", "1\n")
			s.git("add", "side")
			s.git("commit", "-qm", "side")
			s.git("checkout", "-q", "main")
			r := s.queue("S-1", func(dir string) {
				list(t, "S-1")(dir)
				testfiles.Put(t, dir, "notes", "theirs\n")
				testfiles.Put(t, dir, "new", "theirs\n")
				testfiles.Put(t, dir, ".env", "theirs\n")
				gitIn(t, dir, "add", "-f", ".env", "notes", "new")
				gitIn(t, dir, "commit", "-qm", "more")
			})
			old := s.git("rev-parse", "main")
			c.begin(s)
			before := s.git("--no-optional-locks", "status", "--porcelain", "-uall", "--", ":!.greenlight")
			s.work()
			s.landed(r)
			s.undelivered(c.reason, "S-1")
			if now := s.git("rev-parse", "main"); now != old {
				t.Errorf("main was moved from %s to %s", old, now)
			}
			if now := s.git("--no-optional-locks", "status", "--porcelain", "-uall", "--", ":!.greenlight"); now != before {
				t.Errorf("git status was\n%s\nand is\n%s", before, now)
			}
			c.end(s)
			s.work()
			s.delivered()
			if got := s.read("notes"); got != "theirs\n" {
				t.Errorf("notes: %q", got)
			}
			if got := s.git("status", "--porcelain", "--", ":!.greenlight"); got != "" {
				t.Errorf("git status:\n%s", got)
			}
		})
	}
}

// If the files in the way are only as the target had them before, the person may not know of them:
// gl names the command that removes them.
func TestUndeliveredFormer(t *testing.T) {
	s := newSite(t, "")
	s.write("notes", "second\n")
	s.git("commit", "-qam", "second")
	r := s.queue("S-1", func(dir string) {
		list(t, "S-1")(dir)
		testfiles.Put(t, dir, "notes", "theirs\n")
		gitIn(t, dir, "commit", "-qam", "notes")
	})
	s.git("checkout", "-q", "HEAD~1", "--", "notes")
	s.work()
	s.landed(r)
	s.undelivered("the merge would overwrite your changes to notes", "S-1")
	_, command, _ := strings.Cut(s.status().Reason, "run ")
	argv, err := shellwords.Split(command)
	check(t, err)
	if want := []string{"git", "-C", s.root, "restore", "--source=HEAD", "--staged", "--worktree", "--", "notes"}; !slices.Equal(argv, want) {
		t.Fatalf("%q", argv)
	}
	s.git(argv[1:]...)
	s.work()
	s.delivered()
	if got := s.read("notes"); got != "theirs\n" {
		t.Errorf("notes: %q", got)
	}
}

// Where the target isn't checked out, its branch alone moves.
func TestTargetNotCheckedOut(t *testing.T) {
	testfiles.Slow(t)
	for name, away := range map[string]func(*site){
		"another": func(s *site) { s.git("checkout", "-q", "-b", "other") }, "detached": func(s *site) { s.git("checkout", "-q", "--detach") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "")
			r := s.queue("S-1", list(t, "S-1"))
			away(s)
			head := s.git("rev-parse", "HEAD")
			s.work()
			s.landed(r)
			s.delivered()
			if s.git("rev-parse", "HEAD") != head || s.git("status", "--porcelain", "--", ":!.greenlight") != "" {
				t.Error("the checkout has changed")
			}
			s.git("symbolic-ref", "HEAD", "refs/heads/main") // what a git checkout does last that had begun before main was moved
			if s.git("status", "--porcelain", "--", "list") == "" {
				t.Error("the checkout has what was merged")
			}
			check(t, s.lane().Deliver(t.Context()))
			if got := s.git("status", "--porcelain", "--", ":!.greenlight"); got != "" {
				t.Errorf("git status:\n%s", got)
			}
			s.green("main")
		})
	}
}

// A target that moves on is merged and tested with what has landed.
func TestTargetMoves(t *testing.T) {
	s := newSite(t, "")
	a := s.queue("S-1", list(t, "S-1"))
	s.write("notes", "person\n")
	s.git("commit", "-qam", "person")
	s.work()
	s.landed(a)
	s.delivered()
	b := s.queue("S-2", apart(t, "S-2"))
	s.write("doc/S-2", "in the way")
	s.work()
	s.landed(b)
	s.undelivered("doc/S-2", "S-2")
	check(t, os.Remove(filepath.Join(s.root, "doc/S-2")))
	s.write("notes", "person again\n")
	s.git("commit", "-qam", "person again")
	s.work()
	s.delivered()
	s.green("main")
	if got := s.read("notes"); got != "person again\n" {
		t.Errorf("notes: %q", got)
	}
}

// A target that was rewound isn't moved forward again by itself.
func TestTargetRewound(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	a := s.queue("S-1", list(t, "S-1"))
	s.work()
	s.landed(a)
	s.git("reset", "-q", "--hard", "HEAD~1")
	s.set("S-1", "status", "complete") // the reset has taken nothing of it: it is in no commit
	old := s.git("rev-parse", "main")
	b := s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.queued(b, "gl land --reset")
	if s.git("rev-parse", "main") != old {
		t.Error("what was taken out is back")
	}
	dropped, _, err := s.lane().Reset(t.Context())
	check(t, err)
	if len(dropped) != 0 {
		t.Errorf("dropped %q", dropped)
	}
	s.work()
	s.settled(b, outcome.Interrupted, "gl retry --fresh S-2")
	s.delivered()
	if got := s.landings("main"); len(got) > 0 {
		t.Errorf("what was taken out is back: %q", got)
	}
	c := s.queue("S-3", apart(t, "S-3"))
	s.work()
	s.landed(c)
	s.delivered()
	s.green("main")
}

// A person amends a commit by which work landed. What was built on it still lands.
func TestTargetAmended(t *testing.T) {
	testfiles.Slow(t)
	s := newSite(t, "")
	a := s.queue("S-1", list(t, "S-1"))
	s.work()
	s.landed(a)
	b := s.queue("S-2", apart(t, "S-2"))
	s.write("notes", "amended\n")
	s.git("commit", "-q", "--amend", "--no-edit", "notes")
	s.work()
	s.queued(b, "gl land --reset")
	_, _, err := s.lane().Reset(t.Context())
	check(t, err)
	s.work()
	s.landed(b)
	s.delivered()
	s.green("main")
	if s.read("notes") != "amended\n" {
		t.Errorf("notes: %q", s.read("notes"))
	}
}

// A target that is gone is said, and nothing is lost.
func TestTargetDeleted(t *testing.T) {
	s := newSite(t, "")
	r := s.queue("S-1", list(t, "S-1"))
	s.git("checkout", "-q", "-b", "other")
	s.git("branch", "-q", "-D", "main")
	if err := worker(t.Context(), s.root, s.env, s.told); err != nil {
		t.Logf("%v", err)
	}
	now := s.get(r)
	if now.Judged.Outcome != "" || !strings.Contains(now.Landing.Text()+strings.Join(s.said, "\n"), "main") {
		t.Errorf("%s %s: %s", now.Life.Phase, now.Judged.Outcome, now.Landing.Text())
	}
	s.git("branch", "-q", "main", "other")
	s.work()
	s.landed(r)
	s.delivered()
}

// The lane's branch is gl's: who moves it, or works on it, is told.
func TestLaneTouched(t *testing.T) {
	testfiles.Slow(t)
	begin := func(t *testing.T) (*site, string) {
		s := newSite(t, "")
		a := s.queue("S-1", list(t, "S-1"))
		s.write("list", "mine\n") // so that it isn't delivered
		s.work()
		s.landed(a)
		s.undelivered("list", "S-1")
		return s, strings.TrimPrefix(s.lane().Repo.Queue.Ref(), "refs/heads/")
	}
	t.Run("moved", func(t *testing.T) {
		s, branch := begin(t)
		s.git("branch", "-q", "-f", branch, "main")
		b := s.queue("S-2", apart(t, "S-2"))
		s.work()
		s.queued(b, "it was moved")
		s.git("checkout", "-q", "list")
		s.work()
		s.undelivered("it was moved", "S-1")
		dropped, reopened, err := s.lane().Reset(t.Context())
		check(t, err)
		if !slices.Equal(dropped, []string{"S-1"}) || !slices.Equal(reopened, dropped) {
			t.Errorf("dropped %q, reopened %q", dropped, reopened)
		}
		s.work()
		s.landed(b)
		s.delivered()
	})
	t.Run("checked out", func(t *testing.T) {
		s, branch := begin(t)
		s.git("checkout", "-q", "list")
		s.git("checkout", "-q", branch)
		b := s.queue("S-2", apart(t, "S-2"))
		tip := s.git("rev-parse", branch)
		s.work()
		s.queued(b, "is checked out in")
		if _, _, err := s.lane().Reset(t.Context()); err == nil {
			t.Error("reset under the person's feet")
		}
		if s.git("rev-parse", branch) != tip {
			t.Error("it was moved")
		}
		s.git("checkout", "-q", "main")
		s.work()
		s.landed(b)
		s.delivered()
	})
	t.Run("deleted", func(t *testing.T) {
		s, branch := begin(t)
		tip := s.git("rev-parse", branch)
		s.git("branch", "-q", "-D", branch)
		s.git("checkout", "-q", "list")
		b := s.queue("S-2", apart(t, "S-2"))
		s.work()
		s.landed(b)
		s.delivered()
		if s.git("merge-base", tip, "main") != tip {
			t.Error("what had landed is gone")
		}
	})
	t.Run("deleted and pruned", func(t *testing.T) {
		s, branch := begin(t)
		s.git("branch", "-q", "-D", branch)
		s.git("update-ref", "-d", "refs/gl/next/_/main")
		s.git("reflog", "expire", "--expire=now", "--all")
		s.git("prune", "--expire=now")
		check(t, os.RemoveAll(filepath.Join(s.top, ".git/gl-held")))
		s.git("checkout", "-q", "list")
		s.work()
		s.undelivered("gl land --reset", "S-1")
		dropped, reopened, err := s.lane().Reset(t.Context())
		check(t, err)
		if !slices.Equal(dropped, []string{"S-1"}) || !slices.Equal(reopened, dropped) {
			t.Errorf("dropped %q, reopened %q", dropped, reopened)
		}
		if got := s.field("S-1", "status"); got != "pending" {
			t.Errorf("S-1 is %s", got)
		}
		b := s.queue("S-1", list(t, "S-1"))
		s.work()
		s.landed(b)
		s.delivered()
	})
}

// Signing, hooks and identity are the person's: what gl does needs none of them.
func TestSigningAndHooks(t *testing.T) {
	s := newSite(t, `"git": {"isolation": "worktree"}, "test": {"command": "./test.sh"}`)
	a, b := s.queue("S-1", list(t, "S-1")), s.queue("S-2", list(t, "S-2"))
	s.git("config", "commit.gpgsign", "true")
	s.git("config", "tag.gpgsign", "true")
	s.git("config", "gpg.program", "false")
	for _, hook := range []string{"pre-commit", "commit-msg", "prepare-commit-msg", "pre-merge-commit", "post-commit", "post-merge", "post-checkout", "post-rewrite", "reference-transaction"} {
		path := filepath.Join(s.top, ".git/hooks", hook)
		check(t, os.WriteFile(path, []byte("#!/bin/sh\ntouch "+s.top+".hook\nexit 1\n"), 0o755))
	}
	s.git("config", "--unset", "user.name")
	s.git("config", "--unset", "user.email")
	s.git("config", "user.useConfigOnly", "true")
	s.work()
	s.landed(a)
	s.settled(b, outcome.Conflict, "list")
	s.undelivered("")
	if got := s.landings("main"); len(got) != 1 {
		t.Errorf("landed: %q", got)
	}
	if got := s.git("log", "-1", "--format=%s", "main"); got != "gl: state" {
		t.Errorf("state isn't committed: %s", got)
	}
	if _, err := os.Stat(s.top + ".hook"); err == nil {
		t.Error("a hook ran")
	}
}

// A new slice's file is committed with the state if the person has committed others.
func TestNewSlicesTravel(t *testing.T) {
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprint(shared), func(t *testing.T) {
			s := newSite(t, `"git": {"isolation": "worktree"}, "test": {"command": "./test.sh"}`)
			if !shared {
				s.git("rm", "-rq", "--cached", ".greenlight")
				s.git("commit", "-qm", "the plan is mine")
			}
			s.write(".greenlight/slices/S-6.md",
				"---\nid: S-6\nstatus: pending\n---\n\n# Slice 6\n")
			s.write(".greenlight/slices/notes.txt", "mine\n")
			a := s.queue("S-1", list(t, "S-1"))
			s.work()
			s.landed(a)
			s.delivered()
			want := ""
			if shared {
				want = ".greenlight/slices/S-6.md"
			}
			got := s.git("ls-tree", "--name-only", "main", ".greenlight/slices/S-6.md",
				".greenlight/slices/notes.txt")
			if got != want {
				t.Errorf("the target has %q, want %q", got, want)
			}
		})
	}
}

// Two projects of one repository have a lane each; what one delivers, the other takes in.
func TestTwoProjects(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	top := filepath.Join(t.TempDir(), "p")
	a := newSiteAt(t, top, "a", "")
	b := &site{t: t, top: top, root: filepath.Join(top, "b"), env: a.env}
	b.addProject(b.root, "")
	b.git("add", "-A")
	b.git("commit", "-qm", "b")
	var recs [2][]*attempt.Record
	for i, s := range []*site{a, b} {
		recs[i] = []*attempt.Record{s.queue("S-1", list(t, "S-1")), s.queue("S-2", apart(t, "S-2"))}
	}
	var wg sync.WaitGroup
	for _, s := range []*site{a, b} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := worker(t.Context(), s.root, s.env, s.told); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	for i, s := range []*site{a, b} {
		for _, r := range recs[i] {
			s.landed(r)
		}
	}
	a.work()
	b.work()
	for _, s := range []*site{a, b} {
		s.undelivered("")
		s.green("main")
		if s.read("list") != "S-1\n" {
			t.Errorf("%s: %q", s.root, s.read("list"))
		}
	}
	if got := a.git("status", "--porcelain", "--", ":!*.greenlight/*"); got != "" {
		t.Errorf("git status:\n%s", got)
	}
}

// A bare repository with worktrees beside it.
func TestBareLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newSiteAt(t, filepath.Join(dir, "first"), "", "")
	first.git("clone", "-q", "--bare", ".", filepath.Join(dir, "repo.git"))
	gitIn(t, filepath.Join(dir, "repo.git"), "worktree", "add", "-q", filepath.Join(dir, "p"), "main")
	s := &site{t: t, top: filepath.Join(dir, "p"), root: filepath.Join(dir, "p"), env: first.env}
	s.git("config", "user.name", "p")
	s.git("config", "user.email", "p@localhost")
	s.addProject(s.root, "")
	r := s.queue("S-1", list(t, "S-1"))
	s.work()
	s.landed(r)
	s.delivered()
	if s.read("list") != "S-1\n" {
		t.Errorf("the checkout has %q", s.read("list"))
	}
}

// What has landed is delivered and named even if runs/ was removed meanwhile.
func TestRunsRemoved(t *testing.T) {
	s := newSite(t, "")
	a := s.queue("S-1", list(t, "S-1"))
	s.write("list", "mine\n")
	s.work()
	s.landed(a)
	s.undelivered("list", "S-1")
	check(t, os.RemoveAll(filepath.Join(s.root, ".greenlight/runs")))
	s.work()
	s.undelivered("list", "S-1")
	s.git("checkout", "-q", "list")
	s.work()
	s.delivered()
	b := s.queue("S-2", apart(t, "S-2"))
	check(t, os.RemoveAll(filepath.Join(s.root, ".greenlight/runs")))
	s.work()
	s.git("cat-file", "-e", b.Place.Branch+":doc/S-2")
}

// runs/ removed while the tests run.
func TestRunsRemovedMeanwhile(t *testing.T) {
	s := newSite(t, "")
	a := s.queue("S-1", func(dir string) {
		testfiles.Put(t, dir, "test.extra", "rm -rf "+filepath.Join(s.root, ".greenlight/runs"))
	})
	b := s.queue("S-2", apart(t, "S-2"))
	s.work()
	s.git("cat-file", "-e", a.Place.Branch+"^{commit}")
	s.git("cat-file", "-e", b.Place.Branch+":doc/S-2")
	s.work()
	if got := s.landings("main"); len(got) > 1 {
		t.Errorf("landed: %q", got)
	}
}
