package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/report"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

// A canvas draws the views of a list.
type canvas struct {
	paint func(term.Color, string) string
	kept  map[view.Group]laidOut
	top   int // first line shown
}

// draw returns a view's lines, and for each the id of its slice.
func (c *canvas) draw(name string, l *list, width int) (lines, ids []string) {
	switch name {
	case "graph":
		return c.graphView(l, width)
	case "timeline":
		return c.timelineView(l, width)
	case "merge queue":
		return c.laneView(l, width)
	case "cost":
		return c.costView(l, width)
	}
	return c.boardView(l, width)
}

// mark marks the selected line over its whole width, and by its first character even without
// colors. The line begins with an unpainted space.
func (c *canvas) mark(l *list, width int, id, line string) string {
	if id != l.selected {
		return line
	}
	bar := ">" + strings.TrimPrefix(ansi.Strip(line), " ")
	return c.paint(term.Invert, term.Pad(bar, width))
}

func (c *canvas) boardView(l *list, width int) (lines, ids []string) {
	layout := rowlayout.New(width, l.model.Rows, c.paint)
	for _, g := range view.BoardGroups() {
		rows := l.in(g)
		if len(rows) == 0 {
			continue
		}
		heading := term.Truncate(fmt.Sprintf("%s (%d)", g, len(rows)), width)
		lines, ids = append(lines, c.paint(rowlayout.Colors[g], heading)), append(ids, "")
		for i, line := range c.laid(l, g, rows, layout, width) {
			lines, ids = append(lines, c.mark(l, width, rows[i].ID, line)), append(ids, rows[i].ID)
		}
	}
	if len(lines) == 0 {
		return []string{"nothing to show"}, []string{""}
	}
	return lines, ids
}

// A laidOut is the lines of a group, and what they were made from.
type laidOut struct {
	model  *view.Model
	width  int
	filter string
	lines  []string
}

// laid lays out the rows of a group. Only rows that show ages change from one frame to the
// next; the lines of others, maybe a thousand, are cached.
func (c *canvas) laid(l *list, g view.Group, rows []view.Row,
	layout rowlayout.Layout, width int) []string {
	if g == view.Running || g == view.Merging {
		return layout.Lines(rows, l.now)
	}
	if c := c.kept[g]; c.model == l.model && c.width == width && c.filter == l.filter {
		return c.lines
	}
	lines := layout.Lines(rows, l.now)
	if c.kept == nil {
		c.kept = map[view.Group]laidOut{}
	}
	c.kept[g] = laidOut{l.model, width, l.filter, lines}
	return lines
}

func (c *canvas) graphView(l *list, width int) (lines, ids []string) {
	p := l.model.Plan
	up, down := lit(p, l.selected)
	for layer, list := range p.Layers() {
		lines, ids = append(lines, c.paint(term.Dim, fmt.Sprintf("Layer %d", layer+1))),
			append(ids, "")
		for _, id := range list {
			st := p.State(id)
			g := view.GroupOf(st)
			text := "  " + sanitize.Line(id)
			if st.Name != id && st.Name != "" {
				text += " " + sanitize.Line(st.Name)
			}
			text += "  " + strings.ToLower(g.String())
			if len(st.Deps) > 0 {
				text += " ← " + sanitize.Line(strings.Join(st.Deps, ", "))
			}
			role := ""
			switch {
			case id == l.selected:
			case up[id]:
				role = "needed by " + l.selected
			case down[id]:
				role = "needs " + l.selected
			}
			if role != "" {
				text += "  (" + sanitize.Line(role) + ")"
			}
			color := rowlayout.Colors[g]
			if id != l.selected && role == "" {
				color = term.Dim
			}
			lines = append(lines, c.mark(l, width, id, c.paint(color, term.Truncate(text, width))))
			ids = append(ids, id)
		}
	}
	return lines, ids
}

