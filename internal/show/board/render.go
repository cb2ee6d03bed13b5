package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/report"
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
	case b.model == nil && b.err != nil:
		body = strings.Split(term.Wrap(sanitize.Text(b.err.Error()), b.width, 2), "\n")
	case b.model == nil:
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
	if b.model == nil {
		return term.Truncate("? slices", b.width)
	}
	fits := func(s string) bool { return term.Width(s) <= b.width }
	line := b.model.Counts.Bar(b.model.Plan, b.now)
	if !fits(line) {
		return term.Truncate(b.model.Counts.Fit(b.model.Plan, b.now, fits), b.width)
	}
	add := func(text string) {
		if longer := line + " | " + text; text != "" && fits(longer) {
			line = longer
		}
	}
	if b.leader != "" {
		add("draining")
	} else {
		add("no drain")
	}
	if b.facts.Slots > 0 {
		add(words.Count(b.facts.Slots, "slot"))
	}
	if cost := b.model.Cost.String(); cost != "" {
		add("cost " + cost)
	}
	if b.model.ETA != nil && *b.model.ETA > 0 {
		add("left: " + view.Left(b.model.Plan, *b.model.ETA, b.now))
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
	switch {
	case b.help:
		return []string{b.paint(term.Dim, term.Truncate("↑ ↓ scroll  any other key goes back", b.width))}
	case b.answering():
		return []string{b.paint(term.Dim, term.Truncate("enter sends it  esc closes the line", b.width))}
	case b.input != nil:
		return []string{b.paint(term.Bold, term.Truncate(b.typing(b.width), b.width))}
	case b.confirm != nil:
		return []string{b.paint(term.Yellow, term.Truncate(fmt.Sprintf("gl %s? [y/n]", strings.Join(b.confirm.Argv(b.confirm.row, ""), " ")), b.width))}
	case b.doomed != nil:
		return []string{b.paint(term.Yellow, term.Truncate(fmt.Sprintf("gl %s at %s: u takes it back", sanitize.Line(strings.Join(b.doomed.argv, " ")), b.doomed.at.Format("15:04:05")), b.width))}
	case b.running != "":
		return []string{b.paint(term.Dim, term.Truncate(b.running+" …", b.width))}
	case b.says != "":
		c := term.Green
		if b.bad {
			c = term.Red
		}
		return []string{b.paint(c, term.Truncate(sanitize.Line(b.says), b.width))}
	case b.err != nil && b.model != nil:
		return []string{b.paint(term.Red, term.Truncate(sanitize.Line(b.err.Error()), b.width))}
	case b.filter != "":
		return []string{b.paint(term.Yellow, term.Truncate(fmt.Sprintf("filter %q: %s (esc)", b.filter, words.Count(len(b.rows()), "row")), b.width))}
	}
	return []string{b.paint(term.Dim, term.Truncate(b.keysLine(), b.width))}
}

