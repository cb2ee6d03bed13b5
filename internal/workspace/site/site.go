// Package site turns a worktree into a place to work: it fills it and sets it up, gives it
// ports, a directory for temporary files and an environment of its own, and confines programs
// there in a sandbox. Agents and the merge queue's tests run at such a site.
package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/include"
	"greenlight/internal/workspace/isolation"
	"greenlight/internal/workspace/ports"
	"greenlight/internal/workspace/worktree"
)

// A Runner runs a configured command to its end: see executor.Commands.
type Runner func(context.Context, command.Spec) (command.Result, error)

// Setup prepares a new worktree so that the project can be built in it.
type Setup struct {
	Command []string // nil for none
	Limit   time.Duration
}

// A Site is one worktree while it is in use.
type Site struct {
	Root     string          // the project's root
	Run      Runner          // runs Setup
	Environ  func() []string // the environment to which the worktree's own variables are added
	Setup    Setup
	SetupLog string // path of its output
	Sandbox  Sandbox
	// owner of the caches in the sandbox; "" for agents, whose caches must not influence test
	// results
	Apart string
	Note  func(line string) // called with progress messages
	// records the setup command before it may run; see command.Spec
	Started  func(command.Handle) error
	Leftover func(err error) // called if processes left running by setup can't be ended
	// Include says which files outside of git to bring along, and from where; nil for those of
	// the main checkout.
	Include *include.Options

	Repo    *worktree.Repo
	Lineage *worktree.Lineage

	hold  *worktree.Hold
	ports *ports.Block
	own   *isolation.Worktree
}

// Make prepares the worktree if it isn't ready. Close releases it.
func (s *Site) Make(ctx context.Context) error {
	if err := s.isolate(ctx); err != nil {
		return err
	}
	if err := s.checkSandbox(ctx); err != nil {
		return err
	}
	hold, err := s.Repo.Make(ctx, s.Lineage, s.making())
	s.hold = hold
	return err
}

// SetUpAgain runs setup in a worktree that is ready.
func (s *Site) SetUpAgain(ctx context.Context) error {
	return s.hold.SetUp(ctx, s.making())
}

func (s *Site) making() worktree.Making {
	m := worktree.Making{Log: s.Note, Include: s.include}
	if len(s.Setup.Command) > 0 {
		m.Command, m.Setup = shellwords.Join(s.Setup.Command), s.runSetup
	}
	return m
}

// Close releases the worktree's lock and its ports.
func (s *Site) Close() error {
	var err error
	if s.hold != nil {
		err = s.hold.Release()
	}
	if s.ports != nil {
		s.ports.File.Close()
	}
	s.hold, s.ports = nil, nil
	return err
}

// Hold returns the worktree's lock; nil until Make has taken it.
func (s *Site) Hold() *worktree.Hold { return s.hold }

// Dir returns the project's directory in the worktree.
func (s *Site) Dir() string { return s.Repo.Layout.Dir(s.Lineage) }

// Files returns the locks that all programs at the site inherit.
func (s *Site) Files() []*os.File {
	var files []*os.File
	if s.hold != nil {
		files = append(files, s.hold.File())
	}
	if s.ports != nil {
		files = append(files, s.ports.File)
	}
	return files
}

// Env returns an environment with the worktree's own variables.
func (s *Site) Env(env []string) []string {
	if s.own == nil {
		return env
	}
	return s.own.Env(env)
}

// isolate builds the environment: ports and a directory for temporary files.
func (s *Site) isolate(ctx context.Context) error {
	env, l := environ.Environ(s.Environ()), s.Lineage
	dir, err := ports.Dir(env.Get)
	if err == nil {
		s.ports, err = ports.Allocate(dir, l.Ports)
	}
	if err != nil {
		s.Note("no ports: " + err.Error())
	} else if l.Ports != s.ports.First {
		l.Ports = s.ports.First
		if err := s.Repo.Lineages.Save(l); err != nil {
			return err
		}
	}
	known, err := git.Identity(ctx, s.Root)
	if err != nil {
		return err
	}
	own := isolation.Worktree{
		Confined: s.Sandbox.On,
		Root:     s.Root, Project: filepath.Base(s.Root), System: l.System, Slice: l.Slice, N: l.N,
		Ports:    l.Ports,
		Known:    isolation.Identity{Name: known.Name, Email: known.Email},
		Fallback: isolation.Identity{Name: "Greenlight", Email: "greenlight@localhost"},
	}
	if own.Temp, err = own.MakeTemp(cmp.Or(env.Get("TMPDIR"), os.TempDir())); err != nil {
		return err
	}
	s.own = &own
	return nil
}

// include copies ignored files that a build needs, and those in which agents find their
// commands.
func (s *Site) include(ctx context.Context, from, to string) error {
	o := include.Options{From: from, Place: s.Repo.Git.Prefix}
	if s.Include != nil {
		o = *s.Include
	}
	o.To = to
	report, err := include.Copy(ctx, o)
	if err != nil {
		return err
	}
	if report.Files > 0 {
		s.Note(words.Count(report.Files, "file") + " brought along that git doesn't have")
	}
	for _, left := range report.Left {
		s.Note("not brought along: " + left.Path + ": " + left.Why)
	}
	return nil
}

// runSetup runs the project's setup command in the worktree, with its output in a log of its
// own. The command line is the same for every worktree, so it gets no claim.
func (s *Site) runSetup(ctx context.Context, dir string, inherit []*os.File) error {
	log, err := logfile.Create(s.SetupLog)
	if err != nil {
		return err
	}
	defer log.Close()
	if s.ports != nil {
		inherit = append(slices.Clone(inherit), s.ports.File)
	}
	var recorded error
	env := append(environ.WithoutClaim(s.Env(s.Environ())), environ.SetupMark(s.Root))
	res, err := s.Run(ctx, command.Spec{
		Argv: s.Setup.Command, Dir: dir, Env: env, Files: inherit, Limit: s.Setup.Limit,
		Box: s.Box, Log: log, Started: func(h command.Handle) error {
			recorded = s.Started(h)
			return recorded
		},
	})
	if res.Leftover != nil {
		s.Leftover(res.Leftover)
	}
	switch {
	case recorded != nil && errors.Is(err, recorded):
		return err
	case err != nil:
		return fmt.Errorf("git.setup: %w", err)
	case res.OK():
		return nil
	}
	return fmt.Errorf("git.setup failed: %s (%s)", res.How(plan.Age(s.Setup.Limit)),
		paths.Relative(s.Root, s.SetupLog))
}
