package gsd

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"greenlight/internal/plan"
	"greenlight/internal/text/markdown"
)

// A Roadmap is what gl understands of ROADMAP.md.
type Roadmap struct {
	Phases     []Phase     // in the order in which they are worked on, by number
	Milestones []Milestone // in the order of the file
}

// A Phase of the roadmap.
type Phase struct {
	ID        string // as the roadmap writes it
	Key       string // PhaseKey of it
	Name      string
	Milestone string   // the version whose section it stands in: "v1.1"; "" for none
	Depends   []string // keys; nil where the roadmap doesn't say
	Said      bool     // the roadmap says what it depends on, be it nothing
	Unread    string   // what it says, where that names no phase
	Done      bool     // ticked off, or in the section of a milestone that has been shipped
	Deferred  bool     // put off
}

// A Milestone of the roadmap.
type Milestone struct {
	Version string // "v1.1"
	Name    string
	Shipped bool
}

var roadmapPatterns = sync.OnceValue(func() (p struct{ heading, bullet, span, field, version, summary, mark *regexp.Regexp }) {
	const phase = `(?:\[[^\]]{1,200}\]\s*)?Phase\s+((?:[A-Z][A-Z0-9_]*-)?[A-Z]?\d+[A-Z]?(?:\.\d+)*)(?:\s*\([^)]{0,200}\))?(?:\s*:|\s+[—–-]\s)`
	p.heading = regexp.MustCompile(`(?i)^(~~)?` + phase + `\s*(.*)$`)
	p.bullet = regexp.MustCompile(`(?i)^\s*[-*]\s+(?:\[([ x~-])\]\s+(~~)?(?:\*\*)?|(~~)?\*\*)` + phase + `\s*(.*)$`)
	p.span = regexp.MustCompile(`(?i)\bphases?\s+(\d+)\s*(?:-|–|—|to|through)\s*(\d+)`)
	p.field = regexp.MustCompile(`(?i)^\s*(?:[-*]\s+)?\**Depends\s+on\**\s*:\**\s*(.*)$`)
	p.version = regexp.MustCompile(`v\d+(?:\.\d+)+`)
	p.summary = regexp.MustCompile(`(?i)<summary[^>]*>(.*?)(?:</summary>|$)`)
	p.mark = regexp.MustCompile(`(?i)\b(?:closed|archived|abandoned|shipped|failed)\b|✅|🗄`)
	return p
})

// ParseRoadmap reads a ROADMAP.md. It never fails: phases are its headings `### Phase 2.1: Name`, and the lines of its
// checklist `- [x] **Phase 2.1: Name**`. Code and comments don't count, nor do phases that are struck through, phase 0 and
// the backlog (999).
func ParseRoadmap(text string) *Roadmap {
	r := &roadmapReader{at: map[string]int{}, struck: map[string]bool{}, deferred: map[string]bool{}}
	for l := range markdown.Lines(text) {
		if l.Code || r.comment(l.Text) {
			continue
		}
		r.line(l)
	}
	r.spread()
	phases := r.road.Phases[:0]
	for _, p := range r.road.Phases {
		if p.Deferred = r.deferred[p.Key]; !r.struck[p.Key] {
			phases = append(phases, p)
		}
	}
	sort.SliceStable(phases, func(i, j int) bool { return plan.NaturalLess(phases[i].Key, phases[j].Key) })
	r.road.Phases = phases
	r.road.resolve()
	return &r.road
}

type roadmapReader struct {
	road      Roadmap
	at        map[string]int // index of a phase by key
	struck    map[string]bool
	deferred  map[string]bool // by a row of the table of progress
	commented bool

	milestone Milestone // of the section we are in
	level     int       // of its heading; 0 in a <details> block
	outer     Milestone // of what is around the <details> block
	phase     string    // key of the phase whose section we are in
	under     int       // level of its heading

	spans []milestoneSpan
}

// A milestoneSpan is `- ✅ **v1.0 MVP** - Phases 1-4`.
type milestoneSpan struct {
	Milestone
	from, to int
}

// comment says whether the line belongs to a comment.
func (r *roadmapReader) comment(text string) bool {
	was := r.commented
	if open := strings.LastIndex(text, "<!--"); open >= 0 {
		r.commented = !strings.Contains(text[open:], "-->")
		return was || strings.HasPrefix(strings.TrimSpace(text), "<!--")
	}
	if was && strings.Contains(text, "-->") {
		r.commented = false
	}
	return was
}

func (r *roadmapReader) line(l markdown.Line) {
	if r.folded(l.Text) {
		return
	}
	if l.Level > 0 {
		r.heading(l)
		return
	}
	if cells := markdown.Cells(l.Text); len(cells) > 1 {
		id, _, _ := strings.Cut(cells[0], " ")
		if slices.ContainsFunc(cells[1:], func(c string) bool { return strings.EqualFold(c, "deferred") }) {
			r.deferred[PhaseKey(strings.TrimRight(id, ".:"))] = true
		}
		return
	}
	r.text(l.Text)
}

