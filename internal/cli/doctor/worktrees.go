package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// inWorktrees reports whether this project builds slices in worktrees.
func (x *exam) inWorktrees() bool {
	if x.pr.Config.Git.Isolation != project.IsolationWorktree || !x.pr.Tracker.Traits().Lands {
		return false
	}
	_, err := x.pr.Worktrees(x.ctx)
	return err == nil
}

// checkWorktrees reports worktrees, branches and snapshots that belong to no open slice.
func checkWorktrees(x *exam) []Finding {
	wanted := x.pr.Config.Git.Isolation == project.IsolationWorktree
	repo, err := x.pr.Worktrees(x.ctx)
	none := new(worktree.Unavailable)
	switch {
	case errors.As(err, &none) && wanted && (x.pr.Config.Git.Asked || !none.NoRepository):
		return []Finding{found(Warning, "",
			"slices are built in the checkout, not in worktrees: "+sanitize.Line(none.Reason), "")}
	case errors.As(err, &none) && wanted && x.pr.Slices != nil:
		return []Finding{found(Note, "", "agents work in this directory itself, which is in no git repository: nothing is tested on a merge, and there is no diff and no undo",
			worktree.BeginRepository)}
	case errors.As(err, &none):
		return nil
	case err != nil:
		return []Finding{found(Warning, "", sanitize.Line(err.Error()), "")}
	}
	all := append(x.inTheWay(repo, wanted), x.stuckQueue(repo)...)
	left, err := repo.Cleaner.Leftovers(x.ctx)
	if err != nil {
		return append(all, found(Warning, "", sanitize.Line(err.Error()), ""))
	}
	all = slices.Concat(all, specialFiles(repo), x.leftWorktrees(left), x.brokenRefs(repo))
	kept, err := git.Refs(x.ctx, repo.Git.Common, "refs/gl/wip/")
	if err != nil {
		return append(all, found(Warning, "", sanitize.Line(err.Error()), ""))
	}
	if !wanted && len(kept) == 0 {
		return all
	}
	mirrors, err := git.Mirrors(x.ctx, x.pr.Root)
	if err != nil {
		all = append(all, found(Note, "", sanitize.Line(err.Error()), ""))
	}
	for _, name := range mirrors {
		all = append(all, found(Warning, "", fmt.Sprintf("git push to the remote %s mirrors every ref, so snapshots of uncommitted work (refs/gl/wip) leave this machine",
			sanitize.Line(name)), "git config --unset remote."+name+".mirror"))
	}
	return all
}

// brokenRefs reports slices' branches and snapshots whose objects a git prune removed.
func (x *exam) brokenRefs(repo *worktree.Repo) []Finding {
	broken, err := repo.Cleaner.Broken(x.ctx)
	switch {
	case err != nil:
		return []Finding{found(Warning, "", sanitize.Line(err.Error()), "")}
	case len(broken) == 0:
		return nil
	}
	names := make([]string, len(broken))
	for i, ref := range broken {
		names[i] = sanitize.Line(ref.Name)
	}
	return []Finding{fixable("", "git has lost what "+words.Count(len(names), "ref")+
		" of slices' work had (git prune, git gc --prune=now), so git gc and git log --all fail: "+
		strings.Join(names[:min(3, len(names))], ", ")+words.More(len(names)-3))}
}

// fixRefs repairs them.
func fixRefs(ctx context.Context, pr *project.Project) (fixed []string, err error) {
	repo, err := pr.Worktrees(ctx)
	if err != nil { // no worktrees are used here
		return nil, nil
	}
	names, err := repo.Cleaner.MendBroken(ctx)
	for _, name := range names {
		fixed = append(fixed, "repaired "+sanitize.Line(name)+", of which git had lost objects")
	}
	return fixed, err
}

