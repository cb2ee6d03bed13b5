package hands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A keeper takes snapshots beside a running program and pushes them, one at a time: they are what
// is left if this machine is gone.
type keeper struct {
	run    *run
	busy   chan struct{} // closed when the last one is over
	cancel context.CancelFunc
	failed chan error
	pushed string // the last one
}

// take begins a snapshot, unless one is still being taken.
func (k *keeper) take() {
	if k.busy != nil {
		select {
		case <-k.busy:
		default:
			return
		}
	}
	ctx, cancel := context.WithCancel(k.run.place.ctx)
	busy := make(chan struct{})
	k.busy, k.cancel = busy, cancel
	go func() {
		defer close(busy)
		defer cancel()
		if err := k.save(ctx); err != nil && ctx.Err() == nil {
			select {
			case k.failed <- err:
			default:
			}
		}
	}()
}

func (k *keeper) save(ctx context.Context) error {
	r := k.run
	s, err := r.site.Repo.Snapshots.Take(ctx, r.site.Lineage,
		worktree.SnapshotOptions{Why: "gl: snapshot of " + nameOf(r.job)})
	if err != nil || s == nil || s.Tree == "" || s.Tree == k.pushed {
		return err
	}
	if err := r.place.hub.Push(ctx, r.site.Repo.Git.Common, r.f, s.Tree); err != nil {
		return fmt.Errorf("push it: %w", err)
	}
	k.pushed = s.Tree
	r.place.tell(remote.Snapshotted{Fence: r.f, Commit: s.Tree})
	return nil
}

// stop cancels the snapshot that is being taken, and waits for its end.
func (k *keeper) stop() {
	if k.busy != nil {
		k.cancel()
		<-k.busy
	}
}

// nameOf returns a job's name for people.
func nameOf(job *remote.Job) string {
	if job.Slice == "" {
		return job.Lineage
	}
	return job.Slice + " in attempt " + strconv.Itoa(job.N)
}

// pushWork commits what a job left in its worktree, and pushes it.
func pushWork(p *place, f remote.Fence, job *remote.Job) {
	commit, unsaved, err := p.commit(job)
	if err == nil && commit != "" {
		err = p.push(p.ctx, f, commit)
		if err != nil && p.isDenied(f, err) {
			commit, unsaved, err = "", err.Error(), nil
		}
	}
	if err != nil {
		p.print(f, "its work isn't pushed yet: "+err.Error())
	}
	p.tell(remote.Pushed{Fence: f, Commit: commit, Unsaved: remote.Text(unsaved), Failed: err != nil})
}

// mostDenied is how often the exchange may answer a push with an error before that is for good: an
// object that git finds fault with, say.
const mostDenied = 20

// isDenied reports whether a push can't succeed. While there is no connection, it still may.
func (p *place) isDenied(f remote.Fence, err error) bool {
	switch {
	case errors.Is(err, hub.ErrWithdrawn):
		return true
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied[f]++
	return p.denied[f] >= mostDenied
}

// commit returns a commit with all that is in the job's worktree: the branch, if everything can be
// committed there, or a snapshot on top of what is checked out. unsaved says what it doesn't have.
func (p *place) commit(job *remote.Job) (commit, unsaved string, err error) {
	ctx, name := p.ctx, nameOf(job)
	repo, l, err := p.repo.find(ctx, job)
	if errors.Is(err, fs.ErrNotExist) { // it was never made
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	// it puts in order what the agent may have replaced
	if _, err := repo.Inspect(ctx, l); err != nil {
		return "", "", err
	}
	s, kept := repo.Snapshots.Take(ctx, l, worktree.SnapshotOptions{Last: true,
		Why: "gl: snapshot of " + name + " at its end"})
	if kept != nil {
		unsaved = kept.Error()
	}
	if s != nil && len(s.Failed) > 0 {
		unsaved = s.Failed[0].Path + ": " + s.Failed[0].Why
	}
	w := repo.Layout.Worktree(l).Exclusive()
	// if it stays where it is, CommitAll refuses
	_ = w.Adopt(ctx, l.Branch)
	commit, _, err = w.CommitAll(ctx, l.Branch, "gl: what "+name+" left uncommitted")
	if err == nil {
		return commit, sanitize.Line(unsaved), nil
	}
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	unsaved = sanitize.Line(err.Error())
	if s != nil && s.Tree != "" {
		return s.Tree, unsaved, nil
	}
	commit, err = git.ResolveCommit(ctx, repo.Git.Common, l.Branch)
	return commit, unsaved, err
}
