package hands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/paths"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A repository is a worker's own repository of one project. It has no files of its own and no
// branch but those of lineages, whose worktrees are beside it. Everything in it is the project's,
// or is pushed before its lease ends, so it may be removed while there is no lineage.
type repository struct {
	top string
	mu  sync.Mutex // makes and removes one lineage at a time
}

// common returns the repository's git directory.
func (r *repository) common() string { return filepath.Join(r.top, ".git") }

// root returns the project's place in the repository, where its lineages' files are.
func (r *repository) root(dir string) string {
	return filepath.Join(r.top, filepath.FromSlash(dir))
}

// open opens the repository for the project at dir below the top of its worktrees.
func (r *repository) open(ctx context.Context, dir string) (*worktree.Repo, error) {
	root := r.root(dir)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	return worktree.Attach(ctx, root, worktree.Options{SnapshotMB: snapshotMB})
}

// snapshotMB limits a snapshot more generously than at home: what isn't in one is lost with the
// worker.
const snapshotMB = 256

// get fetches the job's commit and returns the lineage that is to continue with it.
func (r *repository) get(ctx context.Context, h hub.Worker, f remote.Fence,
	job *remote.Job) (*worktree.Repo, *worktree.Lineage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !paths.Exists(r.common()) {
		if err := os.MkdirAll(r.top, 0o700); err != nil {
			return nil, nil, err
		}
		if err := git.InitFor(ctx, r.top, job.Commit); err != nil {
			return nil, nil, err
		}
	}
	repo, err := r.open(ctx, job.Command.Dir)
	if err != nil {
		return nil, nil, err
	}
	if err := fetch(ctx, h, repo.Git.Common, f); err != nil {
		return nil, nil, fmt.Errorf("fetch the commit to start from: %w", err)
	}
	got, err := git.ResolveCommit(ctx, repo.Git.Common, hub.JobRef(f, job.Commit))
	if err != nil {
		return nil, nil, err
	}
	if got != job.Commit {
		return nil, nil, fmt.Errorf("the coordinator hasn't published the commit %s", job.Commit)
	}
	l, err := repo.Lineages.Plan(ctx, "", job.Lineage, job.Commit, false)
	return repo, l, err
}

const (
	fetchTries = 5
	fetchPause = time.Second // between the first two tries; it doubles
)

// fetch tries again if the connection breaks.
func fetch(ctx context.Context, h hub.Worker, common string, f remote.Fence) error {
	pause := fetchPause
	for try := 1; ; try++ {
		err := h.Fetch(ctx, common, f)
		if err == nil || try == fetchTries || ctx.Err() != nil || errors.Is(err, hub.ErrWithdrawn) ||
			errors.Is(err, hub.ErrRevoked) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// find returns a lineage that already exists. The error is fs.ErrNotExist if it isn't.
func (r *repository) find(ctx context.Context,
	job *remote.Job) (*worktree.Repo, *worktree.Lineage, error) {
	if !paths.Exists(r.common()) {
		return nil, nil, fs.ErrNotExist
	}
	repo, err := r.open(ctx, job.Command.Dir)
	if err != nil {
		return nil, nil, err
	}
	l, err := repo.Lineages.Get("", job.Lineage)
	return repo, l, err
}

// forget removes the refs of a lease's commits.
func (r *repository) forget(ctx context.Context, f remote.Fence) error {
	common := r.common()
	if !paths.Exists(common) {
		return nil
	}
	refs, err := git.RefsBelow(ctx, common, strings.TrimSuffix(hub.JobRef(f, ""), "/"))
	if err != nil || len(refs) == 0 {
		return err
	}
	var changes []git.RefChange
	for _, ref := range refs {
		changes = append(changes, git.RefChange{Name: ref.Name, Old: ref.Commit})
	}
	return git.ChangeRefs(ctx, common, "gl: the lease is confirmed", changes...)
}

// discard removes a lineage's worktree, branch and snapshots.
func (r *repository) discard(ctx context.Context, job *remote.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	repo, l, err := r.find(ctx, job)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return repo.Cleaner.Discard(ctx, l)
}
