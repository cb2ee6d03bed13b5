package gsd

import (
	"regexp"
	"strings"
	"sync"
)

var dependsPatterns = sync.OnceValue(func() (p struct{ aside, link, none, all, list, span, id *regexp.Regexp }) {
	const id = `(?:[A-Z][A-Z0-9_]*-)?[A-Z]?\d+[A-Z]?(?:\.\d+)*`
	p.aside = regexp.MustCompile(`\([^)]*\)`)
	p.link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	p.all = regexp.MustCompile(`(?i)^all\b[^\d]*$`)
	p.none = regexp.MustCompile(`(?i)^(?:nothing|none|n/a|no\b|-|–|—)`)
	p.list = regexp.MustCompile(`(?i)(?:^|\bphases?\s+)` + id + `\b(?:\s*(?:,|;|&|\+|/|-|–|—|\band\b|\bto\b|\bthrough\b)[\s,]*(?:and\s+)?(?:phases?\s+)?` + id + `\b)*`)
	p.span = regexp.MustCompile(`(?i)\b(` + id + `)\s*(?:-|–|—|to\b|through\b)\s*(?:phases?\s+)?(` + id + `)\b`)
	p.id = regexp.MustCompile(`(?i)` + id)
	return p
})

// allBefore stands for every phase before this one: "all previous phases".
const allBefore = "*"

// readDepends reads the value of "Depends on": `Phase 1, Phase 2.1`, `Phases 1-3 and 5`, `Nothing (first phase)`. A range
// is the key of its ends with a ".." between. unread is a text that names no phase and doesn't say that there is none.
func readDepends(text string) (keys []string, unread string) {
	p := dependsPatterns()
	plain := p.aside.ReplaceAllString(p.link.ReplaceAllString(text, "$1"), " ")
	plain = strings.Trim(strings.TrimSpace(plain), "*_` .")
	switch {
	case p.none.MatchString(plain):
		return nil, ""
	case p.all.MatchString(plain):
		return []string{allBefore}, ""
	}
	for _, part := range p.list.FindAllString(plain, -1) {
		rest := p.span.ReplaceAllStringFunc(part, func(s string) string {
			m := p.span.FindStringSubmatch(s)
			keys = append(keys, PhaseKey(m[1])+".."+PhaseKey(m[2]))
			return " "
		})
		for _, id := range p.id.FindAllString(rest, -1) {
			keys = append(keys, PhaseKey(id))
		}
	}
	if keys == nil {
		return nil, plain
	}
	return keys, ""
}

// spread gives phases without a milestone's section the milestone whose range they are in.
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

// resolve turns ranges into the phases in them. A phase that says nothing of what it depends on comes after the one
// before it: that is the order in which GSD works.
func (r *Roadmap) resolve() {
	for i := range r.Phases {
		ph := &r.Phases[i]
		if !ph.Said && i > 0 {
			ph.Depends = []string{r.Phases[i-1].Key}
		}
		var keys []string
		add := func(key string) {
			for _, k := range keys {
				if k == key {
					return
				}
			}
			if key != "" && key != allBefore && key != ph.Key {
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

// between are the keys of the phases from one to another, the ends also where there are no such phases.
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
