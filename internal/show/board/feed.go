package board

import (
	"context"

	tea "charm.land/bubbletea/v2"

	look "greenlight/internal/show/live"
	"greenlight/internal/show/view"
)

// A snapshot is the data shown on the board.
type snapshot struct {
	model  *view.Model
	facts  view.Facts
	leader string // the process that runs the project's agents, "" for none
	err    error
}

// feed sends data to show: at once, and whenever files have changed.
func feed(ctx context.Context, cfg Config, send func(tea.Msg)) {
	look.Follow(ctx, cfg.source(), func(l look.Look) { send(snapshotOf(l)) })
}

func (cfg Config) source() look.Source {
	return look.Source{Project: cfg.Project, Plan: cfg.Plan}
}

func snapshotOf(l look.Look) snapshot {
	return snapshot{model: l.Model, facts: l.Facts, leader: l.Leader, err: l.Err}
}
