package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/environ"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

// A Paused is a slice that was just paused.
type Paused struct {
	State *plan.State // before the pause
	At    time.Time
	File  string // the hand-off file, relative to the root
	Text  string // what the file says
	Notes []string
}

// Pause sets a slice aside: it writes the hand-off file, and marks the slice. The slice's file
// doesn't change, and a running agent continues.
func Pause(ctx context.Context, pr *project.Project, id string,
	who attempt.Claimant) (*Paused, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		return nil, err
	}
	st := p.State(id)
	switch {
	case st == nil:
		return nil, notFound(id)
	case st.Class == plan.Done:
		return nil, fmt.Errorf("%s is done: there is nothing to set aside", id)
	}
	h := handoff{pr: pr, p: p, st: st, now: now}
	text, err := h.write(ctx)
	if err != nil {
		return nil, err
	}
	file := HandoffFile(id)
	err = s.EditProject(ctx, func(ps *slice.ProjectState) error {
		return errors.Join(ps.Pause(id, st.Step, now, file), ps.SetLastSession(now),
			ps.SetResumeFile(file))
	})
	if err != nil {
		return nil, err
	}
	return &Paused{State: st, At: now, File: file, Text: text,
		Notes: stillAtWork(pr, st, who, now)}, nil
}

// stillAtWork returns notes about those who still work on the paused slice.
func stillAtWork(pr *project.Project, st *plan.State, who attempt.Claimant,
	now time.Time) []string {
	if a := st.Attempt; a.Live() {
		end := "gl stop " + st.ID + " ends it"
		if a.Where.Text != "" {
			end = "it runs " + a.Where.Text + ", and can only be stopped there"
		}
		return []string{fmt.Sprintf("attempt %d (%s) is still working on %s: %s", a.N,
			a.Agent, st.ID, end)}
	}
	return warnOther(pr, st, who, now)
}

// ToPause returns the slice meant by a command without an id: the one that this session works on,
// else the only active one. The error is an *ArgumentError if that isn't clear.
func ToPause(pr *project.Project, env environ.Environ) (id string, err error) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return "", err
	}
	if own := env.Get("GL_SLICE"); p.State(own) != nil && env.Get("GL_SESSION") != "" {
		return own, nil
	}
	var mine, active []string
	for i := range p.States {
		st := &p.States[i]
		if st.Class != plan.Active {
			continue
		}
		active = append(active, st.ID)
		if who := attempt.NewClaimant(env.Get, st.ID); !who.IsPerson() && who.Holds(pr.Runs, st) {
			mine = append(mine, st.ID)
		}
	}
	switch {
	case len(mine) == 1:
		return mine[0], nil
	case len(mine) > 1:
		return "", badArgument("which slice? this session works on %s", strings.Join(mine, ", "))
	case len(active) == 1:
		return active[0], nil
	case len(active) == 0:
		return "", badArgument("no slice is being worked on")
	}
	return "", badArgument("which slice? active: %s", strings.Join(active, ", "))
}

// A Handoff is what is needed to continue a paused slice.
type Handoff struct {
	State    *plan.State // nil for the hand-off of an older version, which names no slice
	Paused   bool        // the slice is still paused
	PausedAt string      // RFC 3339; "" for unknown
	File     string      // relative to the root; "" for none
	Text     string
	Notes    []string

	pr *project.Project
}

// FindHandoff returns the hand-off of a slice.
func FindHandoff(pr *project.Project, id string) (*Handoff, error) {
	p, ps, err := readPaused(pr)
	if err != nil {
		return nil, err
	}
	st := p.State(id)
	if st == nil {
		return nil, notFound(id)
	}
	return newHandoff(pr, st, ps)
}

// readPaused reads which slices are paused.
func readPaused(pr *project.Project) (*plan.Plan, *slice.ProjectState, error) {
	s, err := store(pr)
	if err != nil {
		return nil, nil, err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, nil, err
	}
	ps, err := s.ReadProject()
	return p, ps, err
}

