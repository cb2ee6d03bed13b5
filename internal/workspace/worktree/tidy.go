package worktree

import (
	"cmp"
	"errors"

	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

// tidy repairs the parts of git's directories that the lineage's agent, or the lane's tests, can
// write, so that gl's git follows no link there and waits at no pipe. It returns what it has
// removed or set aside.
func (ls *Lineages) tidy(l *Lineage) (mended []string, err error) {
	if l.Admin == "" || !paths.IsDir(l.Admin) || l.Phase == Planned {
		return nil, nil
	}
	mended, err = ls.at.Worktree(l).Tidy(cmp.Or(l.Branch, l.Base))
	if l.IsLane() {
		return mended, err
	}
	for _, refs := range []string{ls.at.branches(l.System, l.Slice),
		ls.at.tests(l.System, l.Slice)} {
		more, refsErr := git.TidyRefs(ls.common, refs)
		mended, err = append(mended, more...), errors.Join(err, refsErr)
	}
	return mended, err
}

// relink makes the worktree one of the repository again, after its last snapshot has kept what is
// in it: an agent may have run git init over it. It returns what it did.
func (ss *Snapshots) relink(l *Lineage) string {
	w := ss.at.Worktree(l)
	if l.IsLane() || !paths.IsDir(l.Path) || w.Check() == nil {
		return ""
	}
	to, err := w.Relink()
	switch {
	case err != nil:
		return "its .git isn't the repository's: " + err.Error()
	case to == "":
		return "its .git was gone, and was made again"
	}
	return "its .git wasn't the repository's: put aside as " + to
}

// tidyRefs tidies the refs of all slices, before they are listed.
func (ls *Lineages) tidyRefs() {
	_, _ = git.TidyRefs(ls.common, "refs/heads/"+ls.at.prefix+"/s/"+ls.at.project)
	_, _ = git.TidyRefs(ls.common, "refs/gl/tests/"+ls.at.project)
}

// tidyAll tidies all of gl's worktrees: git looks at each of them when it adds one. Errors are left
// to git.
func (ls *Lineages) tidyAll() {
	ls.tidyRefs()
	linked, _ := git.ListLinked(ls.common)
	lineages, _, _ := ls.All()
	head := map[string]string{}
	for _, l := range lineages {
		if l.Admin != "" {
			head[l.Admin] = cmp.Or(l.Branch, l.Base)
		}
	}
	for _, e := range linked {
		if _, ours := e.IsOurs(); ours {
			_, _ = git.Worktree{Common: ls.common, Admin: e.Admin}.Tidy(head[e.Admin])
		}
	}
}
