package specwright

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

var _ tracker.Tracker = (*Store)(nil)

const (
	brokenID = "workflow"    // the item for a state that was never readable
	nameless = "currentWork" // the item of a work without an id
)

// Traits implements tracker.Tracker.
func (s *Store) Traits() tracker.Traits {
	return tracker.Traits{Format: "specwright", Noun: "unit",
		Skills: "run gl install --local --system specwright, then gl check"}
}

// Roadmap implements tracker.Tracker. The protocol has no roadmap, so it is Greenlight's.
func (s *Store) Roadmap() (*roadmap.Roadmap, error) {
	return nil, &roadmap.MissingError{
		Begin: "Specwright has no roadmap: gl sw status shows the work and its units"}
}

// Line implements tracker.Tracker: "shop/cart building 1/3".
func (s *Store) Line(compact bool) tracker.Line {
	st, err := s.Read()
	if err != nil {
		return tracker.Line{Text: path.Base(StateFile) + " can't be understood",
			Rest: tracker.Alone}
	}
	return tracker.Line{Text: st.Line(s.root, ReadConfig(s.root), s.Now(), compact)}
}

// Watch implements tracker.Tracker.
func (s *Store) Watch() []string { return []string{filepath.Dir(s.path())} }

// Prompt returns the skill for the unit's next step.
func (s *Store) Prompt(id string) string {
	st, err := s.Read()
	if err != nil {
		return "/sw-build"
	}
	return "/" + st.skill()
}

// skill returns the skill that an agent runs on the current work.
func (s *State) skill() string {
	if s.Status() == Verifying || s.Status() == Building && s.TasksDone() {
		return "sw-verify"
	}
	return "sw-build"
}

// Load implements tracker.Tracker. If the state can't be read, the known units become corrupt,
// so that none is launched.
func (s *Store) Load() (*tracker.Contents, error) {
	c, _, err := s.load()
	return c, err
}

