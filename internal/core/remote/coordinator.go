package remote

import "time"

// Member is what the coordinator has on disk about a worker.
type Member struct {
	Name     string `json:"name"`
	Draining bool   `json:"draining,omitempty"`
	Drain    int64  `json:"drain,omitempty"` // number of the last Drain
	Revoked  bool   `json:"revoked,omitempty"`
}

// A Coordinator is the coordinator's machine. It decides; packages above carry out what it decides
// and tell it what happens.
type Coordinator struct {
	policy Policy
	clock  clock
}

// NewCoordinator returns the machine for what is on disk: of each attempt with its Log filled in.
func NewCoordinator(p Policy, attempts []*Attempt, members []Member) *Coordinator {
	return &Coordinator{policy: p}
}

// Step tells the machine what happened at now, a time of a monotonic clock, and returns what is to
// be done.
func (c *Coordinator) Step(now time.Duration, e CoordinatorEvent) []CoordinatorEffect {
	c.clock.advance(now, c.policy.Gap)
	return nil
}
