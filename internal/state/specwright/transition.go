package specwright

import (
	"cmp"
	"fmt"
	"strings"
)

// A Refusal is returned for a transition that the protocol lacks, in the protocol's words.
type Refusal struct {
	Current, Target string
	Skill           string // the right skill, including its sw-
	Also            string // gl's command or a reason, if there is more to say
}

func (r *Refusal) Error() string {
	s := fmt.Sprintf("Cannot transition from %s to %s. Run /%s instead.", r.Current,
		r.Target, r.Skill)
	if r.Also != "" {
		s += " (" + r.Also + ")"
	}
	return s
}

// A WrongStatusError is returned for an operation that belongs to another status.
type WrongStatusError struct{ What, Work, Status, Belongs string }

func (e *WrongStatusError) Error() string {
	skill := map[string]string{Planning: "plan", Building: "build", Verifying: "verify"}[e.Belongs]
	return fmt.Sprintf("Cannot %s while %s is %s. Run /sw-%s first.", e.What, e.Work,
		e.Status, skill)
}

// noWork returns the error for an operation that needs a work.
func (e *Edit) noWork(what string) error {
	//lint:ignore ST1005 the protocol's own words
	return fmt.Errorf("Cannot %s: no work is active. Run /sw-design first. "+
		"(gl sw start ID --description TEXT)", what)
}

// A turn is a row of the transition table. Starting a work and beginning the next unit depend
// on more than the status; To delegates them.
type turn struct {
	from, to string
	when     func(*Edit) error // further condition; nil for none
}

// turns returns all transitions of gl sw to, other than staying in the same status.
func turns() []turn {
	return []turn{
		{Designing, Planning, designed},
		{Designing, Building, quickOnly},
		{Planning, Building, approved},
		{Building, Verifying, nil},
		{Verifying, Building, nil}, // fix after a failed verification
		{Verifying, Shipping, gatesPass},
		{Verifying, Shipped, gatesPass},
		{Building, Shipped, gatesPassAlready}, // done by older versions of sw-ship
		{Shipping, Shipped, gatesPass},
		{Shipping, Verifying, nil},
		{Shipped, Planning, nextUnit(Planning)},
		{Shipped, Building, nextUnit(Building)},
	}
}

// Targets returns the statuses that To accepts.
func Targets() []string {
	return []string{Designing, Planning, Building, Verifying, Shipping, Shipped, Abandoned}
}

// To moves the work and its current unit to the status.
func (e *Edit) To(target string) error {
	if err := e.guard(); err != nil {
		return err
	}
	return e.move(target)
}

func (e *Edit) move(target string) error {
	from := e.State.Status()
	if from == target { // a skill was run again
		if e.State.Drift() == "" {
			return nil
		}
		return e.setStatus(target)
	}
	for _, t := range turns() {
		if t.from != from || t.to != target {
			continue
		}
		if t.when != nil {
			if err := t.when(e); err != nil {
				return err
			}
		}
		if e.State.Status() == target { // the next unit has begun
			return nil
		}
		if from == Planning && e.State.undecided() && e.State.firstUnit() != nil {
			return e.begin(e.State.firstUnit(), Building)
		}
		return e.setStatus(target)
	}
	return e.refuse(target)
}

// refuse returns the error for a transition, naming the right skill.
func (e *Edit) refuse(target string) error {
	r := &Refusal{Current: e.State.Status(), Target: target,
		Skill: strings.TrimPrefix(e.State.next(e.verdict()).Command, "/")}
	if e.State.Work != nil {
		r.Current = cmp.Or(e.State.Work.Status, `""`) // verbatim
	}
	switch {
	case target == Abandoned:
		r.Skill, r.Also = "sw-status --reset", "gl sw reset"
	case target == Designing && e.State.Status() == Designing && e.State.Work.Intensity != "quick":
		r.Skill = "sw-plan"
	case target == Designing && free(e.State.Status()):
		r.Skill, r.Also = "sw-design", "gl sw start ID --description TEXT"
	case target == Shipped && e.State.Status() == Building:
		r.Skill = "sw-verify"
	}
	return r
}