// keysLine returns as many of the applicable keys as fit, and an ellipsis for the rest.
func (b *board) keysLine() string {
	list := []string{"? help", "tab view", "space peek", "/ filter", ": gl", "q quit"}
	row := b.row()
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
	list := [][2]string{{"↑ ↓ j k", "select"}, {"← →", "the group before, after"}, {"tab 1-5", "another view"}, {"space", "peek into its log"}, {"/", "filter"},
		{":", "any gl command"}, {"esc", "close; no filter"}, {"q", "quit: nothing stops"}}
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
	lines, ids := b.main(width - gap)
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
	if i := slices.Index(ids, b.selected); i >= 0 {
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

// main returns the view's lines, and for each the id of its slice.
func (b *board) main(width int) (lines, ids []string) {
	switch views[b.view] {
	case "graph":
		return b.graphView(width)
	case "timeline":
		return b.timelineView(width)
	case "merge queue":
		return b.laneView(width)
	case "cost":
		return b.costView(width)
	}
	return b.boardView(width)
}

func (b *board) boardView(width int) (lines, ids []string) {
	layout := rowlayout.New(width, b.model.Rows, b.paint)
	for _, g := range view.BoardGroups() {
		rows := b.in(g)
		if len(rows) == 0 {
			continue
		}
		lines, ids = append(lines, b.paint(rowlayout.Colors[g], term.Truncate(fmt.Sprintf("%s (%d)", g, len(rows)), width))), append(ids, "")
		for i, l := range b.laid(g, rows, layout, width) {
			lines, ids = append(lines, b.mark(rows[i].ID, l)), append(ids, rows[i].ID)
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
func (b *board) laid(g view.Group, rows []view.Row, layout rowlayout.Layout, width int) []string {
	if g == view.Running || g == view.Merging {
		return layout.Lines(rows, b.now)
	}
	if c := b.kept[g]; c.model == b.model && c.width == width && c.filter == b.filter {
		return c.lines
	}
	lines := layout.Lines(rows, b.now)
	if b.kept == nil {
		b.kept = map[view.Group]laidOut{}
	}
	b.kept[g] = laidOut{b.model, width, b.filter, lines}
	return lines
}

// mark marks the selected line, even without colors. The line begins with an unpainted space.
func (b *board) mark(id, line string) string {
	if id != b.selected {
		return line
	}
	return ">" + strings.TrimPrefix(line, " ")
}

func (b *board) graphView(width int) (lines, ids []string) {
	p := b.model.Plan
	up, down := lit(p, b.selected)
	for layer, list := range p.Layers() {
		lines, ids = append(lines, b.paint(term.Dim, fmt.Sprintf("Layer %d", layer+1))), append(ids, "")
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
			case id == b.selected:
			case up[id]:
				role = "needed by " + b.selected
			case down[id]:
				role = "needs " + b.selected
			}
			if role != "" {
				text += "  (" + sanitize.Line(role) + ")"
			}
			c := rowlayout.Colors[g]
			if id != b.selected && role == "" {
				c = term.Dim
			}
			lines, ids = append(lines, b.paint(c, b.mark(id, term.Truncate(text, width)))), append(ids, id)
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

// document returns the report of the last day, for the views about attempts.
func (b *board) document() *report.Document {
	return report.New(report.Input{Plan: b.model.Plan, Facts: b.facts, Since: b.now.Add(-24 * time.Hour), Running: b.model.Counts.Running > 0, Now: b.now})
}

func (b *board) timelineView(width int) (lines, ids []string) {
	spans := b.document().Timeline.Attempts
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
		return min(int(float64(chart)*float64(t.Sub(from))/float64(max(to.Sub(from), time.Second))), chart-1)
	}
	left, right := plan.At(from, b.now, "15:04:05"), plan.At(to, b.now, "15:04:05")
	lines = append(lines, b.paint(term.Dim, term.Truncate(strings.Repeat(" ", label+1)+left+strings.Repeat(" ", max(chart-len(left)-len(right), 1))+right, width)))
	ids = append(ids, "")
	for _, s := range spans {
		x, n := at(s.From), max(at(s.To)-at(s.From), 1)
		name := fmt.Sprintf("%s.%d", s.ID, s.N)
		if st := b.model.Plan.State(s.ID); st != nil && st.Name != s.ID {
			name += " " + st.Name
		}
		m := markOf(s.State)
		lines = append(lines, b.mark(s.ID, term.Pad(term.Truncate("  "+sanitize.Line(name), label), label)+" "+strings.Repeat(" ", x)+b.paint(m.color, strings.Repeat(m.text, n))))
		ids = append(ids, s.ID)
	}
	return append(lines, "", b.legend(width)), append(ids, "", "")
}

// A spanMark is the timeline's mark for a state; marks differ even without colors.
type spanMark struct {
	state, text, means string
	color              term.Color
}

var spanMarks = []spanMark{
	{report.SpanDone, "█", "completed", term.Green}, {report.SpanFailed, "▒", "failed", term.Red},
	{report.SpanRunning, "▓", "running", term.Blue}, {report.SpanHeld, "░", "met a limit", term.Yellow},
	{report.SpanOther, "▄", "other", ""},
}

func markOf(state string) spanMark {
	i := slices.IndexFunc(spanMarks, func(m spanMark) bool { return m.state == state })
	if i < 0 {
		i = len(spanMarks) - 1
	}
	return spanMarks[i]
}

// legend explains the marks of the timeline.
func (b *board) legend(width int) string {
	line := " "
	for _, m := range spanMarks {
		if next := " " + m.text + " " + m.means; term.Width(line+next) <= width {
			line += next
		}
	}
	return b.paint(term.Dim, term.Truncate(line, width))
}

func (b *board) laneView(width int) (lines, ids []string) {
	add := func(id, text string) { lines, ids = append(lines, text), append(ids, id) }
	rows := b.in(view.Merging)
	add("", b.paint(term.Bold, fmt.Sprintf("In the merge queue (%d)", len(rows))))
	for i, l := range rowlayout.New(width, rows, b.paint).Lines(rows, b.now) {
		add(rows[i].ID, b.mark(rows[i].ID, l))
	}
	if n := len(b.model.Lane.Waiting()); n > 0 {
		add("", "")
		add("", b.paint(term.Yellow, term.Truncate(fmt.Sprintf("Not merged yet (%d): %s", n, sanitize.Line(b.model.Lane.Reason)), width)))
		for _, id := range b.model.Lane.Undelivered {
			add(id, b.mark(id, "  "+sanitize.Line(id)))
		}
		for _, id := range b.model.Lane.Undone {
			add(id, b.mark(id, "  "+sanitize.Line(id)+" (taken back)"))
		}
	}
	landed := b.document().Landed
	slices.Reverse(landed)
	add("", "")
	add("", b.paint(term.Bold, fmt.Sprintf("Completed in the last 24 hours (%d)", len(landed))))
	for _, l := range landed {
		how := "verified"
		if !l.Verified {
			how = "unverified"
		}
		text := fmt.Sprintf("  %s  %s  %s  %s", plan.At(l.At, b.now, "15:04"), sanitize.Line(l.ID), how, sanitize.Line(l.Name))
		add(l.ID, b.mark(l.ID, term.Truncate(text, width)))
	}
	return lines, ids
}

func (b *board) costView(width int) (lines, ids []string) {
	c := b.document().Cost
	add := func(id, text string) { lines, ids = append(lines, text), append(ids, id) }
	add("", b.paint(term.Bold, term.Truncate(fmt.Sprintf("Last 24 hours: %s; all: %s", cmp.Or(c.Total.String(), "nothing"), cmp.Or(b.model.Cost.String(), "nothing")), width)))
	if failed := c.Failed.String(); failed != "" {
		add("", b.paint(term.Red, term.Truncate("of which on failed attempts: "+failed, width)))
	}
	for _, list := range []struct {
		what   string
		shares []report.Share
	}{{"Agent", c.Agents}, {"Account", c.Account}, {"Slice", c.Slices}} {
		if len(list.shares) == 0 {
			continue
		}
		add("", "")
		add("", b.paint(term.Dim, list.what))
		money := 0
		for _, s := range list.shares {
			money = max(money, term.Width(orDash(s.Cost)))
		}
		column := min(max(width-money-len("   , 10 attempts"), 8), max(26, width/3))
		for _, s := range list.shares {
			text := fmt.Sprintf("  %s %*s  %s", term.Pad(term.Truncate(sanitize.Line(s.Name), column), column), money, orDash(s.Cost), words.Count(s.Attempts, "attempt"))
			add(s.Name, b.mark(s.Name, term.Truncate(text, width)))
		}
	}
	return lines, ids
}

func orDash(c view.Cost) string { return cmp.Or(c.String(), "–") }

// about returns details of the selected slice: facts, or the end of its log with a line to
// answer.
func (b *board) about(width, room int) []string {
	r := b.row()
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
	if age, ok := r.Age(b.now); ok {
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
		answer, c = b.typing(a.width-1), term.Bold
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
	return b.input != nil && b.input.below != "" && b.input.below == b.selected && b.peek && b.height >= lowest
}

// typing returns the input line, scrolled so that its end is visible.
func (b *board) typing(width int) string {
	head, text := b.input.prompt+"> ", sanitize.Line(b.input.text)
	for room := width - term.Width(head) - 1; text != "" && term.Width(text) > max(room, 1); {
		text = string([]rune(text)[1:])
	}
	return head + text + "█"
}
