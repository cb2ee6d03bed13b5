package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/journal"
	"greenlight/internal/project"
	"greenlight/internal/trust"
)

// SetSetting sets one setting of config.json to what text means for it, and returns it as it was and as it is. The commands that a
// person changes are allowed by that, and no others: the file may name commands of somebody else. Proposals for the key are over.
func SetSetting(ctx context.Context, pr *project.Project, store trust.Store, key, text string) (was, is project.Setting, err error) {
	err = pr.EditSettings(ctx, func(s *project.Settings) error {
		before, _ := s.Commands() // what can't be read is no command yet
		was, _ = s.Get(key)       // a key that is made now has no value yet
		if err := s.Set(key, text); err != nil {
			return err
		}
		if key == "parallel.agent" {
			if err := s.CheckAgents(); err != nil {
				return err
			}
		}
		after, _ := s.Commands()
		changed := slices.DeleteFunc(after, func(c trust.Command) bool { return slices.Contains(before, c) })
		if is, err = s.Get(key); err != nil {
			return err
		}
		// Before it is written: a run that is under way must not meet it without permission.
		if err := store.Allow(ctx, pr.Root, changed); err != nil {
			return fmt.Errorf("nothing is changed: %s can't be recorded as allowed: %w", trust.Keys(changed), err)
		}
		return nil
	})
	if err != nil {
		return was, is, err
	}
	if key == "parallel.max" {
		if err := pr.Runs.PutSlotsSet(time.Now()); err != nil {
			return was, is, fmt.Errorf("%s is changed, but a drain with --max can't be told: %w", project.ConfigFile, err)
		}
	}
	return was, is, pr.Decided(ctx, []trust.Command{{Key: key}})
}

// Propose keeps what an agent wants to set, for a person to decide. It returns the error that the agent gets.
func Propose(ctx context.Context, pr *project.Project, by *attempt.Caller, key, text string) error {
	if s, err := pr.Settings(); err == nil {
		if err := s.Set(key, text); err != nil { // nobody could set it
			return err
		}
	}
	refused := fmt.Errorf("settings are for a person, and this is %s", by)
	kept, err := pr.Propose(ctx, by, key, text)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and the proposal can't be kept: %w", refused, err)
	case !kept:
		return fmt.Errorf("%w: ask a person to do it with gl settings set", refused)
	}
	_ = pr.Runs.Journal().Append(journal.Event{
		Kind: journal.Proposal, System: pr.Key(), Slice: by.ID, Attempt: by.N, Setting: key, Value: text,
	})
	return fmt.Errorf("%w: it is kept as a proposal, and a person decides (gl doctor lists it)", refused)
}
