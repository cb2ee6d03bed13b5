package lane

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/worktree"
)

var check = testfiles.Check

// newFleet returns a fleet with workers of one slot each.
func newFleet(t *testing.T, where string, names ...string) *fleet {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	check(t, testfiles.EmptyRepository(root, "main"))
	testfiles.Write(t, root, map[string]string{
		".greenlight/slices/S-1.md": "---\nid: S-1\nstatus: pending\nstep: none\nwaiting_for:\nsession:\ntests: 0\n---\n\n# Slice 1\n",
		".greenlight/config.json":   `{"test": {"command": "./test.sh", "where": "` + where + `"}}`,
	})
	commit := exec.Command("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q",
		"--allow-empty", "-m", "first")
	commit.Dir = root
	check(t, commit.Run())
	pr, err := project.Open(root)
	check(t, err)
	repo, err := worktree.Open(t.Context(), root, worktree.Options{})
	check(t, err)
	list := &workers.List{Server: proc.Self()}
	for _, name := range names {
		list.Workers = append(list.Workers, workers.Worker{Name: name, Hello: remote.Hello{Boot: 1, Slots: 1}})
	}
	check(t, workers.Write(pr.Runs.Files.Dir(), list))
	return &fleet{
		project: pr, repo: repo, commands: &commands{project: pr, conf: pr}, tell: t.Logf, width: 1,
		unfit: map[string]time.Time{}, red: map[string]string{}, took: map[string]time.Duration{},
	}
}

// on returns the worker that gets a tree's tests now, "" for this machine.
func (f *fleet) on(t *testing.T, tree string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, left, err := f.place(ctx, tree)
	check(t, err)
	left()
	if w == nil {
		return ""
	}
	return w.Name
}

func exited(tree string, code int, took float64) *testrun.Verdict {
	return &testrun.Verdict{Tree: tree, ExitCode: &code, Seconds: took}
}

// Where tests run follows the setting, and what they have come to before.
func TestFleet(t *testing.T) {
	t.Parallel()
	t.Run("here", func(t *testing.T) {
		if f := newFleet(t, "here", "w1"); f.on(t, "t") != "" || f.room() != 0 {
			t.Error("tests on a worker")
		}
	})
	t.Run("no worker", func(t *testing.T) {
		if f := newFleet(t, "workers"); f.on(t, "t") != "" {
			t.Error("tests on a worker")
		}
	})
	t.Run("red", func(t *testing.T) {
		for where, again := range map[string]string{"auto": "", "workers": "w2"} {
			f := newFleet(t, where, "w1", "w2")
			if f.on(t, "t") != "w1" || f.room() != 2 {
				t.Errorf("%s: on %q, room for %d", where, f.on(t, "t"), f.room())
			}
			w := &workers.Worker{Name: "w1"}
			if !f.ended(t.Context(), w, exited("t", 1, 1), nil) || f.on(t, "t") != again {
				t.Errorf("%s: red, and repeated on %q", where, f.on(t, "t"))
			}
			if f.endedHere(exited("t", 0, 1)); f.on(t, "another") != "w2" {
				t.Errorf("%s: failed there, passed here, and goes on there", where)
			}
		}
	})
	t.Run("lost", func(t *testing.T) {
		f := newFleet(t, "auto", "w1")
		for name, c := range map[string]struct {
			v   *testrun.Verdict
			err error
		}{
			"lost":     {err: &executor.LostError{Where: "worker w1", Why: "it is silent"}},
			"broken":   {err: errors.New("git.setup failed")},
			"signal":   {v: &testrun.Verdict{Tree: "t", Signal: "killed"}},
			"its time": {v: &testrun.Verdict{Tree: "t", TimedOut: true}},
		} {
			clear(f.unfit)
			if f.ended(t.Context(), &workers.Worker{Name: "w1"}, c.v, c.err) || f.on(t, "t") != "" {
				t.Errorf("%s: it counts, or the worker gets more", name)
			}
		}
	})
	t.Run("slower", func(t *testing.T) {
		f := newFleet(t, "auto", "w1")
		f.ended(t.Context(), &workers.Worker{Name: "w1"}, exited("t", 0, 9), nil)
		if f.endedHere(exited("t", 0, 3)); f.on(t, "t") != "" {
			t.Error("tests go to a slower worker while nothing is tested here")
		}
		if f.here = 1; f.on(t, "t") != "w1" {
			t.Error("tests wait for this machine")
		}
	})
}
