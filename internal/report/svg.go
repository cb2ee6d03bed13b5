package report

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
	"greenlight/internal/uniq"
	"greenlight/internal/view"
)

// A drawing is an SVG in the making. All text goes in through esc.
type drawing struct{ strings.Builder }

func (s *drawing) f(format string, a ...any) { fmt.Fprintf(s, format, a...) }

func esc(text string) string { return template.HTMLEscapeString(sanitize.Line(text)) }

// gantt draws the attempts, a line for each slice, with the lane below and the holds behind.
func gantt(d *Document) template.HTML {
	const (
		label, chart, lineHeight, top = 150, 820, 22, 28
	)
	from, to := d.Night.From, d.Night.To
	var ids uniq.List
	for _, s := range d.Timeline.Attempts {
		if s.From.Before(from) {
			from = s.From
		}
		if s.To.After(to) {
			to = s.To
		}
		ids.Add(s.ID)
	}
	whole := max(to.Sub(from), time.Second)
	x := func(t time.Time) float64 {
		return label + chart*min(max(float64(t.Sub(from))/float64(whole), 0), 1)
	}
	rows := map[string]int{}
	for i, id := range ids.Items() {
		rows[id] = i
	}
	lines := len(rows)
	if len(d.Timeline.Lane) > 0 {
		lines++
	}
	height := top + lines*lineHeight + 8
	var s drawing
	s.f(`<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="gantt-title gantt-desc">`, label+chart+20, height, label+chart+20, height)
	s.f(`<title id="gantt-title">Timeline of %d attempts at %d slices</title><desc id="gantt-desc">From %s to %s. The table below has the same.</desc>`,
		len(d.Timeline.Attempts), len(rows), esc(moment(from)), esc(moment(to)))
	for _, h := range d.Timeline.Holds {
		s.f(`<rect class="band" x="%.1f" y="%d" width="%.1f" height="%d"><title>held: %s</title></rect>`, x(h.From), top-6, max(x(h.To)-x(h.From), 1), height-top+2, esc(h.Text))
	}
	for _, t := range ticks(from, to) {
		s.f(`<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="dim" x="%.1f" y="14" text-anchor="middle">%s</text>`, x(t), x(t), top-8, height-4, x(t), esc(tick(t, whole)))
	}
	names := map[string]string{}
	for _, n := range d.Graph {
		names[n.ID] = n.Name
	}
	for i, id := range ids.Items() {
		y := top + i*lineHeight
		s.f(`<text x="4" y="%d">%s<title>%s</title></text>`, y+12, esc(term.Truncate(id+" "+name(id, names[id]), 20)), esc(id+" "+names[id]))
	}
	for _, a := range d.Timeline.Attempts {
		class := a.State
		if a.Critical {
			class += " critical"
		}
		s.f(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"><title>%s.%d: %s, %s to %s</title></rect>`, class, x(a.From), top+rows[a.ID]*lineHeight+2,
			max(x(a.To)-x(a.From), 2), lineHeight-8, esc(a.ID), a.N, esc(a.Text), a.From.Local().Format("15:04:05"), a.To.Local().Format("15:04:05"))
	}
	if len(d.Timeline.Lane) > 0 {
		y := top + len(rows)*lineHeight
		s.f(`<text x="4" y="%d">Lane</text>`, y+12)
		for _, l := range d.Timeline.Lane {
			s.f(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s %s</title></rect>`, l.State, x(l.From), y+2, max(x(l.To)-x(l.From), 1), lineHeight-8, esc(l.ID), esc(l.Text))
		}
	}
	s.f(`</svg>`)
	return template.HTML(s.String())
}

// ticks are round times between two.
func ticks(from, to time.Time) []time.Time {
	const most = 10
	step := 24 * time.Hour
	for _, d := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour} {
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

// picture draws the graph: a column for each layer, the dependencies to the left of what needs them.
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
