package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/iostreams"
	"greenlight/internal/jsondoc"
	"greenlight/internal/project"
	"greenlight/internal/tmux"
)

// demoSlices is a small shop: wide enough for four agents, deep enough to need an order.
var demoSlices = []struct{ name, deps string }{
	{"Project skeleton", ""},
	{"Catalog storage", "S-01"},
	{"Customer accounts", "S-01"},
	{"Price rules", "S-01"},
	{"Browse the catalog", "S-02"},
	{"Search the catalog", "S-02"},
	{"Sign in and out", "S-03"},
	{"Basket", "S-02,S-04"},
	{"Checkout", "S-07,S-08"},
	{"Order history", "S-03,S-09"},
	{"Stock levels", "S-02"},
	{"Mail confirmations", "S-09"},
}

// demoAgent makes the run last about ten seconds: the longest chain is five slices.
const demoAgent = "rehearsal:seed=7,step=400ms,jitter=30%"

func newDemo(app *cmdutil.App) *cobra.Command {
	var dir, spec string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Drain a sample project with the built-in agent: ten seconds, no cost",
		Long: `Write a sample project of a dozen slices into a temporary directory and drain it, up to four at a time, with the real
engine and the built-in rehearsal agent.` + "\n" + cmdutil.ExitHelp,
		Example: "  gl demo\n  gl demo --agent rehearsal:step=100ms,fail=10%,limit=5%",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runDemo(c.Context(), app, dir, spec)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "create the project in `DIR`, which must not exist (default: a temporary directory)")
	c.Flags().StringVar(&spec, "agent", demoAgent, "use the agent `NAME`")
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	return c
}

func runDemo(ctx context.Context, app *cmdutil.App, dir, agentName string) error {
	root, err := writeDemo(dir)
	if err != nil {
		return err
	}
	pr, err := project.Open(root)
	if err != nil {
		return err
	}
	app.IO.Printf("sample project in %s\n", root)
	how := "process"
	if iostreams.IsTerminal(app.IO.Out) && tmux.Installed() {
		how = "tmux"
	}
	j, err := newJob(app, pr, sliceOptions{watch: true, runner: how, agent: agentName}, "slice")
	if err != nil {
		return err
	}
	return j.run(ctx)
}

// writeDemo writes the sample project and returns its root.
func writeDemo(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "greenlight-demo-")
	} else if err = os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s already exists: --dir must name a new directory", dir)
	} else if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", err
	}
	slices := filepath.Join(dir, ".greenlight", "slices")
	if err := os.MkdirAll(slices, 0o755); err != nil {
		return "", err
	}
	type entry struct {
		Name      string   `json:"name"`
		DependsOn []string `json:"depends_on"`
	}
	var graph struct {
		Project string           `json:"project"`
		Slices  map[string]entry `json:"slices"`
	}
	graph.Project, graph.Slices = "bookshop", map[string]entry{}
	for i, s := range demoSlices {
		id := fmt.Sprintf("S-%02d", i+1)
		deps := strings.FieldsFunc(s.deps, func(r rune) bool { return r == ',' })
		graph.Slices[id] = entry{s.name, jsondoc.OrEmpty(deps)}
		text := fmt.Sprintf("---\nid: %s\nstatus: pending\nstep: none\nmilestone: demo\nstarted:\nupdated:\ntests: 0\nsecurity_tests: 0\nsession:\ndeps: %s\n---\n\n# %s: %s\n",
			id, s.deps, id, s.name)
		if err := os.WriteFile(filepath.Join(slices, id+".md"), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	mark := filepath.Join(dir, ".greenlight", project.DemoFile)
	if err := os.WriteFile(mark, []byte("This is a sample project: rehearsals may change it.\n"), 0o644); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(graph, "", "  ")
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, ".greenlight", "GRAPH.json"), append(data, '\n'), 0o644)
}
