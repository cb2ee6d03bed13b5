package debugreport

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/tmux"
	"greenlight/internal/workspace/git"
)

// A Project is the part of gl debug about the project's setup.
type Project struct {
	Format   string                `json:"format"` // as in gl status --json
	Done     int                   `json:"done" jsonschema:"minimum=0"`
	Total    int                   `json:"total" jsonschema:"minimum=0"`
	Tools    []Tool                `json:"tools"`
	Settings []project.SettingItem `json:"settings"` // those set in config.json
	// holder of the project's run; null for none
	Drain    *string               `json:"drain"`
	Attempts []Attempt             `json:"attempts"` // unsettled attempts
	Warnings []project.WarningItem `json:"warnings"`
}

// A Tool is a program that gl needs, or gl itself.
type Tool struct {
	Name    string  `json:"name"`
	Program *string `json:"program"` // the program that is started; null if unknown
	Path    *string `json:"path"`    // null if it isn't on PATH
	Version *string `json:"version"` // null if unknown
}

// An Attempt is an unsettled attempt.
type Attempt struct {
	Slice   string     `json:"slice"` // or the id of a task
	N       int        `json:"n" jsonschema:"minimum=0"`
	Agent   string     `json:"agent"`
	Worker  *string    `json:"worker"` // on which that runs; null for this machine
	Phase   plan.Phase `json:"phase"`
	Process string     `json:"process"` // state of the attempt's gl process
	PID     *int       `json:"pid"`     // of the agent
	Started *time.Time `json:"started"`
	Runner  string     `json:"runner"`
}

// A Program is the gl that makes the report.
type Program struct {
	Version string // with the commit, if known
	Self    func() (string, error)
	Environ []string
}

func newProject(ctx context.Context, pr *project.Project, p *plan.Plan,
	gl Program) (*Project, error) {
	d := &Project{Format: p.Snapshot.Format, Done: p.Done, Total: p.Total,
		Tools: gl.tools(ctx, pr.Root, pr.Config), Settings: []project.SettingItem{},
		Attempts: []Attempt{}, Warnings: project.WarningItems(p.Warnings)}
	s, _ := pr.Settings() // the plan warns of a file that can't be read
	for _, set := range s.List() {
		if set.File {
			d.Settings = append(d.Settings, set.Item())
		}
	}
	holder, err := pr.Runs.Control.Leader()
	if err != nil {
		return nil, err
	}
	d.Drain = jsondoc.OrNull(holder)
	live, _, err := pr.Runs.Live() // the plan warns of bad records
	if err != nil {
		return nil, err
	}
	for _, r := range live {
		d.Attempts = append(d.Attempts, newAttempt(r))
	}
	return d, nil
}

func newAttempt(r *attempt.Record) Attempt {
	a := Attempt{Slice: r.ID.Slice, N: r.ID.N, Agent: r.Job.Agent,
		Worker: jsondoc.OrNull(r.Life.Remote.Label()), Phase: r.Life.Phase,
		Process: r.Life.State().String(), Started: r.Life.StartedAt, Runner: r.Job.Runner}
	if r.Life.Process != nil {
		a.PID = &r.Life.Process.PID
	}
	return a
}

// tools returns gl and the programs it starts, with their versions.
func (gl Program) tools(ctx context.Context, root string, c project.Config) []Tool {
	own := Tool{Name: "gl", Program: jsondoc.OrNull("gl"), Version: jsondoc.OrNull(gl.Version)}
	if path, err := os.Executable(); err == nil {
		own.Path = &path
	}
	gitVersion, _ := git.Version(ctx) // a missing tool has no version
	tmuxVersion, _ := tmux.Version(ctx)
	return []Tool{own, newTool("git", gitVersion), newTool("tmux", tmuxVersion),
		gl.agentTool(ctx, root, c)}
}

func newTool(program, version string) Tool {
	t := Tool{Name: program, Program: jsondoc.OrNull(program), Version: jsondoc.OrNull(version)}
	if path, err := paths.Program(program, ""); err == nil {
		t.Path = &path
	}
	return t
}

// agentTool returns the configured agent. It asks only known agents for their version, because
// for them --version is known to be harmless; it doesn't run a program that the configuration
// names, whatever its name.
func (gl Program) agentTool(ctx context.Context, root string, c project.Config) Tool {
	t := Tool{Name: c.Agent[0]}
	self, err := gl.Self()
	if err != nil {
		return t
	}
	a, err := c.FindAgent(c.Agent[0], self)
	if err != nil {
		return t
	}
	t.Program = jsondoc.OrNull(a.Program)
	path, err := paths.Program(a.Program, root)
	if err != nil {
		return t
	}
	t.Path = &path
	if _, custom := c.Agents[c.Agent[0]]; a.Install != "" && !custom {
		t.Version = jsondoc.OrNull(programVersion(ctx, path, agent.ScrubEnv(gl.Environ)))
	}
	return t
}

// versionLimit is how long a program may take to print its version.
const versionLimit = 5 * time.Second

// programVersion returns the first line that a program prints for --version, or "" if it prints
// nothing in time.
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
