package report

import (
	"fmt"
	"io"
	"strings"

	"greenlight/internal/sanitize"
	"greenlight/internal/words"
)

// Markdown writes the document as Markdown.
func (d *Document) Markdown(w io.Writer) error {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("# %s: %s to %s\n", md(d.Project), moment(d.Night.From), moment(d.Night.To))
	p("**%s**\n", md(d.Verdict))
	if d.Hold != nil {
		p("Held %s\n", md(*d.Hold))
	}
	p("## Needs you (%d)\n", len(d.NeedsYou))
	for _, it := range d.NeedsYou {
		p("- %s: %s%s", title(it), md(it.Text), command(it.Command))
	}
	nothing(p, len(d.NeedsYou))
	for _, section := range []func(line){d.markFailed, d.markCompleted, d.markPrevious, d.markCost, d.markTimeline, d.markNext} {
		section(p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A line writes a line.
type line func(format string, a ...any)

func (d *Document) markFailed(p line) {
	p("## Failed (%d)\n", len(d.Failed))
	for _, f := range d.Failed {
		more := words.Count(f.Attempts, "attempt")
		if cost := f.Cost.String(); cost != "" {
			more += ", " + cost
		}
		if f.Kept != "" {
			more += ", work kept: " + f.Kept
		}
		p("- %s: %s (%s)%s", title(f.Item), md(f.Text), md(more), command(f.Command))
		if len(f.Evidence) > 0 {
			p("\n      %s\n", strings.Join(safe(f.Evidence), "\n      "))
		}
	}
	nothing(p, len(d.Failed))
}

func (d *Document) markCompleted(p line) {
	p("## Completed (%d)\n", len(d.Landed))
	if len(d.Landed) > 0 {
		p("| slice | name | diff | tests | verified | cost | commit |\n|---|---|---|---|---|---|---|")
	}
	for _, l := range d.Landed {
		diff, verified, commit := "", "verified", ""
		if l.Diff != nil {
			diff = l.Diff.String()
		}
		if !l.Verified {
			verified = "unverified"
		}
		if !l.Delivered {
			verified += ", not delivered"
		}
		if l.Commit != "" {
			commit = "`" + l.Commit[:min(len(l.Commit), 10)] + "`"
		}
		p("| %s | %s | %s | %s | %s | %s | %s |", md(l.ID), md(l.Name), diff, change(l.Before, l.After), verified, l.Cost, commit)
	}
	nothing(p, len(d.Landed))
}

func (d *Document) markPrevious(p line) {
	if n := d.Previous; n != nil {
		p("## Compared with the night before\n\n| | %s | %s |\n|---|---:|---:|", day(d.Night.From), day(n.From))
		p("| completed | %d | %d |", d.Night.Done, n.Done)
		p("| attempts | %d | %d |", d.Night.Attempts, n.Attempts)
		p("| attempts that came to nothing | %d | %d |", d.Night.Failed, n.Failed)
		p("| cost | %s | %s |", orDash(d.Night.Cost.String()), orDash(n.Cost.String()))
		p("| tests passing | %s | %s |", number(d.Night.Passed), number(n.Passed))
		p("| time | %s | %s |\n", duration(d.Night.Seconds), duration(n.Seconds))
	}
}

func (d *Document) markCost(p line) {
	p("## Cost\n\n%s in all", orDash(d.Cost.Total.String()))
	if failed := d.Cost.Failed.String(); failed != "" {
		p("%s on attempts that came to nothing", failed)
	}
	for _, list := range [][]Share{d.Cost.Agents, d.Cost.Account, d.Cost.Slices} {
		if len(list) > 0 {
			p("")
		}
		for _, s := range list {
			p("- %s: %s, %s", md(orDash(s.Name)), orDash(s.Cost.String()), words.Count(s.Attempts, "attempt"))
		}
	}
}

func (d *Document) markTimeline(p line) {
	p("\n## Timeline\n")
	for _, s := range d.Timeline.Attempts {
		mark := ""
		if s.Critical {
			mark = " (critical path)"
		}
		p("- %s–%s %s.%d: %s%s", s.From.Local().Format("15:04:05"), s.To.Local().Format("15:04:05"), md(s.ID), s.N, md(s.Text), mark)
	}
	for _, s := range d.Timeline.Holds {
		p("- %s–%s held: %s", s.From.Local().Format("15:04:05"), s.To.Local().Format("15:04:05"), md(s.Text))
	}
}

func (d *Document) markNext(p line) {
	p("\n## What is next\n")
	if len(d.Next.Ready) > 0 {
		p("Ready: %s.", md(strings.Join(d.Next.Ready, ", ")))
	}
	p("%s", d.ForecastText())
	for _, w := range d.Warnings {
		p("\nWarning: %s", md(w))
	}
}

func nothing(p line, n int) {
	if n == 0 {
		p("Nothing.")
	}
	p("")
}

func title(it Item) string {
	if n := name(it.ID, it.Name); n != "" {
		return "**" + md(it.ID) + "** " + md(n)
	}
	return "**" + md(it.ID) + "**"
}

func command(c string) string {
	if c == "" {
		return ""
	}
	return ": `" + sanitize.Line(c) + "`"
}

var mdEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "|", `\|`)

// md is text of others on one line, without any meaning in Markdown.
func md(s string) string { return mdEscaper.Replace(sanitize.Line(s)) }

func safe(list []string) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = sanitize.Line(l)
	}
	return out
}
