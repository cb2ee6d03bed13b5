package attempt

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/base/environ"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A Task is work for an agent that is no item of the tracker: something small in between, a
// look at the whole code, the last check before a release. Its attempts are records like any
// other, under an id that no item can have.
type Task struct {
	Name    string // "quick"
	Prompt  string // the slash command: "/gl:quick fix the login"
	Text    string // for people, and without the command: "fix the login"; may be ""
	Beside  Beside // what of its kind may run beside it
	Summary bool   // its agent writes a summary, whose place gl chooses
	// it changes the code: it has a worktree of its own where slices have, and lands like one
	Builds bool
	Wants  *Wants // what it must leave behind; nil for nothing
}

// Beside says what of a task's kind may run beside it.
type Beside int

const (
	Any    Beside = iota // as many as there are slots
	Others               // with another prompt
	None                 // nothing
)

const taskMark = "@" // no id of an item holds it

// TaskID is the id of a task's records: "@quick".
func TaskID(name string) string { return taskMark + name }

// IsTask reports whether a record's id is a task's.
func IsTask(id string) bool { return strings.HasPrefix(id, taskMark) }

// SplitTask takes a task's id apart, with the number of one attempt where there is one:
// "@quick", "@quick.3". n is 0 without a number; ok is false for what is no task's id.
func SplitTask(text string) (id string, n int, ok bool) {
	if !IsTask(text) {
		return "", 0, false
	}
	id, number, numbered := strings.Cut(text, ".")
	if !numbered {
		return id, 0, true
	}
	n, err := strconv.Atoi(number)
	return id, n, err == nil && n > 0
}

// IsTask reports whether it is an attempt at a task.
func (id *Identity) IsTask() bool { return IsTask(id.Slice) }

// Label is what people call the attempt by: its slice's id; of a task, which may run more than
// once at a time, its name.
func (id *Identity) Label() string {
	if id.IsTask() {
		return id.Name()
	}
	return id.Slice
}

// Work is what the attempt is part of: its slice's id or, of a task, the name of its first
// attempt. It names the lineage, and what has landed.
func (id *Identity) Work() string {
	if id.IsTask() {
		return taskWork(id.Slice, cmp.Or(id.First, id.N))
	}
	return id.Slice
}

func taskWork(id string, first int) string { return id + "." + strconv.Itoa(first) }

// WorkOf is the Work that the request's attempt will have. The lock must be held from here to
// the claim.
func (s *Store) WorkOf(req Request) (string, error) {
	if req.Task == nil {
		return req.ID, nil
	}
	if req.First != 0 {
		return taskWork(req.ID, req.First), nil
	}
	n, err := s.next(req.ID)
	return taskWork(req.ID, n), err
}

// AttemptsAt returns the readable records of one Work, the newest first.
func (s *Store) AttemptsAt(work string) ([]*Record, error) {
	id, first, isTask := SplitTask(work)
	if !isTask {
		id = work
	}
	all, err := s.Index()
	if err != nil {
		return nil, err
	}
	var recs []*Record
	for _, e := range slices.Backward(all[id]) {
		if isTask && e.N < first {
			break
		}
		if r, err := s.Get(id, e.N); err == nil && r.ID.Work() == work {
			recs = append(recs, r)
		}
	}
	return recs, nil
}

// TaskWorks are the Works of the last attempts at tasks.
func (s *Store) TaskWorks() ([]string, error) {
	index, err := s.Index()
	if err != nil {
		return nil, err
	}
	var works []string
	for id, entries := range index {
		if !IsTask(id) {
			continue
		}
		for _, e := range entries[max(0, len(entries)-shown):] {
			if r, err := s.Get(id, e.N); err == nil && !slices.Contains(works, r.ID.Work()) {
				works = append(works, r.ID.Work())
			}
		}
	}
	slices.Sort(works)
	return works, nil
}

// A taskTx shows an attempt at a task as if it were at an item: one that is visible here alone,
// and that nothing is written to. So claiming, judging, landing and settling know no second
// way.
type taskTx struct {
	tracker.Tx
	item plan.Item
}

var _ tracker.Lander = taskTx{}

func (t taskTx) Item(string) (plan.Item, error) { return t.item, nil }
func (t taskTx) Claim(string, string) error     { return nil }
func (t taskTx) Settle(string, tracker.Effect, tracker.Before) (plan.Mark, error) {
	return plan.Mark{}, nil
}
func (t taskTx) Enqueue(string) (plan.Mark, error) { return plan.Mark{}, nil }

// nothing is written
func (t taskTx) Land(string, tracker.Landed) (plan.Mark, error) { return plan.Mark{}, nil }
func (t taskTx) CountFailing(string, int) error                 { return nil }
func (t taskTx) Ask(string, string) (plan.Mark, error)          { return plan.Mark{}, nil }
func (t taskTx) Undo(string, string) error                      { return nil }

