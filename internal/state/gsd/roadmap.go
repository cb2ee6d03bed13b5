package gsd

import (
	"regexp"
	"sort"
	"strings"
	"sync"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/core/plan"
)

// A Roadmap is a parsed ROADMAP.md.
type Roadmap struct {
	Phases     []Phase     // by number, the order in which they are worked on
	Milestones []Milestone // in file order

	struck   map[string]bool // keys of phases that were dropped
	mentions map[string]bool // versions mentioned anywhere in the text
}

// A Phase is a phase of the roadmap.
type Phase struct {
	ID        string // as written in the roadmap
	Key       string // PhaseKey of the ID
	Name      string
	Milestone string   // the version whose section contains it: "v1.1"; "" for none
	Depends   []string // keys; nil if the roadmap doesn't state any
	Said      bool     // the roadmap states the dependencies, maybe none
	Unread    string   // a stated dependency that names no phase
	Done      bool     // ticked off, or in the section of a shipped milestone
	Deferred  bool     // put off

	CarriedOut bool // Done, or complete in the progress table, which doesn't record verification
	Plans      int  // number of plans according to the roadmap; 0 if not stated

	milestone int // index of its milestone; -1 for none
	// a checkbox, a status or the progress table states whether it is complete
	told     bool
	row      progressRow // from the progress table and the phase's checklist
	over     []string    // keys in Depends that the roadmap calls complete
	releases []release   // milestones it depends on
}

// A Milestone is a milestone of the roadmap.
type Milestone struct {
	Version string // "v1.1"
	Name    string
	Shipped bool
	Active  bool // marked as in progress

	section bool // it has a heading, not just a line in the list of milestones
}

var roadmapPatterns = sync.OnceValue(func() (p struct {
	heading, bullet, span, field, status, version, summary *regexp.Regexp
	shipped, active, plans, planItem, aside, link          *regexp.Regexp
}) {
	const phase = `(?:\[[^\]]{1,200}\]\s*)?Phase\s+((?:[A-Z][A-Z0-9_]*-)?[A-Z]?\d+[A-Z]?(?:\.\d+)*)` +
		`(?:\s*\([^)]{0,200}\)|\s*[✅✓✔☑]\x{fe0f}?)*(?:\s*:|\s+[—–-]\s)`
	const emoji = `(?:[^\pL\pN\s\[\]()*~_#|.-]+\s*)?`
	p.heading = regexp.MustCompile(`(?i)^(~~)?` + emoji + phase + `\s*(.*)$`)
	p.bullet = regexp.MustCompile(`(?i)^\s*(?:[-*+]|\d+[.)])\s+(?:\[([ x~✅✓✔-])\]\s+` + emoji +
		`(~~)?(?:\*\*)?|` + emoji + `(~~)?\*\*)` + phase + `\s*(.*)$`)
	p.span = regexp.MustCompile(`(?i)^\s*(?:[-*+]|\d+\.)\s.*\bphases?\s+(\d+)\s*(?:-|–|—|to|through)\s*(\d+)`)
	p.field = regexp.MustCompile(`(?i)^\s*(?:[-*]\s+)?\**Depends\s+on\**\s*:\**\s*(.*)$`)
	p.status = regexp.MustCompile(`(?i)^\s*(?:[-*]\s+)?\**(Status|State|Completed(?:\s+on)?|Shipped(?:\s+on)?)\**\s*:\**\s*(.*)$`)
	p.version = regexp.MustCompile(`v\d+(?:\.\d+)+`)
	p.summary = regexp.MustCompile(`(?i)<summary[^>]*>(.*?)(?:</summary>|$)`)
	p.shipped = regexp.MustCompile(`(?i)\b(?:closed|archived|abandoned|shipped|failed)\b|✅|🗄`)
	p.active = regexp.MustCompile(`(?i)\b(?:active|wip)\b|in\s+progress|🚧|🔄`)
	p.plans = regexp.MustCompile(`(?i)\b(\d+)\s*/\s*(\d+)(?:\s+plans?\b|$)`)
	p.planItem = regexp.MustCompile(`(?i)^\s*[-*]\s+\[([ x])\]\s+\**(?:[A-Z][A-Z0-9_]*-)?(\d+[A-Z]?(?:\.\d+)*)-\d+`)
	p.link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	p.aside = regexp.MustCompile(`(?i)\s*(?:\(\d+\s*/\s*\d+\s+plans?\b|[(\[](?:[✅✓✔☑]\x{fe0f}?\s*)?(?:inserted|completed?|done|shipped|in progress)\b|` +
		`(?:[—–-]+|[✅✓✔☑]\x{fe0f}?)\s+(?:[✅✓✔☑]\x{fe0f}?\s*)?(?:completed?|done|shipped)\b|\s(?-i:COMPLETED?|DONE|SHIPPED)$).*$`)
	return p
})

