package tracker

import "greenlight/internal/core/plan"

// An Effect is what the end of an attempt does to its item.
type Effect = plan.Effect

// The effects, as trackers know them.
const (
	Release  = plan.Release
	Fail     = plan.Fail
	Restore  = plan.Restore
	Reopen   = plan.Reopen
	Complete = plan.Complete // see Lander
	Ask      = plan.Ask      // see Lander
)
