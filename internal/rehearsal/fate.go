package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// Kind is how an attempt ends.
type Kind string

const (
	Complete  Kind = "complete"  // the slice is complete; exit 0
	Crash     Kind = "crash"     // killed by SIGKILL
	Hang      Kind = "hang"      // silent until it is ended
	Fail      Kind = "fail"      // a line on stderr, no result event; exit 7
	Turns     Kind = "turns"     // turn limit; exit 1
	Limit     Kind = "limit"     // rate limit; exit 1
	Park      Kind = "park"      // asks for a person; exit 0
	Quit      Kind = "quit"      // gives up half way with a success; exit 0
	Refuse    Kind = "refuse"    // its tool calls are denied, so it gives up with a success; exit 0
	Outage    Kind = "outage"    // the service answers with 500, also after retries; exit 1
	NoCommand Kind = "nocommand" // the client doesn't know /gl:slice, and ends with a success; exit 0

	// Where the rehearsal commits what it builds, in a worktree or a scratch copy. Elsewhere they are Complete.
	Red   Kind = "red"   // called complete, and broken: tests that look at the work fail; the next attempt mends it
	Clash Kind = "clash" // complete, with a line at the same place of rehearsal/index.md as all the others that clash
)

// Faults lists the kinds that a spec can ask for. A new one comes last, so that specs without it have the same fates as before.
func Faults() []Kind {
	return []Kind{Crash, Hang, Fail, Turns, Limit, Park, Quit, Refuse, NoCommand, Red, Clash, Outage}
}

// completes says whether the agent gets to the end of its work.
func (k Kind) completes() bool { return k == Complete || k == Red || k == Clash }

// A Fate is what an attempt at a slice comes to.
type Fate struct {
	Kind     Kind
	Step     time.Duration // length of one step
	Duration time.Duration // from the start to the end, for Hang to the silence
	AtStep   int           // the step a fault happens in the middle of: 0 tests to 3 verifying; 4 for none

	Tests, SecurityTests int // what a complete slice reports
}

// Fate says what happens in the attempt (from 1) at the slice. It depends on nothing else but the spec. A slice is
// equally long in all its attempts.
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

// length is how long the slice takes when nothing goes wrong.
func (s Spec) length(slice string) time.Duration {
	u := s.uniform("length", slice, 0)
	if s.Max > 0 {
		return s.Min + time.Duration(u*float64(s.Max-s.Min))
	}
	plain := float64(s.Step) * float64(len(walk))
	return time.Duration(plain * (1 + s.Jitter*(2*u-1)))
}

// uniform is a number in [0, 1) that depends on its arguments and the seed alone, on any machine and in any version.
func (s Spec) uniform(what, slice string, attempt int) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", s.Seed, what, slice, attempt))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}
