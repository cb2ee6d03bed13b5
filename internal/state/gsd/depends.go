package gsd

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

var dependsPatterns = sync.OnceValue(func() (p struct {
	aside, over, link, date, none, all, list, span, id           *regexp.Regexp
	version, finished, unneeded, needed, denied, other, optional *regexp.Regexp
}) {
	const id = `(?:[A-Z][A-Z0-9_]*-)?[A-Z]?\d+[A-Z]?(?:\.\d+)*`
	const gap = `[\s` + metMark + `]*`
	const list = id + `\b(?:` + gap + `(?:;\s*|(?:,|&|\+|/|-|–|—|\band\b|\bto\b|\bthrough\b)[\s,]*(?:and\s+)?(?:phases?\s+)?)` + id + `\b)*`
	p.aside = regexp.MustCompile(`\([^)]*\)`)
	p.over = regexp.MustCompile(`(?i)^\(\s*(?:already\s+|all\s+)?(?:(?:milestone\s+)?v?\d+(?:\.\d+)*\s*)?[\s,:—–-]*(?:is\s+)?(?:` + finishedWord + `)(?:\W|$)`)
	p.link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	p.date = regexp.MustCompile(`\b\d{4}-\d{2}(?:-\d{2})?\b`)
	p.all = regexp.MustCompile(`(?i)^all\b[^\d]*$`)
	p.none = regexp.MustCompile(`(?i)^(?:nothing|none|n/a|no\b|independent\b|standalone\b|first phase\b|-|–|—)`)
	p.list = regexp.MustCompile(`(?i)(?:^|\bphases?\s+)` + list)
	p.span = regexp.MustCompile(`(?i)\b(` + id + `)` + gap + `(?:-|–|—|to\b|through\b)\s*(?:phases?\s+)?(` + id + `)\b`)
	p.id = regexp.MustCompile(`(?i)` + id)

	p.version = regexp.MustCompile(`(?i)(^|[^\w.-])(?:milestones?\s+)?(v\d+(?:\.\d+)*)\b([\w-]*\s+phases?\s+` + list + `)?`)
	p.finished = regexp.MustCompile(`(?i)\bmilestone\s+\S+\s+(?:is\s+)?(?:` + finishedWord + `)`)
	p.unneeded = regexp.MustCompile(`(?i)\b(?:independent(?:ly)?|not?|never|without|gates?|gating|blocks|blocking|unblocks?|unblocking|unlocks?|enables?|` +
		`feeds?|precedes?|preceding|before|ahead of|prior to|parallel(?:izable)?|concurrent(?:ly)?|alongside|simultaneous(?:ly)?|` +
		`(?:required|needed|used|consumed) by|prerequisite (?:for|of|to)|soft|optional(?:ly)?|ideally|preferably|recommended|` +
		`nice to have|(?:starts?|begins?) with|informs?|overlaps?|related|see also|unlike)\b|n't\b`)
	p.needed = regexp.MustCompile(`(?i)\b(?:once|after|needs?|requires?|depends? on|dependent on|relies on|builds? on|follows|` +
		`waits? (?:for|on)|until|blocked by|gated (?:by|on)|when)\s+(?:the\s+)?(?:completion\s+of\s+)?$`)
	p.denied = regexp.MustCompile(`(?i)(?:\bnot\b|n't\b|\bno\b|\bnever\b)[^,]*$`)
	const verbs = `(?i)^\W*(?:(?:is|are|can|may|could|should|must|will|runs?|be|then)\s+)*`
	p.other = regexp.MustCompile(verbs + `(?:independent|in parallel|parallel|concurrent|depends?\s+on\s+(?:this|it)|needs?\s+(?:this|it)|` +
		`requires?\s+(?:this|it)|waits?\s+(?:for|on)\s+(?:this|it)|follows?\b|come\s+after)`)
	p.optional = regexp.MustCompile(verbs + `(?:not\s+(?:required|needed|blocking)|optional|recommended|preferred|nice\s+to\s+have)`)
	return p
})

// finishedWord matches a word for a finished milestone or phase.
const finishedWord = `complete|completed|shipped|done|finished|delivered|released|archived|✅|✓|✔`

// metMark replaces an aside that calls the phase before it finished.
const metMark = "\x01"

// met reports whether the text after a phase calls that finished.
func met(follow string) bool {
	return strings.HasPrefix(strings.TrimLeft(follow, " "), metMark)
}

