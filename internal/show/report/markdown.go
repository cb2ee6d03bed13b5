package report

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
)

// Markdown writes the document as Markdown. base is the prefix of links to records: the path of
// .greenlight/runs from where the document is read.
func (d *Document) Markdown(w io.Writer, base string) error {
	var b strings.Builder
	p := line{base: base, Builder: &b}
	p.f("# %s: %s to %s\n", md(d.Project), moment(d.Night.From), moment(d.Night.To))
	p.f("**%s**\n", md(d.Verdict))
	if none := d.nothing(); none != "" {
		p.f("%s\n", none)
	}
	if d.Tests != "" {
		p.f("Tests: %s\n", d.Tests)
	}
	if d.Hold != nil {
		p.f("Held %s\n", md(*d.Hold))
	}
	for _, section := range []func(line){
		d.markToDo, d.markUnheard, d.markMerged, d.markTakenBack, d.markFailed, d.markCost,
		d.markTimeline, d.markGraph, d.markNext,
	} {
		section(p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A line writes lines.
type line struct {
	*strings.Builder
	base string
}

func (p line) f(format string, a ...any) { fmt.Fprintf(p, format+"\n", a...) }

// link returns a text that links to a record, or the text alone if there is none.
func (p line) link(record, text string) string {
	if record == "" {
		return md(text)
	}
	to := url.URL{Path: path.Join(p.base, record)}
	return fmt.Sprintf("[%s](%s)", md(text), strings.ReplaceAll(to.String(), ")", "%29"))
}

func (p line) title(it Item) string {
	text := "**" + p.link(it.Record, it.ID) + "**"
	if n := name(it.ID, it.Name); n != "" {
		text += " " + md(n)
	}
	return text
}

func (d *Document) markToDo(p line) {
	list := d.ToDo()
	if len(list) == 0 {
		return
	}
	p.f("## To do (%d)\n", len(list))
	for _, it := range list {
		if slices.ContainsFunc(d.Failed, func(f Failed) bool { return f.ID == it.ID }) {
			it.Record = "" // linked below
		}
		text := md(it.Text)
		if held := d.heldUp(it); held != "" {
			text += " (" + held + ")"
		}
		p.f("- %s: %s%s", p.title(it), text, next(it))
	}
	p.f("")
}

func (d *Document) markUnheard(p line) {
	if len(d.Unheard) == 0 {
		return
	}
	p.f("## Said, but never read (%d)\n", len(d.Unheard))
	for _, it := range d.Unheard {
		p.f("- %s %s", p.title(it), md(it.Text))
	}
	p.f("")
}

func (d *Document) markFailed(p line) {
	if len(d.Failed) == 0 {
		return
	}
	p.f("## Failed (%d)\n", len(d.Failed))
	for _, f := range d.Failed {
		more := words.Count(f.Attempts, "attempt")
		if cost := f.Cost.String(); cost != "" && f.Cost.Known > 0 {
			more += ", cost " + cost
		}
		if f.Worker != "" {
			more += ", on worker " + f.Worker
		}
		if f.Kept != "" {
			more += ", work kept: " + f.Kept
		}
		p.f("- %s: %s (%s)", p.title(f.Item), md(f.Text), md(more))
		if lines := f.Shown(); len(lines) > 0 {
			p.f("\n      %s\n", strings.Join(safe(lines), "\n      "))
		}
	}
	p.f("")
}

func (d *Document) markMerged(p line) {
	if t := d.Merged(); len(t.List) > 0 {
		p.f("## %s (%d)\n", t.Title(), len(t.List))
		t.mark(p, d.Noun)
	}
	if t := d.Waiting(); len(t.List) > 0 {
		p.f("## %s (%d)\n", t.WaitingTitle(), len(t.List))
		for _, why := range t.Reasons() {
			p.f("%s\n", md(why))
		}
		t.mark(p, d.Noun)
	}
}

// mark writes the table of items called noun, without the columns that say nothing.
func (t mergedTable) mark(p line, noun string) {
	if t.All != "" {
		p.f("%s\n", md(t.All))
	}
	row := func(cells ...string) { p.f("| %s |", strings.Join(cells, " | ")) }
	shown := func(slice, name, diff, tests, verified, cost, worker, commit string) []string {
		cells := []string{slice, name}
		for _, c := range []struct {
			is   bool
			text string
		}{{t.Diff, diff}, {t.Tests, tests}, {t.Verified, verified}, {t.Cost, cost},
			{t.Worker, worker}, {t.Changes, commit}} {
			if c.is {
				cells = append(cells, c.text)
			}
		}
		return cells
	}
	head := shown(noun, "name", "diff", "tests", "verified", "cost of all attempts", "worker", "commit")
	row(head...)
	p.f("|%s", strings.Repeat("---|", len(head)))
	for _, l := range t.List {
		diff, commit := "", ""
		if l.Diff != nil {
			diff = l.Diff.String()
		}
		if l.Commit != "" {
			commit = "`" + l.Commit[:min(len(l.Commit), 10)] + "`"
		}
		row(shown(p.link(l.Record, l.ID), md(l.Name), diff, testsOf(l), l.verifiedMark(), l.Cost.String(),
			md(l.Worker), commit)...)
	}
	p.f("")
}

// verifiedMark is verifiedText in Markdown.
func (l *Landed) verifiedMark() string {
	of := *l
	of.Approved = ""
	text := md(of.verifiedText())
	if l.Approved != "" {
		text += "; **" + md(l.Approved) + "**"
	}
	return text
}

func (d *Document) markTakenBack(p line) {
	if len(d.TakenBack) == 0 {
		return
	}
	p.f("## Taken back (%d)\n", len(d.TakenBack))
	for _, t := range d.TakenBack {
		text := "taken back"
		if t.At != nil {
			text += " " + moment(*t.At)
		}
		if t.Why != "" {
			text += ": “" + t.Why + "”"
		}
		p.f("- %s: %s; %s", p.title(t.Item), md(text), t.now())
	}
	p.f("")
}

func (d *Document) markCost(p line) {
	if d.Night.Attempts == 0 {
		return
	}
	p.f("## Cost and time\n\n%s\n\n%s\n", d.CostText(), d.TimeText())
	if n := d.Previous; n != nil {
		p.f("| | %s | the run before, %s |\n|---|---:|---:|", day(d.Night.From), day(n.From))
		for _, row := range d.Comparison() {
			p.f("| %s | %s | %s |", row.What, row.Now, row.Before)
		}
		p.f("")
	}
	if d.Cost.Total.Known == 0 {
		return
	}
	lists := [][]Share{d.Cost.Account, d.Cost.Slices}
	if len(d.Cost.Agents) > 1 {
		lists = slices.Insert(lists, 0, d.Cost.Agents)
	}
	for _, list := range lists {
		for _, s := range list {
			p.f("- %s: %s, %s", p.link(s.Record, orDash(s.Name)), orDash(s.Cost.String()),
				words.Count(s.Attempts, "attempt"))
		}
		if len(list) > 0 {
			p.f("")
		}
	}
}

func (d *Document) markTimeline(p line) {
	if len(d.Timeline.Attempts) == 0 {
		return
	}
	p.f("## Timeline\n")
	if text := d.Merging.Text(); text != "" {
		p.f("%s\n", text)
	}
	for _, s := range d.Timeline.Attempts {
		mark := ""
		if s.Critical {
			mark = " (critical path)"
		}
		p.f("- %s %s: %s%s", s.clocks(), p.link(s.Record, fmt.Sprintf("%s.%d", s.ID, s.N)), md(s.Text), mark)
	}
	for _, s := range d.Timeline.Holds {
		p.f("- %s held: %s", s.clocks(), md(s.Text))
	}
	for _, s := range d.Merging.SetAside {
		p.f("- %s %s.%d %s", s.From.Local().Format("15:04:05"), md(s.ID), s.N, md(s.Text))
	}
	for _, s := range turns(d.Timeline.Lane) {
		p.f("- %s merge queue: %s", s.clocks(), md(strings.TrimSpace(s.ID+" "+s.Text)))
	}
	p.f("")
}

// turns joins what the merge queue did in a row for the same slice.
func turns(spans []Span) []Span {
	var list []Span
	last := "" // what was done last
	for _, s := range spans {
		text := s.Text
		switch n := len(list); {
		case n == 0 || list[n-1].ID != s.ID:
			list = append(list, s)
		case text == last:
			list[n-1].Text, list[n-1].To = list[n-1].Text+", again", s.To
		default:
			list[n-1].Text, list[n-1].To = list[n-1].Text+", "+text, s.To
		}
		last = text
	}
	return list
}

// clocks returns the span's two times of day.
func (s *Span) clocks() string {
	return s.From.Local().Format("15:04:05") + "–" + s.To.Local().Format("15:04:05")
}

func (d *Document) markGraph(p line) {
	if len(d.Graph) == 0 {
		return
	}
	p.f("## Graph\n")
	for i, layer := range d.Layers() {
		p.f("- Layer %d", i+1)
		for _, n := range layer {
			p.f("  - %s", md(n.listed()))
		}
	}
	p.f("")
}

func (d *Document) markNext(p line) {
	p.f("## What is next\n")
	if len(d.Graph) == 0 {
		p.f("There are no %ss yet.", d.Noun)
	} else {
		if len(d.Next.Ready) > 0 {
			text := "Ready: " + md(strings.Join(d.Next.Ready, ", ")) + "."
			if c := d.NextCommand(); c != "" {
				text += " Go on with `" + sanitize.Line(c) + "`"
			}
			p.f("%s\n", text)
		}
		p.f("%s", d.ForecastText())
	}
	if len(d.Blocked) > 0 {
		p.f("\nBlocked (%d):\n", len(d.Blocked))
	}
	for _, b := range d.Blocked {
		p.f("- %s: %s", md(strings.TrimSpace(b.ID+" "+name(b.ID, b.Name))), md(b.Because))
	}
	for _, w := range d.Warnings {
		p.f("\nWarning: %s", md(w))
	}
}

// next returns the commands that help.
func next(it Item) string {
	var list []string
	for _, c := range it.Next {
		list = append(list, "`"+sanitize.Line(c)+"`")
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, plan.Then)
}

var mdEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "|", `\|`)

// md escapes a text for Markdown and puts it on one line.
func md(s string) string { return mdEscaper.Replace(sanitize.Line(s)) }

func safe(list []string) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = sanitize.Line(l)
	}
	return out
}
