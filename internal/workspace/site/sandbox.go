package site

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/agent"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/sandbox"
	"greenlight/internal/workspace/worktree"
)

// A Sandbox defines whether and how programs at the site are confined.
type Sandbox struct {
	On     bool
	Caches []string // additional writable directories: absolute, or with ~ for HOME
}

// checkSandbox checks that a sandbox is possible before anything is created for it.
func (s *Site) checkSandbox(ctx context.Context) error {
	if !s.Sandbox.On {
		return nil
	}
	return sandboxError(sandbox.Check(ctx))
}

func sandboxError(err error) error {
	if err != nil {
		err = fmt.Errorf("sandbox: %w", err)
	}
	return err
}

// Box returns the sandbox for a program at the site other than an agent; nil for none.
func (s *Site) Box(p command.Program) (*command.Box, error) { return s.AgentBox(p, nil) }

// AgentBox is Box for an agent, with its own directories in the person's home.
func (s *Site) AgentBox(p command.Program, homes []agent.Home) (*command.Box, error) {
	if !s.Sandbox.On {
		return nil, nil
	}
	b, err := s.makeBox(p, homes)
	return b, sandboxError(err)
}

func (s *Site) makeBox(p command.Program, homes []agent.Home) (*command.Box, error) {
	bwrap, err := sandbox.Find()
	if err != nil {
		return nil, err
	}
	gl, err := os.Executable()
	if err != nil {
		return nil, err
	}
	gl = strings.TrimSuffix(gl, " (deleted)") // Linux appends this for a program that was replaced
	grants, err := s.grants()
	if err != nil {
		return nil, err
	}
	env := environ.Environ(p.Env)
	caches, err := sandbox.MakeCaches(env, filepath.Join(s.Root, s.Apart))
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{
		Env: env, Dir: p.Dir, Caches: caches,
		Read: []string{gl, p.Path, s.Root, s.Repo.Git.Top}, Write: grants.Write,
		Fixed: grants.Fixed,
	}
	if s.own != nil && s.own.Temp != "" {
		spec.Write = append(spec.Write, s.own.Temp)
	}
	for _, path := range s.Sandbox.Caches {
		spec.Write = append(spec.Write, sandbox.ExpandHome(path, env.Get("HOME")))
	}
	for _, h := range homes {
		if err := s.addHome(&spec, h, caches); err != nil {
			return nil, err
		}
	}
	s.keepOutRepository(&spec)
	plan, err := sandbox.New(spec, sandbox.Look)
	if err != nil {
		return nil, err
	}
	return &command.Box{Path: bwrap, Gl: gl, Command: plan.Command, Env: plan.Env}, plan.Prepare()
}

// keepOutRepository prevents programs in the sandbox from making the state a git repository:
// the person's next git there would run what its configuration names. An existing repository
// stays unchanged.
func (s *Site) keepOutRepository(spec *sandbox.Spec) {
	git := statedir.Path(s.Root, ".git")
	if !paths.Exists(git) || paths.IsDir(git) && !paths.Exists(filepath.Join(git, "HEAD")) {
		spec.Empty = append(spec.Empty, git)
		return
	}
	spec.Fixed = append(spec.Fixed, git)
}

// AgentArgv returns the command line of an agent that confines itself, with what it has to write
// besides its worktree. Without a site, in a checkout, its sandbox stays as it is.
func (s *Site) AgentArgv(path string, argv, env []string) ([]string, error) {
	if s == nil || !agent.IsCodex(path) {
		return argv, nil
	}
	if s.Sandbox.On {
		return agent.CodexInSandbox(argv), nil
	}
	places, err := s.Places()
	if err != nil {
		return nil, err
	}
	e := environ.Environ(env)
	home := cmp.Or(e.Get("CODEX_HOME"), filepath.Join(e.Get("HOME"), ".codex"))
	// without one, codex has its defaults
	config, _ := durable.ReadFile(filepath.Join(home, "config.toml"))
	return agent.CodexSandbox(argv, places, string(config)), nil
}

// Places returns what an agent that confines itself may write besides the worktree: the same as
// in the sandbox.
func (s *Site) Places() (agent.Places, error) {
	g, err := s.grants()
	if err != nil {
		return agent.Places{}, err
	}
	return agent.Places{
		Write: slices.DeleteFunc(g.Write, func(path string) bool {
			return path == s.Lineage.Path || !paths.IsDir(path)
		}),
		Fixed: slices.DeleteFunc(g.Fixed, func(path string) bool { return !paths.Exists(path) }),
	}, nil
}

// grants returns what git and gl write when called by programs at the site. For the state, this
// excludes what controls or records agents: the configuration and the records.
func (s *Site) grants() (worktree.Grants, error) {
	g, err := s.Repo.Grants(s.Lineage)
	if err != nil {
		return g, err
	}
	at := func(names ...string) string { return statedir.Path(s.Root, names...) }
	for _, dir := range []string{at("runs", "claims"), at("runs", "told")} {
		if err := durable.MkdirPrivate(dir); err != nil {
			return g, err
		}
		g.Write = append(g.Write, dir)
	}
	view, err := durable.OpenAppend(at("runs", "view"), 0o600)
	if err != nil {
		return g, err
	}
	view.Close()
	g.Write = append(g.Write, at(), at("runs", "view"))
	g.Fixed = append(g.Fixed, at("config.json"), at("runs"))
	return g, nil
}

// addHome gives the agent its own directories.
func (s *Site) addHome(spec *sandbox.Spec, h agent.Home, caches string) error {
	home := spec.Env.Get("HOME")
	dir, files := filepath.Join(home, h.Dir), home
	if named := spec.Env.Get(h.Variable); h.Variable != "" && filepath.IsAbs(named) {
		dir, files = filepath.Join(named, h.Below), named
	}
	if len(h.Needs) > 0 {
		return sandbox.MakePlaces(dir, h.Needs)
	}
	if err := sandbox.MakePlaces(dir, h.Fixed); err != nil {
		return err
	}
	spec.Write = append(spec.Write, dir)
	for _, name := range h.Fixed {
		spec.Fixed = append(spec.Fixed, filepath.Join(dir, name))
	}
	for _, name := range h.Copies {
		from := filepath.Join(files, name)
		to := filepath.Join(caches, "copies",
			fmt.Sprintf("%s.%d%s", s.Lineage.Slice, s.Lineage.N, name))
		there, err := sandbox.CopyFile(from, to)
		if err != nil {
			return err
		}
		if there {
			spec.Copies = append(spec.Copies, sandbox.Copy{Path: from, Source: to})
		}
	}
	return nil
}
