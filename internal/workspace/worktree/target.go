package worktree

import (
	"context"
	"fmt"
	"strings"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/workspace/git"
)

// A target is the branch that the work is for.
type target struct{ at *Layout }

// findTarget finds the branch that the work is for: the one that is asked for, else the recorded
// one, else the one that is checked out. Base records it.
func findTarget(ctx context.Context, at *Layout, asked string) (string, error) {
	if asked != "" {
		return "refs/heads/" + strings.TrimPrefix(asked, "refs/heads/"), nil
	}
	target, err := git.SymbolicRef(ctx, at.git.Common, at.targetRef())
	if err == nil && target == "" {
		target, err = git.SymbolicRef(ctx, at.git.GitDir, "HEAD")
	}
	return target, err
}

// check refuses a repository in which no work can begin.
func (t target) check(ctx context.Context) error {
	head, err := git.ResolveCommit(ctx, t.at.git.GitDir, "HEAD")
	switch {
	case err != nil:
		return err
	case head == "":
		return ErrNoCommit
	case t.at.target == "":
		name := t.branchAt(ctx, head)
		return &Refused{"no branch is checked out, so gl doesn't know where to merge",
			"run git switch " + name + ", or gl settings set git.target " + name}
	}
	_, err = t.tip(ctx)
	return err
}

// branchAt returns a branch that has the commit at its tip, for messages.
func (t target) branchAt(ctx context.Context, commit string) string {
	refs, err := git.RefsBelow(ctx, t.at.git.Common, "refs/heads")
	if err != nil {
		return "BRANCH"
	}
	for _, r := range refs {
		if name := short(r.Name); r.Commit == commit && shellwords.Quote(name) == name {
			return name
		}
	}
	return "BRANCH"
}

// tip returns the target's commit.
func (t target) tip(ctx context.Context) (string, error) {
	if t.at.target == "" {
		return "", &Refused{"no target branch is known",
			"name it with gl settings set git.target BRANCH"}
	}
	tip, err := git.ResolveCommit(ctx, t.at.git.Common, t.at.target)
	if err == nil && tip == "" {
		err = &Refused{fmt.Sprintf("there is no branch %s, into which gl merges",
			short(t.at.target)), "name another with gl settings set git.target BRANCH"}
	}
	return tip, err
}

// record records the target and returns its tip.
func (t target) record(ctx context.Context) (string, error) {
	tip, err := t.tip(ctx)
	if err != nil {
		return "", err
	}
	old, err := git.SymbolicRef(ctx, t.at.git.Common, t.at.targetRef())
	if err == nil && old != t.at.target {
		err = git.SetSymbolicRef(ctx, t.at.git.Common, t.at.targetRef(), t.at.target, "gl: target")
	}
	return tip, err
}
