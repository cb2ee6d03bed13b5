package board

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"greenlight/internal/base/term"
)

// A panel is a text to read, beside the list or over it.
type panel struct {
	page  page
	id    string // slice it is about; "" for a command's output
	title string
	lines []string // safe for a terminal
	busy  bool     // the command that prints the text is running

	view   scroller
	search string
	found  int // index of the line on the screen that has it
}

// A scroller is the part of a text that is on the screen.
type scroller struct {
	lines  []string // those of the panel, wrapped to the width
	whole  []int    // for each, the index of the line that it is of
	width  int
	height int
	top    int
	follow bool // stay at the end
}

// fill shows a newer text. The screen stays where it is, or at the end while it follows.
func (p *panel) fill(lines []string) {
	p.busy = false
	if lines == nil {
		lines = []string{"nothing here yet"}
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\t", "    ")
	}
	if !slices.Equal(p.lines, lines) {
		p.lines, p.view.lines = lines, nil
		if v := &p.view; v.width > 0 {
			p.layOut(v.width, v.height)
		}
	}
}

// layOut wraps the text to a size.
func (p *panel) layOut(width, height int) {
	v := &p.view
	v.height = height
	if v.lines == nil || v.width != width {
		v.lines, v.whole, v.width = v.lines[:0], v.whole[:0], width
		for i, l := range p.lines {
			wrapped := ansi.Hardwrap(l, max(width, 1), true)
			if p.page.words {
				wrapped = ansi.Hardwrap(term.Wrap(l, width, 2), max(width, 1), true)
			}
			for part := range strings.SplitSeq(wrapped, "\n") {
				v.lines, v.whole = append(v.lines, part), append(v.whole, i)
			}
		}
	}
	v.settle()
}

// settle keeps the part within the text.
func (v *scroller) settle() {
	last := max(len(v.lines)-v.height, 0)
	if v.follow {
		v.top = last
	}
	v.top = max(min(v.top, last), 0)
}

// scroll moves the text by lines. At its end it is followed again, if it ever was.
func (p *panel) scroll(by int) {
	v := &p.view
	v.follow = false
	v.top += by
	v.settle()
	v.follow = p.page.grows && v.top >= len(v.lines)-v.height
}

// find moves to the next line that has the searched text, in that direction.
func (p *panel) find(by int) bool {
	v := &p.view
	from := p.found + by
	if p.found < v.top || p.found >= v.top+v.height { // scrolled away
		from = v.top
	}
	for i := from; i >= 0 && i < len(v.lines); i += by {
		if p.hit(v.lines[i]) >= 0 {
			p.found, v.top, v.follow = i, i-v.height/2, false
			v.settle()
			return true
		}
	}
	return false
}

// hit returns where the searched text is in a line, or -1.
func (p *panel) hit(text string) int {
	if p.search == "" {
		return -1
	}
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // the indexes would differ
		return strings.Index(text, p.search)
	}
	return strings.Index(lower, strings.ToLower(p.search))
}

// draw returns the panel's title and the part of the text that fits.
func (p *panel) draw(width, height int, paint func(term.Color, string) string) []string {
	p.layOut(width, max(height-1, 1))
	v := &p.view
	lines := []string{p.heading(width, paint)}
	for i := v.top; i < min(v.top+v.height, len(v.lines)); i++ {
		color := term.Color("")
		if p.page.color != nil {
			color = p.page.color(p.lines[v.whole[i]])
		}
		text := v.lines[i]
		at := p.hit(text)
		if at < 0 {
			lines = append(lines, paint(color, text))
			continue
		}
		end := min(at+len(p.search), len(text))
		lines = append(lines, paint(color, text[:at])+paint(term.Invert, text[at:end])+
			paint(color, text[end:]))
	}
	return lines
}

// heading returns the title on a rule, with how much of the text is above.
func (p *panel) heading(width int, paint func(term.Color, string) string) string {
	v := &p.view
	where := "all"
	switch n := len(v.lines); {
	case p.busy && p.lines == nil:
		where = "…"
	case v.follow && n > v.height:
		where = "follows"
	case n > v.height:
		where = fmt.Sprintf("%d-%d of %d", v.top+1, min(v.top+v.height, n), n)
	}
	where = " " + where + " ─"
	title := "─ " + term.Truncate(p.title, max(width-term.Width(where)-4, 1)) + " "
	rule := strings.Repeat("─", max(width-term.Width(title)-term.Width(where), 0))
	return paint(term.Bold, title) + paint(term.Dim, rule+where)
}
