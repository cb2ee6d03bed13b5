package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/trust"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/scheduler"
)

// A builder is an agent along with its access to the slash command.
type builder struct {
	agent.Agent
	text    string   // the command's text, for agents without slash commands
	sibling string   // the other system whose commands' texts it gets, instead
	plugins []string // directories of the plugins, for agents with slash commands
}

// find returns an agent and, for a rehearsal, its spec.
func (j *job) find(name string) (*builder, *rehearsal.Spec, error) {
	pr := j.pr
	a, err := pr.Config.FindAgent(name, j.parent)
	if err != nil {
		return nil, nil, &cmdutil.ExitError{Code: cmdutil.ExitUsage, Err: err}
	}
	b := &builder{Agent: a}
	if a.Program == j.parent {
		s, err := rehearsal.ParseSpec(strings.TrimPrefix(strings.TrimPrefix(a.Rehearses(),
			"rehearsal"), ":"))
		if err != nil {
			return nil, nil, &cmdutil.ExitError{Code: cmdutil.ExitUsage, Err: err}
		}
		return b, &s, nil
	}
	if a.Prompts == agent.SlashCommand || a.Prompts == agent.Brief && j.name == "slice" {
		return b, nil, nil
	}
	if !pr.Tracker.Traits().Managed && j.name == "slice" {
		// which of the system's commands depends on the item
		b.sibling = pr.System().Key
		return b, nil, nil
	}
	b.text, err = plugin.CommandText(j.name)
	return b, nil, err
}

// instructions returns the text of the command in an item's prompt, for an agent without slash
// commands.
func (b *builder) instructions(prompt string) string {
	if b.sibling == "" {
		return b.text
	}
	text, err := plugin.SiblingText(b.sibling, prompt)
	if err != nil {
		return fmt.Sprintf("Say only this, and stop: %v", err)
	}
	return text
}

// first returns the preferred agent.
func (j *job) first() *builder { return j.agents[0] }

// kinds returns the agents themselves.
func (j *job) kinds() []agent.Agent {
	var all []agent.Agent
	for _, b := range j.agents {
		all = append(all, b.Agent)
	}
	return all
}

// launchable returns the agent as a run launches it.
func (j *job) launchable(b *builder) scheduler.Agent {
	return scheduler.Agent{
		Agent: b.Agent, Environ: b.Environ(j.app.Getenv), Instructions: b.instructions,
		Job: agent.Job{Dir: j.pr.Root, PluginDirs: b.plugins,
			Account: b.Account(j.app.Getenv), Briefed: j.briefs(b)},
	}
}

// briefs reports whether the agent gets the output of gl slice at its start. Items of other systems
// are built with their slash commands.
func (j *job) briefs(b *builder) bool {
	return b.Prompts != agent.SlashCommand && b.Program != j.parent &&
		(j.name != "slice" || j.pr.Tracker.Traits().Managed)
}

func (j *job) launchables() []scheduler.Agent {
	var all []scheduler.Agent
	for _, b := range j.agents {
		all = append(all, j.launchable(b))
	}
	return all
}

// named finds the agent that a slice names. It doesn't ask for permission to launch it: without
// permission, the run continues without it.
func (j *job) named(ctx context.Context, pr *project.Project,
	name string) (scheduler.Agent, error) {
	a, err := j.again(pr, name)
	if err != nil {
		return scheduler.Agent{}, err
	}
	commands, err := pr.MustAllow().ForAgents(ctx, a.Agent)
	if err == nil {
		err = trust.Open(j.app.Getenv).Check(j.trustRoot(), commands)
	}
	return a, err
}

// again finds an agent by the current configuration.
func (j *job) again(pr *project.Project, name string) (scheduler.Agent, error) {
	now := *j
	now.pr = pr
	b, spec, err := now.find(name)
	if err == nil && spec != nil {
		err = errors.New("it is a rehearsal, which writes invented results")
	}
	if err == nil {
		err = notOnPath(b.Agent, pr.Root)
	}
	if err == nil {
		b.plugins, err = now.plugins(b)
	}
	if err != nil {
		return scheduler.Agent{}, err
	}
	return now.launchable(b), nil
}

// present checks that the agent may be started and that its program exists, before anything is
// claimed.
func (j *job) present(ctx context.Context) error {
	if err := j.permitted(ctx); err != nil {
		return err
	}
	return j.findPlugins()
}

// findPlugins finds the plugins of the agents, or unpacks them.
func (j *job) findPlugins() (err error) {
	for _, b := range j.agents {
		if b.plugins, err = j.plugins(b); err != nil {
			return err
		}
	}
	return nil
}

// plugins returns the plugins that the agent needs: gl's own, and the commands of the project's
// other systems where nothing else answers them.
func (j *job) plugins(b *builder) ([]string, error) {
	runs := j.pr.Runs.Files.Dir()
	own, err := plugin.Dir(j.pr.Root, runs, b.Agent, j.name, j.app.Getenv)
	dirs := []string{own}
	if j.name == "slice" {
		for _, view := range j.pr.Views() {
			dir, errView := plugin.Sibling(view.System().Key, j.pr.Root, runs, b.Agent, j.app.Getenv)
			dirs, err = append(dirs, dir), errors.Join(err, errView)
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" }), err
}

// permitted is present without the plugins. It changes nothing in the project.
func (j *job) permitted(ctx context.Context) error {
	commands, err := j.pr.MustAllow().ForAgents(ctx, j.kinds()...)
	if err == nil {
		err = permit(ctx, j.app, j.trustRoot(), commands)
	}
	if err == nil && j.pr.Config.Sandbox == project.SandboxBwrap {
		err = remember(ctx, j.app, j.trustRoot(), j.pr.Config.SandboxChoice())
	}
	if err == nil {
		err = j.onPath()
	}
	return err
}

// onPath leaves out agents that aren't installed: the project's order of preference is shared by
// all who work on it. At least one must be installed.
func (j *job) onPath() error {
	var missing error
	there := slices.DeleteFunc(slices.Clone(j.agents), func(b *builder) bool {
		err := notOnPath(b.Agent, j.pr.Root)
		if missing == nil {
			missing = err
		}
		return err != nil
	})
	if len(there) == 0 {
		return missing
	}
	if missing != nil {
		j.app.IO.Message("going on without an agent: %v", missing)
	}
	j.agents = there
	return nil
}
