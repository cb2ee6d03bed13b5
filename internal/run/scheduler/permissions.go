package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
)

// lookAgain is how soon a run looks whether a command has been allowed.
const lookAgain = 2 * time.Second

// permissions is which agents may be launched now. A run follows the commands that config.json
// names while it is under way, as far as this person has allowed them: what an agent or a pull
// writes there changes nothing, and is reported once. An agent that isn't allowed isn't launched;
// if git's filters aren't, nothing is. Attempts that run continue.
type permissions struct {
	project *project.Project
	conf    *project.Project // the same, with the commands that config.json names now
	cfg     Builders
	agents  []Agent          // cfg's, renewed, and those that slices name
	err     error            // why nothing may be launched
	broken  map[string]error // by name: agents that can't be found as they are configured now
	barred  map[string]error // by name: why an agent may not be launched, broken ones included
	since   time.Time        // since when something lacks permission; zero if nothing does
	told    map[string]bool

	unheeded []trust.Command // of config.json, which the run doesn't follow; reported
}

func newPermissions(cfg *Config) *permissions {
	return &permissions{
		project: cfg.Project, conf: cfg.Project, cfg: cfg.Builders, agents: cfg.Builders.Agents,
		broken: map[string]error{}, barred: map[string]error{}, told: map[string]bool{},
	}
}

// check finds out what may be launched now.
func (p *permissions) check(ctx context.Context, r *Report) (bool, error) {
	p.follow()
	commands, err := p.conf.MustAllow().ForAgents(ctx)
	if err != nil {
		return false, err
	}
	p.err = p.cfg.Trust.Check(p.cfg.TrustRoot, commands)
	if p.err != nil && !errors.As(p.err, new(*trust.Error)) {
		return false, p.err
	}
	for _, a := range p.agents {
		if err := p.cfg.Trust.Check(p.cfg.TrustRoot, p.conf.MustAllow().ForAgent(a.Agent)); err != nil {
			p.barred[a.Name] = err
		}
	}
	p.tellUnheeded(r)
	p.tellForbidden(r)
	return p.err == nil && len(p.permitted()) > 0, nil
}

// checkTask is the check for a task, which ends if its agent isn't allowed.
func (p *permissions) checkTask(ctx context.Context) error {
	var agents []agent.Agent
	for _, a := range p.agents {
		agents = append(agents, a.Agent)
	}
	commands, err := p.project.MustAllow().ForAgents(ctx, agents...)
	if err != nil {
		return err
	}
	return p.cfg.Trust.Check(p.cfg.TrustRoot, commands)
}

// follow takes over the commands that config.json names now.
func (p *permissions) follow() {
	again := p.conf.Again(p.cfg.Trust.Allows(p.cfg.TrustRoot))
	if again != p.conf && p.cfg.Renew != nil {
		p.conf, p.broken = again, map[string]error{}
		for i, a := range p.agents {
			renewed, err := p.cfg.Renew(again, a.Name)
			if err != nil {
				p.broken[a.Name] = err
				continue
			}
			renewed.named = a.named
			p.agents[i] = renewed
		}
	}
	p.barred = maps.Clone(p.broken)
}

// permitted returns the agents that may be launched.
func (p *permissions) permitted() []Agent {
	isBarred := func(a Agent) bool { return p.barred[a.Name] != nil }
	return slices.DeleteFunc(slices.Clone(p.agents), isBarred)
}

// preferred returns the agents that any slice may have, in order of preference.
func (p *permissions) preferred() []Agent {
	return slices.DeleteFunc(slices.Clone(p.agents), func(a Agent) bool { return a.named })
}

// names returns the names of these.
func (p *permissions) names() string {
	var names []string
	for _, a := range p.preferred() {
		names = append(names, a.Name)
	}
	return strings.Join(names, ",")
}

// find adds the agent that a slice names, and reports whether it is a new one.
func (p *permissions) find(name string) (added bool, err error) {
	if slices.ContainsFunc(p.agents, func(a Agent) bool { return a.Name == name }) {
		return false, nil
	}
	a, err := p.cfg.Find(p.conf, name)
	if err != nil {
		return false, err
	}
	a.named = true
	p.agents = append(p.agents, a)
	return true, nil
}

// allot decides which agent builds what, as far as holds go.
func (p *permissions) allot(pl *plan.Plan, forced bool) *plan.Allotment {
	var accounts []plan.Account
	for _, a := range p.permitted() {
		accounts = append(accounts, a.account())
	}
	options := plan.AllotOptions{Forced: forced, Named: p.cfg.Find != nil}
	return pl.Allot(accounts, time.Now(), options)
}

// tellUnheeded reports once each command in config.json that the run doesn't follow, since it isn't
// allowed.
func (p *permissions) tellUnheeded(r *Report) {
	all := p.conf.Unheeded()
	isTold := func(c trust.Command) bool { return slices.Contains(p.unheeded, c) }
	news := slices.DeleteFunc(slices.Clone(all), isTold)
	p.unheeded = all
	if len(news) > 0 {
		p.tell(fmt.Sprintf("%v; this run goes on as before", &trust.Error{Commands: news}), r)
	}
}

// tellForbidden reports each reason once, if it lasts: a person who allows a command often changes
// the file in the next instant.
func (p *permissions) tellForbidden(r *Report) {
	if p.err == nil && len(p.barred) == 0 {
		p.since = time.Time{}
		clear(p.told)
		return
	}
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if !p.forbidden() {
		return
	}
	for _, text := range p.reasons() {
		if !p.told[text] {
			p.told[text] = true
			p.tell(text, r)
		}
	}
}

func (p *permissions) tell(text string, r *Report) {
	r.Warnings = append(r.Warnings, text)
	e := journal.Event{Kind: journal.NeedsYou, System: p.project.Key(), Reason: text}
	_ = p.project.Runs.Journal().Append(e)
}

// reasons returns why something isn't launched.
func (p *permissions) reasons() []string {
	if p.err != nil {
		return []string{"nothing is launched: " + p.err.Error()}
	}
	var list []string
	for _, a := range p.agents {
		if err := p.barred[a.Name]; err != nil {
			list = append(list, fmt.Sprintf("%s isn't launched: %v", a.Name, err))
		}
	}
	return list
}

// lacking reports whether something lacked permission at the last check.
func (p *permissions) lacking() bool { return !p.since.IsZero() }

// forbidden reports whether something has lacked permission for so long that a person isn't about
// to give it.
func (p *permissions) forbidden() bool {
	return p.lacking() && time.Since(p.since) >= settleTime
}
