package status

import (
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
)

// BarCells is the length of a progress bar where there is room.
const BarCells = 20

// Bar returns a progress bar of so many cells, rounded down: full only when all is done.
func Bar(done, total, cells int) string {
	n := 0
	if total > 0 {
		n = done * cells / total
	}
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", cells-n) + "]"
}

// A list on one line has items up to mostColumns, so that it takes about two lines of a terminal
// with its label and its end, and always the first fewListed.
const (
	mostColumns = 115
	fewListed   = 3
)

// listed returns a list on one line. A long one ends with the number of the others and the command
// that shows all.
func listed(items []string) string {
	n, columns := 0, 0
	for n < len(items) {
		columns += term.Width(items[n]) + len(", ")
		if n >= fewListed && columns > mostColumns {
			break
		}
		n++
	}
	text := strings.Join(items[:n], ", ")
	if n < len(items) {
		text += words.More(len(items)-n) + ": gl status --all"
	}
	return text
}

// Briefs returns items with their causes, on one line.
func Briefs(p *plan.Plan, ids []string, now time.Time) string {
	return listed(causes(p, ids, now))
}

// causes returns items with their causes.
func causes(p *plan.Plan, ids []string, now time.Time) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = sanitize.Line(p.Why(id, now).Brief())
	}
	return list
}

// Running returns the running slices with their steps, and the tasks: "S-2 (implementing),
// @quick.1 (fix the login)".
func Running(p *plan.Plan, now time.Time) string {
	list := make([]string, len(p.Lists.Running))
	for i, id := range p.Lists.Running {
		st := p.State(id)
		word := st.Doing(now)
		if st.Stale {
			word += ", stale"
		}
		list[i] = id + " (" + sanitize.Text(word) + ")"
	}
	return strings.Join(append(list, taskList(p, (*plan.Attempt).HasSlot)...), ", ")
}

// Merging returns the slices and the tasks in the merge queue, and how far they are.
func Merging(p *plan.Plan, now time.Time) string { return mergingBut(p, "", now) }

// mergingBut is Merging, with the ids alone of those that have the reason, which is shown apart.
func mergingBut(p *plan.Plan, reason string, now time.Time) string {
	list := causes(p, p.Lists.Landing, now)
	for i, id := range p.Lists.Landing {
		switch why := p.Why(id, now); {
		case reason != "" && sanitize.Line(why.Cause) == reason:
			list[i] = id
		case len(why.Next) > 0:
			list[i] = id + words.InBrackets(sanitize.Line(why.Cause), sanitize.Line(why.Command()))
		}
	}
	waits := func(a *plan.Attempt) bool { return !a.HasSlot() }
	return listed(append(list, taskList(p, waits)...))
}

// A standstill is a reason for which several slices aren't merged yet.
type standstill struct {
	reason string
	ids    []string
}

// longReason is the length from which a shared reason is shown once, on a line of its own.
const longReason = 40

// stuck returns the reason that slices in the merge queue share with each other, or with those
// that are tested and not merged yet; the zero standstill for none.
func stuck(m *view.Model) standstill {
	all := map[string][]string{sanitize.Line(m.Lane.Reason): m.Lane.Waiting()}
	causes := make([]string, len(m.Plan.Lists.Landing))
	for i, id := range m.Plan.Lists.Landing {
		causes[i] = sanitize.Line(m.Plan.Why(id, m.Now).Cause)
		all[causes[i]] = append(all[causes[i]], id)
	}
	for _, c := range causes {
		if len(all[c]) > 1 && len(c) >= longReason {
			return standstill{c, all[c]}
		}
	}
	return standstill{}
}

// taskList returns the open tasks for which which is true, and what they are about: "@quick.1 (fix
// the login)".
func taskList(p *plan.Plan, which func(*plan.Attempt) bool) []string {
	var list []string
	for i := range p.Snapshot.Tasks {
		if t := &p.Snapshot.Tasks[i]; which(t.Attempt) {
			list = append(list, taskText(t))
		}
	}
	return list
}

// Brief returns the beginning of a text, for a list.
func Brief(text string) string {
	const most = 60
	return term.Truncate(sanitize.Line(text), most)
}

// Troubled returns failed or stalled slices with their causes and the commands to begin with.
func Troubled(p *plan.Plan, ids []string, now time.Time) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		why := p.Why(id, now)
		list[i] = id + words.InBrackets(sanitize.Line(why.Cause), sanitize.Line(why.Command()))
	}
	return listed(list)
}

// taskText returns a task on one line: "@quick.1 (fix the login)".
func taskText(t *plan.Task) string {
	var about []string
	if t.Text != "" {
		about = append(about, Brief(t.Text))
	}
	if t.Attempt.Landing != "" {
		about = append(about, sanitize.Line(t.Attempt.Landing))
	}
	if t.Attempt.Dead {
		about = append(about, "its gl process vanished")
	}
	if len(about) == 0 {
		return t.Name()
	}
	return t.Name() + " (" + strings.Join(about, ", ") + ")"
}

// Holds returns a line for each hold: who is held until when, and why.
func Holds(p *plan.Plan, now time.Time) (lines []string) {
	for _, h := range p.InEffect() {
		lines = append(lines, sanitize.Line(h.Sentence(now)))
	}
	return lines
}

// NoAgent returns a line for each reason for which no agent can be launched for ready items: "S-1,
// S-2 (no worker: gl serve isn't running, gl serve)".
func NoAgent(p *plan.Plan) (lines []string) {
	for _, u := range plan.WithoutAgent(p) {
		lines = append(lines, words.Some(u.IDs)+words.InBrackets(sanitize.Line(u.Cause), u.Next))
	}
	return lines
}

// Blockers returns a line for each reason that stops the whole project.
func Blockers(p *plan.Plan) (lines []string) {
	for _, text := range p.Snapshot.Blockers {
		lines = append(lines, "Blocker: "+sanitize.Line(text))
	}
	return lines
}
