package scheduler

import (
	"fmt"
	"time"

	"greenlight/internal/run/attempt"
)

const (
	startLimit = 30 * time.Second // a wrapper that hasn't reported after this never will
	startTries = 3                // wrappers that may end before they start, per slice
	reapLimit  = 5 * time.Second
)

// starts follows the wrappers that this run started: whether they took their attempts over, and
// whether they are gone.
type starts struct {
	wrappers  map[string]bool      // by token: not known to be gone; only if the runner can know
	claimedAt map[string]time.Time // by token: when this run made the claim; see late
	early     []earlyEnd           // since the last pass
	failed    map[string]int       // by slice: attempts that never started their agents
}

// An earlyEnd is a claim whose wrapper ended before it began.
type earlyEnd struct {
	rec *attempt.Record
	why string
}

func newStarts() starts {
	return starts{
		wrappers: map[string]bool{}, claimedAt: map[string]time.Time{}, failed: map[string]int{},
	}
}

// late reports whether the wrapper of a claim of this run should have started long ago. That goes
// by the monotonic clock, not by the record's ClaimedAt: the wall clock may be set.
func (s *starts) late(rec *attempt.Record) bool {
	return time.Since(s.claimedAt[rec.ID.Token]) > startLimit
}

// isLast reports whether the attempt, if it never starts its agent, is the last one of its slice in
// this run.
func (s *starts) isLast(rec *attempt.Record) bool { return s.failed[rec.ID.Slice]+1 >= startTries }

// endedEarly is why an agent never ran whose wrapper is gone.
const endedEarly = "its gl process ended before the agent started"

// neverStarted is the reason of the last attempt.
func neverStarted(why string) string {
	return fmt.Sprintf("%s, %d times in a row", why, startTries)
}

// leaving reports whether a wrapper is still there although its attempt isn't open any more.
func (s *starts) leaving(open map[string]*attempt.Record) bool {
	tokens := make(map[string]bool, len(open))
	for _, rec := range open {
		tokens[rec.ID.Token] = true
	}
	for token := range s.wrappers {
		if !tokens[token] {
			return true
		}
	}
	return false
}
