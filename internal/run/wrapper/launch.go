package wrapper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
)

// A Brief returns what there is to know about the record's slice, and the slice's text, for
// agent.FillIn.
type Brief func(*attempt.Record) (brief, slice string, err error)

// A launch makes the job of an attempt's agent.
type launch struct {
	store *attempt.Store
	rec   *attempt.Record
	place place
	brief Brief    // nil for none
	lock  *os.File // on the log; nil where locks don't work
}

// job returns the agent as a job. Evidence is for an agent that can't run.
func (l *launch) job() (j executor.Job, ev *attempt.Evidence) {
	argv, prompt := l.rec.Job.Argv, ""
	if l.rec.Talk.Talks {
		argv, prompt = agent.Talking(argv)
	}
	argv, err := l.briefed(argv)
	if err != nil {
		return j, &attempt.Evidence{Worktree: err.Error()}
	}
	if j, ev = l.place.job(argv); ev != nil {
		return j, ev
	}
	if l.rec.Talk.Talks { // it gets its prompt on stdin
		j.First = agent.UserMessage("", prompt)
	}
	j.Dir, j.Talks, j.Apart, j.Leaves = l.rec.Job.Dir, l.rec.Talk.Talks, true, executor.NothingBelow
	j.Marks = l.store.Files.Marks(l.rec)
	if l.lock != nil {
		j.Files = append([]*os.File{l.lock}, j.Files...)
	}
	return j, nil
}

// job returns the agent's start in the worktree or the checkout.
func (p *workplace) job(argv []string) (j executor.Job, ev *attempt.Evidence) {
	path, err := paths.Program(p.rec.Job.Program, p.rec.Job.Dir)
	if err != nil {
		return j, p.unusable(err)
	}
	env := p.environ()
	if self, err := os.Executable(); err == nil {
		if env, err = WithGL(env, self); err != nil {
			return j, &attempt.Evidence{Exec: err.Error()}
		}
	}
	if argv, err = p.site.AgentArgv(path, argv, env); err != nil {
		return j, &attempt.Evidence{Worktree: err.Error()}
	}
	j = executor.Job{Path: path, Argv: argv, Env: env}
	if p.site != nil {
		j.Files = p.site.Files()
		j.Unwrap = p.sandboxed()
		j.Box = func(prog command.Program) (*command.Box, error) {
			return p.site.AgentBox(prog, agent.HomesOf(path))
		}
	}
	return j, nil
}

// unusable returns the evidence of a program that can't be run: it doesn't exist, or isn't a
// program.
func (p *workplace) unusable(err error) *attempt.Evidence {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &attempt.Evidence{Missing: p.rec.Job.Program}
	}
	return &attempt.Evidence{Exec: err.Error()}
}

// briefed returns the command line with what there is to know of the slice by now. The brief's
// file has the same.
func (l *launch) briefed(argv []string) ([]string, error) {
	if !l.rec.Talk.Briefed || l.brief == nil {
		return argv, nil
	}
	brief, slice, err := l.brief(l.rec)
	if err != nil {
		return nil, fmt.Errorf("tell the agent of %s: %w", l.rec.ID.Slice, err)
	}
	file := l.store.Files.Brief(l.rec.ID.Slice, l.rec.ID.N)
	if err := durable.WriteFile(file, []byte(brief), 0o600); err != nil {
		return nil, err
	}
	return agent.FillIn(argv, brief, slice, file), nil
}
