package away

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/environ"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
)

const (
	mostAsking = 16              // commands of agents that run at once
	askLimit   = 2 * time.Minute // after which one is ended
	askBytes   = 1 << 20         // of its output that is held; a message has less
)

// asks are the commands that an agent on a worker may run here: those that read, and those that
// say how far its slice is. What they may change is decided by the same rules as for an agent of
// this machine: see cli/permits.go. No other one is run, whatever a worker sends.
var asks = [][]string{
	{"state", "set"}, {"state", "show"}, {"state", "note"}, {"state", "release"}, {"state", "claim"},
	{"state", "overview"}, {"slice"}, {"status"}, {"why"}, {"ref"}, {"roadmap"}, {"hook"}, {"version"},
}

// isDirectory reports whether an argument has -C, alone or behind other short options: -qC/tmp.
func isDirectory(arg string) bool {
	options, _, found := strings.Cut(arg, "C")
	return found && strings.HasPrefix(options, "-") &&
		strings.Trim(options[1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// may reports whether an agent's command may run here. gl slice prints the agent's own slice. No
// command leads to another project, and none runs until it is ended.
func may(argv []string, slice string) bool {
	elsewhere := func(arg string) bool {
		return isDirectory(arg) || strings.HasPrefix(arg, "--dir") ||
			strings.HasPrefix(arg, "--sys") || strings.HasPrefix(arg, "--context") ||
			strings.HasPrefix(arg, "--watch")
	}
	known := func(a []string) bool { return len(argv) >= len(a) && slices.Equal(argv[:len(a)], a) }
	switch {
	case slices.ContainsFunc(argv, elsewhere), !slices.ContainsFunc(asks, known):
		return false
	case argv[0] == "slice":
		return len(argv) == 1 || len(argv) == 2 && argv[1] == slice
	case argv[0] == "roadmap":
		return len(argv) == 1
	}
	return true
}

// run runs a command of a remote attempt's agent.
func (s *server) run(e remote.Run) {
	answer := remote.Answer{ExitCode: 1}
	if rec := s.openOf(e.Attempt); rec == nil {
		answer.Errors = []byte("gl: the attempt is over\n")
	} else {
		answer = s.ask(s.life, rec, e.Ask.Argv, e.Ask.Input)
	}
	answer.Fence, answer.Number = e.Fence, e.Ask.Number
	s.post(remote.Answered{Answer: answer})
}

// ask runs a command as a remote attempt's agent. In what it is told and says, the path of the
// worktree is the one on the worker.
func (s *server) ask(ctx context.Context, rec *attempt.Record, argv []string,
	input []byte) remote.Answer {
	refuse := func(why string) remote.Answer {
		return remote.Answer{ExitCode: 1, Errors: []byte("gl: " + why + "\n")}
	}
	if !may(argv, rec.ID.Slice) {
		return refuse("an agent on a worker can't run this command")
	}
	l, err := rec.LineageIn(s.trees)
	if err != nil {
		return refuse(err.Error())
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return refuse("gl serve ends")
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	here := func(text string) string { return strings.ReplaceAll(text, remote.WorktreePlace, l.Path) }
	there := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(l.Path), []byte(remote.WorktreePlace))
	}
	args := make([]string, len(argv))
	for i, a := range argv {
		args[i] = here(a)
	}
	cmd := exec.CommandContext(ctx, s.cfg.Self, args...)
	cmd.Dir = s.cfg.Project.Root
	cmd.Env = rec.Env(environ.WithoutClaim(s.cfg.Environ), s.cfg.Project.Root)
	cmd.Stdin = strings.NewReader(here(string(input)))
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err = cmd.Run(); cmd.ProcessState == nil {
		return refuse(err.Error())
	}
	return remote.Answer{ExitCode: cmd.ProcessState.ExitCode(), Output: there(out.data),
		Errors: there(errs.data)}
}

// openOf returns the open record of an attempt, by its name on workers.
func (s *server) openOf(name string) *attempt.Record {
	live, _, err := s.runs.Live()
	if err != nil {
		return nil
	}
	for _, r := range live {
		if isUnderWay(r) && nameOf(r.ID) == name {
			return r
		}
	}
	return nil
}

// recordOf returns the record of an attempt that has a lease, settled or not; nil if it is gone.
func (s *server) recordOf(name string) *attempt.Record {
	a := s.known[name]
	if a == nil || len(a.Leases) == 0 {
		return nil
	}
	job := a.Leases[0].Job
	rec, err := s.runs.Get(job.Slice, job.N)
	if err != nil || nameOf(rec.ID) != name {
		return nil
	}
	return rec
}

// A bounded buffer drops what it has no room for.
type bounded struct{ data []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), askBytes-len(b.data))]...)
	return len(p), nil
}
