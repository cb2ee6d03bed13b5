package away_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/away"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/executor/executortest"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

// A job on a worker is what a job here is: the same promises, with gl serve's loop, a worker and
// git between.
func TestConformance(t *testing.T) {
	testfiles.Slow(t)
	f := newFarm(t, "")
	f.slice("S-1", "")
	f.begin()
	pr, err := project.Open(f.root)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	x, stop, err := away.NewErrands(ctx, away.Config{
		Project: pr, Hub: f.hub, Policy: f.policy, Self: f.gl, Environ: f.env, Members: f.joined,
		Tell: func(line string) { t.Log(line) },
	})
	check(t, err)
	t.Cleanup(stop)
	t.Cleanup(cancel)
	f.worker("w1", 128)
	f.listed("w1")
	x.Worker, x.Commit = "w1", f.git("rev-parse", "HEAD")
	x.Worktrees = filepath.Join(f.dir, "w1", "repo.gl", "_", "_")
	var n atomic.Int64
	newDir := func() (name, dir string) {
		name = fmt.Sprintf("job-%d", n.Add(1))
		return name, filepath.Join(x.Worktrees, name+".1")
	}
	subject := &executortest.Subject{
		Executor: x, Worker: true,
		Dir: func(*testing.T) string {
			_, dir := newDir()
			return dir
		},
		Place: func(t *testing.T) (string, executor.Place) {
			name, dir := newDir()
			repo := x.Trees()
			l, err := repo.Lineages.Plan(ctx, "greenlight", name, x.Commit, false)
			check(t, err)
			_, err = repo.Begin(ctx, l)
			check(t, err)
			return dir, func(context.Context) (*worktree.Repo, *worktree.Lineage, error) {
				l, err := repo.Lineages.Get("greenlight", name)
				return repo, l, err
			}
		},
		Fetched: func(t *testing.T, _ string, snap *worktree.Snapshot, path string) string {
			return strings.TrimSpace(f.git("show", snap.Whole+":"+path))
		},
	}
	t.Run("promises", func(t *testing.T) {
		executortest.Run(t, func(*testing.T) *executortest.Subject { return subject })
	})
}
