package hook

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

// comparing is the time limit of a comparison. The client waits for it, and the merge queue
// compares in any case.
const comparing = 45 * time.Second

// touched tells a session of an attempt which of the files handed over with its tests it has
// changed, by any means. It returns nil for none.
func (s *session) touched(quick bool) *Block {
	pr, lineage := s.lineage()
	if lineage == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), comparing)
	defer cancel()
	l, err := lane.OpenReader(ctx, pr)
	if err != nil {
		return nil
	}
	t, err := l.Touched(ctx, lineage, quick)
	if err != nil || t == nil {
		return nil
	}
	const most = 20
	list := t.Paths[:min(len(t.Paths), most)]
	text := fmt.Sprintf("Changed since the tests were handed over: %s%s. Tests, their data, their runner's configuration and the contracts stay as they "+
		"were then; otherwise %s isn't merged. ", strings.Join(list, ", "),
		words.More(len(t.Paths)-most), lineage.Slice)
	if t.From != "" {
		text += fmt.Sprintf("Put them back, in the project's directory: git restore --source=%s -- %s (git rm a file that wasn't there). ",
			t.From[:min(len(t.From), 12)], strings.Join(list, " "))
	} else {
		text += "Put them back as they were. "
	}
	if s.AgentID != "" {
		text += "If one of these is wrong, stop there and return BLOCKED, with the contract's words."
	} else {
		text += fmt.Sprintf("Further tests go into new files. If one of these is wrong, stop there: gl state set %s waiting_for=\"WHAT IS WRONG, AND YOUR PROPOSAL\".",
			lineage.Slice)
	}
	return &Block{Decision: "block", Reason: sanitize.Text(text)}
}

// lineage returns the work of the session's attempt, if it works in a worktree; otherwise nil.
func (s *session) lineage() (*project.Project, *worktree.Lineage) {
	id := s.getenv("GL_SLICE")
	if s.getenv("GL_SESSION") == "" || id == "" {
		return nil, nil
	}
	pr := s.project()
	if pr == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), comparing)
	defer cancel()
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return nil, nil
	}
	l, err := repo.Lineages.Get(pr.Key(), id)
	if err != nil || within(realPath(s.Cwd, os.Readlink), realPath(l.Path, os.Readlink)) == "" {
		return nil, nil
	}
	return pr, l
}
