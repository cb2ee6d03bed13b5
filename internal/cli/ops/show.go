package ops

import (
	"errors"
	"strings"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// A Field is a key of a slice with its value.
type Field struct{ Key, Value string }

// A Shown is a slice as gl state show prints it.
type Shown struct {
	ID     string
	File   string // relative to the root; "" for a slice that is only in the graph
	Fields []Field
	Body   string // the file's text below the front matter
}

// Show returns the fields of an item.
func Show(pr *project.Project, id string) (*Shown, error) {
	if f := pr.Exactly(id); f != nil { // reads only this file, in a project of any size
		return &Shown{ID: id, File: f.Path, Fields: fieldsOf(f), Body: f.Body()}, nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	st := p.State(id)
	if st == nil {
		return nil, notFound(id)
	}
	fields, body, err := Contents(pr, st)
	return &Shown{ID: st.ID, File: st.File, Fields: fields, Body: body}, err
}

// Contents returns the fields of the item's file in the file's order, and its text below the front
// matter. Without a slice file, the fields come from the plan and the text is empty.
func Contents(pr *project.Project, st *plan.State) (fields []Field, text string, err error) {
	known := []Field{
		{"id", st.ID}, {"name", st.Name}, {"status", st.Status}, {"milestone", st.Milestone},
		{"deps", strings.Join(st.Deps, ", ")},
	}
	s, err := store(pr)
	if err != nil { // another system keeps the state
		return append(known, Field{"step", st.Step}), "", nil
	}
	f, err := s.Read(st.ID)
	if errors.Is(err, tracker.ErrNotFound) {
		return known, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return fieldsOf(f), f.Body(), nil
}

func fieldsOf(f *slice.File) (fields []Field) {
	for _, key := range f.Keys() {
		value, _ := f.Get(key)
		if key == "deps" {
			value = strings.Join(f.List(key), ", ")
		}
		fields = append(fields, Field{key, value})
	}
	return fields
}
