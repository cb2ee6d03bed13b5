package doctor

import (
	"context"
	"errors"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// checkGit checks that git ignores what belongs to this machine.
func checkGit(x *exam) []Finding {
	root := x.pr.Root
	if !paths.Exists(statedir.Path(root)) {
		// in another system's project, the directory has its own .gitignore
		return nil
	}
	left, err := git.Unignored(x.ctx, root, statedir.Ignored()...)
	switch {
	case errors.Is(err, git.ErrNone), errors.Is(err, git.ErrMissing):
		return nil
	case err != nil:
		return []Finding{found(Note, "", sanitize.Line(err.Error()), "")}
	}
	var all []Finding
	if len(left) > 0 {
		all = append(all,
			fixable(".greenlight/.gitignore", "git doesn't ignore "+strings.Join(left, ", ")))
	}
	own := []string{".greenlight/runs", ".greenlight/.lock"}
	tracked, err := git.Tracked(x.ctx, root, own...)
	if err == nil && len(tracked) > 0 {
		severity, effect := Warning, ""
		if tracked[len(tracked)-1] != own[1] {
			// sorted: the lock precedes the files in runs/
			severity, effect = Error, ", so gl slice refuses to run"
		}
		all = append(all, found(severity, ".greenlight/runs",
			"git tracks "+strings.Join(tracked[:min(3, len(tracked))], ", ")+
				words.More(len(tracked)-3)+", which belongs to one machine"+effect,
			"git rm -r --cached --ignore-unmatch "+strings.Join(own, " ")))
	}
	return all
}

// checkObjects reports new objects of gl's that a git prune removed.
func checkObjects(x *exam) []Finding {
	at, err := git.FindCheckout(x.ctx, x.pr.Root)
	if err != nil { // no repository, or no git
		return nil
	}
	gone, err := git.Pruned(x.ctx, at.Common)
	if err != nil {
		return []Finding{found(Note, "", sanitize.Line(err.Error()), "")}
	}
	if len(gone) == 0 {
		return nil
	}
	f := fixable("", words.Count(len(gone), "object")+
		" of gl's work, of the last ten minutes, pruned from the repository: "+
		strings.Join(gone[:min(3, len(gone))], ", ")+words.More(len(gone)-3)+
		"; where a ref has one, git gc and git log --all fail")
	f.Severity = Note // most belong to failed attempts
	return []Finding{f}
}

// fixObjects restores them.
func fixObjects(ctx context.Context, pr *project.Project) ([]string, error) {
	at, err := git.FindCheckout(ctx, pr.Root)
	if err != nil {
		return nil, nil
	}
	gone, err := git.Pruned(ctx, at.Common)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	if err := git.Mend(at.Common); err != nil {
		return nil, err
	}
	return []string{"put back " + words.Count(len(gone), "object") + " that a prune had taken"}, nil
}

// checkMerges suggests a merge driver for a generated file.
func checkMerges(x *exam) []Finding {
	view := x.pr.Tracker.Traits().View
	if view == "" {
		return nil
	}
	tracked, err := git.Tracked(x.ctx, x.pr.Root, view)
	if err != nil || len(tracked) == 0 {
		return nil
	}
	driver, err := git.Attribute(x.ctx, x.pr.Root, "merge", view)
	if err != nil {
		return nil
	}
	const enable = "git config merge.ours.driver true"
	if driver == "unspecified" {
		return []Finding{found(Note, view,
			"is generated, and will conflict whenever branches are merged. With this driver, a merge keeps the current branch's, and gl state render updates it",
			"echo '"+view+" merge=ours' >> .gitattributes && "+enable)}
	}
	if set, err := git.Config(x.ctx, x.pr.Root, "merge.ours.driver"); driver == "ours" &&
		err == nil && set == "" {
		return []Finding{found(Note, view,
			"uses the merge driver ours, which this clone doesn't have", enable)}
	}
	return nil
}
