package project

import (
	"context"
	"os"
	"strings"
	"sync"

	"greenlight/internal/base/trust"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// worktrees holds the repository that contains the project, once opened.
type worktrees struct {
	mu   sync.Mutex
	repo *worktree.Repo
}

// Worktrees returns the repository that contains the project, for work on existing worktrees.
// The error is a *worktree.Unavailable if worktrees aren't possible.
func (p *Project) Worktrees(ctx context.Context) (*worktree.Repo, error) {
	p.trees.mu.Lock()
	defer p.trees.mu.Unlock()
	if p.trees.repo != nil {
		return p.trees.repo, nil
	}
	o, err := p.worktreeOptions()
	if err == nil {
		p.trees.repo, err = worktree.Attach(ctx, p.Root, o)
	}
	return p.trees.repo, err
}

// OpenWorktrees is Worktrees for creating new ones. The error is a *worktree.Refused if a
// person has to do something first.
func (p *Project) OpenWorktrees(ctx context.Context) (*worktree.Repo, error) {
	o, err := p.worktreeOptions()
	if err != nil {
		return nil, err
	}
	return worktree.Open(ctx, p.Root, o)
}

func (p *Project) worktreeOptions() (worktree.Options, error) {
	g := p.Config.Git
	home, err := os.UserHomeDir()
	if err != nil && strings.HasPrefix(g.Worktrees, "~") {
		return worktree.Options{}, err
	}
	return worktree.Options{Dir: g.Dir(p.Root, home), Target: g.Target, Prefix: g.BranchPrefix,
		SnapshotMB: g.SnapshotMB, Filters: filterJudge{p.Root, p.Away}.judge}, nil
}

// A filterJudge judges the filters that git finds in a repository's configuration.
type filterJudge struct {
	root string
	away bool // a copy, which has the configuration that gl created
}

// judge is a git.FilterJudge. Attempts begin only while all filters are allowed, so any
// other was written since. A filter under a new name stays off. A changed one that was allowed
// before stops git: without its filter, the person's content would be stored unfiltered, for
// example unencrypted.
func (j filterJudge) judge(filters []git.Setting) ([]git.Setting, error) {
	if j.away {
		return nil, nil
	}
	store := trust.Open(os.Getenv)
	pending, err := store.Pending(j.root, asCommands(filters))
	if err != nil {
		return nil, err
	}
	var denied []git.Setting
	for _, c := range pending {
		name := c.Key[:strings.LastIndexByte(c.Key, '.')+1]
		if store.Knows(j.root, name) {
			return nil, &trust.Error{Commands: pending}
		}
		denied = append(denied, git.Setting{Key: c.Key, Value: c.Line})
	}
	return denied, nil
}