// parseRoadmap parses a ROADMAP.md. It never fails. Phases are headings `### Phase 2.1: Name`
// and checklist lines `- [x] **Phase 2.1: Name**`. It ignores code, comments, phases that are
// struck through, and the backlog (999).
func parseRoadmap(text string) *Roadmap {
	return readRoadmap(text, func(*roadmapReader, markdown.Line) {})
}

// readRoadmap is parseRoadmap, and calls each for every line that counts, once the reader has
// read it.
func readRoadmap(text string, each func(*roadmapReader, markdown.Line)) *Roadmap {
	r := &roadmapReader{at: map[string]int{}, rows: map[string][]progressRow{},
		milestone: -1, outer: -1}
	r.road.struck, r.road.mentions = map[string]bool{}, map[string]bool{}
	for l := range markdown.Lines(text) {
		if l.Code || r.comment(l.Text) {
			continue
		}
		if strings.ContainsAny(l.Text, "vV") {
			for _, v := range roadmapPatterns().version.FindAllString(l.Text, -1) {
				r.road.mentions[v] = true
			}
		}
		r.line(l)
		each(r, l)
	}
	r.spread()
	phases := r.road.Phases[:0]
	for _, p := range r.road.Phases {
		if r.road.struck[p.Key] {
			continue
		}
		if p.milestone >= 0 {
			m := r.road.Milestones[p.milestone]
			p.Milestone, p.Done = m.Version, p.Done || m.Shipped
		}
		row := r.rowOf(&p)
		row.items, row.ticked = p.row.items, p.row.ticked
		row.done = max(row.done, p.row.done, row.ticked)
		p.row, p.Deferred, p.Plans = row, row.deferred, max(p.Plans, row.plans)
		ticked := row.items > 0 && row.ticked == row.items && !row.told
		if ticked {
			p.Plans = max(p.Plans, row.items)
		}
		p.CarriedOut, p.told = p.Done || p.CarriedOut || row.complete || ticked, p.told || row.told
		phases = append(phases, p)
	}
	sort.SliceStable(phases, func(i, j int) bool {
		return plan.NaturalLess(phases[i].Key, phases[j].Key)
	})
	r.road.Phases = phases
	r.road.resolve()
	return &r.road
}

type roadmapReader struct {
	road Roadmap
	at   map[string]int // key → index of the phase
	// of the progress table; a number may recur in another milestone
	rows      map[string][]progressRow
	columns   []string // of the current table
	commented bool

	milestone int    // index of the milestone of the current section, -1 for none
	level     int    // level of its heading; 0 in a <details> block
	outer     int    // the milestone around the <details> block
	phase     string // key of the phase of the current section
	under     int    // level of its heading

	sectionTop bool // the milestone's section has had no phase yet

	spans []milestoneSpan
}

// A milestoneSpan is a parsed `- ✅ **v1.0 MVP** - Phases 1-4`.
type milestoneSpan struct{ milestone, from, to int }

// A progressRow is a phase's row in the progress table: `| 3. Ledger | v1.1 | 3/3 | Complete |
// 2026-02-03 |`.
type progressRow struct {
	milestone          string // the row's version; "" for none
	plans, done        int    // plans in total, and carried out
	complete, deferred bool
	pending            bool // complete, but something such as its verification is still open
	begun              bool // in progress
	told               bool
	items, ticked      int // plans in the phase's own checklist
}

// comment reports whether the line belongs to a comment.
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
		r.columns = nil
		r.heading(l)
		return
	}
	if cells := markdown.Cells(l.Text); len(cells) > 1 {
		r.row(cells)
		return
	}
	r.columns = nil
	if !strings.HasPrefix(strings.TrimSpace(l.Text), ">") { // a quotation isn't part of the plan
		r.text(l.Text)
	}
}

