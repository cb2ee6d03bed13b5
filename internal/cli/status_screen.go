package cli

import (
	"fmt"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

// A screen is gl status as a person reads it on a terminal: what needs them first, a row for each item.
type screen struct {
	width int // columns
	all   bool
	paint func(term.Color, string) string
}

// folded is how many rows of a group are shown unless --all is given: of what a person can do nothing about, fewer.
var folded = map[view.Group]int{view.NeedsYou: 20, view.Failed: 20, view.Stopped: 10, view.Running: 20, view.Merging: 10, view.Ready: 6, view.Blocked: 6}

// lines are the screen's lines, none of them wider than it.
func (s screen) lines(m *view.Model) []string {
	p := m.Plan
	list := s.head(m)
	layout := rowlayout.New(s.width, m.Rows, s.paint)
	for _, g := range view.Groups() {
		rows := m.In(g)
		if len(rows) == 0 || g == view.Done && !s.all {
			continue
		}
		list = append(list, "", s.heading(g, len(rows)))
		shown := rows
		if most := folded[g]; !s.all && len(rows) > most {
			shown = rows[:most]
		}
		list = append(list, layout.Lines(shown, m.Now)...)
		if more := words.More(len(rows) - len(shown)); more != "" {
			list = append(list, s.faint("  "+strings.TrimSpace(more)+": gl status --all"+p.Snapshot.Flags))
		}
	}
	if len(p.Snapshot.Tasks) > 0 {
		list = append(list, "", s.line(term.Blue, fmt.Sprintf("Tasks (%d)", len(p.Snapshot.Tasks))))
		for i := range p.Snapshot.Tasks {
			list = append(list, s.line("", "  "+taskText(&p.Snapshot.Tasks[i])))
		}
	}
	return append(list, s.foot(m)...)
}

// head is the progress and the counts.
func (s screen) head(m *view.Model) []string {
	p, c := m.Plan, m.Counts
	count := fmt.Sprintf(" %d/%d %ss", c.Done, c.Total, p.Snapshot.Noun)
	var more []string
	if text := m.Cost.String(); text != "" {
		more = append(more, "  cost "+text)
	}
	if m.ETA != nil && *m.ETA > 0 {
		more = append(more, "  left: "+view.Left(p, *m.ETA, m.Now))
	}
	cells := min(barCells, max(4, s.width-2-term.Width(count)))
	text := bar(c.Done, c.Total, cells)
	rest := ""
	for _, part := range more {
		if term.Width(text+count+rest+part) <= s.width {
			rest += part
		}
	}
	list := []string{term.Cut(s.paint(term.Green, text)+s.paint(term.Bold, count)+s.paint(term.Dim, rest), s.width)}
	for _, l := range recordLines(p) {
		list = append(list, s.line(term.Dim, strings.ToLower(l.label)+" "+l.text))
	}
	for _, held := range heldLines(p, m.Now) {
		list = append(list, s.line(term.Yellow, held))
	}
	for _, text := range blockerLines(p) {
		for line := range strings.SplitSeq(term.Wrap(text, s.width, 2), "\n") {
			list = append(list, s.line(term.Yellow, line))
		}
	}
	return list
}

func (s screen) heading(g view.Group, n int) string {
	return s.line(rowlayout.Colors[g], fmt.Sprintf("%s (%d)", g, n))
}

// foot is what is about the whole.
func (s screen) foot(m *view.Model) []string {
	p := m.Plan
	var list []string
	add := func(c term.Color, text string) {
		if text == "" {
			return
		}
		for line := range strings.SplitSeq(term.Wrap(text, s.width, 2), "\n") {
			list = append(list, s.line(c, line))
		}
	}
	if len(p.Lists.Unverified) > 0 {
		add(term.Yellow, "Unverified: "+unverified(p))
	}
	if len(m.Lane.Waiting()) > 0 {
		add(term.Yellow, "Not merged yet: "+undelivered(m.Lane))
	}
	if text := view.Tests(p); text != "" {
		c := term.Dim
		if p.Tests.Red() {
			c = term.Red
		}
		add(c, "Tests: "+text)
	}
	if len(list) > 0 {
		list = append([]string{""}, list...)
	}
	return list
}

func (s screen) line(c term.Color, text string) string {
	return s.paint(c, term.Truncate(text, s.width))
}

func (s screen) faint(text string) string { return s.line(term.Dim, text) }

// taskText is a task in a line: "@quick.1 (fix the login)".
func taskText(t *plan.Task) string {
	var about []string
	if t.Text != "" {
		about = append(about, brief(t.Text))
	}
	if t.Attempt.Landing != "" {
		about = append(about, sanitize.Text(t.Attempt.Landing))
	}
	if t.Attempt.Dead {
		about = append(about, "its gl process vanished")
	}
	if len(about) == 0 {
		return t.Name()
	}
	return t.Name() + " (" + strings.Join(about, ", ") + ")"
}
