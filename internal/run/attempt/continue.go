package attempt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
)

// A Continuation says what an attempt goes on with, to its agent: how the attempt before ended
// and, if the lane sent that back, the output of the tests or the paths in conflict.
type Continuation struct {
	After int `json:"after,omitempty"` // the lineage's last attempt
	// the slice whose attempt that was; "" for the record's own
	Of     string `json:"of,omitempty"`
	Why    string `json:"why"`              // a sentence
	Output string `json:"output,omitempty"` // of tests, of git
	// what attempts before were there to put right, since the last one that was there for the slice
	// itself
	Mended []outcome.Outcome `json:"mended,omitempty"`
	// red or conflict, where the agent is there to put that right
	Mends outcome.Outcome `json:"mends,omitempty"`
	Again bool            `json:"again,omitempty"` // in a new worktree
	// a merge that is begun where the attempt works, before its agent; nil for none
	Merge *Merge `json:"merge,omitempty"`
}

// A Merge is of a base into a slice's work, and conflicts.
type Merge struct {
	Base string `json:"base"`
	Tip  string `json:"tip"` // of the work: where anything else is checked out, the merge was begun
}

const (
	whyBytes    = 4 << 10
	outputBytes = 8 << 10 // of Continuation.Output; the last ones count
)

// clean is the continuation as a record has it: bounded, and without what a terminal would obey.
func (c Continuation) clean() *Continuation {
	c.Why = sanitize.Line(textline.Collapse(c.Why))
	c.Why = c.Why[:textline.Boundary(c.Why, min(len(c.Why), whyBytes))]
	c.Output = textline.Last(sanitize.Text(c.Output), outputBytes)
	return &c
}

// goOn has the attempt go on where the last one in its lineage ended: with its conversation, if
// that was with the same agent in the same directory and account, else with what there is to
// know of it. A record is the only place that has a conversation: the lineage's last one
// decides, so that an agent never goes on with one that doesn't know the last work. The lock
// must be held.
func (w *Writer) goOn(r *Record, req Request, job agent.Job) error {
	last, err := w.store.LastIn(r, func(*Record) bool { return true })
	if err != nil {
		return err
	}
	if last == nil {
		return w.beginAgain(r, req)
	}
	r.Task.Summary = cmp.Or(last.Task.Summary, r.Task.Summary) // it may have been written
	c, said := last.leaves()
	if r.Place.Lineage == 0 {
		// a new agent in the checkout: it goes on only with what it is to put right, or what a
		// person has said
		if c.Mends != "" || said {
			r.Talk.Continues = c.clean()
		}
		return nil
	}
	if c.Mends != "" && last.Talk.Mends() {
		c.Mended = append(slices.Clone(last.Talk.Continues.Mended), last.Talk.Continues.Mends)
	}
	r.Talk.Continues = c.clean()
	if req.Escalate != "" && c.Mends == outcome.Red && req.Agent.TakesModel() {
		job.Model, r.Job.Model = req.Escalate, req.Escalate
		r.Job.Argv = req.Agent.Command(job)
	}
	if last.Accepted() { // the conversation is with who built it
		if last, err = w.store.LastIn(r, func(r *Record) bool {
			return !r.Accepted()
		}); err != nil || last == nil {
			return err
		}
	}
	if last.Job.Agent != r.Job.Agent || last.Job.Program != r.Job.Program ||
		last.Job.Dir != r.Job.Dir || last.Job.Account != r.Job.Account ||
		req.Forgotten || last.Life.Remote.name() != r.Life.Remote.name() {
		return nil
	}
	job.Conversation, job.Note = last.Talk.Conversation, noteFor(r)
	if argv := req.Agent.Resume(job); argv != nil {
		r.Talk.Conversation, r.Talk.Anew, r.Job.Argv = last.Talk.Conversation, r.Job.Argv, argv
	}
	return nil
}

// leaves is what this attempt hands on to the next one, and whether it is a person's message.
func (r *Record) leaves() (c Continuation, said bool) {
	c = Continuation{Why: r.ending(), After: r.ID.N, Mends: r.mended()}
	switch l := r.Landing; {
	case l != nil && l.Why != "":
		c.Why, c.Output = l.Why, l.Output
		if l.Unmade && r.Judged.Outcome == outcome.Conflict {
			c.Merge = &Merge{Base: l.Base, Tip: l.Tip}
		}
	case l == nil && r.Judged.Outcome == outcome.Red && !r.Judged.Verdict.Green() &&
		r.Judged.Verdict != nil:
		c.Why = fmt.Sprintf("You called the slice complete, and gl ran the tests: %s. Put that right, commit, and call the slice complete again. The command was: %s",
			r.Judged.Detail, r.Judged.Verdict.Command)
		c.Output = strings.Join(r.Judged.Verdict.Shown(), "\n")
	case l == nil && r.Judged.Outcome == outcome.Red && r.Judged.Gate != nil:
		c.Why = fmt.Sprintf("You called the slice complete, and gl didn't accept it: %s. Put that right, commit, and call the slice complete again.", r.Judged.Detail)
	}
	if r.Judged.Outcome.Traits().Free && r.Talk.Continues != nil {
		// it never began: what it was to be told is for this one
		c.Why, c.Output, c.Again = r.Talk.Continues.Why, r.Talk.Continues.Output,
			r.Talk.Continues.Again
		c.Merge = r.Talk.Continues.Merge
		if r.Talk.Continues.Of != "" {
			c.Of, c.After = r.Talk.Continues.Of, r.Talk.Continues.After
		}
	}
	if said = r.Since.Rejected != "" || len(r.Since.Comments) > 0 || r.Since.Answered != nil; said {
		c.Why, c.Output = r.Since.reply()
	}
	return c, said
}

