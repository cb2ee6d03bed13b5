package lane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A history finds what has landed, by git's refs and by the attempts' records. It moves nothing.
type history struct {
	project *project.Project
	repo    *worktree.Repo
}

// system returns the system that work is of: a task is of none.
func (h *history) system(work string) string {
	if attempt.IsTask(work) {
		return ""
	}
	return h.project.Key()
}

// landing returns the commit by which a slice or a task landed last, "" if it never did or was
// taken back since. Without a record it reads the commits' trailers.
func (h *history) landing(ctx context.Context, id string) (string, error) {
	rec, err := h.landingRecord(id)
	if err != nil || rec != nil {
		if rec == nil || rec.Since.Undone != nil {
			return "", err
		}
		return rec.Landing.Commit, nil
	}
	tip, err := h.newest(ctx)
	if err != nil {
		return "", err
	}
	all, err := git.Landings(ctx, h.repo.Git.Common, "", tip)
	if err != nil {
		return "", err
	}
	commit := ""
	for _, c := range all {
		if c.Slice == id && c.Project == h.repo.Git.Prefix {
			commit = c.Commit
		}
	}
	return commit, nil
}

// landingRecord returns the last attempt by which the slice or the task landed, nil for none.
func (h *history) landingRecord(work string) (*attempt.Record, error) {
	all, err := h.project.Runs.AttemptsAt(work)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.ID.System == h.system(work) && r.Judged.Outcome == outcome.Done &&
			r.Landing != nil && r.Landing.Commit != "" {
			return r, nil
		}
	}
	return nil, nil
}

// completed returns the attempt by which a slice is complete, nil for none: the last that landed,
// was done in the checkout, or was accepted there.
func (h *history) completed(id string) (*attempt.Record, error) {
	if rec, err := h.landingRecord(id); rec != nil || err != nil {
		return rec, err
	}
	all, err := h.project.Runs.Last(id)
	if err != nil {
		return nil, err
	}
	for _, r := range all[id] {
		if r.ID.System == h.project.Key() && (r.Judged.Outcome == outcome.Done ||
			r.Judged.Gate != nil && r.Judged.Gate.Way == gate.Word) {
			return r, nil
		}
	}
	return nil, nil
}

// recordOf returns the attempt by which a commit landed, nil if its record isn't here.
func (h *history) recordOf(landed git.Landed) (*attempt.Record, error) {
	n, err := strconv.Atoi(landed.Attempt)
	if err != nil {
		return nil, nil //nolint:nilerr // the trailer isn't gl's
	}
	id, _, _ := strings.Cut(landed.Slice, ".") // of a task: see attempt.Record.Work
	if !attempt.IsTask(id) {
		id = landed.Slice
	}
	r, err := h.project.Runs.Get(id, n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || r.Landing == nil || r.Landing.Commit != landed.Commit {
		return nil, err
	}
	return r, nil
}

// target returns the target's commit.
func (h *history) target(ctx context.Context) (string, error) {
	tip, err := git.ResolveCommit(ctx, h.repo.Git.Common, h.repo.Target())
	if err == nil && tip == "" {
		err = fmt.Errorf("the target branch %s is gone: name another with gl settings set git.target BRANCH", worktree.Short(h.repo.Target()))
	}
	return tip, err
}

// landedBy reports whether a commit is the landing of this project's slice by its attempt n.
func (h *history) landedBy(c git.Landed, slice string, n int) bool {
	return c.Slice == slice && c.Attempt == fmt.Sprint(n) && c.Project == h.repo.Git.Prefix
}

// newest returns the commit of the queue's branch or, if the target is ahead of it, the target's.
// It moves nothing.
func (h *history) newest(ctx context.Context) (string, error) {
	lane, err := h.repo.Queue.Tip(ctx)
	if err != nil {
		return "", err
	}
	target, err := h.target(ctx)
	if err != nil {
		return "", err
	}
	if behind, err := git.IsAncestor(ctx, h.repo.Git.Common, lane, target); err != nil || behind {
		return target, err
	}
	return lane, nil
}