// of is tx as the attempt is to see it.
func (r *Record) Tx(tx tracker.Tx) tracker.Tx {
	if !r.ID.IsTask() {
		return tx
	}
	it := plan.Item{ID: r.ID.Slice, Name: r.ID.Title, Status: "in_progress", Session: r.ID.Token}
	if r.Landing != nil {
		it.Status, it.Step = tracker.Verifying, tracker.Verifying
	}
	return taskTx{tx, it}
}

// of is tx as the request is to see it.
func (req Request) of(tx tracker.Tx) tracker.Tx {
	if req.Task == nil {
		return tx
	}
	return taskTx{tx, plan.Item{ID: TaskID(req.Task.Name), Name: req.Task.Text}}
}

// Busy refuses a task that may not run twice at a time and runs; the error is an *AdmitError then.
func (s *Store) Busy(t *Task) error {
	if t.Beside == Any {
		return nil
	}
	live, _, err := s.Live()
	if err != nil {
		return err
	}
	for _, r := range live {
		if r.ID.Slice != TaskID(t.Name) || t.Beside == Others && r.Job.Prompt != t.Prompt {
			continue
		}
		if disk, err := s.Get(r.ID.Slice, r.ID.N); err == nil && disk.Life.Phase == plan.Settled {
			continue // its leftover
		}
		return &AdmitError{Taken: true, Reason: plan.Reason{ID: r.ID.Name(), State: "running",
			Cause: r.Job.Prompt + " runs only once at a time",
			Next:  []string{"gl logs -f " + r.ID.Name(), "gl stop " + r.ID.Name()}}}
	}
	return nil
}

// describe fills in what a record has for a task alone.
func describe(r *Record, t *Task, now time.Time) {
	if t == nil {
		return
	}
	if t.Summary {
		r.Task.Summary = SummaryFile(t, r.ID.N, now)
	}
	r.Task.Wants = t.Wants
}

// SummaryFile is where the summary of a task's attempt belongs, relative to the root: the time
// in UTC, the attempt's number, so that two of one second don't meet, and a few of the task's
// words.
func SummaryFile(t *Task, n int, now time.Time) string {
	stem := t.Name + "-" + now.UTC().Format("20060102-150405")
	if n > 0 {
		stem += "-" + strconv.Itoa(n)
	}
	if words := slug(t.Text); words != "" {
		stem += "-" + words
	}
	return ".greenlight/summaries/" + stem + "-SUMMARY.md"
}

// slug is the beginning of a text, made fit for a file's name everywhere.
func slug(text string) string {
	const most = 40
	text = strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(text))
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var b strings.Builder
	for _, w := range words {
		if b.Len()+len(w) >= most {
			if b.Len() == 0 {
				b.WriteString(w[:most])
			}
			break
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(w)
	}
	return b.String()
}

// Env is the agent's environment: the launching gl's own, without the marks of a session that
// it may itself run in, and with the attempt's.
func (r *Record) Env(scrubbed []string, root string) []string {
	env := make([]string, 0, len(scrubbed)+4)
	for _, e := range scrubbed {
		if !strings.HasPrefix(e, "GREENLIGHT_ROOT=") {
			env = append(env, e)
		}
	}
	return append(env, marks(r, root)...)
}

// marks are the environment variables that identify the attempt to its agent: which slice or
// which task it is, and where the summary belongs.
func marks(r *Record, root string) []string {
	env := []string{"GREENLIGHT_ROOT=" + root, environ.Session + "=" + r.ID.Token,
		"GL_ATTEMPT=" + strconv.Itoa(r.ID.N)}
	if !r.ID.IsTask() {
		return append(env, "GL_SLICE="+r.ID.Slice)
	}
	env = append(env, "GL_TASK="+r.ID.Slice)
	if r.Task.Summary != "" {
		env = append(env, "GL_SUMMARY="+r.SummaryPath(root))
	}
	return env
}

// SummaryPath is where its agent is to write the summary. That is a document, so in a worktree
// it comes with the branch.
func (r *Record) SummaryPath(root string) string {
	if r.Place.Lineage != 0 {
		root = r.Job.Dir
	}
	return filepath.Join(root, filepath.FromSlash(r.Task.Summary))
}

// hasSummary reports whether the agent has written the summary that it was to write.
func (r *Record) hasSummary() bool {
	if r.Task.Summary == "" {
		return false
	}
	info, err := os.Stat(r.SummaryPath(r.Job.Dir)) // without a worktree, it works at the root
	return err == nil && info.Mode().IsRegular()
}
