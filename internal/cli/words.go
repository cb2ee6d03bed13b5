package cli

import (
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
)

// barCells is the length of a progress bar, if there is room.
const barCells = 20

// bar returns a progress bar of that many cells, rounded down: it is full only when all is done.
func bar(done, total, cells int) string {
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

// listed returns a list on one line. A long list ends with the number of the others and the command
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

// briefs returns items with their causes, for one line.
func briefs(p *plan.Plan, ids []string, now time.Time) string {
	return listed(causes(p, ids, now))
}

// causes returns items with their causes.
func causes(p *plan.Plan, ids []string, now time.Time) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = sanitize.Text(p.Why(id, now).Brief())
	}
	return list
}

// progressList returns the running slices with their steps, and the tasks: "S-2 (implementing),
// @quick.1 (fix the login)".
func progressList(p *plan.Plan, now time.Time) string {
	list := make([]string, len(p.Running))
	for i, id := range p.Running {
		st := p.State(id)
		word := st.Doing(now)
		if st.Stale {
			word += ", stale"
		}
		list[i] = id + " (" + sanitize.Text(word) + ")"
	}
	return strings.Join(append(list, taskList(p, (*plan.Attempt).HasSlot)...), ", ")
}

// landingList returns the slices and tasks in the merge queue, with their progress.
func landingList(p *plan.Plan, now time.Time) string {
	waits := func(a *plan.Attempt) bool { return !a.HasSlot() }
	return listed(append(causes(p, p.Landing, now), taskList(p, waits)...))
}

// taskList returns the open tasks for which which is true, with their texts: "@quick.1 (fix the
// login)".
func taskList(p *plan.Plan, which func(*plan.Attempt) bool) []string {
	var list []string
	for i := range p.Snapshot.Tasks {
		if t := &p.Snapshot.Tasks[i]; which(t.Attempt) {
			list = append(list, taskText(t))
		}
	}
	return list
}

// brief returns the beginning of a text, for a list.
func brief(text string) string {
	const most = 60
	return term.Truncate(sanitize.Line(text), most)
}

// troubleList returns failed or stalled slices with the cause and the first command to run.
func troubleList(p *plan.Plan, ids []string, now time.Time) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		why := p.Why(id, now)
		list[i] = id + inBrackets(sanitize.Text(why.Cause), sanitize.Line(why.Command()))
	}
	return listed(list)
}

// clock returns a time of day, with its date unless that is today.
func clock(t time.Time) string { return plan.At(t, time.Now(), "15:04:05") }
