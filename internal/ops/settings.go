package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/journal"
	"greenlight/internal/project"
	"greenlight/internal/trust"
)

// errCommands refuses a session what only a person may change.
var errCommands = errors.New("a session that gl started can't change which commands gl runs")

// SetSetting sets one setting of config.json to what text means for it, and returns it as it was and as it is. The commands that a
// person changes are allowed by that, and no others: the file may name commands of somebody else. A session that gl started may
// change no command, not choose the agent, and not leave the worktrees in which gl judges its work. What it wanted to set is kept
// as a proposal, which is over when a person sets that key.
func SetSetting(ctx context.Context, pr *project.Project, store trust.Store, session *project.Session, key, text string) (was, is project.Setting, err error) {
	var changed []trust.Command
	err = pr.EditSettings(ctx, func(s *project.Settings) error {
		before, _ := s.Commands() // what can't be read is no command yet
		agent, isolation := s.Agent(), s.Isolation()
		was, _ = s.Get(key) // a key that is made now has no value yet
		if err := s.Set(key, text); err != nil {
			return err
		}
		after, _ := s.Commands()
		if session != nil && (!slices.Equal(before, after) || s.Agent() != agent || s.Isolation() != isolation) {
			return errCommands
		}
		changed = slices.DeleteFunc(after, func(c trust.Command) bool { return slices.Contains(before, c) })
		is, err = s.Get(key)
		return err
	})
	switch {
	case errors.Is(err, errCommands):
		return was, is, propose(ctx, pr, session, key, text)
	case err != nil:
		return was, is, err
	}
	if err := store.Allow(ctx, pr.Root, changed); err != nil {
		return was, is, fmt.Errorf("%s is changed, but %s can't be recorded as allowed (gl trust asks again): %w", project.ConfigFile,
			trust.Keys(changed), err)
	}
	if session != nil {
		return was, is, nil
	}
	if key == "parallel.max" {
		if err := pr.Runs.PutSlotsSet(time.Now()); err != nil {
			return was, is, fmt.Errorf("%s is changed, but a drain with --max can't be told: %w", project.ConfigFile, err)
		}
	}
	return was, is, pr.Decided(ctx, []trust.Command{{Key: key}})
}

// propose keeps what a session may not set, and says so.
func propose(ctx context.Context, pr *project.Project, session *project.Session, key, text string) error {
	kept, err := pr.Propose(ctx, session, key, text)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and the proposal can't be kept: %w", errCommands, err)
	case !kept:
		return fmt.Errorf("%w: ask a person to do it with gl settings set", errCommands)
	}
	_ = pr.Runs.Journal().Append(journal.Event{Kind: journal.Proposal, System: pr.Key(), Slice: session.ID, Attempt: session.N, Setting: key, Value: text})
	return fmt.Errorf("%w: it is kept as a proposal, and a person decides (gl doctor lists it)", errCommands)
}
