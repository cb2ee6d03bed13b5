package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

const (
	listOnly   = 50 // width below which only the list is shown,
	sideBySide = 80 // and from which the selected slice's details are beside it
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
	head, foot := b.head(), b.foot()
	room := max(b.height-len(head)-len(foot), 1)
	var body []string
	switch {
	case b.help:
		body = b.helpText(room)
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

func (b *board) paint(c term.Color, text string) string { return b.cfg.Paint(c, text) }

// head returns the counts, and the names of the views.
func (b *board) head() []string {
	return []string{b.paint(term.Bold, b.firstLine()), b.tabLine()}
}

// firstLine returns the counts, and as much other information about the whole as fits.
func (b *board) firstLine() string {
	if b.list.model == nil {
		return term.Truncate("? slices", b.width)
	}
	fits := func(s string) bool { return term.Width(s) <= b.width }
	line := b.list.model.Counts.Bar(b.list.model.Plan, b.list.now)
	if !fits(line) {
		return term.Truncate(b.list.model.Counts.Fit(b.list.model.Plan, b.list.now, fits), b.width)
	}
	add := func(text string) {
		if longer := line + " | " + text; text != "" && fits(longer) {
			line = longer
		}
	}
	if b.list.leader != "" {
		add("draining")
	} else {
		add("no drain")
	}
	if b.list.facts.Slots > 0 {
		add(words.Count(b.list.facts.Slots, "slot"))
	}
	if cost := b.list.model.Cost.String(); cost != "" {
		add("cost " + cost)
	}
	if b.list.model.ETA != nil && *b.list.model.ETA > 0 {
		add("left: " + view.Left(b.list.model.Plan, *b.list.model.ETA, b.list.now))
	}
	return line
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
		tabs = append(tabs, b.paint(c, text))
	}
	return strings.Join(tabs, " ")
}

// foot returns the input line, a command's output, or the keys.
func (b *board) foot() []string {
	text, color := b.bottom()
	return []string{b.paint(color, term.Truncate(text, b.width))}
}

func (b *board) bottom() (string, term.Color) {
	p := &b.prompt
	switch {
	case b.help:
		return "↑ ↓ scroll  any other key goes back", term.Dim
	case b.answering():
		return "enter sends it  esc closes the line", term.Dim
	case p.input != nil:
		return p.input.typing(b.width), term.Bold
	case p.confirm != nil:
		argv := p.confirm.Argv(p.confirm.row, "")
		return fmt.Sprintf("gl %s? [y/n]", strings.Join(argv, " ")), term.Yellow
	case p.doomed != nil:
		argv := sanitize.Line(strings.Join(p.doomed.argv, " "))
		at := p.doomed.at.Format("15:04:05")
		return fmt.Sprintf("gl %s at %s: u takes it back", argv, at), term.Yellow
	case p.running != "":
		return p.running + " …", term.Dim
	case p.says != "" && p.bad:
		return sanitize.Line(p.says), term.Red
	case p.says != "":
		return sanitize.Line(p.says), term.Green
	case b.list.err != nil && b.list.model != nil:
		return sanitize.Line(b.list.err.Error()), term.Red
	case b.list.filter != "":
		rows := words.Count(len(b.list.rows()), "row")
		return fmt.Sprintf("filter %q: %s (esc)", b.list.filter, rows), term.Yellow
	}
	return b.keysLine(), term.Dim
}

// keysLine returns as many of the applicable keys as fit, and an ellipsis for the rest.
func (b *board) keysLine() string {
	list := []string{"? help", "tab view", "space peek", "/ filter", ": gl", "q quit"}
	row := b.list.row()
	for _, k := range b.keys {
		if row != nil && k.Key != "h" && k.Key != "H" && k.Slots == 0 && k.Argv(row, "x") != nil {
			list = append(list, k.Key+" "+k.Command)
		}
	}
	for n := len(list); n > 1; n-- {
		text := strings.Join(list[:n], "  ")
		if n < len(list) {
			text += "  …"
		}
		if term.Width(text) <= b.width {
			return text
		}
	}
	return list[0]
}

// helpText returns all keys, in two columns if they fit, from the line to which the person has
// scrolled.
func (b *board) helpText(room int) []string {
	const column = 44
	list := [][2]string{
		{"↑ ↓ j k", "select"}, {"← →", "the group before, after"}, {"tab 1-5", "another view"},
		{"space", "peek into its log"}, {"/", "filter"}, {":", "any gl command"},
		{"esc", "close; no filter"}, {"q", "quit: nothing stops"},
	}
	for _, k := range b.keys {
		list = append(list, [2]string{k.Key, fmt.Sprintf("%-12s %s", "gl "+k.Command, k.Means)})
	}
	var lines []string
	for _, l := range list {
		lines = append(lines, fmt.Sprintf("  %-8s %s", l[0], l[1]))
	}
	if half := (len(lines) + 1) / 2; b.width >= 2*column {
		for i, right := range lines[half:] {
			lines[i] = term.Pad(lines[i], b.width/2) + right
		}
		lines = lines[:half]
	}
	b.helpTop = max(min(b.helpTop, len(lines)-room), 0)
	lines = lines[b.helpTop:]
	for i := range lines {
		lines[i] = term.Truncate(lines[i], b.width)
	}
	return lines
}

// split returns the number of columns beside the list, or rows below it, for the selected
// slice's details; 0 for none. A log gets more room than facts.
func (b *board) split(room int) (side, below int) {
	wanted := b.view == 0 || b.peek
	switch {
	case b.width >= sideBySide && b.peek:
		return min(b.width/2, 100), 0
	case b.width >= sideBySide && wanted:
		return min(max(b.width*2/5, 30), 70), 0
	case room < 8 && b.peek:
		return 0, room * 2 / 3
	case b.peek:
		return 0, room / 2
	case room >= 8 && b.width >= listOnly && wanted:
		return 0, min(max(room/3, 3), 12)
	}
	return 0, 0
}

// body returns the selected view with that many rows.
func (b *board) body(room int) []string {
	side, below := b.split(room)
	width := b.width
	if side > 0 {
		width -= side + 1
	}
	gap := min(side, 1) // before the rule
	lines, ids := b.canvas.draw(views[b.view], &b.list, width-gap)
	lines, ids = b.scroll(lines, ids, room-below)
	b.lineOf = ids
	if below > 0 {
		for len(lines) < room-below {
			lines = append(lines, "")
		}
		about := b.about(b.width, below-1)
		return append(append(lines, b.paint(term.Dim, strings.Repeat("─", b.width))), about...)
	}
	if side == 0 {
		return lines
	}
	return b.besides(lines, width, b.about(side-1, room), room)
}

// besides puts a block of that width to the left of another, with a rule between them.
func (b *board) besides(left []string, width int, right []string, room int) []string {
	lines, rule := make([]string, room), b.paint(term.Dim, "│")
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
func (b *board) scroll(lines, ids []string, room int) ([]string, []string) {
	room = max(room, 1)
	if i := slices.Index(ids, b.list.selected); i >= 0 {
		if i < b.top+1 {
			b.top = max(i-1, 0)
		}
		if i >= b.top+room {
			b.top = i - room + 1
		}
	}
	b.top = max(min(b.top, len(lines)-room), 0)
	end := min(b.top+room, len(lines))
	return lines[b.top:end], ids[b.top:min(end, len(ids))]
}

// about returns details of the selected slice: facts, or the end of its log with a line to
// answer.
func (b *board) about(width, room int) []string {
	r := b.list.row()
	if r == nil || room < 1 {
		return []string{""}
	}
	a := aside{width: width, paint: b.paint}
	if head := r.ID; room > 3 { // otherwise the list has to do
		if r.Name != r.ID {
			head += " " + r.Name
		}
		a.add(term.Bold, head)
	}
	if b.peek {
		b.peekInto(&a, r, room)
	} else {
		b.factsInto(&a, r)
	}
	return a.lines[:min(len(a.lines), room)]
}

// An aside holds the lines beside the list, or below it.
type aside struct {
	width int
	paint func(term.Color, string) string
	lines []string
}

// add adds a text, wrapped to as many lines as it needs.
func (a *aside) add(c term.Color, text string) {
	for _, l := range strings.Split(term.Wrap(sanitize.Line(text), a.width-1, 2), "\n") {
		a.line(c, l)
	}
}

// line adds one line, cut to the width.
func (a *aside) line(c term.Color, text string) {
	a.lines = append(a.lines, " "+a.paint(c, term.Truncate(text, a.width-1)))
}

// tail adds the end of a text, in at most that many lines.
func (a *aside) tail(text []string, room int) {
	var end []string
	for i := len(text) - 1; i >= 0 && len(end) < room; i-- {
		end = append(strings.Split(term.Wrap(sanitize.Line(text[i]), a.width-1, 2), "\n"), end...)
	}
	for _, l := range end[max(0, len(end)-max(room, 0)):] {
		a.line("", l)
	}
}

func (a *aside) fact(name, text string) {
	if text != "" {
		a.add("", name+": "+text)
	}
}

// factsInto adds what is known about a slice.
func (b *board) factsInto(a *aside, r *view.Row) {
	a.add(rowlayout.Colors[r.Group], cmp.Or(r.Text, strings.ToLower(r.Group.String())))
	a.fact("agent", rowlayout.AgentName(r.Agent))
	if age, ok := r.Age(b.list.now); ok {
		a.fact("last heard", plan.Age(age)+" ago")
	}
	if r.Group == view.Running {
		eta := "unknown"
		if r.ETA != nil {
			eta = "about " + plan.Age(*r.ETA)
		}
		a.fact("left", eta)
	}
	if r.Attempts > 0 {
		a.fact("attempts", fmt.Sprint(r.Attempts))
	}
	a.fact("cost", r.Cost.String())
	if r.Tests != "" {
		a.add("", r.Tests)
	}
	if r.Diff != nil {
		a.fact("diff", r.Diff.String())
	}
	if r.Undelivered {
		a.add(term.Yellow, "not merged yet")
	}
	a.fact("needs", strings.Join(r.Needs, ", "))
	for _, c := range r.Next {
		a.add(term.Dim, c)
	}
}

// peekInto adds as much of the end of a slice's log as fits, and below it the line for an
// answer.
func (b *board) peekInto(a *aside, r *view.Row, room int) {
	text := b.peekText
	if len(text) == 0 {
		text = []string{"no log yet"}
	}
	answer, c := b.answerLine(r), term.Yellow
	if b.answering() {
		answer, c = b.prompt.input.typing(a.width-1), term.Bold
	}
	left := room - len(a.lines)
	if answer != "" {
		left--
	}
	a.tail(text, left)
	if answer != "" {
		a.line(c, answer)
	}
}

// answers reports whether a key sends a message to an agent.
func answers(k key) bool { return k.Command == "answer" || k.Command == "say" }

// answerLine names the key for answering what a peek shows; "" if no agent would receive it.
func (b *board) answerLine(r *view.Row) string {
	for _, k := range b.keys {
		if answers(k) && k.Argv(r, "x") != nil {
			return k.Key + "> " + k.Means
		}
	}
	return ""
}

// answering reports whether the input line belongs below the log that it answers.
func (b *board) answering() bool {
	const lowest = 8 // rows; with fewer, there is no room for both
	in := b.prompt.input
	return in != nil && in.below != "" && in.below == b.list.selected && b.peek && b.height >= lowest
}

// typing returns the input line, scrolled so that its end is visible.
func (in *input) typing(width int) string {
	head, text := in.prompt+"> ", sanitize.Line(in.text)
	for room := width - term.Width(head) - 1; text != "" && term.Width(text) > max(room, 1); {
		text = string([]rune(text)[1:])
	}
	return head + text + "█"
}
