// Package changelog is what has been built in a project, by the summaries that sessions write into .greenlight/summaries:
// it reads them, finds out what each is about, and puts them in order. It writes nothing and prints nothing.
package changelog

import (
	"slices"
	"sort"
	"time"

	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
)

// Dir is where the summaries are, relative to the root.
const Dir = ".greenlight/summaries"

// A Document is what gl changelog prints; also its JSON.
type Document struct {
	SchemaVersion int         `json:"schema_version"`
	Milestone     *string     `json:"milestone"`  // value of --milestone; null for all
	Since         *string     `json:"since"`      // value of --since, as given
	Milestones    []Milestone `json:"milestones"` // the newest first
	Quick         []Entry     `json:"quick"`      // tasks outside of slices, the newest first
}

// A Milestone is the entries of one milestone.
type Milestone struct {
	Name    *string `json:"name"`    // null for entries of no milestone
	Entries []Entry `json:"entries"` // the newest first
}

// An Entry is one slice or task.
type Entry struct {
	ID      string  `json:"id"` // of the slice; for another task, the file's name without its extension
	Title   string  `json:"title"`
	Date    *string `json:"date" jsonschema:"format=date"` // when it was completed; null for unknown
	File    string  `json:"file"`                          // relative to the root; "" for a slice without a summary
	Changed string  `json:"changed"`                       // Markdown: what changed, in the summary's own words
	Text    string  `json:"text"`                          // Markdown: the whole summary, below its title
}

// New makes the changelog of the summaries that the filter selects.
func New(all []Summary, f Filter) *Document {
	doc := &Document{SchemaVersion: 1, Milestone: jsondoc.OrNull(f.Milestone), Since: jsondoc.OrNull(f.Since), Milestones: []Milestone{}, Quick: []Entry{}}
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

// IsEmpty says whether the changelog has no entries.
func (doc *Document) IsEmpty() bool { return len(doc.Milestones)+len(doc.Quick) == 0 }

func entriesOf(list []Summary) []Entry {
	var out []Entry
	for _, s := range list {
		out = append(out, s.Entry)
	}
	return out
}

// newestFirst puts the latest summary first, and of several of one time the one with the later id.
func newestFirst(list []Summary) {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if !a.when.Equal(b.when) {
			return a.when.After(b.when)
		}
		return plan.NaturalLess(b.Entry.ID, a.Entry.ID)
	})
}

// milestones orders milestones by their latest summary, and those of the same time by their first id, the later one first.
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

// HasMilestone says whether any summary belongs to the milestone.
func HasMilestone(all []Summary, name string) bool {
	return slices.ContainsFunc(all, func(s Summary) bool { return s.Milestone == name })
}
