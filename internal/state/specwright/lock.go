package specwright

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"greenlight/internal/core/plan"
)

// lockLimit is the protocol's expiry of a lock that isn't refreshed.
const lockLimit = 30 * time.Minute

// A Lock is the visible lock: it tells agents that only read the file who is working on the
// state. Writers are serialized by the kernel's lock in Store.Update.
type Lock struct {
	Skill  string
	Holder string // token of the session; "" if the lock names only a skill
	Since  string // verbatim
}

// lock reads the documented form, a bare skill, and {holder, acquired} with a skill as the
// holder.
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
	l := &Lock{Skill: r.text("lock", "skill"), Holder: r.text("lock", "holder"),
		Since: r.first(at, "since", "acquired")}
	switch {
	case l.Skill == "" && l.Holder == "": // cleared rather than removed
		return nil
	case l.Skill == "":
		l.Skill, l.Holder = l.Holder, ""
	}
	return l
}

// LockAge returns the time since the lock was taken or refreshed, as far as it is known. Agents
// invent times, so if the recorded one is missing or in the future, the last change of the file
// counts.
func (s *State) LockAge(now time.Time) time.Duration {
	age := now.Sub(s.Changed)
	if since, err := time.Parse(time.RFC3339, s.Lock.Since); err == nil {
		age = max(age, now.Sub(since))
	}
	return max(age, 0)
}

// Fresh reports whether there is an unexpired lock.
func (s *State) Fresh(now time.Time) bool { return s.Lock != nil && s.LockAge(now) <= lockLimit }

// Who describes the lock's holder: "sw-build (session 2026-…)".
func (l *Lock) Who() string {
	if l.Holder == "" {
		return l.Skill
	}
	return fmt.Sprintf("%s (session %s)", l.Skill, l.Holder)
}

// A LockedError reports that another session holds the lock.
type LockedError struct {
	Lock Lock
	Age  time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("locked by %s for %s: wait until it is released, or after 30m without a "+
		"change; if its holder is gone, run gl sw unlock --force", e.Lock.Who(), plan.Age(e.Age))
}

// A Caller identifies the author of a change.
type Caller struct {
	Token string // token of the session; "" for a person at a shell
	Force bool   // ignore a lock held by another session
	// Live reports whether an attempt is running under the token: its lock is never stale. If
	// Live is nil, none is.
	Live func(token string) bool
	Unit string // the unit that the caller's running attempt works on; "" for none
}

// guard lets the caller past the lock if there is none, if it is the caller's own, or if it is
// stale, in which case it is cleared. --force ignores a lock and leaves it in place.
func (e *Edit) guard() error {
	l := e.State.Lock
	if l == nil {
		return nil
	}
	age := e.State.LockAge(e.now)
	switch {
	case e.mine():
		e.refresh = true
		return nil
	case l.Holder == "" && e.who.Unit != "" && e.who.Unit == e.State.InHand():
		// the caller's agent took it as the protocol prescribes
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

func (e *Edit) mine() bool {
	return e.who.Token != "" && e.State.Lock != nil && e.State.Lock.Holder == e.who.Token
}

// TakeLock takes or refreshes the visible lock for the caller.
func (e *Edit) TakeLock(skill string) error {
	had := e.State.Lock
	if err := e.guard(); err != nil {
		return err
	}
	if e.mine() && had.Skill == skill {
		return e.set(quote(e.timestamp()), "lock", "since")
	}
	// the documented form, plus the holder
	return e.set(json.RawMessage(fmt.Sprintf(`{"skill":%s,"since":%s,"holder":%s}`,
		quote(skill), quote(e.timestamp()), quote(e.who.Token))), "lock")
}

// ReleaseLock releases the visible lock and reports whether there was one.
func (e *Edit) ReleaseLock() (bool, error) {
	if e.State.Lock == nil {
		return false, nil
	}
	if err := e.guard(); err != nil {
		return false, err
	}
	e.refresh = false
	return true, e.set(null, "lock")
}