func newHandoff(pr *project.Project, st *plan.State, ps *slice.ProjectState) (*Handoff, error) {
	mark, marked := ps.Paused(st.ID)
	file, text, err := readHandoff(pr.Root, st.ID, mark.ResumeFile)
	if err != nil {
		return nil, err
	}
	if !marked && file == "" {
		return nil, fmt.Errorf("%s isn't paused. %s", st.ID, pausedByStatus(st))
	}
	h := &Handoff{State: st, Paused: marked, PausedAt: mark.PausedAt, File: file,
		Text: text, pr: pr}
	h.addNotes()
	return h, nil
}

// addNotes adds notes about oddities.
func (h *Handoff) addNotes() {
	note := func(format string, a ...any) { h.Notes = append(h.Notes, fmt.Sprintf(format, a...)) }
	switch {
	case !h.Paused:
		note("%s isn't paused any more; this is its last hand-off", h.State.ID)
	case h.File == "":
		note("%s has no hand-off file", h.State.ID)
	case h.File == oldHandoff:
		note("this is %s, which names no slice", oldHandoff)
	}
	if plan.Classify(h.State.Status) == plan.Waiting {
		note("%s", pausedByStatus(h.State))
	}
}

// pausedByStatus returns what besides a mark keeps the slice waiting, or its status.
func pausedByStatus(st *plan.State) string {
	if plan.Classify(st.Status) == plan.Waiting {
		return fmt.Sprintf("its status is %s: gl state set %s status=pending continues it",
			st.Status, st.ID)
	}
	return "Its status is " + st.Status
}

// OnlyHandoff returns the hand-off meant by a command without an id: that of own, the slice that
// the session works on, or of the only paused slice, or else the project-wide one of older
// versions. The error is an *ArgumentError if that isn't clear.
func OnlyHandoff(pr *project.Project, own string) (*Handoff, error) {
	p, ps, err := readPaused(pr)
	if err != nil {
		return nil, err
	}
	var paused []string
	for i := range p.States {
		st := &p.States[i]
		if _, marked := ps.Paused(st.ID); !marked || st.Class == plan.Done {
			continue
		}
		if st.ID == own {
			return newHandoff(pr, st, ps)
		}
		paused = append(paused, st.ID)
	}
	switch {
	case len(paused) == 1:
		return newHandoff(pr, p.State(paused[0]), ps)
	case len(paused) > 1:
		return nil, badArgument("which slice? paused: %s", strings.Join(paused, ", "))
	}
	return oldOne(pr)
}

// oldOne returns the project-wide hand-off of older versions.
func oldOne(pr *project.Project) (*Handoff, error) {
	path := filepath.Join(pr.Root, oldHandoff)
	if _, err := os.Stat(path); err != nil {
		return nil, badArgument("no slice is paused")
	}
	data, err := durable.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &Handoff{File: oldHandoff, Text: string(data),
		Notes: []string{"no slice is paused; this is " + oldHandoff}, pr: pr}, nil
}

// Resume lets the slice continue. Call it after printing the hand-off: if that fails, the slice
// stays paused. The hand-off file is kept.
func (h *Handoff) Resume(ctx context.Context) error {
	if !h.Paused {
		return nil
	}
	s, err := store(h.pr)
	if err != nil {
		return err
	}
	return s.EditProject(ctx, func(ps *slice.ProjectState) error {
		ps.Unpause(h.State.ID)
		err := ps.SetLastSession(time.Now())
		if ps.ResumeFile() == h.File {
			err = errors.Join(err, ps.SetResumeFile(""))
		}
		return err
	})
}

// Retire removes the hand-off file once the work it describes is done. A slice that is still paused
// keeps it.
func (h *Handoff) Retire() error {
	if h.File == "" {
		return nil
	}
	path := filepath.Join(h.pr.Root, filepath.FromSlash(h.File))
	if err := durable.CheckBelow(h.pr.Root, path); err != nil {
		return fmt.Errorf("remove the hand-off: %w", err)
	}
	return durable.Remove(path)
}
