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

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/term"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/project"
	"greenlight/internal/run/tmux"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// demoSlices are a small shop: wide enough for four agents, deep enough to need an order.
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

// demoAgent makes the run last ten to fifteen seconds: the longest chain is five slices. S-05 and
// S-06 start together: both need S-02 alone, and at most two slices that don't need it can be under
// way when it lands.
const demoAgent = "rehearsal:seed=7,step=300ms,jitter=30%,red=S-03#1,clash=S-05+S-06"

// demoTests check what the rehearsal builds.
const demoTests = `#!/bin/sh
# Each part that was built is whole, and the index names parts that exist, each once.
n=0 failed=0

result() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
	fi
}

whole() {
	while read -r line; do
		case $line in "A rehearsal built this"*) return 0 ;; esac
	done <"$1"
	return 1
}

indexed() {
	named=" "
	while read -r _ part; do
		[ -n "$part" ] || continue
		case $part in
		"["*"]("*.md")") part=${part#*](} part=${part%)} ;;
		*) [ "$part" = Index ] && continue; return 1 ;;
		esac
		case $named in *" $part "*) return 1 ;; esac
		named="$named$part "
		[ -f "rehearsal/$part" ] || return 1
	done <rehearsal/index.md
}

for file in rehearsal/S-*.md; do
	[ -f "$file" ] || continue
	id=${file#rehearsal/}
	whole "$file"
	result $? "${id%.md}"
done
if [ -f rehearsal/index.md ]; then
	indexed
	result $? index
fi
echo "1..$n"
exit $failed
`

const (
	demoBranch  = "main"
	demoCommand = "sh test.sh"
)

func newDemo(app *cmdutil.App) *cobra.Command {
	var dir, spec string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch gl build a sample project: fifteen seconds, no cost",
		Long: `Write a sample project of a dozen slices into a temporary directory and build it, up to four at a time, with the real
engine and the built-in rehearsal agent.

It is a git repository with tests. Each slice is built in a worktree of its own, and merged into main once the tests pass on
the merge. One slice is broken at first, and two change the same line: gl sends them back to their agents. Without git, the
agents share the directory, and nothing is tested.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl demo
  gl demo --agent rehearsal:step=100ms,fail=10%,limit=5%   with faults
  gl demo --agent rehearsal:red=S-02,clash=S-05+S-06       with work that never passes the tests, and a conflict`,
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runDemo(c.Context(), app, dir, spec)
		},
	}
	c.Flags().StringVar(&dir, "dir", "",
		"create the project in `DIR`, which must not exist (default: a temporary directory)")
	c.Flags().StringVar(&spec, "agent", demoAgent, "use the agent `NAME`")
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	return c
}

func runDemo(ctx context.Context, app *cmdutil.App, dir, agentName string) error {
	lands := true
	none := new(worktree.Unavailable)
	if err := worktree.CheckGit(ctx); errors.As(err, &none) {
		lands = false
	} else if err != nil {
		return err
	}
	root, remove, err := makeDemo(dir)
	if err == nil {
		err = writeDemo(root, lands)
	}
	if err != nil {
		return err
	}
	pr, err := project.Open(root)
	if err == nil {
		err = pr.Tracker.Refresh(ctx)
	}
	if err == nil && lands {
		err = commitDemo(ctx, root)
	}
	if err != nil {
		return err
	}
	pr.Away = true // outside of the current directory, so hints name it
	app.IO.Printf("sample project in %s\n", shellLine([]string{root}))
	if remove != "" {
		app.IO.Printf("   remove it with: %s\n", shellLine([]string{"rm", "-rf", remove}))
	}
	if lands {
		err = allowDemo(ctx, app, pr)
	} else {
		app.IO.Printf("%s: the agents share the directory, and nothing is tested or merged\n",
			none.Reason)
	}
	if err != nil {
		return err
	}
	how := "process"
	if iostreams.IsTerminal(app.IO.Out) && tmux.Installed() {
		how = "tmux"
	}
	j, err := newJob(app, pr, sliceOptions{watch: true, runner: how, agent: agentName}, "slice")
	if err != nil {
		return err
	}
	err = j.run(ctx)
	if lands {
		err = errors.Join(err, tellLanded(context.WithoutCancel(ctx), app, root))
	}
	return err
}

// allowDemo allows the commands of the sample project, which gl itself has just written.
func allowDemo(ctx context.Context, app *cmdutil.App, pr *project.Project) error {
	commands, err := pr.MustAllow().ForQueue(ctx)
	if err != nil {
		return err
	}
	return trust.Open(app.Getenv).Allow(ctx, pr.Root, commands)
}

// tellLanded prints the result in the repository.
func tellLanded(ctx context.Context, app *cmdutil.App, root string) error {
	landed, err := git.Landings(ctx, filepath.Join(root, ".git"), "", "refs/heads/"+demoBranch)
	if err != nil || len(landed) == 0 {
		return err
	}
	each := ", each after "
	if len(landed) == 1 {
		each = " after "
	}
	text := fmt.Sprintf("%s merged into %s%s%s passed on the merge",
		words.Count(len(landed), "slice"), demoBranch, each, demoCommand)
	app.IO.Printf("%s\n", term.Wrap(text, app.IO.Width(), 2))
	app.IO.Printf("   see them with: %s\n",
		shellLine([]string{"git", "-C", root, "log", "--first-parent", "--oneline"}))
	app.IO.Printf("   now in a repository of yours: gl do \"TASK\"\n")
	return nil
}

// makeDemo creates the directory of the sample project. The directory to remove also contains its
// worktrees; it is "" if the person has named the place.
func makeDemo(dir string) (root, remove string, err error) {
	if dir == "" {
		if remove, err = os.MkdirTemp("", "greenlight-demo-"); err != nil {
			return "", "", err
		}
		dir = filepath.Join(remove, "bookshop")
	}
	err = os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return "", "", fmt.Errorf("%s already exists: --dir must name a new directory", dir)
	}
	if err == nil {
		root, err = filepath.Abs(dir)
	}
	return root, remove, err
}

// commitDemo turns the sample project into a repository, and commits it.
func commitDemo(ctx context.Context, root string) error {
	if err := git.Init(ctx, root, demoBranch); err != nil {
		return err
	}
	files := []string{"test.sh"}
	for _, name := range []string{"GRAPH.json", "STATE.md", "config.json",
		project.DemoFile, "slices"} {
		files = append(files, filepath.Join(".greenlight", name))
	}
	return git.CommitFiles(ctx, root, files, "A bookshop to build",
		git.Author{Name: "gl demo", Email: "demo@localhost"})
}

// writeDemo writes the sample project. If lands is set, its slices are built in worktrees and
// tested.
func writeDemo(dir string, lands bool) error {
	slices := filepath.Join(dir, ".greenlight", "slices")
	if err := os.MkdirAll(slices, 0o755); err != nil {
		return err
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
			return err
		}
	}
	mark := filepath.Join(dir, ".greenlight", project.DemoFile)
	if err := os.WriteFile(mark, []byte("This is a sample project: rehearsals may change it.\n"),
		0o644); err != nil {
		return err
	}
	data, err := json.MarshalIndent(graph, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".greenlight", "GRAPH.json"), append(data, '\n'),
		0o644); err != nil {
		return err
	}
	config := `{"git": {"isolation": "shared"}}`
	if lands {
		config = `{"git": {"isolation": "worktree"}, "test": {"command": "` + demoCommand + `"}}`
		if err := os.WriteFile(filepath.Join(dir, "test.sh"), []byte(demoTests),
			0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, ".greenlight", "config.json"),
		[]byte(config+"\n"), 0o644)
}
