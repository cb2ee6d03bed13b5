package board

import (
	"cmp"
	"fmt"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/linecolor"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

// about returns details of the selected slice: facts, or the end of its log. Below them is the line
// for an answer, if an agent would get it.
func (b *board) about(width, room int) []string {
	r := b.list.row()
	if r == nil || room < 1 {
		return []string{""}
	}
	a := aside{list: &b.list, width: width, paint: b.cfg.Paint}
	if head := r.ID; room > 3 { // with less, the list shows it
		if r.Name != r.ID {
			head += " " + r.Name
		}
		a.add(term.Bold, head)
	}
	answer, c := b.keys.answerLine(r), term.Yellow
	if b.answering() {
		answer, c = b.prompt.input.line.show(b.prompt.input.prompt, width-1), term.Bold
	}
	if answer != "" {
		room--
	}
	if b.logShown() {
		a.log(r, b.peekText, b.width >= wide, room)
	} else {
		a.facts(r, room)
	}
	a.lines = a.lines[:min(len(a.lines), max(room, 0))]
	if answer != "" {
		a.line(c, answer)
	}
	return a.lines
}

// An aside holds the lines beside the list, or below it.
type aside struct {
	list  *list
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
func (a *aside) tail(text []string, room int, color func(string) term.Color) {
	var end []string
	for i := len(text) - 1; i >= 0 && len(end) < room; i-- {
		c := color(text[i])
		wrapped := strings.Split(term.Wrap(sanitize.Line(text[i]), a.width-1, 2), "\n")
		for j, l := range wrapped {
			wrapped[j] = " " + a.paint(c, term.Truncate(l, a.width-1))
		}
		end = append(wrapped, end...)
	}
	a.lines = append(a.lines, end[max(0, len(end)-max(room, 0)):]...)
}

func (a *aside) fact(name, text string) {
	if text != "" {
		a.add("", name+": "+text)
	}
}

// facts adds what is known about a slice.
func (a *aside) facts(r *view.Row, room int) {
	if r.Asks == view.AskAnswer {
		a.question(r, room)
	} else {
		a.add(rowlayout.Colors[r.Group], cmp.Or(r.Text, strings.ToLower(r.Group.String())))
	}
	a.fact("agent", rowlayout.AgentName(r.By.Agent))
	a.fact("worker", r.By.Worker)
	if age := r.AgeText(a.list.now); r.Group == view.Merging && age != "" {
		a.fact("merge queue", a.list.place(r.ID)+age)
	} else {
		a.fact("last heard", age)
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
	if r.Group != view.Running { // the text of a running one has it
		a.fact("sent back", view.SentBack(a.list.facts.Records[r.ID]))
	}
	a.fact("cost", r.Cost.String())
	if !strings.Contains(r.Text, r.Tests) {
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

// log adds what the slice does, as much of the end of its log as fits, and below it the question
// that it asks.
func (a *aside) log(r *view.Row, text []string, wide bool, room int) {
	var ask aside
	if r.Asks == view.AskAnswer {
		ask = aside{list: a.list, width: a.width, paint: a.paint}
		ask.question(r, room/2)
	} else if wide {
		a.add(rowlayout.Colors[r.Group], cmp.Or(r.Text, strings.ToLower(r.Group.String())))
	}
	if wide {
		a.lines = append(a.lines, " "+a.paint(term.Dim, strings.Repeat("─", max(a.width-2, 0))))
	}
	if len(text) == 0 {
		text = []string{"no log yet"}
	}
	a.tail(text, room-len(a.lines)-len(ask.lines), linecolor.Log)
	a.lines = append(a.lines, ask.lines...)
}

// question adds the whole text of what a slice asks, in at most that many lines.
func (a *aside) question(r *view.Row, room int) {
	st := a.list.model.Plan.State(r.ID)
	if st == nil || r.Asks != view.AskAnswer {
		return
	}
	a.add(term.Yellow, r.ID+" asks:")
	for _, l := range outputLines(st.WaitingFor) {
		a.add("", l)
	}
	if len(a.lines) > room {
		a.lines = a.lines[:max(room, 0)]
	}
}

// answers reports whether the text that a key asks for is for an agent.
func answers(k key) bool {
	return k.Command == "answer" || k.Command == "say" || k.Command == "reject"
}

// answerLine names the key for answering a slice's agent; "" if no agent would receive it.
func (s keySet) answerLine(r *view.Row) string {
	for _, k := range s {
		if !answers(k) || k.Command == "reject" || k.Argv(r, "x") == nil {
			continue
		}
		if k.Command == "say" && r.Group != view.Running && r.Group != view.Merging {
			return k.Key + "> say something to its next agent"
		}
		return k.Key + "> " + k.Means
	}
	return ""
}

// answering reports whether the input line belongs below the details that it answers.
func (b *board) answering() bool {
	in := b.prompt.input
	if in == nil || in.below == "" || in.below != b.list.selected || b.height < lowest ||
		b.panel != nil || b.list.model == nil {
		return false
	}
	side, below := b.split(b.height - 3)
	return side > 0 || below > 2
}
