package cli

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
	"greenlight/internal/view"
	"greenlight/internal/words"
)

// A screen is gl status as a person reads it on a terminal: what needs them first, a row for each item.
type screen struct {
	width int // columns
	all   bool
	paint func(term.Color, string) string
}

// folded is how many rows of a group are shown unless --all is given: of what a person can do nothing about, fewer.
var folded = map[view.Group]int{view.NeedsYou: 20, view.Failed: 20, view.Running: 20, view.Merging: 10, view.Ready: 6, view.Blocked: 6}

var groupColors = map[view.Group]term.Color{
	view.NeedsYou: term.Yellow, view.Failed: term.Red, view.Running: term.Blue, view.Merging: term.Blue, view.Ready: "", view.Blocked: term.Dim,
	view.Done: term.Green,
}

// narrow is the width up to which a row has only its id, its name and what is with it.
const narrow = 60

// lines are the screen's lines, none of them wider than it.
func (s screen) lines(m *view.Model) []string {
	p := m.Plan
	list := s.head(m)
	idWidth := s.idWidth(m.Rows)
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
		list = append(list, s.rows(shown, idWidth, m.Now)...)
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
	var cost string
	if text := m.Cost.String(); text != "" {
		cost = "  cost " + text
	}
	if m.ETA != nil && *m.ETA > 0 {
		cost += "  about " + plan.Age(*m.ETA) + " left"
	}
	cells := min(barCells, max(4, s.width-2-term.Width(count)))
	text := bar(c.Done, c.Total, cells)
	list := []string{term.Cut(s.paint(term.Green, text)+s.paint(term.Bold, count)+s.paint(term.Dim, cost), s.width)}
	if text := recorded(p.Snapshot.Progress, p.Snapshot.Noun); text != "" {
		list = append(list, s.line(term.Dim, "recorded: "+text))
	}
	if p.Hold != nil {
		list = append(list, s.line(term.Yellow, "held "+heldText(p.Hold, m.Now)))
	}
	return list
}

func (s screen) heading(g view.Group, n int) string {
	return s.line(groupColors[g], fmt.Sprintf("%s (%d)", g, n))
}

// foot is what is about the whole.
func (s screen) foot(m *view.Model) []string {
	p := m.Plan
	var list []string
	add := func(c term.Color, text string) {
		if text != "" {
			list = append(list, s.line(c, text))
		}
	}
	if len(p.Unverified) > 0 {
		add(term.Yellow, "Unverified: "+unverified(p))
	}
	if len(m.Lane.Undelivered) > 0 {
		add(term.Yellow, "Undelivered: "+undelivered(m.Lane))
	}
	if p.Snapshot.Noun == plan.Slice || p.Tests+p.Failing+p.Security > 0 {
		c := term.Dim
		if p.Failing > 0 {
			c = term.Red
		}
		add(c, testsLine(p))
	}
	if len(list) > 0 {
		list = append([]string{""}, list...)
	}
	return list
}

// testsLine is the tests that are recorded.
func testsLine(p *plan.Plan) string {
	return fmt.Sprintf("Tests: %s passing, %s failing, %s security", thousands(p.Tests), thousands(p.Failing), thousands(p.Security))
}

func (s screen) line(c term.Color, text string) string {
	return s.paint(c, term.Truncate(text, s.width))
}

func (s screen) faint(text string) string { return s.line(term.Dim, text) }

func (s screen) idWidth(rows []view.Row) int {
	width := 2
	for i := range rows {
		width = max(width, term.Width(sanitize.Line(rows[i].ID)))
	}
	return min(width, max(4, s.width/4))
}

// A cell is a column of a row, and its color.
type cell struct {
	text  string
	color term.Color
}

// rows lays the rows of a group out: the id, the name, what is with it, and as many details as there is room for.
func (s screen) rows(rows []view.Row, idWidth int, now time.Time) []string {
	details := make([][]cell, len(rows))
	var widths []int
	nameWidth, textWidth := 0, 0
	for i := range rows {
		details[i] = rowDetails(&rows[i], now)
		for len(widths) < len(details[i]) {
			widths = append(widths, 0)
		}
		for j, c := range details[i] {
			widths[j] = max(widths[j], term.Width(c.text))
		}
		nameWidth = max(nameWidth, term.Width(rowName(&rows[i])))
		textWidth = max(textWidth, term.Width(rowText(&rows[i])))
	}
	room := s.width - 2 - idWidth // for the rest, each column with the two spaces in front of it
	if s.width < narrow {
		widths = nil
	}
	sum := func() int {
		n := 0
		for _, w := range widths {
			if w > 0 {
				n += w + 2
			}
		}
		return n
	}
	least := min(textWidth, 24) + min(nameWidth, 16) + 4
	for len(widths) > 0 && room-sum() < least {
		widths = widths[:len(widths)-1]
	}
	room -= sum()
	if nameWidth > 0 {
		room -= 2
	}
	if textWidth > 0 {
		room -= 2
	}
	nameWidth, textWidth = share(nameWidth, textWidth, room)
	lines := make([]string, len(rows))
	for i := range rows {
		lines[i] = s.row(&rows[i], idWidth, nameWidth, textWidth, details[i], widths)
	}
	return lines
}

