package report

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/uniq"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
)

// A drawing is an SVG in the making. All text goes in through esc.
type drawing struct{ strings.Builder }

func (s *drawing) f(format string, a ...any) { fmt.Fprintf(s, format, a...) }

func esc(text string) string { return template.HTMLEscapeString(sanitize.Line(text)) }

// A chart builds the Gantt chart: a line of HTML for each slice, with the merge queue below. The
// bars are pictures as wide as the page; the names are text, and wrap.
type chart struct {
	drawing
	d        *Document
	from, to time.Time
	ids      []string // of the lines
}

// The measures of a line's picture. The browser stretches it to the page's width.
const lineWidth, lineHeight = 1000, 16

// gantt draws the attempts of the night.
func gantt(d *Document) template.HTML {
	c := newChart(d)
	c.f(`<div class="gantt" role="img" aria-labelledby="gantt-title">`)
	c.f(`<p class="unseen" id="gantt-title">Timeline of %s at %s, from %s to %s. The table below has the same.</p>`,
		words.Count(len(d.Timeline.Attempts), "attempt"), words.Count(len(c.ids), d.Noun), esc(moment(c.from)), esc(moment(c.to)))
	c.axis()
	names := map[string]string{}
	for _, n := range d.Graph {
		names[n.ID] = name(n.ID, n.Name)
	}
	of := map[string][]Span{}
	for _, a := range d.Timeline.Attempts {
		of[a.ID] = append(of[a.ID], a)
	}
	for _, id := range c.ids {
		c.line(strings.TrimSpace(id+" "+names[id]), of[id])
	}
	if len(d.Timeline.Lane) > 0 {
		c.line("Merge queue", d.Timeline.Lane)
	}
	c.f(`</div>`)
	return template.HTML(c.String())
}

func newChart(d *Document) *chart {
	c := &chart{d: d, from: d.Night.From, to: d.Night.To}
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
	return c
}

// whole is how long the chart's time is.
func (c *chart) whole() time.Duration { return max(c.to.Sub(c.from), time.Second) }

// x is where a time is on a line of the width.
func (c *chart) x(t time.Time, width float64) float64 {
	return width * min(max(float64(t.Sub(c.from))/float64(c.whole()), 0), 1)
}

// axis writes the times above the lines, with the grid that hangs from them. Narrow pages hide
// every other one.
func (c *chart) axis() {
	c.f(`<div class="line axis"><span></span><span class="times">`)
	list := ticks(c.from, c.to)
	crowded := len(list) > 1 && c.x(list[1], 100)-c.x(list[0], 100) < 16
	for _, t := range list {
		at, text := c.x(t, 100), tick(t, c.whole())
		class := ""
		switch { // the text stays on the page
		case at < 9:
			class = ` class="first"`
		case at > 91:
			class = ` class="last"`
		}
		if class != "" && crowded { // moved inwards it would touch the next
			text = ""
		}
		c.f(`<i%s style="left:%.1f%%">%s</i>`, class, at, esc(text))
	}
	c.f(`</span></div>`)
}

// line writes a line: its name, the holds behind, and the spans.
func (c *chart) line(label string, spans []Span) {
	c.f(`<div class="line"><span>%s</span><svg viewBox="0 0 %d %d" preserveAspectRatio="none" aria-hidden="true">`, esc(label), lineWidth, lineHeight)
	for _, h := range c.d.Timeline.Holds {
		c.f(`<rect class="band" x="%.1f" y="0" width="%.1f" height="%d"><title>held: %s</title></rect>`, c.x(h.From, lineWidth), c.width(h), lineHeight, esc(h.Text))
	}
	for _, s := range spans {
		what := strings.TrimSpace(s.ID + " " + s.Text)
		if s.Record != "" { // an attempt
			what = fmt.Sprintf("%s.%d: %s", s.ID, s.N, s.Text)
		}
		bar(&c.drawing, s.State, s.Critical, c.x(s.From, lineWidth), c.width(s), what+", "+s.clocks())
	}
	c.f(`</svg></div>`)
}

// width is how wide a span is: what is short has to be seen.
func (c *chart) width(s Span) float64 {
	return max(c.x(s.To, lineWidth)-c.x(s.From, lineWidth), 2.5)
}

