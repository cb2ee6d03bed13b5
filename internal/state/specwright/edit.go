package specwright

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/words"
	"greenlight/internal/state/sliceid"
)

// An Edit is one change of the state, made under the kernel's lock.
type Edit struct {
	State    *State // with all changes made so far
	Warnings []string

	root    string
	doc     *jsonedit.Doc
	who     Caller
	now     time.Time
	refresh bool // the caller holds the lock, and this change refreshes it
	anew    bool // a work or a unit begins
}

func (e *Edit) warn(format string, a ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, a...))
}

// timestamp returns now as JavaScript's toISOString formats it.
func (e *Edit) timestamp() string { return formatTime(e.now) }

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// set writes one value.
func (e *Edit) set(value json.RawMessage, path ...string) error {
	if err := e.doc.Set(value, path...); err != nil {
		return fmt.Errorf("%s: %w", StateFile, err)
	}
	s, err := view(e.doc, e.State.Changed)
	if err != nil {
		return err
	}
	*e.State = *s
	return nil
}

var (
	null        = json.RawMessage("null")
	emptyList   = json.RawMessage("[]")
	emptyObject = json.RawMessage("{}")
)

// quote returns a JSON string. encoding/json would escape characters that JSON.stringify doesn't.
func quote(text string) json.RawMessage { return json.RawMessage(jsonedit.Quote(text)) }

func number(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }

type setting struct {
	value json.RawMessage
	path  []string
}

func (e *Edit) setAll(list ...setting) error {
	for _, s := range list {
		if err := e.set(s.value, s.path...); err != nil {
			return err
		}
	}
	return nil
}

// push appends to a list, creating it if it is missing.
func (e *Edit) push(value json.RawMessage, path ...string) error {
	r := &reader{doc: e.doc}
	list := r.list(path...)
	switch {
	case len(r.odd) > 0:
		return fmt.Errorf("%s: %s. Correct it by hand", StateFile, r.odd[0])
	case r.raw(path...) == nil:
		return e.set(json.RawMessage("["+string(value)+"]"), path...)
	}
	return e.set(value, under(path, strconv.Itoa(len(list)))...)
}

// work returns the path of a field of the current work.
func (e *Edit) work(key string) []string { return []string{"currentWork", key} }

// unitKey returns the name of the field that holds the current unit.
func (e *Edit) unitKey() string {
	if _, ok := e.doc.Get(e.work("activeWorkUnit")...); ok && old(e.State.Version) {
		return "activeWorkUnit"
	}
	return "unitId"
}

// statusPath returns the path of a status, which version 0.2.0 calls the phase.
func (e *Edit) statusPath(at ...string) []string {
	if _, ok := e.doc.Get(under(at, "phase")...); ok && old(e.State.Version) {
		return under(at, "phase")
	}
	return under(at, "status")
}

// setStatus writes the status of the work and of the current unit, in one write.
func (e *Edit) setStatus(status string) error {
	if err := e.set(quote(status), e.statusPath("currentWork")...); err != nil {
		return err
	}
	if u := e.State.Current(); u != nil {
		return e.setUnit(u, status)
	}
	return nil
}

func (e *Edit) setUnit(u *Unit, status string) error {
	return e.set(quote(status), e.statusPath("workUnits", strconv.Itoa(u.place))...)
}

// CheckID returns an error unless the id can name a work, a unit or an attempt at it. New ids
// must be kebab-case.
func CheckID(id string) error {
	if err := sliceid.Valid(id); err != nil {
		return errors.New(strings.Replace(err.Error(), "slice id", "id", 1))
	}
	return nil
}

func checkNewID(id string) error {
	kebab := strings.Trim(id, "-") == id && !strings.Contains(id, "--")
	for _, c := range id {
		kebab = kebab && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !kebab || id == "" {
		return fmt.Errorf("the id %q must be kebab-case: "+
			"lower-case letters, digits and single hyphens between them", id)
	}
	return CheckID(id)
}

// checkLine rejects anything but one line of text.
func checkLine(what, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("the %s is empty", what)
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f || c == '\ufffd' {
			return fmt.Errorf("the %s must be one line without control characters", what)
		}
	}
	return nil
}

// A NewWork is the input of sw-design.
type NewWork struct{ ID, Description, Intensity string }

// Start begins a new work. If that work is already current and still being designed, Start only
// updates its description and intensity.
func (e *Edit) Start(n NewWork) error {
	if err := e.guard(); err != nil {
		return err
	}
	if err := checkNewID(n.ID); err != nil {
		return err
	}
	if err := checkLine("description", n.Description); err != nil {
		return err
	}
	if e.State.Status() == Designing && e.State.Work.ID == n.ID {
		return e.setAll(setting{quote(n.Description), e.work("description")},
			setting{quote(n.Intensity), e.work("intensity")})
	}
	if !free(e.State.Status()) {
		return e.refuse(Designing)
	}
	if left := e.left(); len(left) > 0 && !e.who.Force {
		return fmt.Errorf("%s of %s not built yet: %s. Run gl sw unit next, "+
			"or gl sw start %s --force to drop them from the queue",
			words.Count(len(left), "unit"), e.State.Work.ID, strings.Join(left, ", "), n.ID)
	}
	e.anew = true
	key := "status"
	if old(e.State.Version) {
		key = "phase"
	}
	raw := fmt.Sprintf(`{"id":%s,"description":%s,%q:"designing","workDir":%s,"unitId":null,`+
		`"tasksTotal":null,"tasksCompleted":[],"currentTask":null,"intensity":%s}`, quote(n.ID),
		quote(n.Description), key, quote(".specwright/work/"+n.ID), quote(n.Intensity))
	return e.setAll(setting{json.RawMessage(raw), []string{"currentWork"}},
		setting{emptyObject, []string{"gates"}}, setting{null, []string{"workUnits"}})
}

// left returns the units of a finished work that were never built.
func (e *Edit) left() []string {
	var ids []string
	if e.State.Work == nil {
		return nil
	}
	for _, u := range e.State.Units {
		if st := canonical(u.Status); !free(st) &&
			(e.State.Current() == nil || u.ID != e.State.Current().ID) {
			ids = append(ids, u.ID)
		}
	}
	return ids
}

// Reset abandons the current work, even if another session holds the lock: a person has
// confirmed it. Other units stay unchanged.
func (e *Edit) Reset() error {
	if e.State.Work == nil {
		return e.noWork("abandon anything")
	}
	if e.State.Lock != nil && !e.mine() {
		e.warn("the lock of %s is released", e.State.Lock.Who())
	}
	if err := e.setAll(setting{null, []string{"lock"}},
		setting{emptyObject, []string{"gates"}}); err != nil {
		return err
	}
	return e.setStatus(Abandoned)
}

// in allows an operation only in some statuses; the first is the one named in the error.
func (e *Edit) in(what string, statuses ...string) error {
	if err := e.guard(); err != nil {
		return err
	}
	if e.State.Work == nil {
		return e.noWork(what)
	}
	if !slices.Contains(statuses, e.State.Status()) {
		return &WrongStatusError{what, e.State.Work.ID, e.State.Work.Status, statuses[0]}
	}
	return nil
}