// row reads a row of the progress table. Rows of other tables, such as the requirements, may
// also begin with what looks like a phase; they can only defer one.
func (r *roadmapReader) row(cells []string) {
	key := rowKey(cells[0])
	if key == "" {
		if r.columns == nil {
			r.columns = cells
		}
		return
	}
	start := strings.Join(cells[1:min(len(cells), 3)], " ")
	row := progressRow{milestone: roadmapPatterns().version.FindString(start)}
	progress := isProgress(r.columns)
	for i, c := range cells[1:] {
		row.deferred = row.deferred || strings.EqualFold(c, "deferred")
		column := ""
		if i+1 < len(r.columns) {
			column = strings.ToLower(strings.Trim(r.columns[i+1], "* "))
		}
		switch m := roadmapPatterns().plans.FindStringSubmatch(c); {
		case !progress:
		case column == "status" || column == "state":
			is := readStanding(c)
			row.complete, row.pending, row.begun, row.told = is.complete, is.pending, is.begun, true
		case m != nil && (strings.Contains(column, "plan") || column == "progress"):
			row.plans, row.done = max(row.plans, atoi(m[2])), max(row.done, atoi(m[1]))
		}
	}
	// a table without a status column
	if progress && !row.told && row.plans > 0 && row.done >= row.plans {
		row.complete, row.told = true, true
	}
	for i, have := range r.rows[key] {
		if have.milestone == row.milestone {
			r.rows[key][i] = have.with(row)
			return
		}
	}
	r.rows[key] = append(r.rows[key], row)
}

// isProgress reports whether the columns are those of the progress table.
func isProgress(columns []string) bool {
	return columns != nil && strings.HasPrefix(strings.ToLower(strings.Trim(columns[0], "*")),
		"phase")
}

// rowKey returns the key of the phase that a row's first cell names, "3. Ledger"; "" for none.
func rowKey(cell string) string {
	first := strings.TrimSpace(strings.TrimPrefix(strings.ToLower(strings.Trim(cell, "* ")),
		"phase "))
	id, _, _ := strings.Cut(first, " ")
	key := PhaseKey(strings.ToUpper(strings.TrimRight(id, ".:")))
	if key == "" || !isDigit(first[0]) {
		return ""
	}
	return key
}

// with merges two rows of the same phase; the later status wins.
func (p progressRow) with(q progressRow) progressRow {
	q.plans, q.done, q.deferred = max(p.plans, q.plans), max(p.done, q.done),
		p.deferred || q.deferred
	if !q.told {
		q.complete, q.pending, q.begun, q.told = p.complete, p.pending, p.begun, p.told
	}
	return q
}

// rowOf returns the row of a phase: that of its milestone, or one without a milestone.
func (r *roadmapReader) rowOf(p *Phase) progressRow {
	var row progressRow
	for _, have := range r.rows[p.Key] {
		switch {
		case have.milestone == "" || p.Milestone == "":
			row = row.with(have)
		case sameVersion(have.milestone, p.Milestone):
			return row.with(have)
		}
	}
	return row
}

// folded tracks <details> blocks, whose summary may name a milestone, and reports whether the
// line is such a summary.
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
		v.section = true
		r.milestone, r.level = r.note(v), 0
	}
	return true
}

// text reads a line of a list or paragraph: a phase in the checklist, a milestone's range of
// phases, or a phase's dependencies.
func (r *roadmapReader) text(text string) {
	p := roadmapPatterns()
	if m := p.bullet.FindStringSubmatch(text); m != nil {
		ph := r.add(m[4], m[5], m[2]+m[3] != "")
		ph.Done = ph.Done || m[1] != "" && strings.Contains("xX✅✓✔", m[1]) ||
			m[1] == "" && checked(text)
		ph.told = ph.told || m[1] != ""
		if plans := p.plans.FindStringSubmatch(m[5]); plans != nil {
			ph.Plans, ph.row.done = max(ph.Plans, atoi(plans[2])), max(ph.row.done, atoi(plans[1]))
		}
		return
	}
	if m := p.span.FindStringSubmatch(text); m != nil && r.phase == "" {
		if v := readMilestone(text); v.Version != "" {
			r.spans = append(r.spans, milestoneSpan{r.note(v), atoi(m[1]), atoi(m[2])})
		}
		return
	}
	if r.phase == "" {
		if is := readStatus(text); is.complete && !is.pending && r.milestone >= 0 && r.sectionTop {
			r.road.Milestones[r.milestone].Shipped = !r.road.Milestones[r.milestone].Active
		}
		return
	}
	r.ofPhase(text)
}

