package specwright

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"greenlight/internal/base/words"
)

// A NewUnit is the input of sw-plan. A nil Order places it last; an empty Dir means the
// protocol's default directory.
type NewUnit struct {
	ID, Description, Dir string
	Order                *int
}

// AddUnit appends a pending unit, whose spec isn't approved yet.
func (e *Edit) AddUnit(n NewUnit) error {
	if err := e.in("add a unit", Planning, Designing, Building, Verifying); err != nil {
		return err
	}
	if err := checkNewID(n.ID); err != nil {
		return err
	}
	if err := checkLine("description", n.Description); err != nil {
		return err
	}
	switch st := e.State.Status(); {
	case e.State.unit(n.ID) != nil:
		return fmt.Errorf("there is a unit %s already", n.ID)
	case len(e.State.Units) == 0 && (st == Building || st == Verifying):
		return fmt.Errorf("%s has no units and is %s: a work is divided while it is planned",
			e.State.Work.ID, e.State.Work.Status)
	}
	order := 1
	for _, u := range e.State.Units {
		if u.Order != nil {
			order = max(order, int(*u.Order)+1)
		}
	}
	if n.Order != nil {
		order = *n.Order
	}
	dir := cmp.Or(n.Dir, ".specwright/work/"+e.State.Work.ID+"/units/"+n.ID)
	raw := fmt.Sprintf(`{"id":%s,"description":%s,"status":"pending","order":%d,"workDir":%s}`,
		quote(n.ID), quote(n.Description), order, quote(dir))
	return e.push(json.RawMessage(raw), "workUnits")
}

// ApproveUnit records that the unit's spec is written and approved. It also requeues a unit
// that was begun and isn't current.
func (e *Edit) ApproveUnit(id string) error {
	if err := e.guard(); err != nil {
		return err
	}
	if e.State.Work == nil {
		return e.noWork("approve a unit")
	}
	u := e.State.unit(id)
	if u == nil {
		return e.unknownUnit(id)
	}
	switch st := canonical(u.Status); {
	case st == Planned:
		return nil
	case st == Pending, st == Planning, st == Designing, begun(st) && e.State.InHand() != id:
		return e.setUnit(u, Planned)
	}
	return fmt.Errorf("unit %s is %s: only one whose spec is being written can be approved",
		id, u.Status)
}

func (e *Edit) unknownUnit(id string) error {
	ids := make([]string, len(e.State.Units))
	for i, u := range e.State.Units {
		ids[i] = u.ID
	}
	return &UnknownUnitError{id, ids}
}

// An UnknownUnitError names a unit that doesn't exist.
type UnknownUnitError struct {
	ID  string
	All []string
}

func (e *UnknownUnitError) Error() string { return fmt.Sprintf("there is no unit %q", e.ID) }

// NextUnit makes the next unit current and returns its id.
func (e *Edit) NextUnit() (string, error) {
	if err := e.guard(); err != nil {
		return "", err
	}
	switch e.State.Status() {
	case None:
		return "", e.noWork("go on to the next unit")
	case Shipped, Abandoned, Planning:
	default:
		return "", e.unfinished()
	}
	if cur := e.State.Current(); cur != nil && e.State.Status() == Planning {
		return "", fmt.Errorf("unit %s is being planned: gl sw unit approve %s, "+
			"then gl sw to building", cur.ID, cur.ID)
	}
	u := e.State.Upcoming()
	if u == nil {
		return "", fmt.Errorf("no unit of %s is planned or pending. Run /sw-design for new work",
			e.State.Work.ID)
	}
	return u.ID, e.begin(u, begins(u))
}

// unfinished returns the error for beginning the next unit while another is current, naming
// what that one needs.
func (e *Edit) unfinished() error {
	next := e.State.next(e.verdict())
	//lint:ignore ST1005 the protocol's own words
	return fmt.Errorf("Cannot begin the next unit while %s is %s: %s. Run %s first. (%s)",
		cmp.Or(e.State.InHand(), e.State.Work.ID), e.State.Work.Status, next.Why, next.Command,
		next.Also)
}

// Ship marks the work as shipped and begins the next unit, if there is one. It returns that
// unit's id, "" for none.
func (e *Edit) Ship() (next string, err error) {
	if err := e.guard(); err != nil {
		return "", err
	}
	if e.State.Work == nil {
		return "", e.noWork("ship")
	}
	if err := e.move(Shipped); err != nil {
		return "", err
	}
	u := e.State.Upcoming()
	if u == nil {
		return "", nil
	}
	return u.ID, e.begin(u, begins(u))
}

// SetTotal records the number of tasks of the current work.
func (e *Edit) SetTotal(n int) error {
	if err := e.in("set the number of tasks", Building, Planning); err != nil {
		return err
	}
	if n < len(e.State.Work.Done) {
		return fmt.Errorf("%s has %s done already: it can't have %d in all", e.State.Work.ID,
			words.Count(len(e.State.Work.Done), "task"), n)
	}
	return e.set(number(n), e.work("tasksTotal")...)
}

// StartTask records the task in progress.
func (e *Edit) StartTask(id string) error {
	if err := e.taskIn("start a task", id); err != nil {
		return err
	}
	switch now := e.State.Work.Task; {
	case slices.Contains(e.State.Work.Done, id):
		return fmt.Errorf("task %s is done already", id)
	case now != "" && now != id:
		e.warn("task %s was being worked on", now)
	}
	return e.set(quote(id), e.work("currentTask")...)
}

// FinishTask adds the task to the completed ones, once.
func (e *Edit) FinishTask(id string) error {
	if err := e.taskIn("finish a task", id); err != nil {
		return err
	}
	if !slices.Contains(e.State.Work.Done, id) {
		if err := e.push(quote(id), e.work("tasksCompleted")...); err != nil {
			return err
		}
	}
	if t := e.State.Work.Total; t != nil && len(e.State.Work.Done) > *t {
		e.warn("%d tasks are done, of %d: is the total right? (gl sw task total N)",
			len(e.State.Work.Done), *t)
	}
	if e.State.Work.Task == id {
		return e.set(null, e.work("currentTask")...)
	}
	return nil
}

func (e *Edit) taskIn(what, id string) error {
	if err := checkLine("task", id); err != nil {
		return err
	}
	return e.in(what, Building)
}
