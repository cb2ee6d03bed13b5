package remote

import (
	"errors"
	"fmt"
)

const day = 24 * 60 * 60 * 1000 // in milliseconds

func (m *Hello) check() error {
	if m.Protocol != Version { // nothing else of it is used
		*m = Hello{Protocol: m.Protocol, Boot: m.Boot, Release: m.Release, Host: m.Host}
		return number(m.Boot)
	}
	if len(m.Lacks) > maxLabels {
		return fmt.Errorf("%d lacks are more than %d", len(m.Lacks), maxLabels)
	}
	return first(number(m.Boot), within("slots", int64(m.Slots), 0, MaxSlots), plain("os", m.OS),
		plain("arch", m.Arch), words("agents", m.Agents, maxLabels),
		words("labels", m.Labels, maxLabels), words("sandbox", m.Sandbox, maxLabels),
		inside("included file", m.Included...), m.State.check())
}

func (m *Beat) check() error    { return first(number(m.Boot), m.State.check()) }
func (m *Goodbye) check() error { return number(m.Boot) }

func (s *State) check() error {
	if len(s.Held) > MaxHeld || len(s.Lineages) > MaxHeld {
		return fmt.Errorf("%d leases and %d kept worktrees are more than %d", len(s.Held), len(s.Lineages), MaxHeld)
	}
	for _, h := range s.Held {
		if err := h.Fence.Check(); err != nil {
			return err
		}
		switch h.Stage {
		case Accepted, Running, Ended:
		default:
			return fmt.Errorf("unknown stage %.40q", h.Stage)
		}
	}
	for _, l := range s.Lineages {
		if err := lineage(l); err != nil {
			return err
		}
	}
	return first(within("serial", s.Serial, 0, maxNumber), within("drained", s.Drained, 0, maxNumber))
}

func lineage(name string) error { return Fence{Attempt: name, Lease: 1}.Check() }

func (f Fence) check() error { return f.Check() }

func (m *Chunk) check() error {
	return first(m.Check(), within("offset", m.Offset, 0, maxNumber),
		within("size of a chunk", int64(len(m.Data)), 1, MaxChunk))
}

func (m *Heard) check() error { return first(m.Check(), number(m.Number)) }
func (m *Saved) check() error {
	return first(m.Check(), number(m.Number), commit("commit", m.Commit))
}
func (m *Offer) check() error { return first(m.Check(), m.Result.check()) }

func (r *Result) check() error {
	switch r.How {
	case Exited, Crashed, Failed:
	default:
		return fmt.Errorf("unknown end %.40q", r.How)
	}
	if len(r.Left) > maxLeft {
		return fmt.Errorf("%d processes left are more than %d", len(r.Left), maxLeft)
	}
	return first(within("exit code", int64(r.ExitCode), -1, 1<<32), within("took_ms", r.Took, 0, maxNumber),
		within("log", r.Log, 0, maxNumber), noCommit("commit", r.Commit), noCommit("tested", r.Tested))
}

func (m *Ask) check() error {
	return first(m.Check(), number(m.Number), within("below", m.Below, 1, m.Number),
		arguments("arguments", m.Argv), directory(m.Dir),
		within("size of the input", int64(len(m.Input)), 0, MaxInput))
}

func (m *Greet) check() error { return nil }
func (m *Welcome) check() error {
	return first(number(m.Boot), within("beat_ms", m.Beat, 1, day))
}
func (m *Drain) check() error { return number(m.Number) }
func (m *Place) check() error { return first(m.Check(), number(m.Serial), m.Job.check()) }
func (m *Withdraw) check() error {
	return first(m.Check(), within("serial", m.Serial, 0, maxNumber))
}
func (m *Ack) check() error {
	return first(m.Check(), within("offset", m.Offset, 0, maxNumber))
}

func (m *Say) check() error {
	if m.Close && len(m.Line) > 0 {
		return errors.New("a line with the end of input")
	}
	return first(m.Check(), number(m.Number), within("size of a line", int64(len(m.Line)), 0, MaxLine))
}

func (m *Answer) check() error {
	return first(m.Check(), number(m.Number), within("exit code", int64(m.ExitCode), 0, 255),
		within("size of the output", int64(len(m.Output)), 0, MaxOutput),
		within("size of the errors", int64(len(m.Errors)), 0, MaxOutput))
}

func (m *Discard) check() error {
	if len(m.Lineages) > mostDiscarded {
		return fmt.Errorf("%d worktrees are more than %d", len(m.Lineages), mostDiscarded)
	}
	for _, l := range m.Lineages {
		if err := lineage(l); err != nil {
			return err
		}
	}
	return nil
}

func (m *Merge) check() error {
	if m == nil {
		return nil
	}
	return first(commit("commit to merge", m.Commit), arguments("message", []string{m.Message}))
}

func (j *Job) check() error {
	if j.Kind != Agent && j.Kind != Tests {
		return fmt.Errorf("unknown kind of job %.40q", j.Kind)
	}
	return first(optional("system", j.System), optional("slice", j.Slice), within("n", int64(j.N), 0, maxLease),
		lineage(j.Lineage), commit("commit", j.Commit), j.Merge.check(), arguments("setup", j.Setup),
		within("setup_limit_ms", j.SetupLimit, 0, 365*day), within("save_ms", j.Save, 0, day), j.Command.check(), j.Needs.check())
}

func (c *Command) check() error {
	switch c.Leaves {
	case "", "services", "nothing":
	default:
		return fmt.Errorf("unknown leaves %.40q", c.Leaves)
	}
	if len(c.Argv) == 0 || c.Program == "" {
		return errors.New("a job without a program")
	}
	return first(arguments("program", []string{c.Program}), arguments("arguments", c.Argv),
		arguments("environment", c.Env), arguments("marks", c.Marks), directory(c.Dir),
		within("limit_ms", c.Limit, 0, 365*day), within("grace_ms", c.Grace, 0, day))
}

func (n *Needs) check() error {
	return first(optional("agent", n.Agent), words("labels", n.Labels, maxLabels), optional("sandbox", n.Sandbox),
		arguments("caches", n.Caches), inside("file", n.Files...))
}