// lit returns everything a slice needs, and everything that needs it, at any distance.
func lit(p *plan.Plan, id string) (up, down map[string]bool) {
	up, down = map[string]bool{}, map[string]bool{}
	var climb func(string)
	climb = func(id string) {
		st := p.State(id)
		if st == nil {
			return
		}
		for _, dep := range st.Deps {
			if !up[dep] {
				up[dep] = true
				climb(dep)
			}
		}
	}
	climb(id)
	needs := map[string][]string{}
	for i := range p.States {
		for _, dep := range p.States[i].Deps {
			needs[dep] = append(needs[dep], p.States[i].ID)
		}
	}
	queue := []string{id}
	for len(queue) > 0 {
		for _, next := range needs[queue[0]] {
			if !down[next] {
				down[next] = true
				queue = append(queue, next)
			}
		}
		queue = queue[1:]
	}
	return up, down
}

func (c *canvas) timelineView(l *list, width int) (lines, ids []string) {
	spans := l.document().Timeline.Attempts
	if len(spans) == 0 {
		return []string{"nothing ran in the last 24 hours"}, []string{""}
	}
	from, to := spans[0].From, spans[0].To
	for _, s := range spans {
		if s.From.Before(from) {
			from = s.From
		}
		if s.To.After(to) {
			to = s.To
		}
	}
	label := min(max(22, width/4), width/3)
	chart := max(width-label-1, 4)
	at := func(t time.Time) int {
		return min(int(float64(chart)*float64(t.Sub(from))/float64(max(to.Sub(from), time.Second))),
			chart-1)
	}
	left, right := plan.At(from, l.now, "15:04:05"), plan.At(to, l.now, "15:04:05")
	between := strings.Repeat(" ", max(chart-len(left)-len(right), 1))
	axis := strings.Repeat(" ", label+1) + left + between + right
	lines, ids = append(lines, c.paint(term.Dim, term.Truncate(axis, width))), append(ids, "")
	for _, s := range spans {
		x, n := at(s.From), max(at(s.To)-at(s.From), 1)
		name := fmt.Sprintf("%s.%d", s.ID, s.N)
		if st := l.model.Plan.State(s.ID); st != nil && st.Name != s.ID {
			name += " " + st.Name
		}
		m := markOf(s.State)
		text := term.Pad(term.Truncate("  "+sanitize.Line(name), label), label)
		bar := strings.Repeat(" ", x) + c.paint(m.color, strings.Repeat(m.text, n))
		lines, ids = append(lines, c.mark(l, width, s.ID, text+" "+bar)), append(ids, s.ID)
	}
	return append(lines, "", c.legend(width)), append(ids, "", "")
}

// A spanMark is the timeline's mark for a state; marks differ even without colors.
type spanMark struct {
	state, text, means string
	color              term.Color
}

var spanMarks = []spanMark{
	{report.SpanDone, "█", "completed", term.Green},
	{report.SpanFailed, "▒", "failed", term.Red},
	{report.SpanRunning, "▓", "running", term.Blue},
	{report.SpanHeld, "░", "met a limit", term.Yellow},
	{report.SpanOther, "▄", "sent back, waiting or stopped", ""},
}

func markOf(state string) spanMark {
	i := slices.IndexFunc(spanMarks, func(m spanMark) bool { return m.state == state })
	if i < 0 {
		i = len(spanMarks) - 1
	}
	return spanMarks[i]
}

// legend explains the marks of the timeline.
func (c *canvas) legend(width int) string {
	line := " "
	for _, m := range spanMarks {
		if next := " " + m.text + " " + m.means; term.Width(line+next) <= width {
			line += next
		}
	}
	return c.paint(term.Dim, term.Truncate(line, width))
}

