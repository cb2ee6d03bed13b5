package slice

import (
	"maps"
	"slices"
	"sync"

	"greenlight/internal/core/plan"
)

// An assembly holds the items of a view, joined from all their sources.
type assembly struct {
	ix       *index
	paused   map[string]bool
	files    []*sliceFile // compared to see what has changed
	items    []*plan.Item
	lines    []*line                // of STATE.md's table; nil until rendered
	warnings map[int][]plan.Warning // by the item's index
	rows     bool                   // some rows come from STATE.md
	unknown  bool                   // some dependency isn't a slice
}

// assemble joins all items from their sources. With a follower, it rejoins only those whose
// files have changed.
func (v *view) assemble() *assembly {
	n := len(v.ix.ids)
	var last *assembly
	if v.memory != nil {
		last = v.memory.joined
	}
	a := &assembly{ix: v.ix, paused: v.paused, files: v.files}
	again := last.holdsFor(v)
	if again {
		a.items, a.lines, a.warnings = last.items, last.lines, last.warnings
	} else {
		a.items, a.lines, a.warnings = plan.Pointers(make([]plan.Item, n)), make([]*line, n),
			map[int][]plan.Warning{}
	}
	changed := make([]int, 0, n)
	for i := range v.ix.ids {
		if !again || v.files[v.ix.stem[i]] != last.files[v.ix.stem[i]] {
			changed = append(changed, i)
		}
	}
	if again && len(changed) > 0 { // other views share the lists and the old items
		a.items, a.lines, a.warnings = slices.Clone(a.items), slices.Clone(a.lines),
			maps.Clone(a.warnings)
		for _, i := range changed {
			a.items[i] = new(plan.Item)
		}
	}
	var mu sync.Mutex
	inParallel(len(changed), func(from, to int) {
		part := assembly{ix: a.ix, items: a.items, lines: a.lines,
			warnings: map[int][]plan.Warning{}}
		own := *v // collects the warnings
		for _, i := range changed[from:to] {
			part.add(&own, i)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, i := range changed[from:to] {
			delete(a.warnings, i)
		}
		maps.Copy(a.warnings, part.warnings)
		a.rows, a.unknown = a.rows || part.rows, a.unknown || part.unknown
	})
	for _, i := range slices.Sorted(maps.Keys(a.warnings)) {
		v.warnings = append(v.warnings, a.warnings[i]...)
	}
	if v.memory != nil {
		v.memory.joined = a
	}
	return a
}

// holdsFor reports whether the items of unchanged files can be reused for v.
func (a *assembly) holdsFor(v *view) bool {
	return a != nil && a.ix == v.ix && !a.rows && !a.unknown && maps.Equal(a.paused, v.paused)
}

// add joins item i from its sources.
func (a *assembly) add(v *view, i int) {
	v.warnings = nil
	it := a.items[i]
	v.join(it, i, v.ix.ids[i])
	if len(v.warnings) > 0 {
		a.warnings[i] = v.warnings
	}
	a.lines[i] = nil
	a.rows = a.rows || v.ix.stem[i] < 0
	for _, d := range it.Deps {
		a.unknown = a.unknown || !v.ix.known(d)
	}
}
