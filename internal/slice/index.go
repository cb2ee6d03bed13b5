package slice

import (
	"sort"
	"strings"

	"greenlight/internal/plan"
	"greenlight/internal/sliceid"
	"greenlight/internal/uniq"
)

// An index knows the ids of a project: those of its slice files and those of GRAPH.json, which together are the slices.
type index struct {
	ids    []string          // the slices: by place in the graph, then in natural order
	entry  map[string]*entry // by slice; nil where the graph has none
	file   map[string]bool   // the slices that have a file
	place  map[string]int    // by slice, place in the graph
	alias  map[string]string // ids in the graph that a file has in another spelling
	normal map[string][]string
	edges  map[string][]string
}

// newIndex joins files and graph. An entry and a file whose ids read the same, and no others, are one slice, known by
// the file's name.
func newIndex(stems []string, g *graph) *index {
	n := len(stems) + len(g.entries)
	ix := &index{
		ids:   make([]string, 0, n),
		entry: make(map[string]*entry, n),
		file:  make(map[string]bool, len(stems)),
		place: make(map[string]int, len(g.entries)),
		alias: map[string]string{},
	}
	for _, stem := range stems {
		ix.file[stem] = true
	}
	spelt := ix.spellings(stems, g)
	for i := range g.entries {
		e := &g.entries[i]
		id := e.id
		if stem, ok := spelt[id]; ok {
			ix.alias[id] = stem
			id = stem
		}
		ix.entry[id] = e
		ix.place[id] = i
		ix.ids = append(ix.ids, id)
	}
	var rest []string
	for _, stem := range stems {
		if _, ok := ix.entry[stem]; !ok {
			ix.entry[stem] = nil
			rest = append(rest, stem)
		}
	}
	sort.Slice(rest, func(i, j int) bool { return plan.NaturalLess(rest[i], rest[j]) })
	ix.ids = append(ix.ids, rest...)
	ix.joinEdges(g)
	return ix
}

// spellings finds, for graph ids without a file of that name, the one file whose name reads the same.
func (ix *index) spellings(stems []string, g *graph) map[string]string {
	loose := false
	for i := range g.entries {
		if !ix.file[g.entries[i].id] {
			loose = true
			break
		}
	}
	if !loose {
		return nil
	}
	files, entries := byNormal(stems), map[string]int{}
	for i := range g.entries {
		entries[sliceid.Key(g.entries[i].id)]++
	}
	spelt := map[string]string{}
	for i := range g.entries {
		id := g.entries[i].id
		key := sliceid.Key(id)
		if same := files[key]; !ix.file[id] && len(same) == 1 && entries[key] == 1 {
			spelt[id] = same[0]
		}
	}
	return spelt
}

func byNormal(ids []string) map[string][]string {
	m := make(map[string][]string, len(ids))
	for _, id := range ids {
		key := sliceid.Key(id)
		m[key] = append(m[key], id)
	}
	return m
}

func (ix *index) joinEdges(g *graph) {
	ix.edges = make(map[string][]string, len(g.edges))
	for from, to := range g.edges {
		id := ix.canonical(from)
		ix.edges[id] = append(ix.edges[id], to...)
	}
	for id, to := range ix.edges {
		ix.edges[id] = expandAll(to)
	}
}

// known says whether id is a slice, spelt exactly so.
func (ix *index) known(id string) bool {
	_, ok := ix.entry[id]
	return ok
}

// canonical returns the slice that id means, or id itself where that is none or not certain.
func (ix *index) canonical(id string) string {
	if ix.known(id) {
		return id
	}
	if stem, ok := ix.alias[id]; ok {
		return stem
	}
	if ix.normal == nil {
		ix.normal = byNormal(ix.ids)
	}
	same := ix.normal[sliceid.Key(id)]
	var folded []string
	for _, have := range same {
		if strings.EqualFold(have, id) {
			folded = append(folded, have)
		}
	}
	switch {
	case len(folded) == 1:
		return folded[0]
	case len(folded) == 0 && len(same) == 1:
		return same[0]
	}
	return id
}

// resolve is canonical for an id that a person gave: an unknown or ambiguous one is an error.
func (ix *index) resolve(id string) (string, error) {
	if got := ix.canonical(id); ix.known(got) {
		return got, nil
	}
	match, _, err := sliceid.Resolve(id, ix.ids)
	return match, err
}

// deps returns the slices that the list means, each once; self says that the slice itself was among them.
func (ix *index) deps(id string, list []string) (deps []string, self bool) {
	var all uniq.List
	for _, d := range list {
		if d = ix.canonical(d); d == id {
			self = true
		} else {
			all.Add(d)
		}
	}
	return all.Items(), self
}
