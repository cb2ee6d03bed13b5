package report

import (
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/scrub"
	"greenlight/internal/run/attempt"
	"greenlight/internal/show/view"
	"greenlight/internal/state/journal"
)

// A TakenBack is a slice that a person took back after it was merged. It isn't counted as
// completed.
type TakenBack struct {
	Item
	At     *time.Time `json:"at"`     // null if the journal doesn't have it any more
	Why    string     `json:"why"`    // in the person's words; "" for none
	Commit string     `json:"commit"` // the one that reverts it
	State  string     `json:"state"`  // of the slice now, as in gl why; "" if it was removed
	again  bool       // it was merged again since
}

// takenBack returns what was taken back in the night or since, in order. The journal has the times;
// of what it has rotated away, the records still have the rest.
func takenBack(in Input, m *view.Model, h *history, n Night) []TakenBack {
	list := []TakenBack{}
	rows := map[string]*view.Row{}
	for i := range m.Rows {
		rows[m.Rows[i].ID] = &m.Rows[i]
	}
	last := map[string]*attempt.Record{}
	for _, r := range h.all {
		last[h.of[r]] = r
	}
	again := map[string]time.Time{} // when it was last completed
	for _, c := range h.done {
		again[c.id] = c.at
	}
	add := func(id string, t TakenBack) {
		list = slices.DeleteFunc(list, func(other TakenBack) bool { // only the last time counts
			return other.ID == id && !attempt.IsTask(id)
		})
		t.again = t.At != nil && again[id].After(*t.At)
		if t = newTakenBack(rows[id], id, t); last[id] != nil {
			t.Record, t.Log = paths(last[id])
		}
		list = append(list, t)
	}
	told := map[string]bool{} // by commit
	for _, e := range in.Events {
		if e.Kind != journal.Undone {
			continue
		}
		told[e.Commit] = true
		if e.Time.Before(n.From) || !e.Time.Before(n.until) {
			continue
		}
		at := e.Time.UTC()
		add(e.Slice, TakenBack{At: &at, Why: e.Reason, Commit: e.Commit})
	}
	for _, r := range inNight(h.all, n) {
		if u := r.Since.Undone; u != nil && !told[u.Commit] {
			add(h.of[r], TakenBack{Why: u.Why, Commit: u.Commit})
		}
	}
	return list
}

func newTakenBack(r *view.Row, id string, t TakenBack) TakenBack {
	t.ID, t.Next, t.Blocks = id, []string{}, []string{}
	t.Why = scrub.Text(strings.TrimSpace(t.Why))
	t.Text = "taken back"
	if t.Why != "" {
		t.Text += ": " + t.Why
	}
	if r != nil {
		t.Name, t.State = r.Name, r.State
		t.Command, t.Next = r.Command, append(t.Next, r.Next...)
	}
	return t
}

// now returns the state of the slice for people: "it is ready now".
func (t *TakenBack) now() string {
	switch {
	case t.again, t.State == "done":
		return "it was merged again since"
	case t.State == "" && attempt.IsTask(t.ID):
		return "a task isn't done again"
	case t.State == "":
		return "it was removed since"
	case t.State == "landing":
		return "it is in the merge queue again"
	}
	return "it is " + t.State + " now"
}