// bar draws a span. Its shape tells the state as its color does: what failed is struck through,
// what met a limit is at the bottom, and what neither failed nor was completed is thin.
func bar(s *drawing, state string, critical bool, x, width float64, what string) {
	class, y, height := state, 2, 12
	switch state {
	case SpanHeld:
		y, height = 8, 6
	case SpanOther, "merge":
		y, height = 5, 6
	}
	if critical {
		class += " critical"
	}
	title := ""
	if what != "" {
		title = "<title>" + esc(what) + "</title>"
	}
	s.f(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d">%s</rect>`, class, x, y, width, height, title)
	if state == SpanFailed || state == "red" {
		s.f(`<path class="struck" d="M%.1f 8h%.1f"/>`, x, width)
	}
}

// key is a sign of the chart with its meaning.
func key(state, text string) template.HTML {
	var s drawing
	s.f(`<span><svg width="16" height="16" aria-hidden="true">`)
	bar(&s, state, false, 0, 16, "")
	s.f(`</svg>%s</span>`, esc(text))
	return template.HTML(s.String())
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
		step *= n/most + 1 //nolint:durationcheck // n is a ratio of two durations
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

// The measures of the graph's boxes, whose names wrap.
const (
	boxWidth, boxLine, boxMargin = 172, 16, 6
	gapX, gapY                   = 40, 12
	boxColumns                   = 24 // of a line of a name
	boxLines                     = 6  // of a name; the list of the graph has all of it
)

// A box is a slice in the picture.
type box struct {
	x, y, height int
	lines        []string
}

func (n *Node) box(x, y int) box {
	lines := []string{n.ID + " · " + n.Group}
	if text := name(n.ID, n.Name); text != "" {
		lines = append(lines, strings.Split(term.Wrap(sanitize.Line(text), boxColumns, 0), "\n")...)
	}
	if len(lines) > boxLines+1 {
		lines = lines[:boxLines+1]
		lines[boxLines] += "…"
	}
	return box{x, y, len(lines)*boxLine + 8, lines}
}

// picture draws the graph: a column for each layer, with dependencies to the left of dependents.
func picture(d *Document) template.HTML {
	at := map[string]box{}
	bottom := map[int]int{} // of a layer
	width, height := 0, 0
	for _, n := range d.Graph {
		b := n.box(boxMargin+n.Layer*(boxWidth+gapX), max(bottom[n.Layer], boxMargin))
		bottom[n.Layer] = b.y + b.height + gapY
		at[n.ID] = b
		width, height = max(width, b.x+boxWidth+boxMargin), max(height, b.y+b.height+boxMargin)
	}
	var s drawing
	s.f(`<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="graph-title graph-desc">`, width, height, width, height)
	s.f(`<title id="graph-title">Dependency graph of %s</title><desc id="graph-desc">%s</desc>`, words.Count(len(d.Graph), d.Noun), esc(d.graphText()))
	for _, n := range d.Graph {
		to := at[n.ID]
		for _, dep := range n.Deps {
			from, ok := at[dep]
			if !ok {
				continue
			}
			x1, y1, x2, y2 := from.x+boxWidth, from.y+from.height/2, to.x, to.y+to.height/2
			s.f(`<path class="edge" d="M%d %dC%d %d %d %d %d %d"/>`, x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2)
		}
	}
	for _, n := range d.Graph {
		b := at[n.ID]
		class, _, _ := strings.Cut(n.Group, " ")
		s.f(`<g class="node g-%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, esc(n.ID+" "+name(n.ID, n.Name)+": "+n.Group), b.x, b.y, boxWidth, b.height)
		for i, line := range b.lines {
			s.f(`<text x="%d" y="%d">%s</text>`, b.x+8, b.y+(i+1)*boxLine, esc(line))
		}
		s.f(`</g>`)
	}
	s.f(`</svg>`)
	return template.HTML(s.String())
}

// mostSpoken is how many slices the graph's text names.
const mostSpoken = 100

// graphText is the graph in words.
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
	if n.Group == view.NeedsYou.String() || n.Group == view.Failed.String() {
		text = n.ID + " " + strings.ToLower(n.Group)
	}
	if len(n.Deps) > 0 {
		text += ", " + plan.NeedsText(n.Deps)
	}
	return text
}

// listed is the node in a list: "S-3 Basket: blocked, needs S-1".
func (n *Node) listed() string {
	text := strings.TrimSpace(n.ID+" "+name(n.ID, n.Name)) + ": " + strings.ToLower(n.Group)
	if len(n.Deps) > 0 {
		text += ", needs " + strings.Join(n.Deps, ", ")
	}
	return text
}

// Layers returns the graph's nodes by layer.
func (d *Document) Layers() [][]Node {
	var list [][]Node
	for _, n := range d.Graph {
		if n.Layer >= len(list) {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], n)
	}
	return list
}
