package slice

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"greenlight/internal/base/uniq"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
)

// An index holds the ids of a project: the union of its slice files and the entries of
// GRAPH.json.
type index struct {
	stems []string // of the files
	g     *graph
	twins []string // messages for warnTwins by index in stems, "" for none; nil until needed

	order []int // result of inOrder; nil until needed

	ids []string       // the slices: in graph order, then in natural order
	at  map[string]int // slice → index in ids
	// by index in ids: the index of the slice's file in stems, or none or made
	stem   []int
	graph  []entry                    // the entries: each at the index of its slice in ids
	alias  map[string]string          // ids in the graph that a file spells differently
	normal func() map[string][]string // byNormal of ids
	edges  map[string][]string
}

const (
	none = -1 // the slice has no file
	made = -2 // its file was created after the files were listed
)

// newIndex joins files and graph. An entry and a file form one slice, known by the file's name,
// if their ids read the same and no others do.
func newIndex(stems []string, g *graph) *index {
	n := max(len(stems), len(g.entries))
	ix := &index{stems: stems, g: g, ids: make([]string, 0, n), stem: make([]int, 0, n),
		at: make(map[string]int, n), graph: g.entries, alias: map[string]string{}}
	ix.normal = sync.OnceValue(func() map[string][]string { return byNormal(ix.ids) })
	for i, stem := range stems {
		ix.at[stem] = i // adjusted below
	}
	spelt := ix.spellings(stems, g)
	joined := make([]bool, len(stems))
	for i := range g.entries {
		id := g.entries[i].id
		if stem, ok := spelt[id]; ok {
			ix.alias[id] = stem
			id = stem
		}
		if k, ok := ix.at[id]; ok {
			joined[k] = true
			ix.add(id, k)
		} else {
			ix.add(id, none)
		}
	}
	rest := make([]int, 0, len(stems))
	for k := range stems {
		if !joined[k] {
			rest = append(rest, k)
		}
	}
	sort.Slice(rest, func(i, j int) bool {
		return plan.NaturalLess(stems[rest[i]], stems[rest[j]])
	})
	for _, k := range rest {
		ix.add(stems[k], k)
	}
	for i, id := range ix.ids {
		ix.at[id] = i
	}
	ix.joinEdges(g)
	return ix
}

// is reports whether ix was built from exactly these lists.
func (ix *index) is(stems []string, g *graph) bool {
	return ix != nil && ix.g == g && len(stems) == len(ix.stems) && len(stems) > 0 &&
		&stems[0] == &ix.stems[0]
}

func (ix *index) add(id string, stem int) {
	ix.ids, ix.stem = append(ix.ids, id), append(ix.stem, stem)
}

// entry returns the graph's entry for a slice; nil if there is none.
func (ix *index) entry(id string) *entry {
	i, ok := ix.at[id]
	if !ok {
		return nil
	}
	return ix.entryAt(i)
}

func (ix *index) entryAt(i int) *entry {
	if i < 0 || i >= len(ix.graph) {
		return nil
	}
	return &ix.graph[i]
}

// hasFile reports whether the slice has a file.
func (ix *index) hasFile(id string) bool {
	i, ok := ix.at[id]
	return ok && ix.stem[i] != none
}

// hasNow records that a slice was given a file.
func (ix *index) hasNow(id string) {
	if i, ok := ix.at[id]; ok && ix.stem[i] == none {
		ix.stem[i] = made
	}
}

// inOrder returns the indexes in ids of the slices with files, in natural order.
func (ix *index) inOrder() []int {
	if ix.order == nil {
		ix.order = make([]int, 0, len(ix.stems))
		for i, stem := range ix.stem {
			if stem >= 0 {
				ix.order = append(ix.order, i)
			}
		}
		sort.Slice(ix.order, func(i, j int) bool {
			return plan.NaturalLess(ix.ids[ix.order[i]], ix.ids[ix.order[j]])
		})
	}
	return ix.order
}

// spellings maps graph ids without a file of that name to the only file whose name reads the
// same. ix.at must hold the files.
func (ix *index) spellings(stems []string, g *graph) map[string]string {
	loose := false
	for i := range g.entries {
		if _, ok := ix.at[g.entries[i].id]; !ok {
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
		_, named := ix.at[id]
		if same := files[key]; !named && len(same) == 1 && entries[key] == 1 {
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

// known reports whether id is a slice, in exactly that spelling.
func (ix *index) known(id string) bool {
	_, ok := ix.at[id]
	return ok
}

// canonical returns the slice that id refers to, or id itself if that is unknown or ambiguous.
func (ix *index) canonical(id string) string {
	if ix.known(id) {
		return id
	}
	if stem, ok := ix.alias[id]; ok {
		return stem
	}
	same := ix.normal()[sliceid.Key(id)]
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

// resolve is like canonical for an id typed by a person: an unknown or ambiguous id is an
// error.
func (ix *index) resolve(id string) (string, error) {
	if got := ix.canonical(id); ix.known(got) {
		return got, nil
	}
	match, _, err := sliceid.Resolve(id, ix.ids)
	return match, err
}

// deps returns the distinct slices in the list; self reports whether the slice itself was among
// them. If every item is a slice in its exact spelling, deps returns the list itself.
func (ix *index) deps(id string, list []string) (deps []string, self bool) {
	if len(list) == 0 {
		return nil, false
	}
	if len(list) <= few && ix.plain(id, list) {
		return list[:len(list):len(list)], false
	}
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

// few is the number of dependencies that most slices don't exceed.
const few = 8

// plain reports whether the list contains only other slices, each once.
func (ix *index) plain(id string, list []string) bool {
	for i, d := range list {
		if d == id || !ix.known(d) || slices.Contains(list[:i], d) {
			return false
		}
	}
	return true
}
