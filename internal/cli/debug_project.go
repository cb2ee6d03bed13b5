package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/git"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
	"greenlight/internal/tmux"
)

// A debugProject is what gl debug reports about the project's setup.
type debugProject struct {
	Format   string                `json:"format"` // as in gl status --json
	Done     int                   `json:"done" jsonschema:"minimum=0"`
	Total    int                   `json:"total" jsonschema:"minimum=0"`
	Tools    []debugTool           `json:"tools"`
	Settings []project.SettingItem `json:"settings"` // those in config.json
	Drain    *string               `json:"drain"`    // who drains the project; null for nobody
	Attempts []debugAttempt        `json:"attempts"` // those that aren't settled
	Warnings []project.WarningItem `json:"warnings"`
}

type debugTool struct {
	Name    string  `json:"name"`
	Program *string `json:"program"` // what is started; null for unknown
	Path    *string `json:"path"`    // null if it isn't on PATH
	Version *string `json:"version"` // null for unknown
}

type debugAttempt struct {
	Slice   string     `json:"slice"` // or the id of a task
	N       int        `json:"n" jsonschema:"minimum=0"`
	Agent   string     `json:"agent"`
	Phase   plan.Phase `json:"phase"`
	Process string     `json:"process"` // state of the attempt's gl process
	PID     *int       `json:"pid"`     // of the agent
	Started *time.Time `json:"started"`
	Runner  string     `json:"runner"`
}

func (x *debugging) project(ctx context.Context) (*debugProject, error) {
	d := &debugProject{Format: x.p.Snapshot.Format, Done: x.p.Done, Total: x.p.Total, Tools: x.tools(ctx),
		Settings: []project.SettingItem{}, Attempts: []debugAttempt{}, Warnings: project.WarningItems(x.p.Warnings)}
	s, _ := x.pr.Settings() // of a file that can't be read there is a warning already
	for _, set := range s.List() {
		if set.File {
			d.Settings = append(d.Settings, set.Item())
		}
	}
	holder, err := x.pr.Runs.Leader()
	if err != nil {
		return nil, err
	}
	d.Drain = jsondoc.OrNull(holder)
	live, _, err := x.pr.Runs.Live() // bad records are warnings of the plan
	if err != nil {
		return nil, err
	}
	for _, r := range live {
		d.Attempts = append(d.Attempts, newDebugAttempt(r))
	}
	return d, nil
}

func newDebugAttempt(r *attempt.Record) debugAttempt {
	a := debugAttempt{Slice: r.Slice, N: r.N, Agent: r.Agent, Phase: r.Phase, Process: r.State().String(),
		Started: r.StartedAt, Runner: r.Runner}
	if r.Process != nil {
		a.PID = &r.Process.PID
	}
	return a
}

// tools are gl and what it starts, with their versions.
func (x *debugging) tools(ctx context.Context) []debugTool {
	v := versionInfo()
	version := v.Version
	if v.Commit != nil {
		version += " " + *v.Commit
	}
	list := []debugTool{{Name: "gl", Program: jsondoc.OrNull("gl"), Version: jsondoc.OrNull(version)}}
	if path, err := os.Executable(); err == nil {
		list[0].Path = &path
	}
	gitVersion, _ := git.Version(ctx) // a tool that isn't there has no version
	tmuxVersion, _ := tmux.Version(ctx)
	list = append(list, newTool("git", gitVersion), newTool("tmux", tmuxVersion))
	return append(list, x.agentTool(ctx))
}

func newTool(program, version string) debugTool {
	t := debugTool{Name: program, Program: jsondoc.OrNull(program), Version: jsondoc.OrNull(version)}
	if path, err := exec.LookPath(program); err == nil {
		t.Path = &path
	}
	return t
}

// agentTool is the agent of the config. Only of those that gl knows it is known that --version is harmless.
func (x *debugging) agentTool(ctx context.Context) debugTool {
	c := x.pr.Config
	t := debugTool{Name: c.Agent}
	own, err := cmdutil.Self()
	if err != nil {
		return t
	}
	a, err := agent.Find(c.Agent, agent.Config{ClaudeFlags: c.Flags, Custom: c.Agents, Self: own})
	if err != nil {
		return t
	}
	t.Program = jsondoc.OrNull(a.Program)
	path, err := exec.LookPath(a.Program)
	if err != nil {
		return t
	}
	t.Path = &path
	if a.Install != "" {
		t.Version = jsondoc.OrNull(programVersion(ctx, path, agent.ScrubEnv(x.app.Environ)))
	}
	return t
}

// versionLimit is how long a program may take to say its version.
const versionLimit = 5 * time.Second

// programVersion is the first line of what a program says of itself; "" where it says nothing in time.
func programVersion(ctx context.Context, path string, env []string) string {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = env, time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return sanitize.Line(string(line))
}

func (x *debugging) tellProject(d *debugProject) {
	x.app.IO.Printf("%s\n", x.app.IO.Paint(term.Bold, sanitize.Text(x.pr.Root)))
	x.line("%d/%d done, format %s", d.Done, d.Total, d.Format)
	x.section("Tools")
	for _, t := range d.Tools {
		x.line("%s", t.text())
	}
	x.section("Settings in " + project.ConfigFile)
	for _, s := range d.Settings {
		x.line("%s: %s", s.Key, valueText(s.Value))
	}
	if len(d.Settings) == 0 {
		x.line("none: the defaults count")
	}
	x.section("Running")
	if d.Drain != nil {
		x.line("drained by %s", *d.Drain)
	} else {
		x.line("no gl slice --watch drains the project")
	}
	for _, a := range d.Attempts {
		x.line("%s", x.attemptLine(a))
	}
}

func (t *debugTool) text() string {
	s := t.Name
	if t.Program != nil && *t.Program != t.Name {
		s += ": " + *t.Program
	}
	switch {
	case t.Path == nil:
		return s + " not on PATH"
	case t.Version != nil:
		s += " " + *t.Version
	}
	return s + " (" + *t.Path + ")"
}

func (x *debugging) attemptLine(a debugAttempt) string {
	s := fmt.Sprintf("attempt %d of %s with %s, %s, its gl process is %s", a.N, a.Slice, a.Agent, a.Phase, a.Process)
	if a.PID != nil {
		s += fmt.Sprintf(", the agent is pid %d", *a.PID)
	}
	if a.Started != nil {
		s += ", started " + plan.Age(x.now.Sub(*a.Started)) + " ago"
	}
	return s
}