// share divides the room between the name and what is with it: each gets what it needs if the other leaves it, else half.
func share(name, text, room int) (int, int) {
	const tight = 20 // room for one of them
	room = max(room, 0)
	switch {
	case name+text <= room:
		return name, text
	case room < tight && text > 0:
		return 0, min(text, room+2)
	case name <= room/2:
		return name, room - name
	case text <= room-room/2:
		return room - text, text
	}
	return room / 2, room - room/2
}

func (s screen) row(r *view.Row, idWidth, nameWidth, textWidth int, details []cell, widths []int) string {
	var b strings.Builder
	b.WriteString("  ")
	b.WriteString(s.paint(groupColors[r.Group], term.Pad(term.Truncate(sanitize.Line(r.ID), idWidth), idWidth)))
	column := func(text string, width int, c term.Color) {
		if width > 0 {
			b.WriteString("  " + s.paint(c, term.Pad(term.Truncate(text, width), width)))
		}
	}
	dim := term.Color("")
	if r.Group == view.Blocked {
		dim = term.Dim
	}
	column(rowName(r), nameWidth, dim)
	color := term.Dim
	switch r.Group {
	case view.Failed, view.NeedsYou:
		color = groupColors[r.Group]
	case view.Running, view.Merging:
		color = ""
	}
	column(rowText(r), textWidth, color)
	for j, width := range widths {
		c := cell{}
		if j < len(details) {
			c = details[j]
		}
		column(c.text, width, c.color)
	}
	return trimEnd(b.String())
}

// trimEnd takes the spaces off that end a line, also those in front of the sequence that ends a color.
func trimEnd(line string) string {
	const off = "\x1b[0m"
	for {
		if t := strings.TrimRight(line, " "); t != line {
			line = t
			continue
		}
		body, ok := strings.CutSuffix(line, off)
		if !ok || strings.TrimRight(body, " ") == body {
			return line
		}
		line = strings.TrimRight(body, " ") + off
		if i := strings.LastIndex(line, "\x1b["); i >= 0 && strings.HasSuffix(line[i:], "m"+off) && strings.Count(line[i:], "\x1b") == 2 {
			line = line[:i] // nothing is left in it
		}
	}
}

// rowName is the name, "" if that says no more than the id.
func rowName(r *view.Row) string {
	if r.Name == r.ID {
		return ""
	}
	return sanitize.Line(r.Name)
}

func rowText(r *view.Row) string { return sanitize.Line(r.Text) }

// rowDetails are the further columns of a row, the most important first.
func rowDetails(r *view.Row, now time.Time) []cell {
	switch r.Group {
	case view.NeedsYou, view.Failed:
		return []cell{{sanitize.Line(r.Command()), ""}, {r.Cost.String(), term.Dim}}
	case view.Running, view.Merging:
		age := ""
		if d, ok := r.Age(now); ok {
			age = plan.Age(d) + " ago"
		}
		eta := ""
		if r.ETA != nil {
			eta = "~" + plan.Age(*r.ETA) + " left"
		}
		diff := ""
		if r.Diff != nil {
			diff = r.Diff.String()
		}
		tests := ""
		if r.Tests > 0 {
			tests = words.Count(r.Tests, "test")
		}
		return []cell{{age, term.Dim}, {agentName(r.Agent), term.Dim}, {eta, term.Dim}, {diff, ""}, {tests, term.Dim}, {r.Cost.String(), term.Dim}}
	case view.Done:
		return []cell{{r.Cost.String(), term.Dim}}
	}
	return nil
}

// agentName is the name of an agent without its settings: "rehearsal" of "rehearsal:step=1s".
func agentName(name string) string {
	name, _, _ = strings.Cut(sanitize.Line(name), ":")
	return name
}

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
