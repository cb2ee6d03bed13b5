package report

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/uniq"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
)

// A drawing is an SVG in the making. All text goes in through esc.
type drawing struct{ strings.Builder }

func (s *drawing) f(format string, a ...any) { fmt.Fprintf(s, format, a...) }

func esc(text string) string { return template.HTMLEscapeString(sanitize.Line(text)) }

// A chart builds the Gantt chart: a line for each slice, with the merge queue below and the holds
// behind.
type chart struct {
	drawing
	d        *Document
	from, to time.Time
	ids      []string       // of the lines
	line     map[string]int // by id
	height   int
}

// The chart's measures: the width of the names and of the times, the height of a line, and the top
// of the first.
const (
	chartLabel, chartWidth, chartLine, chartTop = 150, 820, 22, 28
)

// gantt draws the attempts of the night.
func gantt(d *Document) template.HTML {
	c := newChart(d)
	width := chartLabel + chartWidth + 20
	c.f(`<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="gantt-title gantt-desc">`, width, c.height, width, c.height)
	c.f(`<title id="gantt-title">Timeline of %d attempts at %d slices</title><desc id="gantt-desc">From %s to %s. The table below has the same.</desc>`,
		len(d.Timeline.Attempts), len(c.ids), esc(moment(c.from)), esc(moment(c.to)))
	c.drawHolds()
	c.drawTicks()
	c.drawNames()
	c.drawAttempts()
	c.drawLane()
	c.f(`</svg>`)
	return template.HTML(c.String())
}

func newChart(d *Document) *chart {
	c := &chart{d: d, from: d.Night.From, to: d.Night.To, line: map[string]int{}}
	var ids uniq.List
	for _, s := range d.Timeline.Attempts {
		if s.From.Before(c.from) {
			c.from = s.From
		}
		if s.To.After(c.to) {
			c.to = s.To
		}
		ids.Add(s.ID)
	}
	c.ids = ids.Items()
	for i, id := range c.ids {
		c.line[id] = i
	}
	lines := len(c.ids)
	if len(d.Timeline.Lane) > 0 {
		lines++
	}
	c.height = chartTop + lines*chartLine + 8
	return c
}

// whole is how long the chart's time is.
func (c *chart) whole() time.Duration { return max(c.to.Sub(c.from), time.Second) }

// x is where a time is.
func (c *chart) x(t time.Time) float64 {
	return chartLabel + chartWidth*min(max(float64(t.Sub(c.from))/float64(c.whole()), 0), 1)
}

// width is how wide a span is, and so many points at least: what is short has to be seen.
func (c *chart) width(s Span, least float64) float64 { return max(c.x(s.To)-c.x(s.From), least) }

// y is where a line begins.
func (c *chart) y(line int) int { return chartTop + line*chartLine }

func (c *chart) drawHolds() {
	for _, h := range c.d.Timeline.Holds {
		c.f(`<rect class="band" x="%.1f" y="%d" width="%.1f" height="%d"><title>held: %s</title></rect>`, c.x(h.From), chartTop-6, c.width(h, 1), c.height-chartTop+2, esc(h.Text))
	}
}

func (c *chart) drawTicks() {
	for _, t := range ticks(c.from, c.to) {
		c.f(`<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="dim" x="%.1f" y="14" text-anchor="middle">%s</text>`,
			c.x(t), c.x(t), chartTop-8, c.height-4, c.x(t), esc(tick(t, c.whole())))
	}
}

func (c *chart) drawNames() {
	names := map[string]string{}
	for _, n := range c.d.Graph {
		names[n.ID] = n.Name
	}
	for i, id := range c.ids {
		c.f(`<text x="4" y="%d">%s<title>%s</title></text>`, c.y(i)+12, esc(term.Truncate(id+" "+name(id, names[id]), 20)), esc(id+" "+names[id]))
	}
}

func (c *chart) drawAttempts() {
	for _, a := range c.d.Timeline.Attempts {
		class := a.State
		if a.Critical {
			class += " critical"
		}
		c.f(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"><title>%s.%d: %s, %s to %s</title></rect>`, class, c.x(a.From), c.y(c.line[a.ID])+2,
			c.width(a, 2), chartLine-8, esc(a.ID), a.N, esc(a.Text), a.From.Local().Format("15:04:05"), a.To.Local().Format("15:04:05"))
	}
}

