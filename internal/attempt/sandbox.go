package attempt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/agent"
	"greenlight/internal/command"
	"greenlight/internal/durable"
	"greenlight/internal/environ"
	"greenlight/internal/sandbox"
	"greenlight/internal/statedir"
)

// SandboxBwrap is the sandbox that bubblewrap makes.
const SandboxBwrap = "bwrap"

// Sandbox is what the configuration says about it.
type Sandbox struct {
	On     bool
	Caches []string // directories that may be written to besides: absolute, or with ~ for HOME
}

// sandboxed says whether the attempt is confined. What was decided when it was claimed isn't taken back by a file that an agent may have
// written since.
func (w *Wrapper) sandboxed() bool {
	return w.rec.Lineage != 0 && (w.rec.Sandbox == SandboxBwrap || w.Sandbox.On)
}

// checkSandbox finds out whether there can be a sandbox before anything is made for it.
func (w *Wrapper) checkSandbox(ctx context.Context) error {
	if !w.sandboxed() {
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

// box is the sandbox for a program that works in the attempt's worktree; nil for none. homes are the agent's; setup has none.
func (w *Wrapper) box(p command.Program, homes []agent.Home) (*command.Box, error) {
	if !w.sandboxed() {
		return nil, nil
	}
	b, err := w.makeBox(p, homes)
	return b, sandboxError(err)
}

func (w *Wrapper) makeBox(p command.Program, homes []agent.Home) (*command.Box, error) {
	bwrap, err := sandbox.Find()
	if err != nil {
		return nil, err
	}
	gl, err := os.Executable()
	if err != nil {
		return nil, err
	}
	gl = strings.TrimSuffix(gl, " (deleted)") // so Linux says of a program that was replaced
	grants, err := w.repo.Grants(w.line)
	if err != nil {
		return nil, err
	}
	env := environ.Environ(p.Env)
	caches, err := sandbox.MakeCaches(env, w.Root)
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{Env: env, Dir: p.Dir, Caches: caches, Read: []string{gl, p.Path, w.Root, w.repo.Top}, Write: grants.Write, Fixed: grants.Fixed}
	if err := w.addState(&spec); err != nil {
		return nil, err
	}
	if w.own != nil && w.own.Temp != "" {
		spec.Write = append(spec.Write, w.own.Temp)
	}
	for _, path := range w.Sandbox.Caches {
		spec.Write = append(spec.Write, sandbox.ExpandHome(path, env.Get("HOME")))
	}
	for _, h := range homes {
		if err := addHome(&spec, h, caches, w.rec); err != nil {
			return nil, err
		}
	}
	plan, err := sandbox.New(spec, sandbox.Look)
	if err != nil {
		return nil, err
	}
	return &command.Box{Path: bwrap, Gl: gl, Command: plan.Command, Env: plan.Env}, plan.Prepare()
}

// addState gives the project's state, which gl writes when the agent calls it; without what decides about agents, or tells of them:
// the configuration and the records.
func (w *Wrapper) addState(s *sandbox.Spec) error {
	at := func(names ...string) string { return statedir.Path(w.Root, names...) }
	for _, dir := range []string{at("runs", "claims"), at("runs", "told")} {
		if err := durable.MkdirPrivate(dir); err != nil {
			return err
		}
		s.Write = append(s.Write, dir)
	}
	view, err := durable.OpenAppend(at("runs", "view"), 0o600)
	if err != nil {
		return err
	}
	view.Close()
	s.Write = append(s.Write, at(), at("runs", "view"))
	s.Fixed = append(s.Fixed, at("config.json"), at("runs"))
	return nil
}

// addHome gives the agent what is its own.
func addHome(s *sandbox.Spec, h agent.Home, caches string, r *Record) error {
	home := s.Env.Get("HOME")
	dir, files := filepath.Join(home, h.Dir), home
	if named := s.Env.Get(h.Variable); h.Variable != "" && filepath.IsAbs(named) {
		dir, files = filepath.Join(named, h.Below), named
	}
	if err := sandbox.MakePlaces(dir, h.Fixed); err != nil {
		return err
	}
	s.Write = append(s.Write, dir)
	for _, name := range h.Fixed {
		s.Fixed = append(s.Fixed, filepath.Join(dir, name))
	}
	for _, name := range h.Copies {
		from := filepath.Join(files, name)
		to := filepath.Join(caches, "copies", fmt.Sprintf("%s.%d%s", r.Slice, r.Lineage, name))
		there, err := sandbox.CopyFile(from, to)
		if err != nil {
			return err
		}
		if there {
			s.Copies = append(s.Copies, sandbox.Copy{Path: from, Source: to})
		}
	}
	return nil
}