// inTheWay reports what new worktrees are refused for: a target branch that no longer exists, a
// branch named like the directory of gl's, a place inside of another repository.
func (x *exam) inTheWay(repo *worktree.Repo, wanted bool) []Finding {
	check := repo.CheckTarget
	if wanted {
		check = repo.CheckNew
	}
	refused := new(worktree.Refused)
	if repo.Target() == "" || !errors.As(check(x.ctx), &refused) || refused == worktree.ErrNoCommit {
		return nil
	}
	return []Finding{found(Error, "", sanitize.Line(refused.Reason), sanitize.Line(refused.Help))}
}

// stuckQueue reports a merge queue that can't move: its branch was moved or pruned, or the target
// was reset.
func (x *exam) stuckQueue(repo *worktree.Repo) []Finding {
	reason, err := lane.Stuck(x.ctx, x.pr, repo)
	if err != nil {
		reason = err.Error()
	}
	if reason == "" {
		return nil
	}
	return []Finding{found(Warning, "", sanitize.Line(reason), "")}
}

// specialFiles reports pipes, devices and links where git looks for files in gl's worktrees.
func specialFiles(repo *worktree.Repo) (all []Finding) {
	lineages, _, _ := repo.Lineages.All() // reported as leftovers if they can't be read
	for _, l := range lineages {
		if l.Admin == "" {
			continue
		}
		for _, s := range repo.Layout.Worktree(l).Special() {
			all = append(all, found(Warning, "", sanitize.Line(s.Path)+" "+s.Why,
				"rm "+shellwords.Quote(sanitize.Line(s.Path))))
		}
	}
	return all
}

// leftWorktrees returns one finding for each directory, one for all branches and one for all
// snapshots: there are many once runs/ was removed.
func (x *exam) leftWorktrees(left []worktree.Leftover) []Finding {
	var all []Finding
	var branches, wips []string
	tried, _ := x.pr.Runs.Index() // what can't be read is reported elsewhere
	for _, l := range left {
		if (l.Kind == worktree.LeftBranch || l.Kind == worktree.LeftWIP) && len(tried[l.Slice]) > 0 {
			continue // work of earlier attempts, as of what was taken back
		}
		path := sanitize.Line(l.Path)
		switch l.Kind {
		case worktree.LeftWorktree:
			all = append(all, found(Note, "", "the worktree "+path+" belongs to no open slice",
				"gl clean --dry-run shows what is in it"))
		case worktree.LeftEntry:
			all = append(all, found(Warning, "", fmt.Sprintf("git lists a worktree whose directory is gone (%s)", sanitize.Line(l.Admin)), "gl clean"))
		case worktree.LeftDirectory:
			all = append(all, found(Warning, "", "the directory "+path+
				" is among the worktrees, and git doesn't list it",
				"check it, and remove it yourself"))
		case worktree.LeftFile:
			all = append(all, found(Warning, paths.Relative(x.pr.Root, l.Path),
				"can't be used: the slice's next attempt begins a new branch",
				"gl salvage lists its work"))
		case worktree.LeftBranch:
			branches = append(branches, worktree.Short(l.Branch))
		case worktree.LeftWIP:
			of := fmt.Sprintf("%s, from attempt %d on", l.Slice, l.N)
			if l.Slice == "" {
				of = worktree.Short(l.Refs[0])
			}
			wips = append(wips, of)
		}
	}
	for _, c := range []struct {
		list      []string
		one, many string
	}{
		{branches, "a branch whose slice has", "%d branches whose slices have"},
		{wips, "the snapshots of a worktree whose slice has", "the snapshots of %d worktrees whose slices have"},
	} {
		n := len(c.list)
		if n == 0 {
			continue
		}
		what := c.one
		if n > 1 {
			what = fmt.Sprintf(c.many, n)
		}
		all = append(all, found(Note, "", what+" no record in .greenlight/runs: "+
			sanitize.Line(c.list[0])+words.More(n-1), "gl salvage"))
	}
	return all
}
