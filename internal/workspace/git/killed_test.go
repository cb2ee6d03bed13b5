package git

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/testfiles"
)

func TestMain(m *testing.M) {
	if top := os.Getenv("GREENLIGHT_TEST_TOP"); top != "" {
		do := func() error { return Settle(context.Background(), filepath.Join(top, ".git"), target) }
		if lane := os.Getenv("GREENLIGHT_TEST_LANE"); lane != "" {
			do = func() error { return landAll(context.Background(), top, lane) }
		}
		crashtest.Begin()
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1") // only the settings of the tests
	os.Exit(testfiles.RunInNewHome(m))
}

// landAll commits what is in the worktree, merges the lane into it, delivers that, and commits the
// state, as a worker of the lane does. What an earlier call did isn't done again.
func landAll(ctx context.Context, top, lane string) error {
	common := filepath.Join(top, ".git")
	w := Worktree{Common: common, Admin: filepath.Join(common, "worktrees", "tree"),
		Path: filepath.Join(filepath.Dir(top), "tree")}
	tip, _, err := w.Exclusive().CommitAll(ctx, work, "left")
	if err != nil {
		return err
	}
	tree, _, err := MergeTree(ctx, common, lane, tip, isState)
	if err != nil {
		return err
	}
	if tip, err = w.Exclusive().Integrate(ctx, work, lane, tree, "merge"); err != nil {
		return err
	}
	from, err := ResolveCommit(ctx, common, target)
	if err != nil {
		return err
	}
	if _, err := at(ctx, common, long, "", "merge-base", "--is-ancestor", tip, from); err != nil {
		if err := FastForward(ctx, common, target, from, tip, passTo(tip), nil); err != nil {
			return err
		}
	}
	_, _, err = CommitPaths(ctx, Checkout{Top: top, GitDir: common, Common: common}, target,
		[]string{"state/S", "state/new"}, "state", time.Unix(1e9, 0))
	return err
}

// Killed before any of its own calls that change a file, the next call comes to the same end. A git
// that it had started lives on; its end is waited for by the locks that it has, as far as it has
// any.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	stride := testfiles.Sized(50, 1)
	for step := 1 + rand.IntN(stride); ; step += stride { // another sample every time
		b := worktree(t, map[string]string{"f": "1\n", "other": "1\n", "state/S": "0\n",
			".gitignore": "*.o\n"})
		lane := b.commitOn("lane", "master", map[string]string{"g": "lane\n", "d/e": "lane\n"})
		b.write("f", "work\n")
		b.write("new/x", "work\n")
		b.write("x.o", "ignored")
		testfiles.Write(t, b.main, map[string]string{"other": "mine\n", "state/S": "1\n",
			"state/new": "1\n", "staged": "mine\n"})
		b.in(b.main, "add", "staged")
		killed, call := crashtest.At(t, step, "GREENLIGHT_TEST_TOP="+b.main,
			"GREENLIGHT_TEST_LANE="+lane)
		t.Run(fmt.Sprintf("%d %s", step, call), func(t *testing.T) {
			b.t = t
			deadline := time.Now().Add(time.Minute)
			err := landAll(t.Context(), b.main, lane)
			// A git of the killed call may hold a lock yet.
			for err != nil && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
				err = landAll(t.Context(), b.main, lane)
			}
			b.ok(err)
			b.clean("in the worktree")
			if got := b.in(b.main, "status", "--porcelain"); got != " M other\nA  staged" {
				t.Errorf("status:\n%s", got)
			}
			if got := b.in(b.main, "log", "--format=%s", "--first-parent",
				"master"); got != "state\nmerge\nleft\nfirst" {
				t.Errorf("log:\n%s", got)
			}
			if got := b.in(b.main, "ls-tree", "-r", "--name-only",
				"master"); got != ".gitignore\nd/e\nf\ng\nnew/x\nother\nstate/S\nstate/new" {
				t.Errorf("files:\n%s", got)
			}
			b.in(b.main, "fsck", "--connectivity-only")
		})
		if !killed {
			if step < 100 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

// A checkout follows whatever is killed meanwhile, also one whose index a git stash pop has made
// that of HEAD.
func TestSettleKilledAnywhere(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	for name, do := range map[string][]string{"index": {"reset", "-q"}, "files": {"status", "-s"}} {
		stride := testfiles.Sized(11, 1)
		for step, killed := 1+rand.IntN(stride), true; killed; step += stride {
			b, from, to := delivered(t)
			testfiles.Write(t, b.main, map[string]string{"other": "mine\n", "staged": "mine\n"})
			b.ok(noteMove(b.w.Common, target, from, to))
			b.in(b.main, "update-ref", target, to)
			b.in(b.main, "symbolic-ref", "HEAD", target)
			b.in(b.main, do...)
			b.in(b.main, "add", "staged")
			call := ""
			killed, call = crashtest.At(t, step, "GREENLIGHT_TEST_TOP="+b.main)
			if !killed && step < 20 {
				t.Errorf("only %d steps", step)
			}
			t.Run(fmt.Sprintf("%s %d %s", name, step, call), func(t *testing.T) {
				b.t = t
				deadline := time.Now().Add(time.Minute)
				err := Settle(t.Context(), b.w.Common, target)
				// A git of the killed call may hold a lock yet.
				for err != nil && time.Now().Before(deadline) {
					time.Sleep(10 * time.Millisecond)
					err = Settle(t.Context(), b.w.Common, target)
				}
				b.ok(err)
				b.settled(" M other\nA  staged")
			})
		}
	}
}
