// Package rowlayout lays out the rows of a view in columns, for a screen of any width. gl
// status and the board share it.
package rowlayout

import (
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
)

// Colors are the colors of the groups.
var Colors = map[view.Group]term.Color{
	view.NeedsYou: term.Yellow, view.Failed: term.Red, view.Stopped: term.Yellow,
	view.Running: term.Blue,
	view.Merging: term.Blue, view.Ready: "", view.Blocked: term.Dim,
	view.Done: term.Green,
}

// The columns of a text that is cut before details are left out. Where a row is in the merge queue
// is longer than what an agent does, and there is no command to do something about it.
const (
	enough        = 24
	enoughMerging = 40
)

// narrow is the width up to which a row has only its id, its name and its text.
const narrow = 60

// A Layout lays out rows on a screen.
type Layout struct {
	width   int
	idWidth int
	paint   func(term.Color, string) string
}

// New returns a layout with that many columns in which the ids of all rows have the same width.
func New(width int, all []view.Row, paint func(term.Color, string) string) Layout {
	id := 2
	for i := range all {
		id = max(id, term.Width(sanitize.Line(all[i].ID)))
	}
	return Layout{width, min(id, max(4, width/4)), paint}
}

// A cell is a column of a row, and its color.
type cell struct {
	text  string
	color term.Color
}

// Lines lays out the rows of a group: the id, the name, the text, and as many details as fit.
func (s Layout) Lines(rows []view.Row, now time.Time) []string {
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
	room := s.width - 2 - s.idWidth // for the rest, each column including the two spaces before it
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
	least := min(textWidth, enough)
	if len(rows) > 0 && rows[0].Group == view.Merging {
		least = min(textWidth, enoughMerging)
	}
	least += min(nameWidth, 16) + 4
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
		lines[i] = s.row(&rows[i], nameWidth, textWidth, details[i], widths)
	}
	return lines
}

// share divides the room between the name and the text: each gets what it needs if the other
// leaves it, otherwise half.
func share(name, text, room int) (int, int) {
	const tight = 20 // enough for one of them
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

func (s Layout) row(r *view.Row, nameWidth, textWidth int, details []cell, widths []int) string {
	var b strings.Builder
	b.WriteString("  ")
	b.WriteString(s.paint(Colors[r.Group],
		term.Pad(term.Truncate(sanitize.Line(r.ID), s.idWidth), s.idWidth)))
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
	case view.Failed, view.Stopped, view.NeedsYou:
		color = Colors[r.Group]
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

// trimEnd removes trailing spaces, including those before the sequence that ends a color.
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
		if i := strings.LastIndex(line, "\x1b["); i >= 0 && strings.HasSuffix(line[i:], "m"+off) &&
			strings.Count(line[i:], "\x1b") == 2 {
			line = line[:i] // it encloses nothing
		}
	}
}

// rowName returns the name, "" if it equals the id.
func rowName(r *view.Row) string {
	if r.Name == r.ID {
		return ""
	}
	return sanitize.Line(r.Name)
}

func rowText(r *view.Row) string { return sanitize.Line(r.Text) }

// rowCost returns the cost as far as it is known: that of the whole names what isn't, once.
func rowCost(r *view.Row) string {
	if r.Cost.Known == 0 {
		return ""
	}
	return r.Cost.String()
}

// rowWorker returns the worker of a row whose text doesn't name it.
func rowWorker(r *view.Row) string {
	if r.By.Worker == "" || strings.Contains(r.Text, r.By.Worker) {
		return ""
	}
	return "on " + sanitize.Line(r.By.Worker)
}

// rowDetails returns the other columns of a row, the most important first.
func rowDetails(r *view.Row, now time.Time) []cell {
	switch r.Group {
	case view.NeedsYou, view.Failed, view.Stopped:
		return []cell{{sanitize.Line(r.Command), ""}, {rowCost(r), term.Dim}, {rowWorker(r), term.Dim}}
	case view.Running, view.Merging:
		age := r.AgeText(now)
		if d, ok := r.Age(now); ok && r.Group == view.Running && strings.Contains(r.Text, plan.Age(d)) {
			age = "" // "silent for 1m" says it
		}
		eta := ""
		if r.ETA != nil {
			eta = "~" + plan.Age(*r.ETA) + " left"
		}
		diff := ""
		if r.Diff != nil {
			diff = r.Diff.String()
		}
		return []cell{{age, term.Dim}, {AgentName(r.By.Agent), term.Dim}, {eta, term.Dim}, {diff, ""},
			{r.Tests, term.Dim}, {rowCost(r), term.Dim}, {rowWorker(r), term.Dim}}
	case view.Done:
		return []cell{{rowCost(r), term.Dim}, {rowWorker(r), term.Dim}}
	}
	return nil
}

// AgentName returns the name of an agent without its settings: "rehearsal" for
// "rehearsal:step=1s".
func AgentName(name string) string {
	name, _, _ = strings.Cut(sanitize.Line(name), ":")
	return name
}
