package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/workspace/ports"
)

// tokenVariable is the environment variable that may have the join token. Nothing that a worker
// starts gets it.
const tokenVariable = "GL_WORKER_TOKEN"

// WorkOptions are the options of gl worker.
type WorkOptions struct {
	Token   string // the text of the join token; "" for none
	Name    string // "" for the host's
	State   string // directory of all workers of this user
	Slots   int
	Agents  []string
	Labels  []string
	Include string // absolute; "" for none
	Disk    int64  // bytes

	GL      string // path of gl, for what the worker starts
	Release string
	Environ []string
	Plugin  func(dir string) (string, error) // unpacks gl's plugin for agents
	Print   func(line string)
	Stop    <-chan os.Signal
}

// workerFlags are the flags of gl worker.
type workerFlags struct {
	tokenFile, name, include, ssh string
	slots, disk                   int
	agents, labels                []string
}

func newWorker(app *cmdutil.App) *cobra.Command {
	var f workerFlags
	c := &cobra.Command{
		Use:   "worker",
		Short: "Work for a project on another machine",
		Long: `Make this machine a worker: it runs agents and tests for the project whose gl serve has made the join token. The token is read
once, from --token-file (- is standard input) or GL_WORKER_TOKEN; later starts of the same worker need none. gl workers on the
coordinator's machine lists the workers, and revokes their keys.

The worker has a clone of its own below the user's state directory, runs the project's setup in its worktrees, and uses the logins of
the agents on this machine. It says what is missing here and works without it. Files that .worktreeinclude names, such as .env, aren't
sent: --include has them.

The first Ctrl-C makes it accept no more work and end when its agents have ended, the second ends the agents and hands over what they
have done, the third exits at once. What a killed worker left is found by the next one.

--ssh HOST is for the coordinator's machine: it copies gl to a host of the same system, where it has a login, and starts a worker there
with the other flags and a join token of its own. That worker goes on when ssh ends.

Exit codes: 0 ended; 1 it failed, or was revoked; 2 wrong usage.`,
		Example: "  gl worker --token-file token\n  gl worker --slots 4 --agent claude --label gpu --include ~/shop-files\n  gl worker --ssh build-2 --slots 8",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.ssh != "" {
				return startWorkerAt(c, app, f)
			}
			return runWorker(c.Context(), app, f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.tokenFile, "token-file", "", "join with the token in `FILE`")
	flags.StringVar(&f.ssh, "ssh", "",
		"copy gl to `HOST` by ssh and start a worker there for the project here")
	flags.StringVar(&f.name, "name", "", "be known as `NAME` (default: the host's name)")
	flags.IntVar(&f.slots, "slots", max(1, runtime.NumCPU()/2), "run at most `N` jobs at once")
	flags.StringSliceVar(&f.agents, "agent", nil,
		"offer the agent `NAME` (default: all that are found)")
	flags.StringSliceVar(&f.labels, "label", nil, "have the label `NAME`, besides the system and processor (linux, arm64): slices with labels go to workers that have them")
	flags.StringVar(&f.include, "include", "", "bring along the files in `DIR` that git doesn't have")
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	flags.IntVar(&f.disk, "disk", 20, "use at most `GB` of disk")
	return c
}

func runWorker(ctx context.Context, app *cmdutil.App, f workerFlags) error {
	if remote == nil {
		return becomeRemote(app)
	}
	if f.slots < 1 || f.disk < 1 {
		return cmdutil.Usage("--slots and --disk must be at least 1")
	}
	o := WorkOptions{Name: f.name, Slots: f.slots, Agents: f.agents, Labels: f.labels,
		Disk: int64(f.disk) << 30, Release: release(), Plugin: plugin.Whole,
		Print: func(line string) { app.IO.Printf("%s\n", sanitize.Text(line)) }}
	var err error
	if o.Token, err = joinToken(app, f.tokenFile); err != nil {
		return err
	}
	if f.include != "" {
		if o.Include, err = filepath.Abs(f.include); err != nil {
			return err
		}
		if info, err := os.Stat(o.Include); err != nil || !info.IsDir() {
			return cmdutil.Usage("--include %s: no such directory", f.include)
		}
	}
	if o.State, err = workersDir(app.Getenv); err != nil {
		return err
	}
	if o.GL, err = findBeside("gl"); err != nil {
		return err
	}
	o.Environ = withoutToken(app.Environ)
	os.Unsetenv(tokenVariable) // git inherits ours
	stop := make(chan os.Signal, 3)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(stop)
	o.Stop = stop
	return remote.Work(ctx, o)
}

// workersDir returns the directory of this user's workers, beside that of the ports.
func workersDir(getenv func(string) string) (string, error) {
	dir, err := ports.Dir(getenv)
	return filepath.Join(filepath.Dir(dir), "worker"), err
}

// mostToken is how many bytes a file with a token may have.
const mostToken = 16 << 10

// joinToken returns the text of the join token, "" for none. It never comes by the command line,
// which other users see.
func joinToken(app *cmdutil.App, file string) (string, error) {
	var in io.Reader
	switch file {
	case "":
		return app.Getenv(tokenVariable), nil
	case "-":
		in = app.IO.In
	default:
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostToken))
	return strings.TrimSpace(string(text)), err
}

func withoutToken(env environ.Environ) []string {
	return slices.DeleteFunc(slices.Clone([]string(env)), func(kv string) bool {
		return strings.HasPrefix(kv, tokenVariable+"=")
	})
}
