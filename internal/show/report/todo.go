package report

import (
	"slices"
	"strings"

	"greenlight/internal/base/uniq"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
)

// ToDo returns all that a person has to do: what keeps work out of the target, what waits for a
// person, and what failed.
func (d *Document) ToDo() []Item {
	list := slices.Concat(d.Queue, d.NeedsYou)
	for _, f := range d.Failed {
		list = append(list, f.Item)
	}
	return list
}

// heldUp returns what waits for the item: "3 slices wait for it"; "" for nothing.
func (d *Document) heldUp(it Item) string {
	switch n := len(it.Blocks); n {
	case 0:
		return ""
	case 1:
		return "1 " + d.Noun + " waits for it"
	default:
		return words.Count(n, d.Noun) + " wait for it"
	}
}

// blocks returns the blocked items that an item holds up, at any distance.
func blocks(p *plan.Plan, id string) []string {
	list := []string{}
	for _, other := range p.Lists.Blocked {
		if p.State(other).Root == id {
			list = append(list, other)
		}
	}
	return list
}

// Merged returns what was completed and the target has.
func (d *Document) Merged() mergedTable { return d.completed(true) }

// Waiting returns what was tested and isn't merged into the target yet.
func (d *Document) Waiting() mergedTable { return d.completed(false) }

func (d *Document) completed(delivered bool) mergedTable {
	var list []Landed
	for _, l := range d.Landed {
		if l.Delivered == delivered {
			list = append(list, l)
		}
	}
	return newMergedTable(list)
}

// A mergedTable lists completed slices. Columns that say nothing, or the same of all, are left out.
type mergedTable struct {
	List                                 []Landed
	Diff, Tests, Verified, Cost, Changes bool
	Worker                               bool   // of an agent
	All                                  string // what is so of all of them; "" for nothing
}

// Title returns the heading for what was completed.
func (t mergedTable) Title() string {
	for _, l := range t.List {
		if l.Commit == "" {
			return "Completed"
		}
	}
	return "Merged"
}

// WaitingTitle returns the heading for what isn't merged yet.
func (t mergedTable) WaitingTitle() string {
	text := t.unmerged()
	return strings.ToUpper(text[:1]) + text[1:]
}

// unmerged describes what isn't merged yet.
func (t mergedTable) unmerged() string {
	if slices.ContainsFunc(t.List, func(l Landed) bool { return !l.Verified && l.Unverified != "" }) {
		return "not merged yet"
	}
	return "tested, not merged yet"
}

// Reasons returns why the target doesn't have them, each reason once.
func (t mergedTable) Reasons() []string {
	var list uniq.List
	for _, l := range t.List {
		list.Add(l.NotMerged)
	}
	return list.Items()
}

func newMergedTable(list []Landed) mergedTable {
	t := mergedTable{List: list}
	if len(list) == 0 {
		return t
	}
	verified, why := 0, map[string]bool{}
	for _, l := range list {
		t.Diff = t.Diff || l.Diff != nil
		t.Tests = t.Tests || testsOf(l) != orDash("")
		t.Cost = t.Cost || l.Cost.Known > 0
		t.Changes = t.Changes || l.Patch != nil || l.Command != ""
		t.Verified = t.Verified || l.Approved != ""
		t.Worker = t.Worker || l.Worker != ""
		if l.Verified {
			verified++
		}
		why[l.Unverified] = true
	}
	switch {
	case t.Verified, verified > 0 && verified < len(list), verified == 0 && len(why) > 1:
		t.Verified = true
	case verified > 0:
		t.All = "Verified: the tests passed on each merge."
		if !t.Changes {
			t.All = "Verified: the tests passed."
		}
	case list[0].Unverified != "":
		t.All = "Unverified: " + list[0].Unverified + "."
	}
	return t
}
