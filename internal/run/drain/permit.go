package drain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
)

// A run follows the commands that config.json names while it is under way, as far as this person has allowed them: what an agent, or a pull,
// writes there changes nothing, and is told once. An agent that isn't allowed isn't launched; where git's filters aren't, nothing is. What
// runs goes on.

// permission is what may be launched, as far as commands must be allowed.
type permission struct {
	conf   *project.Project // Project with the commands that config.json names now
	err    error            // why nothing may be launched
	broken map[string]error // by name: agents that can't be found as they are configured now
	barred map[string]error // by name: why an agent may not; those, too
	since  time.Time        // when the first of these came up; zero for none
	told   map[string]bool

	unheeded []trust.Command // of config.json, which the run doesn't follow; told
}

// lookAgain is how soon a run looks whether a command has been allowed.
const lookAgain = 2 * time.Second

// permit finds out what may be launched now. Of a task nothing is left to do without its agent: it ends.
func (d *drain) permit(ctx context.Context, r *Report) (bool, error) {
	p := &d.permission
	if d.Task != nil {
		return true, d.permitTask(ctx)
	}
	d.follow()
	commands, err := p.conf.MustAllow().ForAgents(ctx)
	if err != nil {
		return false, err
	}
	if p.err = d.Trust.Check(d.TrustRoot, commands); p.err != nil && !errors.As(p.err, new(*trust.Error)) {
		return false, p.err
	}
	for _, a := range d.Agents {
		if err := d.Trust.Check(d.TrustRoot, p.conf.MustAllow().ForAgent(a.Agent)); err != nil {
			p.barred[a.Name] = err
		}
	}
	d.tellUnheeded(r)
	d.tellForbidden(r)
	return p.err == nil && len(d.permitted()) > 0, nil
}

func (d *drain) permitTask(ctx context.Context) error {
	var agents []agent.Agent
	for _, a := range d.Agents {
		agents = append(agents, a.Agent)
	}
	commands, err := d.Project.MustAllow().ForAgents(ctx, agents...)
	if err != nil {
		return err
	}
	return d.Trust.Check(d.TrustRoot, commands)
}

// follow takes over the commands that config.json names now.
func (d *drain) follow() {
	p := &d.permission
	again := p.conf.Again(d.Trust.Allows(d.TrustRoot))
	if again != p.conf && d.Renew != nil {
		p.conf, p.broken = again, map[string]error{}
		for i, a := range d.Agents {
			renewed, err := d.Renew(again, a.Name)
			if err != nil {
				p.broken[a.Name] = err
				continue
			}
			renewed.named = a.named
			d.Agents[i] = renewed
		}
	}
	p.barred = maps.Clone(p.broken)
}

// permitted are the agents that may be launched.
func (d *drain) permitted() []Agent {
	return slices.DeleteFunc(slices.Clone(d.Agents), func(a Agent) bool { return d.permission.barred[a.Name] != nil })
}

// tellUnheeded tells once of each command in config.json that the run doesn't follow, since it isn't allowed.
func (d *drain) tellUnheeded(r *Report) {
	p := &d.permission
	all := p.conf.Unheeded()
	news := slices.DeleteFunc(slices.Clone(all), func(c trust.Command) bool { return slices.Contains(p.unheeded, c) })
	p.unheeded = all
	if len(news) == 0 {
		return
	}
	text := fmt.Sprintf("%v; this run goes on as before", &trust.Error{Commands: news})
	r.Warnings = append(r.Warnings, text)
	_ = d.Project.Runs.Journal().Append(journal.Event{Kind: journal.NeedsYou, System: d.Project.Key(), Reason: text})
}

// tellForbidden tells each reason once, if it lasts: who allows a command changes the file in the next instant.
func (d *drain) tellForbidden(r *Report) {
	p := &d.permission
	if p.err == nil && len(p.barred) == 0 {
		p.since = time.Time{}
		clear(p.told)
		return
	}
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if !d.forbidden() {
		return
	}
	for _, text := range d.reasons() {
		if p.told[text] {
			continue
		}
		p.told[text] = true
		r.Warnings = append(r.Warnings, text)
		_ = d.Project.Runs.Journal().Append(journal.Event{Kind: journal.NeedsYou, System: d.Project.Key(), Reason: text})
	}
}

// reasons are why something isn't launched.
func (d *drain) reasons() []string {
	p := &d.permission
	if p.err != nil {
		return []string{"nothing is launched: " + p.err.Error()}
	}
	var list []string
	for _, a := range d.Agents {
		if err := p.barred[a.Name]; err != nil {
			list = append(list, fmt.Sprintf("%s isn't launched: %v", a.Name, err))
		}
	}
	return list
}

// forbidden reports whether something has lacked permission for so long that nobody is about to give it.
func (d *drain) forbidden() bool {
	p := &d.permission
	return !p.since.IsZero() && time.Since(p.since) >= settleTime
}

// unpermitted reports whether nothing that could be launched may be.
func (d *drain) unpermitted() bool {
	return d.forbidden() && (d.permission.err != nil || !d.planAllows())
}