// allBefore is the key for every phase before this one: "all previous phases".
const allBefore = "*"

// A need is the parsed dependencies of a phase.
type need struct {
	keys     []string // of phases; a range is the keys of its ends joined by ".."
	over     []string // those keys that the text calls complete
	releases []release
	named    bool   // the text names a milestone
	unread   string // text that names nothing and doesn't say "nothing" either
}

// A release is a milestone that a phase depends on.
type release struct {
	version string
	over    bool     // the text says that it has shipped
	keys    []string // the phases of it that are meant; nil for all
}

// readDepends parses the value of "Depends on": `Phase 1, Phase 2.1`, `Phases 1-3 and 5`,
// `Nothing (first phase)`, `v1.0 (shipped)`. In prose, only phases described as needed count,
// which excludes "independent of Phase 42" and "gates Phases 41-43".
func readDepends(text string) need {
	p := dependsPatterns()
	var n need
	plain := strings.ReplaceAll(p.link.ReplaceAllString(text, "$1"), metMark, " ")
	plain = p.date.ReplaceAllString(plain, " ")
	plain = p.aside.ReplaceAllStringFunc(plain, func(aside string) string {
		if p.over.MatchString(aside) {
			return metMark
		}
		return " "
	})
	whole := strings.Trim(strings.TrimSpace(plain), "*_` ."+metMark)
	plain = n.takeReleases(strings.Trim(strings.TrimSpace(plain), "*_` ."))
	if p.all.MatchString(plain) {
		n.keys = []string{allBefore}
		return n
	}
	said := n.named || p.none.MatchString(plain) || p.finished.MatchString(plain)
	from := 0
	for _, at := range p.list.FindAllStringIndex(plain, -1) {
		if strings.HasPrefix(strings.ToLower(plain), "no") && p.none.MatchString(plain) &&
			at[0] < clauseEnd(plain, 0) {
			continue
		}
		said = true
		if needs(plain, from, at[0]) {
			had := len(n.keys)
			n.takeKeys(plain[at[0]:at[1]], met(plain[at[1]:]))
			if aside(plain, at) { // about the last phase
				n.keys = n.keys[:max(had, len(n.keys)-1)]
			}
		}
		from = at[1]
	}
	if !said {
		n.unread = strings.ReplaceAll(whole, metMark, " ")
	}
	return n
}

// takeReleases removes the milestones from the text, each with the phases that follow it, and
// returns the rest.
func (n *need) takeReleases(plain string) string {
	p := dependsPatterns()
	var rest strings.Builder
	done := 0
	for _, m := range p.version.FindAllStringSubmatchIndex(plain, -1) {
		before := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(plain[:m[4]])), "s")
		if strings.HasSuffix(before, "phase") {
			continue // as in "Phase V1"
		}
		r := release{version: plain[m[4]:m[5]]}
		tail := strings.TrimLeft(plain[m[1]:], " :—–-")
		r.over = strings.HasPrefix(tail, metMark) || finishedStart().MatchString(tail)
		if m[6] >= 0 {
			var of need
			list := plain[m[6]:m[7]]
			of.takeKeys(list[strings.Index(strings.ToLower(list), "phase"):], false)
			r.keys = of.keys
		}
		if n.named = true; needs(plain, done, m[4]) {
			n.releases = append(n.releases, r)
		}
		if done < m[0] {
			rest.WriteString(plain[done:m[0]])
		}
		rest.WriteString(plain[m[2]:m[3]] + " . ")
		done = m[1]
	}
	if done == 0 {
		return plain
	}
	rest.WriteString(plain[done:])
	return strings.TrimSpace(rest.String())
}

var finishedStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:(?:is|was|has been|milestone|being)\s+)*(?:` + finishedWord + `)`)
})

// takeKeys adds the phases of a list: `Phases 1-3 and 5`.
func (n *need) takeKeys(list string, over bool) {
	p := dependsPatterns()
	was := len(n.keys)
	rest := p.span.ReplaceAllStringFunc(list, func(s string) string {
		m := p.span.FindStringSubmatch(s)
		n.keys = append(n.keys, PhaseKey(m[1])+".."+PhaseKey(m[2]))
		return " "
	})
	marked := p.id.FindAllStringIndex(rest, -1)
	for _, at := range marked {
		key := PhaseKey(rest[at[0]:at[1]])
		n.keys = append(n.keys, key)
		if met(rest[at[1]:]) {
			n.over = append(n.over, key)
		}
	}
	if over && len(n.keys) > was && len(marked) > 0 {
		n.over = append(n.over, n.keys[len(n.keys)-1])
	}
}

// needs reports whether the phases listed at that place are needed, judging by the words before
// them. A list at the start of the field's value is needed.
func needs(text string, from, at int) bool {
	p := dependsPatterns()
	before := text[clauseStart(text, from, at):at]
	if m := p.needed.FindStringIndex(before); m != nil {
		return !p.denied.MatchString(before[:m[0]])
	}
	return at == 0 || !p.unneeded.MatchString(before)
}

// aside reports whether the words after a list make its last phase optional, as in "Phase 41 is
// optional". For the first list, that takes an explicit statement.
func aside(text string, at []int) bool {
	p := dependsPatterns()
	follow := text[at[1]:clauseEnd(text, at[1])]
	if at[0] == 0 {
		return p.optional.MatchString(follow)
	}
	return p.optional.MatchString(follow) || p.other.MatchString(follow)
}

const clauseMarks = ".;:—–\n"

// clauseStart returns the start of the clause that contains offset at, but not before from.
func clauseStart(text string, from, at int) int {
	if i := strings.LastIndexAny(text[from:at], clauseMarks); i >= 0 {
		return from + i + 1
	}
	return from
}

// clauseEnd returns the end of the clause that contains offset at. A period within a phase
// number doesn't end a clause.
func clauseEnd(text string, at int) int {
	for i := at; i < len(text); i++ {
		period := text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ')
		if text[i] == ';' || text[i] == ',' || period || strings.HasPrefix(text[i:], "—") {
			return i
		}
	}
	return len(text)
}

// spread assigns phases outside a milestone's section to the milestone whose range contains
// them.
func (r *roadmapReader) spread() {
	for i := range r.road.Phases {
		ph := &r.road.Phases[i]
		n := atoi(ph.Key)
		for _, s := range r.spans {
			if ph.milestone < 0 && digits(ph.Key) != "" && s.from <= n && n <= s.to {
				ph.milestone = s.milestone
			}
		}
	}
}

// resolve expands ranges into phases. A phase without stated dependencies depends on the one
// before it: that is the order in which GSD works.
func (r *Roadmap) resolve() {
	for i := range r.Phases {
		ph := &r.Phases[i]
		for _, rel := range ph.releases {
			keys, known := r.needed(ph, rel)
			ph.Depends = append(ph.Depends, keys...)
			if !known && len(ph.Depends) == 0 {
				ph.Said, ph.Unread = false, rel.version
			}
		}
		if !ph.Said && i > 0 {
			ph.Depends = []string{r.Phases[i-1].Key}
		}
		var keys []string
		add := func(key string) {
			if key != "" && key != allBefore && key != ph.Key && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		for _, key := range ph.Depends {
			from, to, ok := strings.Cut(key, "..")
			if key == allBefore && i > 0 {
				from, to, ok = r.Phases[0].Key, r.Phases[i-1].Key, true
			}
			if !ok {
				add(key)
				continue
			}
			for _, k := range r.between(from, to) {
				add(k)
			}
		}
		ph.Depends = keys
	}
}

// needed returns the phases of a milestone that ph depends on: none if the milestone has
// shipped or left the roadmap. known is false for a milestone later than any in the roadmap.
func (r *Roadmap) needed(ph *Phase, rel release) (keys []string, known bool) {
	at := r.find(rel.version, "")
	switch {
	case at >= 0 && at == ph.milestone:
		return rel.keys, true
	case rel.over || at >= 0 && r.Milestones[at].Shipped:
		return nil, true
	case at < 0:
		newer := func(m Milestone) bool { return olderVersion(rel.version, m.Version) }
		return nil, len(r.Milestones) == 0 || slices.ContainsFunc(r.Milestones, newer)
	case rel.keys != nil:
		return rel.keys, true
	}
	for i := range r.Phases {
		if r.Phases[i].milestone == at {
			keys = append(keys, r.Phases[i].Key)
		}
	}
	return keys, true
}

// between returns the keys of the phases from one to another, including the ends even if those
// phases don't exist.
func (r *Roadmap) between(from, to string) []string {
	keys, in := []string{from}, false
	for i := range r.Phases {
		key := r.Phases[i].Key
		if in && key != to {
			keys = append(keys, key)
		}
		in = in && key != to || key == from
	}
	return append(keys, to)
}
