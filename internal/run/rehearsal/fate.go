package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// A Kind is how an attempt ends.
type Kind string

const (
	Complete Kind = "complete" // the slice is complete; exit 0
	Crash    Kind = "crash"    // killed by SIGKILL
	Hang     Kind = "hang"     // silent until it is ended
	Fail     Kind = "fail"     // writes a line to stderr and no result event; exit 7
	Turns    Kind = "turns"    // turn limit; exit 1
	Limit    Kind = "limit"    // rate limit; exit 1
	Park     Kind = "park"     // asks a person; exit 0
	Quit     Kind = "quit"     // gives up half way and reports success; exit 0
	// its tool calls are denied, so it gives up and reports success; exit 0
	Refuse    Kind = "refuse"
	Outage    Kind = "outage"    // the service answers 500, also to retries; exit 1
	NoCommand Kind = "nocommand" // the client doesn't know /gl:slice and reports success; exit 0

	// These apply where the rehearsal commits its work: in a worktree or a scratch copy.
	// Elsewhere they mean Complete.
	// called complete but broken, so that tests of the work fail; the next attempt repairs it
	Red Kind = "red"
	// complete, with a line at the same place of rehearsal/index.md as all slices that clash
	Clash Kind = "clash"
)

// Faults returns the kinds that a spec can ask for. New kinds must be appended, so that
// existing specs keep their fates.
func Faults() []Kind {
	return []Kind{Crash, Hang, Fail, Turns, Limit, Park, Quit, Refuse, NoCommand, Red,
		Clash, Outage}
}

// completes reports whether the agent finishes its work.
func (k Kind) completes() bool { return k == Complete || k == Red || k == Clash }

// A Fate is the outcome of an attempt at a slice.
type Fate struct {
	Kind     Kind
	Step     time.Duration // length of one step
	Duration time.Duration // from the start to the end; for Hang, to the silence
	// the step during which a fault happens: 0 tests to 3 verifying; 4 for none
	AtStep int

	Tests, SecurityTests int // reported by a complete slice
}

// Fate returns what happens in the attempt (from 1) at the slice. It depends only on the spec
// and the arguments. A slice takes equally long in all its attempts.
func (s Spec) Fate(slice string, attempt int) Fate {
	f := Fate{
		Kind:          s.kind(slice, attempt),
		Step:          s.length(slice) / time.Duration(len(walk)),
		AtStep:        len(walk),
		Tests:         1 + int(40*s.uniform("tests", slice, 0)),
		SecurityTests: int(10 * s.uniform("security tests", slice, 0)),
	}
	f.Duration = f.Step * time.Duration(len(walk))
	if !f.Kind.completes() {
		f.AtStep = int(float64(len(walk)) * s.uniform("step", slice, attempt))
		f.Duration = f.Step*time.Duration(f.AtStep) + f.Step/2
	}
	return f
}

func (s Spec) kind(slice string, attempt int) Kind {
	for _, t := range s.targets {
		if t.slice == slice && (t.attempt == 0 || t.attempt == attempt) {
			return t.kind
		}
	}
	dice, sum := s.uniform("kind", slice, attempt), 0.0
	for _, kind := range Faults() {
		if sum += s.chances[kind]; dice < sum {
			return kind
		}
	}
	return Complete
}

// length returns how long the slice takes without a fault.
func (s Spec) length(slice string) time.Duration {
	u := s.uniform("length", slice, 0)
	if s.Max > 0 {
		return s.Min + time.Duration(u*float64(s.Max-s.Min))
	}
	plain := float64(s.Step) * float64(len(walk))
	return time.Duration(plain * (1 + s.Jitter*(2*u-1)))
}

// uniform returns a number in [0, 1) that depends only on its arguments and the seed, on any
// machine and in any version.
func (s Spec) uniform(what, slice string, attempt int) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", s.Seed, what, slice, attempt))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}
