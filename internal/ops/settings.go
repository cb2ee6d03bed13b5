package ops

import (
	"context"
	"fmt"
	"slices"

	"greenlight/internal/project"
	"greenlight/internal/trust"
)

// EditSettings changes config.json by f. The commands that a person changes are allowed by that, and no others: the file
// may name commands of somebody else. A session that gl started (agent) may change no command, and not choose the agent.
func EditSettings(ctx context.Context, pr *project.Project, store trust.Store, agent bool, f func(*project.Settings) error) error {
	var changed []trust.Command
	err := pr.EditSettings(ctx, func(s *project.Settings) error {
		before, _ := s.Commands() // what can't be read is no command yet
		choice := s.Agent()
		if err := f(s); err != nil {
			return err
		}
		after, _ := s.Commands()
		if agent && (!slices.Equal(before, after) || s.Agent() != choice) {
			return fmt.Errorf("a session that gl started can't change which commands gl runs: ask a person to do it with gl settings set")
		}
		changed = slices.DeleteFunc(after, func(c trust.Command) bool { return slices.Contains(before, c) })
		return nil
	})
	if err != nil {
		return err
	}
	if err := store.Allow(ctx, pr.Root, changed); err != nil {
		return fmt.Errorf("%s is changed, but %s can't be recorded as allowed (gl trust asks again): %w", project.ConfigFile,
			trust.Keys(changed), err)
	}
	return nil
}
