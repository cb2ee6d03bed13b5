package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

const (
	holdFile     = "hold.json"
	longestHold  = time.Hour     // without a reset time, however often
	blindHold    = 6 * time.Hour // then gl tries once, whatever reset time an agent has named
	provenEnough = 16            // attempts after a hold
	// the shortest hold is this part of parallel.hold_seconds, and doubles as well
	floorPart = 10
)

func (s *HoldFile) path() string { return filepath.Join(s.dir, holdFile) }

// A HoldFile is runs/hold.json, and runs/streak.json: what keeps agents from being launched for
// a while.
type HoldFile struct {
	dir     string
	journal *journal.Journal
}

// Holds are those that were put last, over or not, at most one for everybody and one for each
// agent and account. The file of an earlier version has one for everybody.
type Holds []*plan.Hold

// holdsFile is what hold.json has: a list, or the single hold of an earlier version.
type holdsFile struct {
	Holds Holds `json:"holds"`
	plan.Hold
}

// Everybody is the hold of everybody, over or not; nil for none.
func (l Holds) Everybody() *plan.Hold { return l.same(&plan.Hold{}) }

// Single are the others.
func (l Holds) Single() (list []*plan.Hold) {
	for _, h := range l {
		if h.Agent != "" || h.Account != "" {
			list = append(list, h)
		}
	}
	return list
}

// InEffect are those that aren't over.
func (l Holds) InEffect(now time.Time) (list Holds) {
	for _, h := range l {
		if now.Before(h.Until) {
			list = append(list, h)
		}
	}
	return list
}

// same is the hold of the same agent and account; nil for none.
func (l Holds) same(as *plan.Hold) *plan.Hold {
	for _, h := range l {
		if sameHold(h, as) {
			return h
		}
	}
	return nil
}

func sameHold(a, b *plan.Hold) bool {
	return a.Account == b.Account && (a.Account != "" || a.Agent == b.Agent)
}

// All returns all holds; none where the file can't be used.
func (s *HoldFile) All() Holds {
	l, _ := s.Read() // commands that show the project's state name a bad one
	return l
}

