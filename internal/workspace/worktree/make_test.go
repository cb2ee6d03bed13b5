package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if os.Getenv("GREENLIGHT_TEST_CHILD") != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testfiles.Run(m))
}

// child makes the worktrees of planned lineages in a process of its own.
func child() error {
	ctx := context.Background()
	for _, slice := range strings.Fields(os.Getenv("GREENLIGHT_TEST_SLICES")) {
		r, err := Open(ctx, os.Getenv("GREENLIGHT_TEST_ROOT"), Options{})
		if err != nil {
			return err
		}
		l, err := r.Lineages.Get("", slice)
		if err != nil {
			return err
		}
		crashtest.Begin()
		h, err := r.Make(ctx, l, childMaking)
		if err != nil {
			return err
		}
		if err := h.Release(); err != nil {
			return err
		}
	}
	return nil
}

// childMaking is a setup that is as good when it runs twice.
var childMaking = Making{Command: "set up",
	Setup: func(ctx context.Context, dir string, _ []*os.File) error {
		return os.WriteFile(filepath.Join(dir, "setup.o"), []byte("done"), 0o644)
	}}

// checkMade checks that a worktree is whole and clean.
func checkMade(t *testing.T, r *Repo, slice string) {
	t.Helper()
	l, err := r.Lineages.Get("", slice)
	if err != nil || l.Phase != Ready {
		t.Fatalf("%+v, %v", l, err)
	}
	if err := r.Lineages.ours(l); err != nil {
		t.Error(err)
	}
	want := "## " + strings.TrimPrefix(l.Branch, "refs/heads/")
	if got := gitIn(t, l.Path, "status", "--porcelain", "--branch"); got != want {
		t.Errorf("status: %s", got)
	}
	if got := read(t, l.Path, "sub/b.txt"); got != "b\n" {
		t.Errorf("b.txt is %q", got)
	}
}

