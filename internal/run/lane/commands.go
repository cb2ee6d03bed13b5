package lane

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/statedir"
)

// commands are the commands in the configuration, and the person's permission to run them.
type commands struct {
	project *project.Project // as it was opened
	conf    *project.Project // with the commands that the configuration names now
	trust   trust.Store
	root    string         // the project for which the person has allowed commands
	median  *time.Duration // how long tests take; nil until usual is called
}

// follow takes over the commands that are in the configuration now, and reports whether they
// changed.
func (c *commands) follow() bool {
	again := c.now()
	if again == c.conf {
		return false
	}
	c.conf, c.median = again, nil
	return true
}

// changed reports whether follow would take over others.
func (c *commands) changed() bool { return c.now() != c.conf }

func (c *commands) now() *project.Project { return c.conf.Again(c.trust.Allows(c.root)) }

// allowed refuses to run what the person hasn't allowed.
func (c *commands) allowed(ctx context.Context) error {
	list, err := c.conf.MustAllow().ForQueue(ctx)
	if err != nil {
		return err
	}
	found := statedir.Repositories(c.project.Root)
	if c.conf.Config.Sandbox == attempt.SandboxBwrap && len(found) > 0 {
		return fmt.Errorf("%s is a git repository, which an agent may have made: any git there runs what its configuration names. Remove it (rm -r %s)", found[0], found[0])
	}
	return c.trust.Check(c.root, list)
}

// usual returns about how long the tests take, 0 for unknown.
func (c *commands) usual() time.Duration {
	if c.median == nil {
		const month = 30 * 24 * time.Hour
		events := func(yield func(journal.Event) bool) {
			for e, err := range c.project.Runs.Journal().Events(now().Add(-month)) {
				if err != nil || !yield(e) {
					return
				}
			}
		}
		d, _ := journal.MedianVerdict(events, c.conf.Config.Test.Command.Line)
		c.median = &d
	}
	return *c.median
}