// Leaves is what a later attempt is told of this one beyond how it ended: what is to be put
// right or what a person has said, and the output of tests or git. Both are "" where there is
// nothing more to know.
func (r *Record) Leaves() (why, output string) {
	c, said := r.leaves()
	if !said && c.Why == r.ending() {
		c.Why = ""
	}
	clean := c.clean()
	return clean.Why, clean.Output
}

// beginAgain has the first attempt of a lineage know what was done on the slice before: under
// another name, or landed and taken back.
func (w *Writer) beginAgain(r *Record, req Request) error {
	if r.Place.Lineage == 0 {
		return nil
	}
	of := *r
	if was := req.Place.Lineage.Was; was != nil {
		of.ID.Slice, of.Place.Lineage, of.ID.N = was.Slice, was.N, 0
		last, err := w.store.LastIn(&of, func(*Record) bool { return true })
		if last == nil || err != nil {
			return err
		}
		c, _ := last.leaves()
		c.Of, c.Again, c.Mends = was.Slice, true, ""
		c.Why = fmt.Sprintf("The slice was called %s until a person renamed it: what was done on it is on your branch, in its first commit. %s", was.Slice, c.Why)
		r.Talk.Continues = c.clean()
		return nil
	}
	for of.Place.Lineage = r.Place.Lineage - 1; of.Place.Lineage > 0; of.Place.Lineage-- {
		last, err := w.store.LastIn(&of, func(r *Record) bool {
			return r.Landing != nil && r.Landing.Commit != "" && r.Judged.Outcome == outcome.Done
		})
		if err != nil {
			return err
		}
		if last == nil {
			continue
		}
		if last.Since.Undone != nil {
			c := Continuation{After: last.ID.N,
				Why: last.Since.undone(req.Place.Redone, last.Landing.Commit), Again: true}
			r.Talk.Continues = c.clean()
		}
		return nil
	}
	return nil
}

// LastIn is the last settled attempt in the record's lineage of which is is true, nil for none.
func (s *Store) LastIn(r *Record, is func(*Record) bool) (*Record, error) {
	settled, err := s.settledTallies()
	if err != nil || settled[r.ID.Slice].Last.N == 0 {
		// the first attempt, mostly: no names need be read
		return nil, err
	}
	entries, err := s.Files.settledEntries()
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Slice != r.ID.Slice || e.N == r.ID.N
	})
	slices.SortStableFunc(entries, func(a, b Entry) int { return b.N - a.N })
	for _, e := range entries {
		last, err := s.readSettled(e)
		if errors.As(err, new(*BadRecord)) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if last.ID.System == r.ID.System && last.ID.Work() == r.ID.Work() &&
			last.Place.Lineage == r.Place.Lineage && is(last) {
			return last, nil
		}
	}
	return nil, nil
}

// ending says how the attempt ended.
func (r *Record) ending() string {
	return fmt.Sprintf("Attempt %d ended: %s.", r.ID.N,
		strings.TrimRight(r.Judged.Outcome.Text(r.Judged.Detail), "."))
}

// noteFor returns the note for a resumed conversation. It knows the slice and the method. What
// depends on the worktree gl slice tells, since it is unknown yet.
func noteFor(r *Record) string {
	what := "slice " + r.ID.Slice
	if r.ID.IsTask() {
		what = "your task"
	}
	text := "Go on with " + what + " where you left off. " + r.Talk.Continues.Why
	if r.Talk.Continues.Output != "" {
		text += "\n\n" + textline.Indent(r.Talk.Continues.Output)
	}
	if r.ID.IsTask() {
		return text + "\n\nBegin with `gl " + strings.TrimPrefix(r.ID.Slice, taskMark) +
			"`: it prints what the task is, and what is unfinished in your " +
			"worktree. The method is the same as before."
	}
	return text + "\n\nBegin with `gl slice " + r.ID.Slice +
		"`: it prints the whole slice as it is now, and what is unfinished in your worktree. " +
		"Its decisions are there, too: one that is new to you says what a person wants. The claim is yours again, and " +
		"the method is the same as before."
}

// Resumes reports whether the agent is to go on with a conversation.
func (d *Dialog) Resumes() bool { return len(d.Anew) > 0 }

// BeginAnew has the attempt begin a new conversation instead.
func (d *Dialog) BeginAnew(j *Job) { j.Argv, d.Anew, d.Conversation = d.Anew, nil, "" }