// free reports whether a new work may begin in the status.
func free(status string) bool { return status == None || status == Shipped || status == Abandoned }

// designed refuses to plan what has no design.
func designed(e *Edit) error {
	if path := e.verdict().Undesigned; path != "" {
		return fmt.Errorf("%s isn't written. Run /sw-design first", path)
	}
	return nil
}

// approved refuses to build a unit whose spec isn't approved.
func approved(e *Edit) error {
	if u := e.State.unapproved(); u != nil {
		return fmt.Errorf("unit %s isn't approved. Run /sw-plan first (gl sw unit approve %s)",
			u.ID, u.ID)
	}
	return nil
}

func quickOnly(e *Edit) error {
	if e.State.Work.Intensity == "quick" {
		return nil
	}
	return e.refuse(Building)
}

// gatesPass refuses to ship unverified work.
func gatesPass(e *Edit) error {
	v := e.verdict()
	if len(v.Bad) > 0 {
		return fmt.Errorf("not shipped: %s. Run /sw-verify first", v.Words())
	}
	for _, old := range v.Old {
		e.warn("%s", old)
	}
	return nil
}

// gatesPassAlready allows shipping without the status verifying if everything was verified
// anyway.
func gatesPassAlready(e *Edit) error {
	if len(e.verdict().Bad) > 0 {
		return e.refuse(Shipped)
	}
	e.warn("shipped from building: every enabled gate had passed")
	return gatesPass(e)
}

// nextUnit begins the next unit, if it would begin in that status.
func nextUnit(status string) func(*Edit) error {
	return func(e *Edit) error {
		u := e.State.Upcoming()
		if u == nil || begins(u) != status {
			return e.refuse(status)
		}
		return e.begin(u, status)
	}
}

// undecided reports whether the work has units, but none of them is current yet.
func (s *State) undecided() bool {
	return len(s.Units) > 0 && s.Work.Unit == "" && s.Current() == nil
}

// firstUnit returns the unit to build first; nil for none.
func (s *State) firstUnit() *Unit {
	for i := range s.Units {
		if st := canonical(s.Units[i].Status); st == Planned || st == Pending {
			return &s.Units[i]
		}
	}
	return nil
}

// unapproved returns the unit that can't be built because its spec isn't approved: the current
// one or, before the first has begun, that one. It is nil for none.
func (s *State) unapproved() *Unit {
	u := s.Current()
	if s.undecided() {
		u = s.firstUnit()
	}
	if u == nil {
		return nil
	}
	if st := canonical(u.Status); st != Pending && st != Planning {
		return nil
	}
	return u
}

// begins returns the status in which a unit begins: building if it is approved, otherwise
// planning.
func begins(u *Unit) string {
	if canonical(u.Status) == Planned {
		return Building
	}
	return Planning
}

// begin makes the unit current. The tasks and gates recorded for the previous unit don't apply
// to this one. The previous unit's entry gets the status from currentWork, which now describes
// the new unit.
func (e *Edit) begin(u *Unit, status string) error {
	if u == nil {
		return e.refuse(status)
	}
	id, dir, place := u.ID, u.Dir, u.place
	if err := CheckID(id); err != nil {
		return fmt.Errorf("workUnits.%d: %w", place, err)
	}
	if dir == "" {
		return fmt.Errorf("unit %s has no workDir in %s: skills take their files from there",
			id, StateFile)
	}
	e.anew = true
	if last := e.State.Current(); last != nil && last.place != place &&
		canonical(last.Status) != e.State.Status() {
		if err := e.setUnit(last, e.State.Status()); err != nil {
			return err
		}
	}
	err := e.setAll(
		setting{quote(id), e.work(e.unitKey())}, setting{quote(dir), e.work("workDir")},
		setting{null, e.work("tasksTotal")}, setting{emptyList, e.work("tasksCompleted")},
		setting{null, e.work("currentTask")},
		setting{emptyObject, []string{"gates"}},
	)
	if err != nil {
		return err
	}
	return e.setStatus(status)
}
