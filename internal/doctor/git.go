package doctor

import (
	"errors"
	"strings"

	"greenlight/internal/git"
	"greenlight/internal/paths"
	"greenlight/internal/sanitize"
	"greenlight/internal/statedir"
	"greenlight/internal/words"
)

// checkGit checks that git ignores what belongs to this machine.
func checkGit(x *exam) []Finding {
	root := x.pr.Root
	if !paths.Exists(statedir.Path(root)) { // another system's project: the directory comes with its .gitignore
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
		all = append(all, fixable(".greenlight/.gitignore", "git doesn't ignore "+strings.Join(left, ", ")))
	}
	own := []string{".greenlight/runs", ".greenlight/.lock"}
	tracked, err := git.Tracked(x.ctx, root, own...)
	if err == nil && len(tracked) > 0 {
		severity, effect := Warning, ""
		if tracked[len(tracked)-1] != own[1] { // sorted: the lock's name comes before those in runs/
			severity, effect = Error, ", so gl slice refuses to run"
		}
		all = append(all, found(severity, ".greenlight/runs", "git tracks "+strings.Join(tracked[:min(3, len(tracked))], ", ")+
			words.More(len(tracked)-3)+", which belongs to one machine"+effect, "git rm -r --cached --ignore-unmatch "+strings.Join(own, " ")))
	}
	return all
}

// checkMerges suggests a merge driver for a file that is generated.
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
		return []Finding{found(Note, view, "is generated, and will conflict whenever branches are merged",
			"echo '"+view+" merge=ours' >> .gitattributes && "+enable+" (gl state render afterwards)")}
	}
	if set, err := git.Config(x.ctx, x.pr.Root, "merge.ours.driver"); driver == "ours" && err == nil && set == "" {
		return []Finding{found(Note, view, "uses the merge driver ours, which this clone doesn't have", enable)}
	}
	return nil
}
