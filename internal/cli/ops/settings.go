package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/trust"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// SetSetting sets one setting of config.json to the value that text means, and returns its old and
// new value. This allows the commands that the person changed, and no others, since the file may
// name commands of other people. It drops proposals for the key.
func SetSetting(ctx context.Context, pr *project.Project, store trust.Store,
	key, text string) (was, is project.Setting, err error) {
	if key == targetKey {
		if err := checkTarget(ctx, pr, text); err != nil {
			return was, is, err
		}
	}
	err = pr.EditSettings(ctx, func(s *project.Settings) error {
		before, _ := s.Commands() // an unreadable value is no command yet
		was, _ = s.Get(key)       // a new key has no value yet
		if err := s.Set(key, text); err != nil {
			return err
		}
		if key == "parallel.agent" {
			if err := s.CheckAgents(); err != nil {
				return err
			}
		}
		after, _ := s.Commands()
		changed := slices.DeleteFunc(after, func(c trust.Command) bool {
			return slices.Contains(before, c)
		})
		if is, err = s.Get(key); err != nil {
			return err
		}
		// Before it is written: a run in progress must not find it without permission.
		if err := store.Allow(ctx, pr.Root, changed); err != nil {
			return fmt.Errorf("nothing is changed: %s can't be recorded as allowed: %w",
				trust.Keys(changed), err)
		}
		return nil
	})
	if err != nil {
		return was, is, err
	}
	return was, is, settled(ctx, pr, key)
}

// settled tells of a changed setting, and drops proposals for it.
func settled(ctx context.Context, pr *project.Project, key string) error {
	if key == "parallel.max" {
		if err := pr.Runs.Control.PutSlotsSet(time.Now()); err != nil {
			return fmt.Errorf("%s is changed, but a running gl slice --max can't be told: %w",
				project.ConfigFile, err)
		}
	}
	return pr.Proposals().Decided(ctx, []trust.Command{{Key: key}})
}

// UnsetSetting removes one setting from config.json, so that its default counts. It returns the old
// and the new value; is has no value if the key is a person's own.
func UnsetSetting(ctx context.Context, pr *project.Project,
	key string) (was, is project.Setting, err error) {
	err = pr.EditSettings(ctx, func(s *project.Settings) error {
		var err error
		if was, err = s.Get(key); err != nil {
			return err
		}
		if err := s.Unset(key); err != nil {
			return err
		}
		if strings.HasPrefix(key, "parallel.agent") { // parallel.agent may name what is gone now
			if err := s.CheckAgents(); err != nil {
				return err
			}
		}
		if is, err = s.Get(key); err != nil {
			is = project.Setting{Key: key}
		}
		return nil
	})
	if err != nil {
		return was, is, err
	}
	return was, is, settled(ctx, pr, key)
}

const targetKey = "git.target"

// checkTarget refuses a branch that doesn't exist. The checked-out one need not have a commit yet.
func checkTarget(ctx context.Context, pr *project.Project, text string) error {
	s, err := pr.Settings()
	if err != nil {
		return nil // the edit reports it
	}
	if err := s.Set(targetKey, text); err != nil {
		return err
	}
	is, err := s.Get(targetKey)
	if err != nil {
		return err
	}
	var name string
	repo, err := pr.Worktrees(ctx)
	if err != nil || json.Unmarshal(is.Value, &name) != nil || name == "" {
		return nil // no repository, or no branch
	}
	name = strings.TrimPrefix(name, "refs/heads/")
	ref := "refs/heads/" + name
	if repo.Layout.IsOurs(ref) {
		return &project.SettingError{Reason: "git.target: " + name + " is a branch of gl's own"}
	}
	tip, err := git.ResolveCommit(ctx, repo.Git.Common, ref)
	if err != nil || tip != "" {
		return err
	}
	head, err := git.SymbolicRef(ctx, repo.Git.GitDir, "HEAD")
	if err != nil || head == ref {
		return err
	}
	help := "git branch "
	if born, err := git.ResolveCommit(ctx, repo.Git.GitDir, "HEAD"); err == nil && born == "" {
		help = "git switch -c "
	}
	return &project.SettingError{
		Reason: fmt.Sprintf("git.target: there is no branch %s (%s makes it)", name,
			help+shellwords.Quote(name)),
		Got: name, Known: append(repo.Branches(ctx), worktree.Short(repo.Target())),
	}
}

// Propose keeps an agent's proposed setting for a person to decide. It returns the error that the
// agent gets.
func Propose(ctx context.Context, pr *project.Project, by *attempt.Caller, key, text string) error {
	if s, err := pr.Settings(); err == nil {
		if err := s.Set(key, text); err != nil { // invalid for a person, too
			return err
		}
	}
	refused := fmt.Errorf("settings are for a person, and this is %s", by)
	kept, err := pr.Proposals().Add(ctx, by, key, text)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and the proposal can't be kept: %w", refused, err)
	case !kept:
		return fmt.Errorf("%w: ask a person to do it with gl settings set", refused)
	}
	_ = pr.Runs.Journal().Append(journal.Event{
		Kind: journal.Proposal, System: pr.Key(), Slice: by.ID, Attempt: by.N,
		Setting: key, Value: text,
	})
	return fmt.Errorf("%w: it is kept as a proposal, and a person decides (gl doctor lists it)",
		refused)
}