func (s *Store) load() (*tracker.Contents, *State, error) {
	st, err := s.Read()
	var broken *BrokenError
	if errors.As(err, &broken) {
		return s.broken(broken), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	c := &tracker.Contents{}
	cfg, now := ReadConfig(s.root), s.Now()
	warn := func(path, text string) {
		c.Warnings = append(c.Warnings, plan.Warning{Path: path, Message: text})
	}
	m := &itemMaker{s: st, verdict: st.Verdict(s.root, cfg, now), fresh: st.Fresh(now),
		been: s.remembers(st)}
	c.Items = plan.Pointers(m.items())
	for _, text := range append(st.Odd, m.warnings...) {
		warn(StateFile, text)
	}
	if drift := st.Drift(); drift != "" {
		warn(StateFile, drift)
	}
	if st.Lock != nil && !m.fresh {
		warn(StateFile, fmt.Sprintf("the lock of %s is stale (%s): the next change clears it",
			st.Lock.Who(), plan.Age(st.LockAge(now))))
	}
	if err := st.readOnly(); err != nil {
		warn(StateFile, strings.TrimPrefix(err.Error(), StateFile+" "))
	}
	if cfg.Problem != "" {
		warn(configFile, cfg.Problem)
	}
	return c, st, nil
}

func (s *Store) broken(why *BrokenError) *tracker.Contents {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	items := []plan.Item{newItem(brokenID)}
	if last != nil {
		if have := (&itemMaker{s: last}).items(); len(have) > 0 {
			items = have
		}
	}
	for i := range items {
		items[i].Corrupt = why.Reason.Error()
	}
	return &tracker.Contents{Items: plan.Pointers(items), Unsure: why.Error(),
		Warnings: []plan.Warning{{Path: StateFile, Message: why.Reason.Error()}}}
}

// Do implements tracker.Tracker.
func (s *Store) Do(ctx context.Context, f func(tracker.Tx) error) error {
	if err := statedir.Make(s.root); err != nil {
		return err
	}
	return statedir.Locked(ctx, s.root, func(held statedir.Held) error {
		return f(&tx{ctx: ctx, s: s, held: held})
	})
}

// A tx is one holding of the project's lock. Agents that call gl sw, or write the file
// themselves, don't take that lock. So tx remembers the visible lock its caller based the
// decision on, and touches no other.
type tx struct {
	ctx  context.Context
	s    *Store
	held statedir.Held
	seen string
}

// Held implements tracker.Tx.
func (t *tx) Held() statedir.Held { return t.held }

func lockText(st *State) string {
	if st == nil || st.Lock == nil {
		return ""
	}
	return fmt.Sprintf("%q", *st.Lock)
}

// Load implements tracker.Tx.
func (t *tx) Load() (*tracker.Contents, error) {
	c, st, err := t.s.load()
	t.seen = lockText(st)
	return c, err
}

// Item implements tracker.Tx.
func (t *tx) Item(id string) (plan.Item, error) {
	c, st, err := t.s.load()
	if err != nil {
		return plan.Item{}, err
	}
	t.seen = lockText(st)
	for _, it := range c.Items {
		if it.ID == id {
			return *it, nil
		}
	}
	if st == nil { // the units of a broken file are unknown
		it := newItem(id)
		it.Corrupt = c.Warnings[0].Message
		return it, nil
	}
	return plan.Item{}, notFound(id)
}

// Claim implements tracker.Tx. It takes the visible lock for the attempt, overriding the lock
// that its caller saw and decided to ignore.
func (t *tx) Claim(id, token string) error {
	e, err := t.s.Update(t.ctx, Caller{Token: token, Force: true}, func(e *Edit) error {
		switch {
		case !e.State.has(id):
			return notFound(id)
		case e.State.InHand() != id:
			return fmt.Errorf("unit %s isn't the current one: run gl sw unit next when its turn has come",
				id)
		case lockText(e.State) != t.seen:
			return fmt.Errorf("%s: %w", StateFile, tracker.ErrChanged)
		}
		if err := t.s.remember(e.State); err != nil {
			return err
		}
		return e.TakeLock(e.State.skill())
	})
	if err == nil {
		t.seen = lockText(e.State)
	}
	return err
}

func notFound(id string) error {
	return fmt.Errorf("%w: there is no unit %q", tracker.ErrNotFound, id)
}

// has reports whether the id is that of an item.
func (s *State) has(id string) bool {
	return slices.ContainsFunc((&itemMaker{s: s}).items(), func(it plan.Item) bool {
		return it.ID == id
	})
}

// InHand returns the id of the current unit or, for single-unit work, of the work; "" for none.
func (s *State) InHand() string {
	switch u := s.Current(); {
	case s.Work == nil:
		return ""
	case u != nil:
		return u.ID
	case s.loose():
		return cmp.Or(s.Work.Unit, s.Work.ID, nameless)
	case len(s.Units) > 0:
		return ""
	}
	return cmp.Or(s.Work.ID, nameless)
}

// Settle implements tracker.Tx. For any effect, the format can only represent the claim; the
// attempt's record tells about a failure. An agent that follows the protocol overwrites the
// attempt's lock with its own, without a holder; such a lock belongs to the attempt, because
// the protocol admits one skill at a time.
func (t *tx) Settle(id string, _ tracker.Effect, _ tracker.Before) (plan.Mark, error) {
	_, err := t.s.Update(t.ctx, Caller{}, func(e *Edit) error {
		l := e.State.Lock
		ours := l != nil && lockText(e.State) == t.seen &&
			(l.Holder != "" || l.Skill == "sw-build" || l.Skill == "sw-verify")
		if !ours || e.State.InHand() != id {
			return nil
		}
		return e.set(null, "lock")
	})
	if err != nil {
		return plan.Mark{}, err
	}
	it, err := t.Item(id)
	return mark(it), err
}

func mark(it plan.Item) plan.Mark {
	return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}
}

// PutBack implements tracker.Tx. Only the attempt's record knows that a unit failed, so there
// is nothing to reset.
func (t *tx) PutBack(id string, was plan.Mark, _ bool) error {
	it, err := t.Item(id)
	if err == nil && mark(it) != was {
		err = fmt.Errorf("%s: %w", StateFile, tracker.ErrChanged)
	}
	return err
}