// ofPhase reads a line of a phase's section: its dependencies, its status, its plans.
func (r *roadmapReader) ofPhase(text string) {
	p := roadmapPatterns()
	ph := &r.road.Phases[r.at[r.phase]]
	if m := p.field.FindStringSubmatch(text); m != nil {
		if !ph.Said && strings.TrimSpace(m[1]) != "" {
			n := readDepends(m[1])
			ph.Depends, ph.over, ph.releases, ph.Unread = n.keys, n.over, n.releases, n.unread
			ph.Said = ph.Unread == ""
		}
		return
	}
	if m := p.planItem.FindStringSubmatch(text); m != nil {
		if PhaseKey(m[2]) == ph.Key {
			ph.row.items++
			if m[1] != " " {
				ph.row.ticked++
			}
		}
		return
	}
	switch is := readStatus(text); {
	case is.complete && is.pending:
		ph.CarriedOut, ph.told = true, true
	case is.complete:
		ph.Done, ph.told = true, true
	}
}

// heading begins or ends a phase's or milestone's section.
func (r *roadmapReader) heading(l markdown.Line) {
	if m := roadmapPatterns().heading.FindStringSubmatch(l.Title); m != nil && l.Level > 1 {
		ph := r.add(m[2], m[3], m[1] != "")
		ph.Done = ph.Done || checked(l.Title)
		r.sectionTop = false
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
		v.section = true
		r.milestone, r.level, r.sectionTop = r.note(v), l.Level, true
	} else if l.Level <= r.level {
		r.milestone, r.level = -1, 0
	}
}

// note returns the index of a milestone, adding it if it is new. A milestone is mentioned in
// the list of milestones and again where its phases are. Two sections with the same version are
// different milestones if one is closed and the other is marked open.
func (r *roadmapReader) note(m Milestone) int {
	for i := range r.road.Milestones {
		have := &r.road.Milestones[i]
		if have.Version != m.Version ||
			have.section && m.section && (have.Shipped && m.Active || m.Shipped && have.Active) {
			continue
		}
		have.section = have.section || m.section
		have.Shipped, have.Active = have.Shipped || m.Shipped && !have.Active,
			have.Active || m.Active && !have.Shipped
		if have.Name == "" {
			have.Name = m.Name
		}
		return i
	}
	r.road.Milestones = append(r.road.Milestones, m)
	return len(r.road.Milestones) - 1
}

// add records a phase, or more about a known one.
func (r *roadmapReader) add(id, name string, struck bool) *Phase {
	key := PhaseKey(id)
	if key == "" || sentinel(key) {
		return &Phase{}
	}
	if struck {
		r.road.struck[key] = true
	}
	i, ok := r.at[key]
	if !ok {
		i = len(r.road.Phases)
		r.at[key] = i
		r.road.Phases = append(r.road.Phases, Phase{ID: id, Key: key, milestone: -1})
	}
	ph := &r.road.Phases[i]
	if r.again(ph, phaseName(name)) {
		*ph = Phase{ID: id, Key: key, milestone: r.milestone}
	}
	if name = phaseName(name); ph.Name == "" {
		ph.Name = name
	}
	if ph.milestone < 0 {
		ph.milestone = r.milestone
	}
	return ph
}

// checked reports whether a phase's line begins or ends with a done mark.
func checked(text string) bool {
	text = strings.ReplaceAll(strings.Trim(text, " \t*-"), "\ufe0f", "")
	for _, mark := range []string{"✅", "✓", "✔", "☑", "[x]", "[X]"} {
		if strings.HasPrefix(text, mark) || strings.HasSuffix(text, mark) {
			return true
		}
	}
	p := standingPatterns()
	m := p.tail.FindString(text)
	if m == "" {
		m = p.early.FindString(text)
	}
	return m != "" && !p.pending.MatchString(m)
}

// A workStanding is the parsed status of a phase or a milestone.
type workStanding struct {
	complete, begun bool
	pending         bool // complete, but something is still open
}