func (c *canvas) laneView(l *list, width int) (lines, ids []string) {
	add := func(id, text string) { lines, ids = append(lines, text), append(ids, id) }
	rows := l.in(view.Merging)
	add("", c.paint(term.Bold, fmt.Sprintf("In the merge queue (%d)", len(rows))))
	for i, line := range rowlayout.New(width, rows, c.paint).Lines(rows, l.now) {
		add(rows[i].ID, c.mark(l, width, rows[i].ID, line))
	}
	if n := len(l.model.Lane.Waiting()); n > 0 {
		add("", "")
		text := fmt.Sprintf("Not merged yet (%d): %s", n, sanitize.Line(l.model.Lane.Reason))
		add("", c.paint(term.Yellow, term.Truncate(text, width)))
		for _, id := range l.model.Lane.Undelivered {
			add(id, c.mark(l, width, id, "  "+sanitize.Line(id)))
		}
		for _, id := range l.model.Lane.Undone {
			add(id, c.mark(l, width, id, "  "+sanitize.Line(id)+" (taken back)"))
		}
	}
	landed := l.document().Landed
	slices.Reverse(landed)
	add("", "")
	add("", c.paint(term.Bold, fmt.Sprintf("Completed in the last 24 hours (%d)", len(landed))))
	for _, done := range landed {
		how := "verified"
		if !done.Verified {
			how = "unverified"
		}
		text := fmt.Sprintf("  %s  %s  %s  %s", plan.At(done.At, l.now, "15:04"),
			sanitize.Line(done.ID), how, sanitize.Line(done.Name))
		add(done.ID, c.mark(l, width, done.ID, term.Truncate(text, width)))
	}
	return lines, ids
}

func (c *canvas) costView(l *list, width int) (lines, ids []string) {
	spent := l.document().Cost
	add := func(id, text string) { lines, ids = append(lines, text), append(ids, id) }
	head := fmt.Sprintf("Last 24 hours: %s; all: %s",
		cmp.Or(spent.Total.String(), "nothing"), cmp.Or(l.model.Cost.String(), "nothing"))
	add("", c.paint(term.Bold, term.Truncate(head, width)))
	if failed := spent.Failed.String(); failed != "" {
		add("", c.paint(term.Red, term.Truncate("of which on failed attempts: "+failed, width)))
	}
	for _, list := range []struct {
		what   string
		shares []report.Share
	}{{"Agent", spent.Agents}, {"Account", spent.Account}, {"Slice", spent.Slices}} {
		if len(list.shares) == 0 {
			continue
		}
		add("", "")
		add("", c.paint(term.Dim, list.what))
		money := 0
		for _, s := range list.shares {
			money = max(money, term.Width(orDash(s.Cost)))
		}
		column := min(max(width-money-len("   , 10 attempts"), 8), max(26, width/3))
		for _, s := range list.shares {
			name := term.Pad(term.Truncate(sanitize.Line(s.Name), column), column)
			text := fmt.Sprintf("  %s %*s  %s",
				name, money, orDash(s.Cost), words.Count(s.Attempts, "attempt"))
			add(s.Name, c.mark(l, width, s.Name, term.Truncate(text, width)))
		}
	}
	return lines, ids
}

func orDash(c view.Cost) string { return cmp.Or(c.String(), "–") }

// join puts a block of that width to the left of another, with a rule between them.
func (c *canvas) join(left []string, width int, right []string, room int) []string {
	lines, rule := make([]string, room), c.paint(term.Dim, "│")
	for i := range lines {
		text := ""
		if i < len(left) {
			text = ansi.Truncate(left[i], width, "")
		}
		lines[i] = term.Pad(text, width) + rule
		if i < len(right) {
			lines[i] += right[i]
		}
	}
	return lines
}

// scroll keeps the selected line in view.
func (c *canvas) scroll(lines, ids []string, selected string,
	room int) ([]string, []string) {
	room = max(room, 1)
	if i := slices.Index(ids, selected); i >= 0 {
		if i < c.top+1 {
			c.top = max(i-1, 0)
		}
		if i >= c.top+room {
			c.top = i - room + 1
		}
	}
	c.top = max(min(c.top, len(lines)-room), 0)
	end := min(c.top+room, len(lines))
	return lines[c.top:end], ids[c.top:min(end, len(ids))]
}
