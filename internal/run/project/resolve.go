package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/sliceid"
)

// RequireGreenlight returns an error if another system keeps the project's state, for commands
// about Greenlight's own slices.
func (p *Project) RequireGreenlight() error {
	if p.Slices != nil {
		return nil
	}
	return &OtherSystem{Root: p.Root, System: p.System()}
}

// An OtherSystem error means that a command is about Greenlight's slices, and that another system
// keeps the project's state.
type OtherSystem struct {
	Root    string
	System  System
	Instead string // what serves instead of the command; "" for the usual commands
}

func (e *OtherSystem) Error() string {
	return fmt.Sprintf("%s keeps its state in %s, and this command is about Greenlight's slices: ",
		e.Root, e.System.Name) + cmp.Or(e.Instead,
		"use gl status, gl slice or "+e.System.Command+" here, or gl quick TEXT for a single task")
}

// Resolve finds the item that a person means by id. note is for that person, and isn't empty if
// the item is spelled differently.
func Resolve(p *plan.Plan, id string) (match, note string, err error) {
	if attempt.IsTask(id) {
		return "", "", fmt.Errorf("%s is a task, not a slice: gl why, gl logs, gl diff, gl undo, gl debug and gl stop take tasks", id)
	}
	match, note, err = sliceid.Resolve(id, p.IDs())
	if err != nil {
		return "", "", cmp.Or[error](inOtherSystem(p, id), nounError{err, p.Snapshot.Noun})
	}
	return match, note, nil
}

// Task returns the record of the attempt at a task that id names, or of the last such task:
// "@quick.3", "@quick".
func Task(runs *attempt.Store, id string) (*attempt.Record, error) {
	task, n, _ := attempt.SplitTask(id)
	all, err := runs.Index()
	if err != nil {
		return nil, err
	}
	entries := all[task]
	i := len(entries) - 1
	if task != id {
		i = slices.IndexFunc(entries, func(e attempt.Entry) bool { return e.N == n })
	}
	if i < 0 {
		return nil, fmt.Errorf("no task is named %s: gl events lists what has run", id)
	}
	return runs.Get(task, entries[i].N)
}

// Exactly returns the file of the Greenlight slice with exactly that id, nil if only the whole
// plan can tell whether it exists. The cost doesn't depend on the size of the project.
func (p *Project) Exactly(id string) *slice.File {
	if p.RequireGreenlight() != nil {
		return nil
	}
	f, err := p.Slices.Read(id)
	if err != nil {
		return nil
	}
	if said, _ := f.Get("id"); said != id { // the file system may fold case
		return nil
	}
	return f
}

// A nounError rewords an error about slices for a system that calls them something else.
type nounError struct {
	err  error
	noun string
}

func (e nounError) Error() string { return strings.Replace(e.err.Error(), "slice", e.noun, 1) }
func (e nounError) Unwrap() error { return e.err }

// inOtherSystem returns an error that names the project's other system with an item of that id;
// nil if there is none.
func inOtherSystem(p *plan.Plan, id string) error {
	pr, err := Open(p.Snapshot.Root)
	if err != nil {
		return nil
	}
	for _, v := range pr.Views() {
		if q, err := v.Plan(time.Now(), v.Options()); err == nil &&
			q.Snapshot.Format != p.Snapshot.Format && q.State(id) != nil {
			return fmt.Errorf("%s is a %s of %s: add --system %s", id, q.Snapshot.Noun,
				v.System().Name, v.System().Key)
		}
	}
	return nil
}