var standingPatterns = sync.OnceValue(func() (p struct {
	complete, begun, pending, tail, early, line, date *regexp.Regexp
}) {
	const word = `(?:completed?|done|shipped|finished|delivered)`
	p.complete = regexp.MustCompile(`(?i)^\W*` + word + `\b|^[\s*_]*(?:✅|✓|✔|☑|\[x\])[\s*_]*$|^\W*(?:100\s*%|fully\s+` + word + `\b|all\s+(?:plans|tasks)\s+` + word + `\b)`)
	p.begun = regexp.MustCompile(`(?i)^\W*(?:in[\s_-]+progress|executing|started|active|partial(?:ly)?\b|wip|building|ongoing|underway)|🚧|🔄|🟡|⏳\s*in`)
	p.pending = regexp.MustCompile(`(?i)\b(?:pending|awaiting|awaits|except|but\s+not|partial(?:ly)?|remaining|unverified|not\s+(?:yet\s+)?verified|` +
		`(?:needs?|requires?|ready\s+for)\s+(?:\S+\s+)?(?:verification|uat|testing|review))\b`)
	const mark = `(?:✅|✓|✔|☑)`
	p.tail = regexp.MustCompile(`(?i)[(\[]\s*` + mark + `?\s*` + word + `\b[^()\[\]]*[)\]]$|` +
		`(?:[—–]|\s-|` + mark + `)\s*\**` + mark + `?\s*` + word +
		`\b\**(?:\s+on)?[\s\d:.,/-]*(?:\([^()]*\))?$|\s(?-i:COMPLETED?|DONE|SHIPPED)$`)
	p.early = regexp.MustCompile(`(?i)^Phase\s+[\w.-]+\s*(?:` + mark + `|\(\s*` + mark + `?\s*` +
		word + `\b[^)]*\))`)
	p.line = regexp.MustCompile(`(?i)^[\s*_]*(?:✅|✓|✔|☑)[\s*_]*(` + word + `\b.*)$`)
	p.date = regexp.MustCompile(`^\W*\d{4}-\d{2}-\d{2}`)
	return p
})

// readStanding parses a status: `Complete`, `✅ Done (2026-01-02)`, `Complete (pending UAT)`,
// `In Progress`.
func readStanding(text string) workStanding {
	p := standingPatterns()
	text = strings.ReplaceAll(text, "\ufe0f", "")
	is := workStanding{complete: p.complete.MatchString(text), begun: p.begun.MatchString(text)}
	is.pending = is.complete && p.pending.MatchString(text)
	return is
}

// readStatus parses a status line: `**Status**: Complete`, `**Completed:** 2026-01-02`, `✅
// COMPLETE (…)`.
func readStatus(line string) workStanding {
	p := standingPatterns()
	if m := roadmapPatterns().status.FindStringSubmatch(line); m != nil {
		// a label such as Completed, followed by a date or a placeholder
		if !strings.EqualFold(m[1], "status") && !strings.EqualFold(m[1], "state") {
			return workStanding{complete: p.date.MatchString(m[2])}
		}
		return readStanding(m[2])
	}
	if m := p.line.FindStringSubmatch(strings.ReplaceAll(line, "\ufe0f", "")); m != nil {
		return readStanding(m[1])
	}
	return workStanding{}
}

// shipped reports whether the current section belongs to a finished milestone.
func (r *roadmapReader) shipped() bool {
	return r.milestone >= 0 && r.road.Milestones[r.milestone].Shipped
}

// again reports whether the number of a finished milestone's phase is reused for another phase
// in an open one.
func (r *roadmapReader) again(ph *Phase, name string) bool {
	return ph.milestone >= 0 && r.milestone >= 0 && ph.milestone != r.milestone &&
		r.road.Milestones[ph.milestone].Shipped && !r.shipped() &&
		name != "" && ph.Name != "" && !strings.EqualFold(name, ph.Name)
}

// phaseName returns a phase's name without Markdown and annotations: (INSERTED), (3/3 plans) —
// completed …
func phaseName(s string) string {
	if name, _, ok := strings.Cut(s, "**"); ok {
		s = name
	}
	s = strings.ReplaceAll(s, "~~", "")
	s = roadmapPatterns().aside.ReplaceAllString(s, "")
	return strings.Trim(s, " \t*:✅✓✔☑🚧🔄📋\ufe0f")
}

// readMilestone parses a heading such as `🚧 v1.1 Payments (In Progress)`, `Roadmap: Shop
// (v1.1)` or `[v1.0 MVP](milestones/v1.0-ROADMAP.md)`.
func readMilestone(title string) Milestone {
	p := roadmapPatterns()
	title = p.link.ReplaceAllString(title, "$1")
	at := p.version.FindStringIndex(title)
	if at == nil {
		return Milestone{}
	}
	name := strings.TrimLeft(title[at[1]:], " ])")
	if next := p.version.FindStringIndex(name); next != nil { // "v1.0 MVP, v1.1 Payments"
		name = name[:next[0]]
	}
	if i := strings.IndexAny(name, "()[]✅✓✔☑🚧📋🔄🗄"); i >= 0 {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, "**")
	name = strings.Trim(name, " \t*:—–-,+/→&\ufe0f")
	if is := readStanding(name); is.complete && !strings.Contains(name, " ") {
		name = ""
	}
	active := p.active.MatchString(title)
	return Milestone{
		Version: title[at[0]:at[1]],
		Name:    name,
		Shipped: (p.shipped.MatchString(title) || checked(title)) && !active,
		Active:  active,
	}
}
