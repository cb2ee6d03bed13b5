package specwright

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"greenlight/internal/plan"
)

// lockLimit is the protocol's: after it a lock that nobody has refreshed is nobody's.
const lockLimit = 30 * time.Minute

// A Lock is the visible lock: who is at work on the state, for agents that only read the file. What serializes writers
// is the kernel's lock in Store.Update.
type Lock struct {
	Skill  string
	Holder string // token of the session; "" where the lock names only a skill
	Since  string // verbatim
}

// lock reads the documented form, a bare skill, and {holder, acquired} with a skill for the holder.
func (r *reader) lock() *Lock {
	raw := r.raw("lock")
	if raw == nil || string(raw) == "false" || string(raw) == `""` {
		return nil
	}
	if !isObject(raw) {
		if raw[0] == '[' {
			r.note("lock is neither an object nor a skill, but %.40s", raw)
		}
		return &Lock{Skill: cmp.Or(scalar(raw), "unknown")}
	}
	at := []string{"lock"}
	l := &Lock{Skill: r.text("lock", "skill"), Holder: r.text("lock", "holder"), Since: r.first(at, "since", "acquired")}
	switch {
	case l.Skill == "" && l.Holder == "": // emptied instead of removed
		return nil
	case l.Skill == "":
		l.Skill, l.Holder = l.Holder, ""
	}
	return l
}

// LockAge is how long ago the lock was taken or refreshed, as far as that can be known: agents write times that never
// were, so one in the future, or none, gives way to the last change of the file.
func (s *State) LockAge(now time.Time) time.Duration {
	age := now.Sub(s.Changed)
	if since, err := time.Parse(time.RFC3339, s.Lock.Since); err == nil {
		age = max(age, now.Sub(since))
	}
	return max(age, 0)
}

// Fresh says whether there is a lock that counts.
func (s *State) Fresh(now time.Time) bool { return s.Lock != nil && s.LockAge(now) <= lockLimit }

// Who is the lock's holder in words: "sw-build (session 2026-…)".
func (l *Lock) Who() string {
	if l.Holder == "" {
		return l.Skill
	}
	return fmt.Sprintf("%s (session %s)", l.Skill, l.Holder)
}

// A LockedError says who else has the lock.
type LockedError struct {
	Lock Lock
	Age  time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("locked by %s for %s: wait until it is released, or after 30m without a change; "+
		"if its holder is gone, run gl sw unlock --force", e.Lock.Who(), plan.Age(e.Age))
}

// A Caller is who wants to change the state.
type Caller struct {
	Token string // of the session; "" for a person at a shell
	Force bool   // also over somebody else's lock
	// Live says whether an attempt runs under the token: its lock is never stale. nil: none does.
	Live func(token string) bool
	Unit string // that the caller's own attempt, a running one, is at work on; "" for none
}

// guard admits the caller beside the lock: where there is none, where it is the caller's own, and where it is stale,
// which clears it. --force goes past a lock and leaves it alone.
func (e *Edit) guard() error {
	l := e.Lock
	if l == nil {
		return nil
	}
	age := e.LockAge(e.now)
	switch {
	case e.mine():
		e.refresh = true
		return nil
	case l.Holder == "" && e.who.Unit != "" && e.who.Unit == e.InHand(): // its agent took it as the protocol has it
		return nil
	case age > lockLimit && (e.who.Live == nil || l.Holder == "" || !e.who.Live(l.Holder)):
		e.warn("the lock of %s is stale (%s): cleared", l.Who(), plan.Age(age))
		return e.set(null, "lock")
	case e.who.Force:
		e.warn("past the lock of %s, held for %s", l.Who(), plan.Age(age))
		return nil
	}
	return &LockedError{*l, age}
}

func (e *Edit) mine() bool { return e.who.Token != "" && e.Lock != nil && e.Lock.Holder == e.who.Token }

// TakeLock takes the visible lock for the caller, or takes it anew.
func (e *Edit) TakeLock(skill string) error {
	had := e.Lock
	if err := e.guard(); err != nil {
		return err
	}
	if e.mine() && had.Skill == skill {
		return e.set(quote(e.timestamp()), "lock", "since")
	}
	return e.set(json.RawMessage(fmt.Sprintf(`{"skill":%s,"since":%s,"holder":%s}`, // the documented form, with the holder
		quote(skill), quote(e.timestamp()), quote(e.who.Token))), "lock")
}

// ReleaseLock gives the visible lock back, and says whether there was one.
func (e *Edit) ReleaseLock() (bool, error) {
	if e.Lock == nil {
		return false, nil
	}
	if err := e.guard(); err != nil {
		return false, err
	}
	e.refresh = false
	return true, e.set(null, "lock")
}
