package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/words"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/state/guard"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// agentName returns the sub-agent's name, without that of its plugin.
func (s *session) agentName() string {
	if _, name, ok := strings.Cut(s.AgentType, ":"); ok {
		return name
	}
	return s.AgentType
}

// remember records that a sub-agent begins and, if it has a shell and restricted permissions,
// the state it starts from.
func (s *session) remember() {
	pr := s.project()
	if pr == nil || s.AgentType == "" {
		return
	}
	path := s.foundIn(pr.Runs.Files.Dir())
	if path == "" {
		return
	}
	f := found{Agent: s.agentName(), Session: s.Session, Dir: s.place(), Started: s.now}
	ctx, cancel := context.WithTimeout(context.Background(), comparing)
	defer cancel()
	if isolation().Watches(f.Agent) {
		_, lineage := s.lineage()
		if lineage == nil {
			// outside a repository there is nothing to compare with
			f.Contents, _ = git.ReadContents(ctx, f.Dir)
		} else if repo, err := pr.Worktrees(ctx); err == nil {
			f.Commit, _ = repo.Snapshots.Look(ctx, lineage)
		}
	}
	f.write(path)
}

// place returns the project's place in the checkout in which the session works.
func (s *session) place() string {
	place, err := project.Locate(s.Cwd, s.getenv)
	if err != nil {
		return ""
	}
	return realPath(place.Here, os.Readlink)
}

// strayed describes what a sub-agent has changed, by any means, without permission; it reports
// this once. "" means nothing.
func (s *session) strayed() string {
	pr := s.project()
	if pr == nil {
		return ""
	}
	path := s.foundIn(pr.Runs.Files.Dir())
	f := readFound(path)
	if f == nil {
		return ""
	}
	beside := f.beside(path, s.now)
	defer func() {
		if slices.ContainsFunc(beside, func(o *found) bool { return o.Ended.IsZero() }) {
			f.Ended, f.Commit, f.Contents = s.now, "", nil
			f.write(path)
			return
		}
		_ = os.Remove(path)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), comparing)
	defer cancel()
	changed, alone := s.changedSince(ctx, pr, f)
	handed := slices.ContainsFunc(changed, guard.IsRunnerConfig) && s.handedOver()
	list := excused(isolation().Strayed(f.Agent, changed, handed), beside)
	if len(list) == 0 {
		return ""
	}
	const most = 20
	shown := list[:min(len(list), most)]
	text := fmt.Sprintf("%s may not change these, and they were changed while it worked: %s%s. ",
		f.Agent, strings.Join(shown, ", "), words.More(len(list)-most))
	switch {
	case len(beside) > 0:
		text += fmt.Sprintf("%s worked here at the same time. What you changed yourself, put back as it was; leave the rest, and say so. ",
			strings.Join(namesOf(beside), " and "))
	case alone:
		text += fmt.Sprintf("Put them back, in the project's directory: git restore --source=%s -- %s (remove a file that wasn't there). ",
			f.Commit[:min(len(f.Commit), 12)], strings.Join(shown, " "))
	default:
		text += "What you changed yourself, put back as it was; what a person or another session changed, leave, and say so. "
	}
	return text +
		"Then return what you found; what should change there is for the session that started you."
}

// changedSince returns the files that differ from what the sub-agent started with, by their
// paths in the project. alone reports that no other agent works there. In a checkout in which
// another session holds an item, the author of a change is unknown, and nothing is compared.
func (s *session) changedSince(ctx context.Context, pr *project.Project,
	f *found) (changed []string, alone bool) {
	if f.Commit != "" {
		_, lineage := s.lineage()
		if lineage == nil {
			return nil, false
		}
		l, err := lane.OpenReader(ctx, pr)
		if err != nil {
			return nil, false
		}
		changed, _ = l.ChangedSince(ctx, lineage, f.Commit)
		return changed, true
	}
	if f.Contents == nil || s.crowded(pr) {
		return nil, false
	}
	now, err := git.ReadContents(ctx, f.Dir)
	if err != nil || now.Top != f.Contents.Top {
		return nil, false
	}
	list, err := now.Since(ctx, f.Contents)
	if err != nil {
		return nil, false
	}
	for _, path := range list {
		if rel := within(filepath.Join(now.Top, filepath.FromSlash(path)), f.Dir); rel != "" &&
			!statedir.InState(rel) {
			changed = append(changed, rel)
		}
	}
	return changed, false
}

// crowded reports whether another session holds an item of the project.
func (s *session) crowded(pr *project.Project) bool {
	p, err := pr.Plan(s.now, pr.Options())
	if err != nil {
		return true
	}
	return len(active(p)) > len(s.held(pr, p))
}
