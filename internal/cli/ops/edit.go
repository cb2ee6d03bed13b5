package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

// EditText returns the text of a slice's file, for a person to change. A slice that is only in
// GRAPH.json gets a file.
func EditText(ctx context.Context, pr *project.Project, id string) (text []byte, err error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	if !pr.Tracker.Traits().Lands {
		return nil, fmt.Errorf("%s is a row of .greenlight/STATE.md: edit that, or run gl migrate",
			id)
	}
	err = s.Edit(ctx, id, func(f *slice.File) error { text = f.Bytes(); return nil })
	return text, err
}

// Edit replaces the text of a slice's file by a person's edited version, under the lock and only if
// the file hasn't changed since. It refuses what gl couldn't read back: another id, an unknown
// status, unknown dependencies or a cycle.
func Edit(ctx context.Context, pr *project.Project, id string,
	old, text []byte) (notes []string, err error) {
	next, err := slice.ParseFile(text)
	if err != nil {
		return nil, err
	}
	before, err := slice.ParseFile(old)
	if err != nil {
		return nil, err
	}
	if own, ok := next.Get("id"); ok && own != id {
		return nil, badArgument("the id is %q: a slice's id is the name of its file, %s", own, id)
	}
	changes, err := changesOf(before, next)
	if err != nil {
		return nil, err
	}
	if notes, err = resolveDeps(pr, id, changes); err != nil {
		return notes, err
	}
	open, done := false, false
	err = edit(ctx, pr, id, func(m moment, f *slice.File) error {
		if string(f.Bytes()) != string(old) {
			return fmt.Errorf("%s was changed by someone else meanwhile: %w", id, errEdited)
		}
		done = m.st.Class == plan.Done
		if open = m.st.Attempt.Open(); open {
			notes = append(notes, fmt.Sprintf("note: attempt %d is at work on %s, and its agent may have read the old text", m.st.Attempt.N, id))
		}
		if err := apply(m.plan, m.st, next, changes); err != nil {
			// it also checks for cycles
			return err
		}
		f.File = next.File
		return takeOut(pr, m, changes)
	})
	if err != nil {
		return notes, err
	}
	more, err := afterSet(ctx, pr, id, changes, open, done)
	return append(notes, more...), err
}

// errEdited means that the edited text is based on an older version.
var errEdited = errors.New("edit it again")

// changesOf returns the fields that differ, as arguments of gl state set.
func changesOf(before, next *slice.File) ([]Change, error) {
	var words []string
	for _, key := range next.Keys() {
		was, _ := before.Get(key)
		is, _ := next.Get(key)
		if key == "id" || was == is {
			continue
		}
		if key == "deps" {
			is = strings.Join(next.List(key), ", ")
		}
		words = append(words, key+"="+is)
	}
	return ParseChanges(words)
}
