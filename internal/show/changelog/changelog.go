// Package changelog lists what has been built in a project, from the summaries that sessions
// write into .greenlight/summaries: it reads them, finds the slice or task each is about, and
// sorts them. It writes nothing and prints nothing.
package changelog

import (
	"slices"
	"sort"
	"time"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
)

// Dir is where the summaries are, relative to the root.
const Dir = ".greenlight/summaries"

// A Document is the output of gl changelog, and its JSON.
type Document struct {
	SchemaVersion int         `json:"schema_version"`
	Milestone     *string     `json:"milestone"`  // value of --milestone; null for all
	Since         *string     `json:"since"`      // value of --since, as given
	Milestones    []Milestone `json:"milestones"` // newest first
	Quick         []Entry     `json:"quick"`      // tasks outside of slices, newest first
}

// A Milestone has the entries of one milestone.
type Milestone struct {
	Name    *string `json:"name"`    // null for entries without a milestone
	Entries []Entry `json:"entries"` // newest first
}

// An Entry is a slice or a task.
type Entry struct {
	// id of the slice; for a task, the file's name without its extension
	ID    string `json:"id"`
	Title string `json:"title"`
	// when it was completed; null if unknown
	Date *string `json:"date" jsonschema:"format=date"`
	// relative to the root; "" for a slice without a summary
	File string `json:"file"`
	// Markdown: what changed, in the summary's own words
	Changed string `json:"changed"`
	// Markdown: the whole summary without its title
	Text string `json:"text"`
}

// New returns the changelog of the summaries that the filter selects.
func New(all []Summary, f Filter) *Document {
	doc := &Document{SchemaVersion: 1, Milestone: jsondoc.OrNull(f.Milestone),
		Since: jsondoc.OrNull(f.Since), Milestones: []Milestone{}, Quick: []Entry{}}
	groups := map[string][]Summary{} // by milestone
	var quick []Summary
	for _, s := range all {
		switch {
		case !f.selects(&s):
		case s.quick:
			quick = append(quick, s)
		default:
			groups[s.Milestone] = append(groups[s.Milestone], s)
		}
	}
	for _, name := range milestones(groups) {
		group := groups[name]
		newestFirst(group)
		doc.Milestones = append(doc.Milestones, Milestone{jsondoc.OrNull(name), entriesOf(group)})
	}
	newestFirst(quick)
	doc.Quick = append(doc.Quick, entriesOf(quick)...)
	return doc
}

// IsEmpty reports whether the changelog has no entries.
func (doc *Document) IsEmpty() bool { return len(doc.Milestones)+len(doc.Quick) == 0 }

func entriesOf(list []Summary) []Entry {
	var out []Entry
	for _, s := range list {
		out = append(out, s.Entry)
	}
	return out
}

// newestFirst sorts the latest summary first; of summaries with the same time, the one with the
// greater id.
func newestFirst(list []Summary) {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if !a.when.Equal(b.when) {
			return a.when.After(b.when)
		}
		return plan.NaturalLess(b.Entry.ID, a.Entry.ID)
	})
}

// milestones sorts milestones by their latest summary; those with the same time by their first
// id, the greater one first.
func milestones(groups map[string][]Summary) []string {
	latest, first := map[string]time.Time{}, map[string]string{}
	var names []string
	for name, group := range groups {
		names = append(names, name)
		for _, s := range group {
			if s.when.After(latest[name]) {
				latest[name] = s.when
			}
			if id := first[name]; id == "" || plan.NaturalLess(s.Entry.ID, id) {
				first[name] = s.Entry.ID
			}
		}
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := names[i], names[j]
		if !latest[a].Equal(latest[b]) {
			return latest[a].After(latest[b])
		}
		return plan.NaturalLess(first[b], first[a])
	})
	return names
}

// HasMilestone reports whether any summary belongs to the milestone.
func HasMilestone(all []Summary, name string) bool {
	return slices.ContainsFunc(all, func(s Summary) bool { return s.Milestone == name })
}
