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
	if d.Tests != "" {
		p.f("Tests: %s\n", d.Tests)
	}
	if d.Hold != nil {
		p.f("Held %s\n", md(*d.Hold))
	}
	for _, section := range []func(line){
		d.markNeedsYou, d.markUnheard, d.markCompleted, d.markFailed, d.markPrevious, d.markCost,
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

func (p line) nothing(n int) {
	if n == 0 {
		p.f("Nothing.")
	}
	p.f("")
}

func (d *Document) markNeedsYou(p line) {
	p.f("## Needs you (%d)\n", len(d.NeedsYou))
	for _, it := range slices.Concat(d.Queue, d.NeedsYou) {
		p.f("- %s: %s%s", p.title(it), md(it.Text), next(it))
	}
	p.nothing(len(d.Queue) + len(d.NeedsYou))
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
	p.f("## Failed (%d)\n", len(d.Failed))
	for _, f := range d.Failed {
		more := words.Count(f.Attempts, "attempt")
		if cost := f.Cost.String(); cost != "" {
			more += ", cost " + cost
		}
		if f.Kept != "" {
			more += ", work kept: " + f.Kept
		}
		p.f("- %s: %s (%s)%s", p.title(f.Item), md(f.Text), md(more), next(f.Item))
		if len(f.Evidence) > 0 {
			p.f("\n      %s\n", strings.Join(safe(f.Evidence), "\n      "))
		}
	}
	p.nothing(len(d.Failed))
}

func (d *Document) markCompleted(p line) {
	p.f("## Completed (%d)\n", len(d.Landed))
	if len(d.Landed) > 0 {
		p.f("| slice | name | diff | tests | verified | cost of all attempts | commit |")
		p.f("|---|---|---|---|---|---|---|")
	}
	for _, l := range d.Landed {
		diff, verified, commit := "", "verified", ""
		if l.Diff != nil {
			diff = l.Diff.String()
		}
		if !l.Verified {
			verified = "unverified"
			if l.Unverified != "" {
				verified += ": " + md(l.Unverified)
			}
		}
		if l.Approved != "" {
			verified += "; **" + md(l.Approved) + "**"
		}
		if !l.Delivered {
			verified += ", not merged yet"
		}
		if l.Commit != "" {
			commit = "`" + l.Commit[:min(len(l.Commit), 10)] + "`"
		}
		p.f("| %s | %s | %s | %s | %s | %s | %s |",
			p.link(l.Record, l.ID), md(l.Name), diff, testsOf(l), verified, l.Cost, commit)
	}
	p.nothing(len(d.Landed))
}

func (d *Document) markPrevious(p line) {
	if n := d.Previous; n != nil {
		p.f("## Compared with the night before\n\n| | %s | %s |\n|---|---:|---:|",
			day(d.Night.From), day(n.From))
		p.f("| completed | %d | %d |", d.Night.Done, n.Done)
		p.f("| attempts | %d | %d |", d.Night.Attempts, n.Attempts)
		p.f("| failed attempts | %d | %d |", d.Night.Failed, n.Failed)
		p.f("| cost | %s | %s |", orDash(d.Night.Cost.String()), orDash(n.Cost.String()))
		p.f("| tests passing | %s | %s |", number(d.Night.Passed), number(n.Passed))
		p.f("| time | %s | %s |\n", duration(d.Night.Seconds), duration(n.Seconds))
	}
}

func (d *Document) markCost(p line) {
	p.f("## Cost\n\n%s", d.CostText())
	for _, list := range [][]Share{d.Cost.Agents, d.Cost.Account, d.Cost.Slices} {
		if len(list) > 0 {
			p.f("")
		}
		for _, s := range list {
			p.f("- %s: %s, %s", p.link(s.Record, orDash(s.Name)), orDash(s.Cost.String()),
				words.Count(s.Attempts, "attempt"))
		}
	}
}

func (d *Document) markTimeline(p line) {
	p.f("\n## Timeline\n")
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
	for _, s := range d.Timeline.Lane {
		p.f("- %s merge queue: %s", s.clocks(), md(strings.TrimSpace(s.ID+" "+s.Text)))
	}
}

// clocks returns the span's two times of day.
func (s *Span) clocks() string {
	return s.From.Local().Format("15:04:05") + "–" + s.To.Local().Format("15:04:05")
}

func (d *Document) markGraph(p line) {
	p.f("\n## Graph\n")
	for i, n := range d.Graph {
		if i == 0 || n.Layer != d.Graph[i-1].Layer {
			p.f("- Layer %d", n.Layer+1)
		}
		p.f("  - %s", md(n.spoken()))
	}
	if len(d.Graph) == 0 {
		p.f("There are no slices yet.")
	}
}

func (d *Document) markNext(p line) {
	p.f("\n## What is next\n")
	if len(d.Next.Ready) > 0 {
		p.f("Ready: %s.", md(strings.Join(d.Next.Ready, ", ")))
	}
	p.f("%s", d.ForecastText())
	if len(d.Blocked) > 0 {
		p.f("\nBlocked (%d):\n", len(d.Blocked))
	}
	for _, b := range d.Blocked {
		p.f("- %s %s: %s", md(b.ID), md(name(b.ID, b.Name)), md(b.Because))
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
