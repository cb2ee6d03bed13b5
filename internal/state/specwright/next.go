package specwright

import (
	"fmt"
	"time"
)

// A Hint is the next thing to do: the skill, the corresponding gl command ("" for none), and a
// short reason.
type Hint struct{ Command, Also, Why string }

// Next returns what to do next according to the protocol.
func (s *State) Next(root string, c Config, now time.Time) Hint {
	return s.next(s.Verdict(root, c, now))
}

func (s *State) next(v Verdict) Hint {
	switch s.Status() {
	case None, Shipped, Abandoned:
		return s.begin(v)
	case Designing:
		if s.Work.Intensity == "quick" {
			return Hint{"/sw-build", "gl sw to building", "a quick work needs no plan"}
		}
		if v.Undesigned != "" {
			return Hint{"/sw-design", "gl sw status", v.Undesigned + " isn't written"}
		}
		return Hint{"/sw-plan", "gl sw to planning", "the design must be approved"}
	case Planning:
		if u := s.unapproved(); u != nil {
			return Hint{"/sw-plan", "gl sw unit approve " + u.ID,
				"unit " + u.ID + " isn't approved"}
		}
		if v.Unplanned != "" {
			return Hint{"/sw-plan", "gl sw status", v.Unplanned + " isn't written"}
		}
		return Hint{"/sw-build", "gl sw to building", "the plan must be approved"}
	case Building:
		switch {
		case v.Failing():
			return Hint{"/sw-build", "gl sw to verifying", v.Words() + ": fix, then /sw-verify"}
		case s.TasksDone():
			return Hint{"/sw-verify", "gl sw to verifying", "all tasks are done"}
		}
		return Hint{"/sw-build", "gl sw task done TASK", s.Work.Tasks() + " tasks done"}
	case Verifying:
		switch {
		case v.Failing():
			return Hint{"/sw-build", "gl sw to building", v.Words() + ": fix, then /sw-verify"}
		case len(v.Bad) > 0:
			return Hint{"/sw-verify", "gl sw gate NAME VERDICT", v.Words()}
		}
		return Hint{"/sw-ship", "gl sw ship", "every enabled gate has passed"}
	case Shipping:
		if len(v.Bad) > 0 {
			return Hint{"/sw-verify", "gl sw to verifying", v.Words()}
		}
		return Hint{"/sw-ship", "gl sw ship", "it is being shipped"}
	}
	if s.Status() == Pending {
		return Hint{"/sw-plan", "gl sw status",
			fmt.Sprintf("the work is %q: no one has begun it", s.Work.Status)}
	}
	return Hint{"/sw-status", "gl sw reset", "the status is unknown"}
}

// begin returns how to go on while no work is active.
func (s *State) begin(v Verdict) Hint {
	if u := s.Upcoming(); u != nil && s.Work != nil {
		if begins(u) == Planning {
			return Hint{"/sw-plan", "gl sw unit next",
				"unit " + u.ID + " is next, and not approved"}
		}
		return Hint{"/sw-build", "gl sw unit next", "unit " + u.ID + " is next"}
	}
	if u := s.stray(); u != nil && s.Work != nil {
		return Hint{"/sw-status", "gl sw unit approve " + u.ID,
			"unit " + u.ID + " is " + canonical(u.Status) + ", but isn't the current one: " +
				"approve it to build it, or correct its entry"}
	}
	if v.Unfounded != "" && s.Work == nil {
		return Hint{"/sw-init", "gl sw start ID --description TEXT",
			v.Unfounded + " isn't written"}
	}
	return Hint{"/sw-design", "gl sw start ID --description TEXT", "no work is active"}
}
