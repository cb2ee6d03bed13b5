package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
)

// Counts are the numbers of items in each group.
type Counts struct {
	Total       int `json:"total" jsonschema:"minimum=0"`
	Done        int `json:"done" jsonschema:"minimum=0"`
	Running     int `json:"running" jsonschema:"minimum=0"`
	Merging     int `json:"merging" jsonschema:"minimum=0"`
	Failed      int `json:"failed" jsonschema:"minimum=0"`  // failed, red, in conflict or stalled
	Stopped     int `json:"stopped" jsonschema:"minimum=0"` // by a person
	NeedsYou    int `json:"needs_you" jsonschema:"minimum=0"`
	Ready       int `json:"ready" jsonschema:"minimum=0"`
	Blocked     int `json:"blocked" jsonschema:"minimum=0"`
	Unverified  int `json:"unverified" jsonschema:"minimum=0"`  // of those that are done
	Undelivered int `json:"undelivered" jsonschema:"minimum=0"` // of those that are done
	// of those that are done: in an open pull request
	InReview int `json:"in_review" jsonschema:"minimum=0"`
}

// Count counts the items in scope.
func Count(p *plan.Plan, landed lane.Status) Counts {
	c := Counts{
		Total:      p.Total,
		Done:       p.Done,
		Running:    len(p.Lists.Running),
		Merging:    len(p.Lists.Landing),
		Failed:     len(p.Lists.TroubledIDs()) - len(p.StoppedIDs()),
		Stopped:    len(p.StoppedIDs()),
		NeedsYou:   len(p.Lists.Waiting) + len(p.Lists.Unknown),
		Ready:      len(p.Lists.Ready),
		Blocked:    len(p.Lists.Blocked),
		Unverified: len(p.Lists.Unverified),
	}
	if p.Snapshot.Noun == "" || p.Snapshot.Noun == plan.Slice { // nothing else lands
		c.Undelivered = len(landed.Undelivered)
		if landed.PullRequest != nil {
			c.InReview = len(landed.PullRequest.Slices)
		}
	}
	return c
}

// Of returns the count of a group.
func (c Counts) Of(g Group) int {
	return [...]int{
		NeedsYou: c.NeedsYou, Failed: c.Failed, Stopped: c.Stopped, Running: c.Running,
		Merging: c.Merging, Ready: c.Ready, Blocked: c.Blocked, Done: c.Done,
	}[g]
}

// tallies are the words behind a count.
var tallies = [...]string{
	"need you", "failed", "stopped", "running", "merging", "ready", "blocked", "done",
}

// Tally returns a count with its words: "3 need you", "5 failed".
func Tally(n int, g Group) string {
	if g == NeedsYou && n == 1 {
		return "1 needs you"
	}
	return fmt.Sprintf("%d %s", n, tallies[g])
}

// among returns a count as part of a sentence: "3 that need you", "5 failed".
func among(n int, g Group) string {
	text := Tally(n, g)
	if number, words, _ := strings.Cut(text, " "); g == NeedsYou {
		return number + " that " + words
	}
	return text
}

// A part is one count of a line. If there isn't room for all, the lowest ranks are kept.
type part struct {
	text string
	rank int
}

// The ranks of a line's parts: what needs a person is left out last.
const (
	toDecide = iota
	toRepair
	progress
	toDeliver
	pause
	atWork
	inLane
	elsewhere
)

// trouble returns the counts of what is running and what is wrong, without zeros.
func (c Counts) trouble() []part {
	var parts []part
	add := func(n int, rank int, text string) {
		if n > 0 {
			parts = append(parts, part{text, rank})
		}
	}
	add(c.Running, atWork, Tally(c.Running, Running))
	add(c.Merging, inLane, Tally(c.Merging, Merging))
	add(c.Failed, toRepair, Tally(c.Failed, Failed))
	add(c.Stopped, toRepair, Tally(c.Stopped, Stopped))
	add(c.NeedsYou, toDecide, Tally(c.NeedsYou, NeedsYou))
	add(c.Undelivered, toDeliver, fmt.Sprintf("%d not merged yet", c.Undelivered))
	add(c.InReview, elsewhere, fmt.Sprintf("%d in review", c.InReview))
	return parts
}

// Trouble returns the counts of what is running and what is wrong, without zeros: "3 running",
// "5 failed", "3 need you".
func (c Counts) Trouble() []string { return texts(c.trouble()) }

func texts(parts []part) []string {
	var list []string
	for _, p := range parts {
		list = append(list, p.text)
	}
	return list
}

// parts returns those of Bar.
func (c Counts) parts(p *plan.Plan, now time.Time) []part {
	list := []part{{fmt.Sprintf("%d/%d done", c.Done, c.Total), progress}}
	if c.Running == 0 {
		list = append(list, part{Tally(0, Running), atWork})
	}
	list = append(list, c.trouble()...)
	for _, held := range Held(p, now) {
		list = append(list, part{held, pause})
	}
	return list
}

func bar(parts []part) string { return strings.Join(texts(parts), " | ") }

// Bar returns the line for a status bar: "22/40 done | 3 running | 5 failed | 3 need you | held
// until 20:23". It always has the numbers of done and running items.
func (c Counts) Bar(p *plan.Plan, now time.Time) string { return bar(c.parts(p, now)) }

// Fit returns as much of Bar as fits: "22/40 | 5 failed | 3 need you". The number of items that
// need a person is dropped last, and stays even if nothing fits.
func (c Counts) Fit(p *plan.Plan, now time.Time, fits func(string) bool) string {
	parts := c.parts(p, now)
	if fits(bar(parts)) {
		return bar(parts)
	}
	parts[0].text = fmt.Sprintf("%d/%d", c.Done, c.Total)
	line := ""
	kept := map[part]bool{}
	byRank := func(a, b part) int { return a.rank - b.rank }
	dropped := func(p part) bool { return !kept[p] }
	for _, next := range slices.SortedStableFunc(slices.Values(parts), byRank) {
		kept[next] = true
		longer := bar(slices.DeleteFunc(slices.Clone(parts), dropped))
		if line == "" || fits(longer) {
			line = longer
		} else {
			delete(kept, next)
		}
	}
	return line
}

// Held returns until when everything is held: "held until 20:23", "held until you lift it". If only
// agents are, it returns a text for each: "claude held until 20:23".
func Held(p *plan.Plan, now time.Time) (parts []string) {
	if p.Hold != nil {
		return []string{"held " + p.Hold.End(now)}
	}
	for _, h := range p.InEffect() {
		parts = append(parts, sanitize.Line(h.Brief(now)))
	}
	return parts
}

// Sentence returns where the items of a run are when it ends: "Stopped: 22 done, 5 failed, 3 need
// you, 10 blocked." The counts add up to all items. noun is the word for an item.
func (c Counts) Sentence(how, noun string) string {
	parts := []string{Tally(c.Done, Done)}
	for _, g := range []Group{Failed, Stopped, NeedsYou, Running, Merging, Ready, Blocked} {
		if n := c.Of(g); n > 0 {
			parts = append(parts, Tally(n, g))
		}
	}
	if c.Unverified > 0 {
		parts[0] += fmt.Sprintf(" (%d unverified)", c.Unverified)
	}
	if c.Undelivered > 0 {
		parts = append(parts, fmt.Sprintf("%d not merged yet", c.Undelivered))
	}
	if c.Total > 0 && c.Done == c.Total {
		how = "All " + noun + "s complete"
	}
	return how + ": " + strings.Join(parts, ", ") + "."
}
