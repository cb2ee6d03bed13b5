package hands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/workspace/sandbox"
	"greenlight/internal/workspace/worktree"
)

const (
	leastFree    = 1 << 30          // bytes of disk that a worker needs
	versionLimit = 20 * time.Second // for an agent to say its version
)

// look finds out what this machine has for jobs. lacks says in one sentence each what it doesn't.
// The error is of a machine that can do nothing.
func look(ctx context.Context, o *Options) (h remote.Hello, lacks []string, err error) {
	if err := worktree.CheckGit(ctx); err != nil {
		return h, nil, fmt.Errorf("a worker needs git: %w", err)
	}
	h = remote.Hello{Protocol: remote.Version, Release: remote.Text(o.Release), Slots: o.Slots,
		OS: runtime.GOOS, Arch: runtime.GOARCH, Labels: o.Labels}
	host, _ := os.Hostname() // only shown
	h.Host = remote.Text(host)
	h.Agents, lacks = agents(ctx, o)
	if err := sandbox.Check(ctx); err == nil {
		h.Sandbox = []string{sandbox.Program}
	} else {
		lacks = append(lacks, "no sandbox: "+err.Error())
	}
	if free, known := durable.Free(o.Dir); known && free < leastFree {
		lacks = append(lacks, fmt.Sprintf("only %d MB are free in %s", free>>20, o.Dir))
	}
	h.Included, err = included(o.Include)
	return h, lacks, err
}

// agents returns the agents whose programs work here: those asked for, or all that gl knows.
func agents(ctx context.Context, o *Options) (found, lacks []string) {
	names := o.Agents
	asked := len(names) > 0
	if !asked {
		names = agent.BuiltIn()
	}
	for _, name := range names {
		why := tryAgent(ctx, o, name)
		switch {
		case why == "":
			found = append(found, name)
		case asked:
			lacks = append(lacks, why)
		}
	}
	if len(found) == 0 && !asked {
		lacks = append(lacks, "no agent's program is on PATH: install one, or name it with --agent")
	}
	return found, lacks
}

// tryAgent says why an agent can't work here; "" if it can. Logins are its own: whether it is
// logged in shows when it works.
func tryAgent(ctx context.Context, o *Options, name string) string {
	program, install := name, ""
	if a, err := agent.Find(name, agent.Config{Self: o.Self}); err == nil {
		if a.Program == o.Self { // the rehearsal is gl itself
			return ""
		}
		program, install = a.Program, a.Install
	}
	path, err := paths.Program(program, o.Dir)
	if err != nil {
		why := fmt.Sprintf("the agent %s isn't here: %s is not on PATH", name, program)
		if install != "" {
			why += " (" + install + ")"
		}
		return why
	}
	res, err := executor.Command(ctx, executor.NewLocal(o.Self), command.Spec{
		Argv: []string{path, "--version"}, Dir: o.Dir, Env: agent.ScrubEnv(o.Environ),
		Limit: versionLimit,
	})
	if err == nil && !res.OK() {
		err = errors.New(res.How(versionLimit.String()))
	}
	if err != nil {
		return fmt.Sprintf("the agent %s doesn't work here: %s --version: %v", name, path, err)
	}
	return ""
}

// mostIncluded is how many files a worker may have for jobs: their names are in its hello.
const mostIncluded = 1000

// included lists the files below the directory, relative to it.
func included(dir string) (names []string, err error) {
	if dir == "" {
		return nil, nil
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if names = append(names, filepath.ToSlash(name)); len(names) > mostIncluded {
			return fmt.Errorf("--include %s has more than %d files: give a directory with the files that .worktreeinclude names, and nothing else",
				dir, mostIncluded)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}