// folded follows <details> blocks, whose summary may name a milestone, and says whether the line is such a summary.
func (r *roadmapReader) folded(text string) bool {
	switch lower := strings.ToLower(text); {
	case strings.Contains(lower, "<details"):
		r.outer, r.phase = r.milestone, ""
		r.level = 0
	case strings.Contains(lower, "</details"):
		r.milestone, r.phase = r.outer, ""
	}
	m := roadmapPatterns().summary.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	if v := readMilestone(m[1]); v.Version != "" {
		r.enter(v, 0)
	}
	return true
}

// text reads a line of a list or a paragraph: a phase of the checklist, a milestone's range of phases, what a phase
// depends on.
func (r *roadmapReader) text(text string) {
	p := roadmapPatterns()
	if m := p.bullet.FindStringSubmatch(text); m != nil {
		ph := r.add(m[4], m[5], m[2]+m[3] != "")
		ph.Done = ph.Done || strings.EqualFold(m[1], "x")
		return
	}
	if m := p.span.FindStringSubmatch(text); m != nil && r.phase == "" {
		if v := readMilestone(text); v.Version != "" {
			r.spans = append(r.spans, milestoneSpan{v, atoi(m[1]), atoi(m[2])})
		}
		return
	}
	if m := p.field.FindStringSubmatch(text); m != nil && r.phase != "" {
		ph := &r.road.Phases[r.at[r.phase]]
		if !ph.Said && strings.TrimSpace(m[1]) != "" {
			ph.Depends, ph.Unread = readDepends(m[1])
			ph.Said = ph.Unread == ""
		}
	}
}

// heading begins a phase's section, or a milestone's, or ends one.
func (r *roadmapReader) heading(l markdown.Line) {
	if m := roadmapPatterns().heading.FindStringSubmatch(l.Title); m != nil && l.Level > 1 {
		ph := r.add(m[2], m[3], m[1] != "")
		if name := phaseName(m[3]); name != "" {
			ph.Name = name
		}
		r.phase, r.under = ph.Key, l.Level
		return
	}
	if l.Level <= r.under {
		r.phase = ""
	}
	if v := readMilestone(l.Title); v.Version != "" && l.Level <= 3 {
		r.phase = ""
		r.enter(v, l.Level)
	} else if l.Level <= r.level {
		r.enter(Milestone{}, 0)
	}
}

func (r *roadmapReader) enter(m Milestone, level int) {
	r.milestone, r.level = m, level
	if m.Version == "" {
		return
	}
	for _, have := range r.road.Milestones {
		if have.Version == m.Version {
			return
		}
	}
	r.road.Milestones = append(r.road.Milestones, m)
}

// add notes a phase, or more of one that is known.
func (r *roadmapReader) add(id, name string, struck bool) *Phase {
	key := PhaseKey(id)
	if key == "" || sentinel(key) {
		return &Phase{}
	}
	if struck {
		r.struck[key] = true
	}
	i, ok := r.at[key]
	if !ok {
		i = len(r.road.Phases)
		r.at[key] = i
		r.road.Phases = append(r.road.Phases, Phase{ID: id, Key: key})
	}
	ph := &r.road.Phases[i]
	if name = phaseName(name); ph.Name == "" {
		ph.Name = name
	}
	if ph.Milestone == "" {
		ph.Milestone = r.milestone.Version
	}
	ph.Done = ph.Done || r.milestone.Shipped
	return ph
}

// phaseName is a phase's name without marks of Markdown, what is said about it, and (INSERTED).
func phaseName(s string) string {
	if name, _, ok := strings.Cut(s, "**"); ok {
		s = name
	}
	s = strings.ReplaceAll(s, "~~", "")
	if i := strings.Index(strings.ToUpper(s), "(INSERTED)"); i >= 0 {
		s = s[:i]
	}
	return strings.Trim(s, " \t*:")
}

// readMilestone reads a heading such as `🚧 v1.1 Payments (In Progress)`.
func readMilestone(title string) Milestone {
	p := roadmapPatterns()
	at := p.version.FindStringIndex(title)
	if at == nil {
		return Milestone{}
	}
	name := title[at[1]:]
	if i := strings.IndexAny(name, "(✅🚧📋🔄🗄"); i >= 0 {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, "**")
	active := strings.ContainsAny(title, "🚧🔄") || strings.Contains(strings.ToLower(title), "in progress")
	return Milestone{
		Version: title[at[0]:at[1]],
		Name:    strings.Trim(name, " \t*:—–-"),
		Shipped: p.mark.MatchString(title) && !active,
	}
}
