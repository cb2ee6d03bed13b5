package status

import (
	"fmt"
	"strings"

	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

// A Screen is gl status as a person reads it on a terminal: what needs them first, a row for each
// item.
type Screen struct {
	Width int  // columns
	All   bool // show long groups in full, and what is done
	Paint func(term.Color, string) string
}

// folded is how many rows of a group are shown unless All is set: fewer where a person can do
// nothing.
var folded = map[view.Group]int{
	view.NeedsYou: 20, view.Failed: 20, view.Stopped: 10, view.Running: 20,
	view.Merging: 10, view.Ready: 6, view.Blocked: 6,
}

// Lines returns the screen's lines, none of them wider than it.
func (s Screen) Lines(m *view.Model) []string {
	list := append([]string{s.top(m)}, s.at(head, m)...)
	list = append(list, s.rows(m)...)
	list = append(list, s.tasks(m)...)
	if lines := s.at(foot, m); len(lines) > 0 {
		list = append(append(list, ""), lines...)
	}
	return list
}

// top returns the first line: the progress, and as many of the fields there as fit.
func (s Screen) top(m *view.Model) string {
	c := m.Counts
	count := fmt.Sprintf(" %d/%d %ss", c.Done, c.Total, m.Plan.Snapshot.Noun)
	cells := min(BarCells, max(4, s.Width-2-term.Width(count)))
	text := Bar(c.Done, c.Total, cells)
	rest := ""
	for _, f := range fields {
		if f.place != top || f.words == nil {
			continue
		}
		if part := f.words(m); part != "" && term.Width(text+count+rest+"  "+part) <= s.Width {
			rest += "  " + part
		}
	}
	line := s.Paint(term.Green, text) + s.Paint(term.Bold, count) + s.Paint(term.Dim, rest)
	return term.Cut(line, s.Width)
}

// A Note is a line above or below the rows.
type Note struct {
	Text  string
	Color term.Color
	wraps bool
}

// Notes returns what gl status shows besides its first line, the rows and the tasks.
func Notes(m *view.Model) []Note { return append(notes(head, m), notes(foot, m)...) }

func notes(where place, m *view.Model) []Note {
	var list []Note
	for _, f := range fields {
		if f.place != where {
			continue
		}
		if text := f.words(m); text != "" {
			for line := range strings.SplitSeq(text, "\n") {
				list = append(list, Note{line, f.color(m), f.wraps})
			}
		}
	}
	return list
}

// at returns the lines of the fields at the head or the foot.
func (s Screen) at(where place, m *view.Model) []string {
	var list []string
	for _, n := range notes(where, m) {
		text := n.Text
		if n.wraps {
			text = term.Wrap(text, s.Width, 2)
		}
		for line := range strings.SplitSeq(text, "\n") {
			list = append(list, s.line(n.Color, line))
		}
	}
	return list
}

// rows returns each group with a heading and its rows.
func (s Screen) rows(m *view.Model) []string {
	var list []string
	layout := rowlayout.New(s.Width, m.Rows, s.Paint)
	for _, g := range view.Groups() {
		rows := m.In(g)
		if len(rows) == 0 || g == view.Done && !s.All {
			continue
		}
		list = append(list, "", s.line(rowlayout.Colors[g], fmt.Sprintf("%s (%d)", g, len(rows))))
		shown := rows
		if most := folded[g]; !s.All && len(rows) > most {
			shown = rows[:most]
		}
		list = append(list, layout.Lines(shown, m.Now)...)
		if more := words.More(len(rows) - len(shown)); more != "" {
			more = "  " + strings.TrimSpace(more) + ": gl status --all" + m.Plan.Snapshot.Flags
			list = append(list, s.line(term.Dim, more))
		}
	}
	return list
}

// tasks returns the open tasks.
func (s Screen) tasks(m *view.Model) []string {
	open := Tasks(m)
	if len(open) == 0 {
		return nil
	}
	list := []string{"", s.line(term.Blue, fmt.Sprintf("Tasks (%d)", len(open)))}
	for _, text := range open {
		list = append(list, s.line("", "  "+text))
	}
	return list
}

// Tasks returns a line for each open task.
func Tasks(m *view.Model) []string {
	var list []string
	for i := range m.Plan.Snapshot.Tasks {
		list = append(list, taskText(&m.Plan.Snapshot.Tasks[i]))
	}
	return list
}

func (s Screen) line(c term.Color, text string) string {
	return s.Paint(c, term.Truncate(text, s.Width))
}
