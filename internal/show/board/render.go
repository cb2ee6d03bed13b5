package board

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/show/view"
)

const (
	listOnly   = 50  // width below which only the list is shown,
	sideBySide = 100 // from which the selected slice's details are beside it,
	wide       = 160 // and from which its log is, or the panel
	lowest     = 8   // height from which there is room for a log and an answer
)

func (b *board) View() tea.View {
	v := tea.NewView(strings.Join(b.frame(), "\n"))
	v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	v.WindowTitle = "gl board"
	return v
}

// frame returns the screen's lines, which fit its height and width.
func (b *board) frame() []string {
	b.lineOf = nil
	head := []string{b.cfg.Paint(term.Bold, b.list.firstLine(b.width)), b.tabLine()}
	foot := b.foot()
	room := max(b.height-len(head)-len(foot), 1)
	var body []string
	switch {
	case b.help.open:
		body = b.help.text(b.keys, b.width, room, b.cfg.Paint)
	case b.list.model == nil && b.list.err != nil:
		body = strings.Split(term.Wrap(sanitize.Text(b.list.err.Error()), b.width, 2), "\n")
	case b.list.model == nil:
		body = []string{"reading the project …"}
	default:
		body = b.body(room)
	}
	if len(body) > room {
		body = body[:room]
	}
	for len(body) < room {
		body = append(body, "")
	}
	b.lineOf = slices.Concat(make([]string, len(head)), b.lineOf)
	lines := slices.Concat(head, body, foot)
	if len(lines) > b.height {
		lines = lines[:max(b.height, 1)]
	}
	for i := range lines {
		if term.Width(lines[i]) > b.width {
			lines[i] = ansi.Truncate(lines[i], b.width, "")
		}
	}
	return lines
}

// tabLine returns the names of the views. It records where each ends, for the mouse.
func (b *board) tabLine() string {
	var tabs []string
	b.tabs = b.tabs[:0]
	column := 0
	for i, v := range views {
		text, c := v, term.Dim
		if i == b.view {
			text, c = "["+v+"]", term.Bold
		}
		column += len(text) + 1
		b.tabs = append(b.tabs, column)
		tabs = append(tabs, b.cfg.Paint(c, text))
	}
	return strings.Join(tabs, " ")
}

// foot returns the last lines of the screen: the question being answered and what can come next on
// the command line, and below them the input, what a command said, or the keys.
func (b *board) foot() []string {
	var lines []string
	if q := b.prompt.confirm; q != nil && !b.help.open {
		for l := range strings.SplitSeq(term.Wrap(q.text+"? [y/n]", b.width, 2), "\n") {
			lines = append(lines, b.cfg.Paint(term.Yellow, l))
		}
		return lines
	}
	if in := b.prompt.input; in != nil && !b.answering() {
		if r := b.list.named(in.below); r != nil && b.height >= lowest {
			a := aside{list: &b.list, width: b.width, paint: b.cfg.Paint}
			a.question(r, b.height/2)
			lines = a.lines
		}
		if in.menu != nil {
			lines = append(lines, in.menu.lines(b.width, b.height/3, b.cfg.Paint)...)
		}
	}
	return append(lines, b.bottom())
}

// bottom returns the last line.
func (b *board) bottom() string {
	p := &b.prompt
	line := func(c term.Color, text string) string {
		return b.cfg.Paint(c, term.Truncate(text, b.width))
	}
	switch {
	case b.help.open:
		return line(term.Dim, "↑ ↓ scroll  any other key goes back")
	case b.answering():
		return line(term.Dim, "enter sends it  esc closes the line")
	case p.input != nil:
		return line(term.Bold, p.input.line.show(p.input.prompt, b.width))
	case p.doomed != nil:
		argv := sanitize.Line(commandLine(p.doomed.argv))
		at := p.doomed.at.Format("15:04:05")
		return line(term.Yellow, fmt.Sprintf("%s at %s: u takes it back", argv, at))
	case p.running != "":
		return line(term.Dim, sanitize.Line(p.running)+" …")
	case p.says != "" && p.bad:
		return line(term.Red, sanitize.Line(p.says))
	case p.says != "":
		return line(term.Green, sanitize.Line(p.says))
	case b.list.err != nil && b.list.model != nil:
		return line(term.Red, sanitize.Line(b.list.err.Error()))
	case b.list.filter != "" && b.panel == nil:
		rows := words.Count(len(b.list.rows()), "row")
		return line(term.Yellow, fmt.Sprintf("filter %q: %s (esc)", b.list.filter, rows))
	}
	return b.keysLine()
}

// logShown reports whether the log of the selected slice is shown rather than its facts: on a wide
// screen, unless Space has said otherwise.
func (b *board) logShown() bool { return b.peek != (b.width >= wide) }

// split returns the number of columns beside the list, or rows below it, for the selected slice's
// details or the panel; 0 for none. A log gets more room than facts, and a question what it needs.
func (b *board) split(room int) (side, below int) {
	wanted := b.view == 0 || b.logShown()
	r := b.list.row()
	switch {
	case b.panel != nil && b.width >= wide:
		return b.width * 3 / 5, 0
	case b.panel != nil:
		return 0, 0
	case b.width >= sideBySide && b.logShown():
		return b.width / 2, 0
	case b.width >= sideBySide && wanted:
		return min(max(b.width*2/5, 30), 70), 0
	case room < 8 && b.peek:
		return 0, room * 2 / 3
	case b.peek, room >= 8 && wanted && r != nil && r.Asks == view.AskAnswer:
		return 0, room / 2
	case room >= 8 && b.width >= listOnly && wanted:
		return 0, min(max(room/3, 3), 12)
	}
	return 0, 0
}

// body returns the selected view with that many rows, or the panel.
func (b *board) body(room int) []string {
	if b.panel != nil && b.width < wide {
		return b.panel.draw(b.width, room, b.cfg.Paint)
	}
	side, below := b.split(room)
	width := b.width
	if side > 0 {
		width -= side + 1
	}
	gap := min(side, 1) // before the rule
	lines, ids := b.canvas.draw(views[b.view], &b.list, width-gap)
	lines, ids = b.canvas.scroll(lines, ids, b.list.selected, room-below)
	b.lineOf = ids
	if below > 0 {
		for len(lines) < room-below {
			lines = append(lines, "")
		}
		lines = append(lines, b.cfg.Paint(term.Dim, strings.Repeat("─", b.width)))
		return append(lines, b.about(b.width, below-1)...)
	}
	if side == 0 {
		return lines
	}
	if b.panel != nil {
		return b.canvas.join(lines, width, b.panel.draw(side, room, b.cfg.Paint), room)
	}
	return b.canvas.join(lines, width, b.about(side-1, room), room)
}
