package away

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/environ"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
)

const (
	mostAsking = 16              // commands of agents that run at once
	askLimit   = 2 * time.Minute // after which one is ended
	askBytes   = 1 << 20         // of its output that is held; a message has less
)

// asks are the commands that an agent on a worker may run here: those that read its slice, and
// those that say how far it is. What they may change is decided by the same rules as for an agent
// of this machine. No other one is run, whatever a worker sends.
var asks = [][]string{
	{"state", "set"}, {"state", "show"}, {"state", "note"}, {"state", "release"}, {"state", "claim"},
	{"state", "overview"}, {"slice"}, {"status"}, {"why"}, {"ref"}, {"roadmap"}, {"hook"}, {"task"}, {"version"},
}

// may reports whether an agent's command may run here. gl slice prints the agent's own slice.
func may(argv []string, slice string) bool {
	args := slices.DeleteFunc(slices.Clone(argv), func(s string) bool { return strings.HasPrefix(s, "-") })
	for _, a := range asks {
		if len(args) < len(a) || !slices.Equal(args[:len(a)], a) || len(argv) == 0 || argv[0] != a[0] {
			continue
		}
		return a[0] != "slice" || len(argv) == 1 || len(argv) == 2 && argv[1] == slice
	}
	return false
}

// run runs a command of a remote attempt's agent, as that agent.
func (s *server) run(e remote.Run) {
	answer := remote.Answer{Fence: e.Fence, Number: e.Ask.Number, ExitCode: 1}
	defer func() { s.post(remote.Answered{Answer: answer}) }()
	refuse := func(why string) { answer.Errors = []byte("gl: " + why + "\n") }
	rec := s.openOf(e.Attempt)
	switch {
	case rec == nil:
		refuse("the attempt is over")
		return
	case !may(e.Ask.Argv, rec.ID.Slice):
		refuse("an agent on a worker can't run this command")
		return
	}
	l, err := rec.LineageIn(s.trees)
	if err != nil {
		refuse(err.Error())
		return
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-s.life.Done():
		return
	}
	ctx, cancel := context.WithTimeout(s.life, askLimit)
	defer cancel()
	here := func(text string) string { return strings.ReplaceAll(text, remote.WorktreePlace, l.Path) }
	there := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(l.Path), []byte(remote.WorktreePlace))
	}
	argv := make([]string, len(e.Ask.Argv))
	for i, a := range e.Ask.Argv {
		argv[i] = here(a)
	}
	cmd := exec.CommandContext(ctx, s.cfg.Self, argv...)
	cmd.Dir = s.cfg.Project.Root
	cmd.Env = rec.Env(environ.WithoutClaim(s.cfg.Environ), s.cfg.Project.Root)
	cmd.Stdin = strings.NewReader(here(string(e.Ask.Input)))
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	answer.Output, answer.Errors = there(out.data), there(errs.data)
	if cmd.ProcessState == nil {
		refuse(err.Error())
		return
	}
	answer.ExitCode = cmd.ProcessState.ExitCode()
}

// openOf returns the open record of an attempt, by its name on workers.
func (s *server) openOf(name string) *attempt.Record {
	live, _, err := s.runs.Live()
	if err != nil {
		return nil
	}
	for _, r := range live {
		if r.Life.Remote != nil && nameOf(r.ID) == name &&
			(r.Life.Phase == plan.Preparing || r.Life.Phase == plan.Started) {
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