// Git's own worktree add fails when several run at once in one repository.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	var here, there []string
	for i := range 20 {
		slice := fmt.Sprintf("s-%d", i)
		plan(t, r, slice)
		if i%2 == 0 {
			here = append(here, slice)
		} else {
			there = append(there, slice)
		}
	}
	var wg sync.WaitGroup
	for _, slices := range [][]string{there[:5], there[5:]} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "GREENLIGHT_TEST_CHILD=make",
				"GREENLIGHT_TEST_ROOT="+root, "GREENLIGHT_TEST_SLICES="+strings.Join(slices, " "))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}()
	}
	for _, slice := range here {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := Open(t.Context(), root, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			l, err := r.Lineages.Get("", slice)
			if err != nil {
				t.Error(err)
				return
			}
			if h, err := r.Make(t.Context(), l, childMaking); err != nil {
				t.Error(err)
			} else if err := h.Release(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	for _, slice := range append(here, there...) {
		checkMade(t, r, slice)
	}
}

// Killed before any of its own steps, making goes on where it was. A git that was started meanwhile
// lives on: the next one waits for it.
func TestKilledAtEveryStep(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	// The steps are many, and each is a few processes that sync to the disk.
	stride := crashtest.Stride()
	for step := 1; ; step += stride {
		root := project(t)
		r := open(t, root)
		l := plan(t, r, "s-1")
		killed, call := crashtest.At(t, step, "GREENLIGHT_TEST_CHILD=make",
			"GREENLIGHT_TEST_ROOT="+root, "GREENLIGHT_TEST_SLICES=s-1")
		t.Run(fmt.Sprintf("%d %s", step, call), func(t *testing.T) {
			again := plan(t, r, "s-1")
			if again.N != l.N {
				t.Fatalf("it begins anew: %+v", again)
			}
			finish(t, r, again, childMaking)
			checkMade(t, r, "s-1")
			if got := gitIn(t, root, "worktree", "list",
				"--porcelain"); strings.Count(got, "worktree ") != 2 {
				t.Errorf("worktrees: %s", got)
			}
		})
		if !killed {
			if step < 20 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

// What a git worktree add leaves that is killed, in its own order: the branch is there before. Each
// is finished with the same number.
func TestHalfAdded(t *testing.T) {
	t.Parallel()
	remove := func(names ...string) func(t *testing.T, l *Lineage, admin string) {
		return func(t *testing.T, l *Lineage, admin string) {
			for _, name := range names {
				must(t, os.RemoveAll(strings.NewReplacer("ADMIN", admin, "PATH",
					l.Path).Replace(name)))
			}
		}
	}
	const head, common, dotGit, gitdir, logs = "ADMIN/HEAD", "ADMIN/commondir", "PATH/.git",
		"ADMIN/gitdir", "ADMIN/logs"
	for name, cut := range map[string]func(t *testing.T, l *Lineage, admin string){
		"branch alone":    remove("ADMIN", "PATH"),
		"admin directory": remove(logs, head, common, dotGit, gitdir, "PATH", "ADMIN/locked"),
		"empty lock": func(t *testing.T, l *Lineage, admin string) {
			remove(logs, head, common, dotGit, gitdir, "PATH")(t, l, admin)
			must(t, os.WriteFile(filepath.Join(admin, "locked"), nil, 0o644))
		},
		"lock":      remove(logs, head, common, dotGit, gitdir, "PATH"),
		"directory": remove(logs, head, common, dotGit, gitdir),
		"gitdir":    remove(logs, head, common, dotGit),
		"empty .git": func(t *testing.T, l *Lineage, admin string) {
			remove(logs, head, common)(t, l, admin)
			must(t, os.WriteFile(l.Path+"/.git", nil, 0o644))
		},
		".git": remove(logs, head, common),
		"HEAD": remove(logs, common),
		"HEAD of no ref": func(t *testing.T, l *Lineage, admin string) {
			remove(logs)(t, l, admin)
			must(t, os.WriteFile(admin+"/HEAD", []byte(l.Base+"\n"), 0o644))
		},
		"whole":        remove(),
		"no directory": remove("PATH"),
		"index.lock": func(t *testing.T, l *Lineage, admin string) {
			must(t, os.WriteFile(admin+"/index.lock", nil, 0o644))
		},
		"branch not made": func(t *testing.T, l *Lineage, admin string) {
			remove("ADMIN", "PATH")(t, l, admin)
			gitIn(t, filepath.Dir(filepath.Dir(admin)), "branch", "-D", short(l.Branch))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r := open(t, root)
			l := plan(t, r, "s-1")
			must(t, holding(t, r, l).add(t.Context()))
			cut(t, l, l.Admin)
			l.Phase, l.Admin = Planned, ""
			must(t, r.Lineages.Save(l))
			again := plan(t, r, "s-1")
			if again.N != 1 {
				t.Fatalf("a new number: %+v", again)
			}
			finish(t, r, again, Making{})
			checkMade(t, r, "s-1")
			if list, _ := os.ReadDir(filepath.Join(root, ".git", "worktrees")); len(list) != 1 {
				t.Errorf("entries: %v", list)
			}
		})
	}
}

// A branch that was deleted while git added its worktree is made again: nothing was on it yet.
func TestBranchDeleted(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	must(t, holding(t, r, l).add(t.Context()))
	gitIn(t, root, "update-ref", "-d", l.Branch)
	finish(t, r, l, Making{})
	checkMade(t, r, "s-1")
}

// The locks of gits that were killed with their agent keep the next one from nothing.
func TestLocksOfKilled(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	finish(t, r, l, Making{})
	for _, lock := range []string{l.Admin + "/index.lock", l.Admin + "/HEAD.lock",
		l.Admin + "/AUTO_MERGE.lock", filepath.Join(r.Git.Common, l.Branch) + ".lock"} {
		must(t, os.WriteFile(lock, nil, 0o644))
	}
	finish(t, r, l, Making{})
	gitIn(t, l.Path, "commit", "-q", "--allow-empty", "-m", "work")
	checkMade(t, r, "s-1")
	if left, _ := filepath.Glob(l.Admin + "/*.lock"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A branch or directory that was taken between planning and making isn't used: the next plan has
// another number.
func TestTaken(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, root string, l *Lineage){
		"directory": func(t *testing.T, root string, l *Lineage) {
			testfiles.Write(t, l.Path, map[string]string{"mine": "mine"})
		},
		"branch": func(t *testing.T, root string, l *Lineage) {
			gitIn(t, root, "branch", short(l.Branch), commitOn(t, root))
		},
		"worktree": func(t *testing.T, root string, l *Lineage) {
			gitIn(t, root, "worktree", "add", "-q", "--detach", l.Path)
		},
		"lost worktree": func(t *testing.T, root string, l *Lineage) {
			gitIn(t, root, "worktree", "add", "-q", "--detach", l.Path)
			must(t, os.RemoveAll(l.Path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r := open(t, root)
			l := plan(t, r, "s-1")
			take(t, root, l)
			before := stamps(t, filepath.Dir(root))
			if _, err := r.Make(t.Context(), l, Making{}); !errors.As(err, new(*Refused)) {
				t.Fatalf("made: %v", err)
			}
			after := stamps(t, filepath.Dir(root))
			for path, was := range before {
				if after[path] != was && !strings.HasSuffix(path, ".lock") &&
					!strings.HasSuffix(path, ".git") {
					t.Errorf("%s has changed", path)
				}
			}
			if l := made(t, r, "s-1"); l.N != 2 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// commitOn makes a commit that no branch has.
func commitOn(t *testing.T, root string) string {
	t.Helper()
	return gitIn(t, root, "commit-tree", "-p", "HEAD", "-m", "more", "HEAD^{tree}")
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	gitIn(t, root, "branch", "gl/s/_/_/_s-1/3")
	gitIn(t, root, "branch", "gl/s/_/_/_s-1/5/below")
	if l := plan(t, r, "s-1"); l.N != 6 {
		t.Errorf("beside branches: %d", l.N)
	}
	gitIn(t, root, "update-ref", "refs/gl/wip/_/_/_s-2/7/1/tree", "HEAD")
	testfiles.Write(t, r.Layout.path("", "s-2", 8), map[string]string{"left": ""})
	if l := plan(t, r, "s-2"); l.N != 9 {
		t.Errorf("beside a WIP ref and a directory: %d", l.N)
	}
	gitIn(t, root, "branch", "gl/s/_/_/_s-3")
	base, err := r.Queue.Base(t.Context())
	must(t, err)
	_, err = r.Lineages.Plan(t.Context(), "", "s-3", base, false)
	if !errors.As(err, new(*Refused)) ||
		!strings.Contains(err.Error(), "gl/s/_/_/_s-3 is in the way") {
		t.Errorf("beside a branch in the way: %v", err)
	}
}

// When runs/ is removed, branches and worktrees remain, and the next lineage is another.
func TestRunsRemoved(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	first := made(t, r, "s-1")
	must(t, os.RemoveAll(filepath.Join(root, ".greenlight", "runs")))
	if l := made(t, r, "s-1"); l.N != 2 {
		t.Errorf("%+v", l)
	}
	if got := read(t, first.Path, "a.txt"); got != "a\n" {
		t.Errorf("the first one has %q", got)
	}
}

// A person's checkout is as it was, staged and unstaged work included, and hooks don't run.
func TestCheckoutIsUntouched(t *testing.T) {
	t.Parallel()
	root := project(t)
	open(t, root)
	testfiles.Write(t, root, map[string]string{"a.txt": "edited\n", "staged": "1", "untracked": "2",
		"x.o": "ignored"})
	gitIn(t, root, "add", "staged")
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		path := filepath.Join(root, ".git", "hooks", hook)
		must(t, os.WriteFile(path, []byte("#!/bin/sh\ntouch "+root+"/hooked\nexit 1\n"), 0o755))
	}
	gitIn(t, root, "config", "user.name", "t") // what git itself changes when it is called
	checkout := func() map[string]string {
		all := stamps(t, root)
		for path := range all {
			below := strings.TrimPrefix(path, root+"/")
			gitOwn := strings.HasPrefix(below, ".git/") && below != ".git/index" &&
				below != ".git/HEAD" && below != ".git/config" && below != ".git/logs/HEAD"
			if gitOwn || strings.HasPrefix(below, ".greenlight/runs") {
				delete(all, path)
			}
		}
		return all
	}
	before := checkout()
	made(t, open(t, root), "s-1")
	if diff := cmp.Diff(before, checkout()); diff != "" {
		t.Errorf("the checkout has changed:\n%s", diff)
	}
}

// Where the worktree's .git is gone or leads elsewhere, git isn't called there: it would climb into
// what is above.
func TestBrokenLinks(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, root string, l *Lineage){
		"gone": func(t *testing.T, root string, l *Lineage) { must(t, os.Remove(l.Path+"/.git")) },
		"a repository": func(t *testing.T, root string, l *Lineage) {
			must(t, os.Remove(l.Path+"/.git"))
			gitIn(t, l.Path, "init", "-q")
		},
		"to the main checkout": func(t *testing.T, root string, l *Lineage) {
			must(t, os.WriteFile(l.Path+"/.git", []byte("gitdir: "+root+"/.git\n"), 0o644))
		},
		"unlocked": func(t *testing.T, root string, l *Lineage) {
			gitIn(t, root, "worktree", "unlock", l.Path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r := open(t, root)
			l := made(t, r, "s-1")
			testfiles.Write(t, l.Path, map[string]string{"work": "work"})
			testfiles.Write(t, root, map[string]string{"a.txt": "edited\n"})
			gitIn(t, root, "add", "a.txt")
			harm(t, root, l)
			before := stamps(t, l.Path)
			if c, err := r.Inspect(t.Context(), l); err != nil || c.Broken == nil {
				t.Errorf("%+v, %v", c, err)
			}
			l.Phase = Added // it would be filled
			must(t, r.Lineages.Save(l))
			if _, err := r.Make(t.Context(), l, Making{}); err == nil {
				t.Error("it was filled")
			}
			if next := made(t, r, "s-1"); next.N != 2 {
				t.Errorf("the next lineage is %d", next.N)
			}
			if diff := cmp.Diff(before, stamps(t, l.Path)); diff != "" {
				t.Errorf("the old tree has changed:\n%s", diff)
			}
			if got := gitIn(t, root, "status", "--porcelain"); got != "M  a.txt" {
				t.Errorf("the main checkout: %s", got)
			}
		})
	}
}

// A lineage file that came with a clone doesn't lead gl to a person's own worktree.
func TestForgedLineage(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	person := filepath.Join(filepath.Dir(root), "s-1.1")
	gitIn(t, root, "worktree", "add", "-q", "-b", short(l.Branch), person)
	testfiles.Write(t, person, map[string]string{"a.txt": "precious\n"})
	l.Path, l.Admin, l.Phase = person, filepath.Join(root, ".git", "worktrees", "s-1.1"), Added
	must(t, r.Lineages.Save(l))
	if _, err := r.Make(t.Context(), l, Making{}); err == nil {
		t.Error("it was filled")
	}
	if got := read(t, person, "a.txt"); got != "precious\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestBadLineages(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	good := plan(t, r, "s-1")
	for name, spoil := range map[string]func(l *Lineage){
		"slice":   func(l *Lineage) { l.Slice = "s-2" },
		"system":  func(l *Lineage) { l.System = "gsd" },
		"number":  func(l *Lineage) { l.N = -1 },
		"branch":  func(l *Lineage) { l.Branch = "refs/heads/main" },
		"path":    func(l *Lineage) { l.Path = root },
		"up":      func(l *Lineage) { l.Path = root + "/../s-1.1" },
		"admin":   func(l *Lineage) { l.Admin = root + "/.git/worktrees/.." },
		"phase":   func(l *Lineage) { l.Phase = "No" },
		"added":   func(l *Lineage) { l.Phase = Added },
		"base":    func(l *Lineage) { l.Base = "--help" },
		"ignored": func(l *Lineage) { l.Ignored = []string{"../x"} },
		"ports":   func(l *Lineage) { l.Ports = 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			l := *good
			spoil(&l)
			data := strings.ReplaceAll(asJSON(t, &l), "\n", "")
			must(t, os.WriteFile(r.Layout.file("", "s-1"), []byte(data), 0o600))
			if _, err := r.Lineages.Get("", "s-1"); !errors.As(err, new(*BadLineage)) {
				t.Fatalf("%v", err)
			}
			next := plan(t, r, "s-1")
			if next.Phase != Planned || next.Path != r.Layout.path("", "s-1", next.N) {
				t.Errorf("%+v", next)
			}
			aside, _ := filepath.Glob(filepath.Join(root, ".greenlight", "runs", "bad",
				"lineage.*"))
			if len(aside) == 0 || read(t, aside[len(aside)-1]) == "" {
				t.Error("the bad file isn't kept")
			}
		})
	}
	l := *good
	l.SchemaVersion = 99
	must(t, os.WriteFile(r.Layout.file("", "s-1"), []byte(asJSON(t, &l)), 0o600))
	if _, err := r.Lineages.Plan(t.Context(), "", "s-1", good.Base, false); err == nil {
		t.Error("what another version wrote was replaced")
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	fails := Making{Setup: func(context.Context, string,
		[]*os.File) error {
		return errors.New("no network")
	}}
	if _, err := r.Make(t.Context(), l, fails); err == nil || l.Phase != Filled {
		t.Fatalf("%v in phase %s", err, l.Phase)
	}
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "changed by setup\n"})
	var lines []string
	m := Making{
		Log:     func(line string) { lines = append(lines, line) },
		Command: "npm ci",
		Include: func(_ context.Context, from, to string) error {
			if from != root || to != l.Path {
				t.Errorf("include from %s to %s", from, to)
			}
			return os.WriteFile(filepath.Join(to, "env.o"), nil, 0o644)
		},
		Setup: func(_ context.Context, dir string, files []*os.File) error {
			testfiles.Write(t, dir, map[string]string{"build/x/y": "", "plain": ""})
			if len(files) != 1 {
				t.Errorf("%d files are inherited", len(files))
			}
			return nil
		},
	}
	finish(t, r, l, m)
	if diff := cmp.Diff([]string{"build/", "env.o"}, l.Ignored); diff != "" {
		t.Errorf("ignored: %s", diff)
	}
	if l.Setup != hash("npm ci") || read(t, l.Path, "a.txt") != "changed by setup\n" {
		t.Errorf("%+v", l)
	}
	if len(lines) != 0 {
		t.Errorf("it was made again: %q", lines)
	}
}

// A setup that outlives its gl holds the worktree's lock; a service that setup has left running
// doesn't.
func TestLockIsInherited(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	var service *exec.Cmd
	h, err := r.Make(t.Context(), l, Making{Setup: func(_ context.Context, dir string,
		files []*os.File) error {
		service = exec.Command("sleep", "100")
		service.ExtraFiles = files
		if err := service.Start(); err != nil {
			return err
		}
		if _, err := durable.TryLock(r.Layout.lockFile(l)); !errors.Is(err, durable.ErrLocked) {
			t.Errorf("while setup runs: %v", err)
		}
		return nil
	}})
	must(t, err)
	defer func() { _ = service.Process.Kill(); _ = service.Wait() }()
	agent := exec.Command("sleep", "100")
	agent.ExtraFiles = []*os.File{h.File()}
	must(t, agent.Start())
	h.File().Close() // as if this process was killed
	if _, err := durable.TryLock(r.Layout.lockFile(l)); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("while the agent lives: %v", err)
	}
	must(t, agent.Process.Kill())
	_ = agent.Wait()
	lock, err := durable.TryLock(r.Layout.lockFile(l))
	must(t, err)
	must(t, lock.Unlock())
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	inner, library, root := project(t), project(t), project(t)
	allow := []string{"-c", "protocol.file.allow=always", "submodule", "-q", "add", "--name"}
	gitIn(t, library, append(allow, "deep/inner", inner, "inner")...)
	commit(t, library, "inner")
	gitIn(t, root, append(allow, "lib", library, "lib dir")...)
	gitIn(t, root, append(allow, "other", library, "other")...)
	commit(t, root, "lib")
	gitIn(t, filepath.Join(root, "lib dir"), "-c", "protocol.file.allow=always", "submodule", "-q",
		"update", "--init")
	gitIn(t, root, "submodule", "-q", "deinit", "-f", "other")
	// What the main checkout has is all that is needed.
	for _, gone := range []string{inner, library} {
		must(t, os.RemoveAll(gone))
	}
	r := open(t, root)
	l := made(t, r, "s-1")
	if read(t, l.Path, "lib dir/a.txt") != "a\n" ||
		read(t, l.Path, "lib dir/inner/a.txt") != "a\n" {
		t.Error("the submodules aren't filled")
	}
	if list, _ := os.ReadDir(filepath.Join(l.Path, "other")); len(list) != 0 {
		t.Errorf("other has %v", list)
	}
	if got := gitIn(t, l.Path, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	if got := gitIn(t, filepath.Join(l.Path, "lib dir"), "remote", "get-url",
		"origin"); got != library {
		t.Errorf("its remote is %s", got)
	}
	// Killed while it was filled, it is filled again.
	l.Phase = Added
	must(t, r.Lineages.Save(l))
	finish(t, r, l, Making{})
	if got := gitIn(t, l.Path, "status", "--porcelain"); got != "" {
		t.Errorf("filled again: %s", got)
	}
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	for _, bits := range []string{"--cone", "--no-cone"} {
		t.Run(bits, func(t *testing.T) {
			root := project(t)
			testfiles.Write(t, root, map[string]string{"big/x": "x"})
			commit(t, root, "big")
			gitIn(t, root, "sparse-checkout", "set", bits, "sub")
			l := made(t, open(t, root), "s-1")
			if got := read(t, l.Path, "sub/b.txt"); got != "b\n" {
				t.Errorf("b.txt is %q", got)
			}
			if _, err := os.Stat(filepath.Join(l.Path, "big")); err == nil {
				t.Error("big is checked out, too")
			}
			if got := gitIn(t, l.Path, "status", "--porcelain"); got != "" {
				t.Errorf("status: %s", got)
			}
		})
	}
}

func TestLFS(t *testing.T) {
	root, bin := project(t), tempDir(t)
	must(t, os.WriteFile(filepath.Join(bin, "git-lfs"),
		[]byte("#!/bin/sh\npwd > \"$LFS_LOG\"\necho $GIT_LFS_SKIP_SMUDGE $1 >> \"$LFS_LOG\"\n"),
		0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("LFS_LOG", filepath.Join(bin, "log"))
	r := open(t, root)
	made(t, r, "s-1")
	if _, err := os.Stat(filepath.Join(bin, "log")); err == nil {
		t.Error("git-lfs was called without need")
	}
	must(t, os.MkdirAll(filepath.Join(root, ".git", "lfs", "objects"), 0o755))
	l := made(t, r, "s-2")
	if got := read(t, bin, "log"); got != l.Path+"\n1 checkout\n" {
		t.Errorf("git-lfs: %q", got)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "s-1")
	inspect := func() Condition {
		c, err := r.Inspect(t.Context(), l)
		must(t, err)
		return c
	}
	first := inspect()
	if first.Branch != l.Branch || first.Operation != "" || first.Broken != nil ||
		first.MainBranch != "refs/heads/main" || first.MainHead != l.Base {
		t.Errorf("%+v", first)
	}
	gitIn(t, root, "switch", "-q", "-c", "other")
	if c := inspect(); c.MainBranch != "refs/heads/other" || c.Config != first.Config {
		t.Errorf("%+v", c)
	}
	testfiles.Write(t, root, map[string]string{".git/hooks/pre-commit": "#!/bin/sh\n"})
	if inspect().Config == first.Config {
		t.Error("a new hook isn't seen")
	}
	gitIn(t, l.Path, "checkout", "-q", "--detach")
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "here\n"})
	commit(t, l.Path, "here")
	testfiles.Write(t, root, map[string]string{"a.txt": "there\n"})
	there := commit(t, root, "there")
	cmd := exec.Command("git", "merge", there)
	cmd.Dir = l.Path
	if err := cmd.Run(); err == nil {
		t.Fatal("no conflict")
	}
	if c := inspect(); c.Branch != "" || c.Operation != "merge" {
		t.Errorf("%+v", c)
	}
}
