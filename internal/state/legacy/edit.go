package legacy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// tries is the number of attempts at a write that races with writers that take no lock.
const tries = 3

// edit makes one read-modify-write of a slice, under the lock. A slice that exists only in the
// graph gets a row.
func (s *Store) edit(it plan.Item, f func(*slice.File) error) error {
	for range tries {
		err := s.try(it, f)
		if !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", stateFile, tracker.ErrChanged)
}

// try reads, edits and writes a slice once. It writes the two files one after the other: the
// token of a claim is written before the status that it explains and removed after it, so that
// a kill between the two never leaves a slice in progress without a session.
func (s *Store) try(it plan.Item, f func(*slice.File) error) error {
	b, err := s.readBoth()
	if err != nil {
		return err
	}
	before, m := b.state.Bytes(), b.state
	r, ok := m.Row(it.ID)
	if !ok {
		if m, err = m.WithRow(slice.NewRow{ID: it.ID, Name: it.Name, Deps: it.Deps}); err != nil {
			return err
		}
		r, _ = m.Row(it.ID)
	}
	e, err := editRow(join(r, m.Current(), b.entries[r.ID]), f)
	if err != nil {
		return err
	}
	now := s.Dir.Now()
	if m, err = m.With(e.change(now)); err != nil {
		return err
	}
	side, err := b.withEntry(r.ID, e.entry(), now)
	if err != nil {
		return err
	}
	writes := []write{{"STATE.md", before, m.Bytes()}, {slice.LegacyFile, b.side, side}}
	if e.got["session"] != "" {
		slices.Reverse(writes)
	}
	return s.replace(writes)
}

// An edited is one slice before and after a change.
type edited struct {
	id       string
	was, got map[string]string // by key of the slice file
	deps     []string
	setDeps  bool
	decision []string
}

// editRow runs f on the slice and determines what it changed. It rejects changes that a legacy
// project has no place for.
func editRow(r slice.RowSlice, f func(*slice.File) error) (*edited, error) {
	file, err := r.File()
	if err != nil {
		return nil, err
	}
	e := &edited{id: r.ID, was: values(file)}
	deps, body := file.List("deps"), file.Rest
	if err := f(file); err != nil {
		return nil, err
	}
	for _, key := range file.Keys() {
		if _, ok := e.was[key]; !ok {
			return nil, &slice.NoPlaceError{ID: e.id, What: key}
		}
	}
	e.got = values(file)
	if e.got["id"] != e.id {
		return nil, fmt.Errorf("%s: the id can't be changed", e.id)
	}
	e.deps = file.List("deps")
	e.setDeps = !slices.Equal(deps, e.deps)
	e.decision, err = e.decisions(body, file.Rest)
	return e, err
}

// values returns the values of the keys that a row may have.
func values(file *slice.File) map[string]string {
	all := map[string]string{}
	for _, key := range slice.RowKeys() {
		all[key], _ = file.Get(key)
	}
	return all
}

// decisions returns the lines added to the Decisions section, which is the last in the body.
func (e *edited) decisions(before, after string) ([]string, error) {
	added, ok := strings.CutPrefix(after, strings.TrimRight(before, "\n"))
	if !ok {
		return nil, &slice.NoPlaceError{ID: e.id, What: "body"}
	}
	var lines []string
	for line := range strings.Lines(added) {
		line = strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case line == "":
		case isItem:
			lines = append(lines, fmt.Sprintf("%s (%s)", item, e.id))
		default:
			return nil, &slice.NoPlaceError{ID: e.id, What: strings.TrimLeft(line, "# ")}
		}
	}
	return lines, nil
}

// entry returns the new entry of the side file.
func (e *edited) entry() entry {
	side := slice.Side{}
	for _, key := range slice.SideKeys() {
		side.Put(key, e.got[key])
	}
	if side["step"] == slice.StepOf(e.got["status"]) {
		delete(side, "step")
	}
	return entry{side: side}
}

// change returns the change to STATE.md. A slice on which work begins becomes the current one.
func (e *edited) change(now time.Time) slice.RowChange {
	cells := map[string]string{}
	for _, key := range []string{"name", "status", "tests", "security_tests"} {
		if e.got[key] != e.was[key] {
			cells[key] = e.got[key]
		}
	}
	for _, key := range []string{"tests", "security_tests"} {
		if text, ok := cells[key]; ok && text == "" {
			cells[key] = "0"
		}
	}
	c := slice.RowChange{
		ID: e.id, Cells: cells, Decisions: e.decision,
		Begun: plan.Classify(e.got["status"]) == plan.Active && plan.Classify(e.was["status"]) != plan.Active,
		Name:  e.got["name"], Step: e.got["step"], StepChanged: e.got["step"] != e.was["step"],
		Day: now.UTC().Format(time.DateOnly), Activity: e.activity(),
	}
	if e.setDeps {
		c.Deps = &e.deps
	}
	return c
}

// activity returns one word for the slice's new state.
func (e *edited) activity() string {
	switch step, status := e.got["step"], e.got["status"]; {
	case plan.Classify(status) == plan.Active && !plan.IsStep(status) && plan.StepReached(step):
		return step
	case status == "":
		return "pending"
	default:
		return status
	}
}