func (c *chart) drawLane() {
	if len(c.d.Timeline.Lane) == 0 {
		return
	}
	y := c.y(len(c.ids))
	c.f(`<text x="4" y="%d">Lane</text>`, y+12)
	for _, l := range c.d.Timeline.Lane {
		c.f(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s %s</title></rect>`, l.State, c.x(l.From), y+2, c.width(l, 1), chartLine-8, esc(l.ID), esc(l.Text))
	}
}

// ticks are round times between two.
func ticks(from, to time.Time) []time.Time {
	const most = 10
	step := 24 * time.Hour
	for _, d := range []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour,
	} {
		if to.Sub(from)/d <= most {
			step = d
			break
		}
	}
	if n := to.Sub(from) / step; n > most {
		step *= n/most + 1
	}
	var list []time.Time
	for t := from.Truncate(step).Add(step); t.Before(to); t = t.Add(step) {
		list = append(list, t)
	}
	return list
}

func tick(t time.Time, whole time.Duration) string {
	switch {
	case whole < 10*time.Minute:
		return t.Local().Format("15:04:05")
	case whole > 36*time.Hour:
		return t.Local().Format("01-02 15:04")
	}
	return t.Local().Format("15:04")
}

// picture draws the graph: a column for each layer, with dependencies to the left of dependents.
func picture(d *Document) template.HTML {
	const (
		boxWidth, boxHeight, gapX, gapY, margin = 150, 38, 46, 12, 10
	)
	type place struct{ x, y int }
	at := map[string]place{}
	rows := map[int]int{}
	width, height := 0, 0
	for _, n := range d.Graph {
		p := place{margin + n.Layer*(boxWidth+gapX), margin + rows[n.Layer]*(boxHeight+gapY)}
		rows[n.Layer]++
		at[n.ID] = p
		width, height = max(width, p.x+boxWidth+margin), max(height, p.y+boxHeight+margin)
	}
	var s drawing
	s.f(`<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="graph-title graph-desc">`, width, height, width, height)
	s.f(`<title id="graph-title">Dependency graph of %d slices</title><desc id="graph-desc">%s</desc>`, len(d.Graph), esc(d.graphText()))
	for _, n := range d.Graph {
		to := at[n.ID]
		for _, dep := range n.Deps {
			from, ok := at[dep]
			if !ok {
				continue
			}
			x1, y1, x2, y2 := from.x+boxWidth, from.y+boxHeight/2, to.x, to.y+boxHeight/2
			s.f(`<path class="edge" d="M%d %dC%d %d %d %d %d %d"/>`, x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2)
		}
	}
	for _, n := range d.Graph {
		p := at[n.ID]
		class, _, _ := strings.Cut(n.Group, " ")
		s.f(`<g class="node g-%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, esc(n.ID+" "+name(n.ID, n.Name)+": "+n.Group), p.x, p.y, boxWidth, boxHeight)
		s.f(`<text x="%d" y="%d">%s</text><text x="%d" y="%d">%s</text></g>`, p.x+8, p.y+15, esc(term.Truncate(n.ID+" · "+n.Group, 22)), p.x+8, p.y+31, esc(term.Truncate(name(n.ID, n.Name), 21)))
	}
	s.f(`</svg>`)
	return template.HTML(s.String())
}

// mostSpoken is how many slices the graph's text names.
const mostSpoken = 100

// graphText is the graph for who can't see it.
func (d *Document) graphText() string {
	var parts []string
	for i, n := range d.Graph {
		if i == mostSpoken {
			parts = append(parts, fmt.Sprintf("and %d more", len(d.Graph)-i))
			break
		}
		parts = append(parts, n.spoken())
	}
	return strings.Join(parts, "; ") + "."
}

// spoken is the node in words: "S-3 is blocked, needs S-1".
func (n *Node) spoken() string {
	text := n.ID + " is " + strings.ToLower(n.Group)
	if n.Group == view.NeedsYou.String() {
		text = n.ID + " needs you"
	}
	if len(n.Deps) > 0 {
		text += ", " + plan.NeedsText(n.Deps)
	}
	return text
}