// Read is Holds with the reason why the file can't be used: a *BadRecord where that is its content.
func (s *HoldFile) Read() (Holds, error) {
	var file holdsFile
	err := readChecked(s.path(), &file, func() error {
		if file.Holds == nil {
			file.Holds = Holds{&file.Hold}
		}
		for i, h := range file.Holds {
			if h == nil {
				return errors.New("has an empty hold")
			}
			if file.Holds[:i].same(h) != nil {
				return errors.New("holds the same agent and account twice")
			}
			if err := checkHold(h); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return file.Holds, nil
}

func checkHold(h *plan.Hold) error {
	switch {
	case h.Count < 0:
		return fmt.Errorf("counts %d holds", h.Count)
	case h.Proven < 0:
		return fmt.Errorf("counts %d attempts", h.Proven)
	case !saneTime(h.Until):
		return fmt.Errorf("until %s isn't a valid time", h.Until.Format(time.RFC3339))
	case len(h.Reason) > longestText || len(h.Kind) > longestName || len(h.By) > longestName ||
		len(h.Agent) > 5*longestName || len(h.Account) > 5*longestName:
		return errors.New("is longer than any that gl writes")
	}
	return nil
}

// Everybody returns the hold of everybody, over or not; nil for none.
func (s *HoldFile) Everybody() *plan.Hold { return s.All().Everybody() }

// Lift ends the holds for which which is true, and forgets those that are over. It returns
// those that weren't. The lock must be held.
func (s *HoldFile) Lift(which func(*plan.Hold) bool, now time.Time) (lifted Holds, err error) {
	var ended, kept Holds
	for _, h := range s.All() {
		if which(h) {
			ended = append(ended, h)
		} else {
			kept = append(kept, h)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	if err := s.writeAll(kept); err != nil {
		return nil, err
	}
	for _, h := range ended {
		s.TellEnded(h, now)
	}
	return ended.InEffect(now), nil
}

// put makes all with the attempt's agent and account wait after it met a limit. Attempts that
// ran beside the one that met it first meet the same limit: only a reset that they are told can
// move the end, and the next wait doubles once. The lock must be held.
func (s *HoldFile) put(r *Record, l *agent.Limit, now time.Time, first time.Duration) error {
	h := plan.Hold{Agent: r.Job.Agent, Account: r.Job.Account, Since: now, Kind: l.Kind,
		Reason: l.Reason, By: r.ID.Slice, Count: 1}
	old := s.All().same(&h)
	if old != nil && (old.Kind == plan.HeldByPerson || old.Open()) && now.Before(old.Until) {
		return nil // and the person says when it ends
	}
	if old != nil && old.Proven == 0 && old.Kind != plan.HeldByWindow {
		h.Count = old.Count + 1
		if r.Life.StartedAt != nil && r.Life.StartedAt.Before(old.Since) {
			if l.Reset == nil && now.Before(old.Until) {
				return nil // nothing new, and a person would be told once more
			}
			h.Since, h.Count = old.Since, old.Count
		}
	}
	doubled := func(d time.Duration) time.Duration {
		return min(d<<min(h.Count-1, 16), longestHold)
	}
	h.Until = now.Add(doubled(first))
	if l.Reset != nil && l.Reset.After(now.Add(-time.Minute)) {
		// one that has just passed is news, an old one is none
		h.Until = *l.Reset
		// A reset that is always just over must not make a loop, and one in 2100 must not hold
		// everybody for ever.
		if floor := now.Add(doubled(first / floorPart)); h.Until.Before(floor) {
			h.Until = floor
		}
		if most := now.Add(blindHold); h.Until.After(most) {
			reset := l.Reset.UTC()
			h.Until, h.Reset = most, &reset
		}
	}
	if old != nil && old.Until.After(h.Until) {
		h.Until, h.Reset = old.Until, old.Reset
	}
	h.Until = h.Until.UTC()
	return s.write(&h)
}

// PutWindow holds the attempt's account until the window begins anew; if that time is unknown,
// for a while. A hold that lasts at least as long stays. The lock must be held.
func (s *HoldFile) PutWindow(r *Record, win *agent.Window, now time.Time,
	unknown time.Duration) error {
	h := plan.Hold{
		Agent: r.Job.Agent, Account: r.Job.Account, Since: now, Until: now.Add(unknown),
		Kind: plan.HeldByWindow, By: r.ID.Slice, Count: 1,
		Reason: fmt.Sprintf("%.0f%% of the %s used", win.Percent, win.Words()),
	}
	if win.Reset != nil {
		h.Until = win.Reset.UTC()
	}
	if !h.Until.After(now) || !saneTime(h.Until) {
		return nil
	}
	if old := s.All().same(&h); old != nil && !old.Until.Before(h.Until) {
		return nil
	}
	return s.write(&h)
}

// PutPersons makes the account wait because a person says so; everybody, for the zero Account.
// The lock must be held.
func (s *HoldFile) PutPersons(a plan.Account, until, now time.Time) error {
	return s.write(&plan.Hold{Agent: a.Agent, Account: a.ID, Since: now.UTC(), Until: until.UTC(),
		Kind: plan.HeldByPerson})
}

// PutBudget makes everybody wait because a budget is spent. A hold that lasts at least as long
// stays. The lock must be held.
func (s *HoldFile) PutBudget(until time.Time, reason string, now time.Time) error {
	if old := s.Everybody(); old != nil && !old.Until.Before(until) {
		return nil
	}
	return s.write(&plan.Hold{Since: now.UTC(), Until: until.UTC(), Kind: plan.HeldByBudget,
		Reason: reason, Count: 1})
}

// write puts a hold in the place of the last one of the same agent and account. If that one is
// over, its end is recorded in the journal first: afterwards no file has it.
func (s *HoldFile) write(h *plan.Hold) error {
	l := s.All()
	if old := l.same(h); old != nil && old.Until.Before(h.Since) {
		s.TellEnded(old, h.Since)
	}
	l = slices.DeleteFunc(l, func(old *plan.Hold) bool { return sameHold(old, h) })
	if err := s.writeAll(append(l, h)); err != nil {
		return err
	}
	s.Tell(h)
	return nil
}

func (s *HoldFile) writeAll(l Holds) error {
	if len(l) == 0 {
		return durable.Remove(s.path())
	}
	return durable.WriteJSON(s.path(), struct {
		Holds Holds `json:"holds"`
	}{l})
}

// end counts that an attempt has met no limit, for the holds that were over when it ended, so
// that more are launched and the next hold begins small.
func (s *HoldFile) end(r *Record, now time.Time) error {
	l := s.All()
	var ended Holds
	for _, h := range l {
		if now.Before(h.Until) || r.Life.StartedAt == nil || r.Life.StartedAt.Before(h.Since) ||
			!h.Holds(plan.Account{Agent: r.Job.Agent, ID: r.Job.Account}) {
			continue
		}
		h.Proven++
		ended = append(ended, h)
	}
	if len(ended) == 0 {
		return nil
	}
	// Once so many have ended well there is nothing left to hold back.
	l = slices.DeleteFunc(l, func(h *plan.Hold) bool {
		return h.Proven >= provenEnough || h.Proven > 0 && !h.Ramps()
	})
	if err := s.writeAll(l); err != nil {
		return err
	}
	for _, h := range ended {
		s.TellEnded(h, now)
	}
	return nil
}

// sameAccount reports whether the attempts were with the same agent and, as far as is known,
// the same account.
func (j *Job) sameAccount(as *Job) bool {
	return j.Agent == as.Agent && (j.Account == as.Account || j.Account == "" || as.Account == "")
}

// refute compares a limit that a line of text alone tells of with how others fare: if an
// attempt with the same agent has succeeded since this one began, or since the one before it
// that met such a limit, there is no limit, and the slice's own trouble has the wrong words.
// The lock must be held.
func refute(s *Store, r *Record) error {
	if l := r.Judged.evidence().Limit; l == nil || !l.Text || r.Judged.Evidence.Refuted != "" ||
		r.Life.StartedAt == nil {
		return nil
	}
	index, err := s.Index()
	if err != nil {
		return err
	}
	since := *r.Life.StartedAt
	for _, e := range index[r.ID.Slice] {
		if e.N == r.ID.N-1 && e.Outcome.Traits().Limited {
			if before, err := s.readSettled(e); err == nil && before.Job.sameAccount(&r.Job) &&
				before.Life.StartedAt != nil && before.Judged.evidence().Limit != nil &&
				before.Judged.evidence().Limit.Text {
				since = *before.Life.StartedAt
			}
		}
	}
	for slice, entries := range index {
		for _, e := range entries {
			if slice == r.ID.Slice || !e.Outcome.Traits().Success {
				continue
			}
			if other, err := s.readSettled(e); err == nil && other.Job.sameAccount(&r.Job) &&
				other.Life.EndedAt != nil && other.Life.EndedAt.After(since) {
				evidence := *r.Judged.Evidence
				evidence.Refuted = other.ID.Name()
				r.Judged.Evidence = &evidence
				return nil
			}
		}
	}
	return nil
}
