package report

import (
	"fmt"
	"strings"

	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
)

// A Section is a part of the report for a terminal. Its texts aren't sanitized.
type Section struct {
	Title string // "" for lines that need none
	Lines []BriefLine
}

// A BriefLine is what the report has of one item, or of none.
type BriefLine struct {
	ID   string // "" for none
	Text string
}

// Brief returns the report for a terminal: a line for each item of the night, and what is next.
func (d *Document) Brief() []Section {
	var list []Section
	add := func(title string, lines []BriefLine) {
		if len(lines) > 0 {
			list = append(list, Section{fmt.Sprintf("%s (%d)", title, len(lines)), lines})
		}
	}
	add("To do", d.briefToDo())
	merged, waiting := d.Merged(), d.Waiting()
	add(merged.Title(), briefLanded(merged.List))
	if len(waiting.List) > 0 {
		add(waiting.WaitingTitle(), briefLanded(waiting.List))
	}
	var back []BriefLine
	for _, t := range d.TakenBack {
		back = append(back, BriefLine{t.ID, named(t.Item, t.Text+"; "+t.now())})
	}
	add("Taken back", back)
	add("Blocked", d.briefBlocked())
	if len(d.Next.Ready) > 0 {
		text := "Ready: " + words.Some(d.Next.Ready) + "."
		if c := d.NextCommand(); c != "" && len(d.Queue) == 0 { // there it is something to do
			text += " Go on with " + c + "."
		}
		list = append(list, Section{"", []BriefLine{{"", text + " " + d.ForecastText()}}})
	}
	return list
}

func (d *Document) briefToDo() []BriefLine {
	var list []BriefLine
	spent := map[string]string{}
	for _, f := range d.Failed {
		spent[f.ID] = spentOn(f.Attempts, f.Cost.String())
	}
	for _, it := range d.ToDo() {
		text := it.Text
		if n := spent[it.ID]; n != "" {
			text += " (" + n + ")"
		}
		if len(it.Next) > 0 {
			text += ": " + strings.Join(it.Next, plan.Then)
		}
		id := it.ID
		if it.whole {
			id = ""
		}
		list = append(list, BriefLine{id, text})
	}
	return list
}

func briefLanded(landed []Landed) []BriefLine {
	var list []BriefLine
	for _, l := range landed {
		var parts []string
		if text := testsText(l); text != "" {
			parts = append(parts, text)
		}
		parts = append(parts, l.verifiedText())
		if spent := spentOn(l.Attempts, l.Cost.String()); spent != "" {
			parts = append(parts, spent)
		}
		list = append(list, BriefLine{l.ID, named(l.Item, strings.Join(parts, ", "))})
	}
	return list
}

// testsText is testsOf in words: "29 tests, 1 new"; "" for unknown.
func testsText(l Landed) string {
	var parts []string
	switch {
	case l.After != nil:
		parts = append(parts, words.Count(*l.After, "test"))
	case l.New == nil && l.Counted > 0:
		parts = append(parts, words.Count(l.Counted, "test")+" reported")
	}
	if l.New != nil {
		parts = append(parts, plan.Gain(*l.New))
	}
	return strings.Join(parts, ", ")
}

// verifiedText returns whether the tests passed on the merge, and what a person approved.
func (l *Landed) verifiedText() string {
	text := "verified"
	if !l.Verified {
		text = "unverified"
		if l.Unverified != "" {
			text += ": " + l.Unverified
		}
	}
	if l.Approved != "" {
		text += "; " + l.Approved
	}
	return text
}

func (d *Document) briefBlocked() []BriefLine {
	var list []BriefLine
	for _, b := range d.Blocked {
		list = append(list, BriefLine{b.ID, named(Item{ID: b.ID, Name: b.Name}, b.Because)})
	}
	return list
}

// named puts the item's name before a text.
func named(it Item, text string) string {
	if n := name(it.ID, it.Name); n != "" {
		return n + ": " + text
	}
	return text
}

// spentOn returns what several attempts cost: "2 attempts, $0.30". One attempt isn't counted.
func spentOn(attempts int, cost string) string {
	var parts []string
	if attempts > 1 {
		parts = append(parts, words.Count(attempts, "attempt"))
	}
	switch cost {
	case "":
	case "unknown":
		parts = append(parts, "cost unknown")
	default:
		parts = append(parts, cost)
	}
	return strings.Join(parts, ", ")
}
