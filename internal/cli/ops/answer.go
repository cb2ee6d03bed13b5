package ops

import (
	"context"
	"fmt"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
)

// An Answered is a slice whose question a person has answered.
type Answered struct {
	Question string
	Session  string // that has the slice and continues with the answer; "" if the next agent does
}

// Answer records the answer to a slice's question, one line of text, among its decisions. The slice
// keeps its step: its agent continues with the answer, or the session that has the slice does. A
// slice left at its review may be answered, too: its text may be meant as a question.
func Answer(ctx context.Context, pr *project.Project, id, text string) (*Answered, error) {
	a := &Answered{}
	var st *plan.State
	err := edit(ctx, pr, id, func(m moment, f *slice.File) error {
		st = m.st
		switch {
		case st.Attempt.Open():
			return atWork(st)
		case st.Class != plan.Waiting || st.WaitingFor == "":
			return fmt.Errorf("%s has no question: %s", id, m.plan.Why(id, m.now))
		}
		a.Question, a.Session = st.WaitingFor, st.Session
		if err := f.AppendToSection("Decisions",
			dated(m.now, "Asked: "+st.WaitingFor+" Answer: "+text)); err != nil {
			return err
		}
		if a.Session != "" {
			return f.SetAll([][2]string{{"waiting_for", ""}})
		}
		set := [][2]string{{"status", "pending"}, {"waiting_for", ""}}
		if plan.IsStep(st.Status) && !plan.StepReached(st.Step) {
			set = append(set, [2]string{"step", st.Status})
		}
		return f.SetAll(set)
	})
	if err != nil {
		return nil, err
	}
	tell(pr, st, journal.Event{Kind: journal.Answered, Reason: text, Detail: a.Question})
	if a.Session != "" {
		return a, nil
	}
	return a, amend(ctx, pr, func(w *attempt.Writer) error {
		return w.MarkAnswered(id, attempt.Answer{Question: a.Question, Text: text})
	})
}
