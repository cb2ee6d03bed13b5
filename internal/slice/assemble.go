package slice

import (
	"maps"
	"slices"
	"sync"

	"greenlight/internal/plan"
)

// An assembly is the items of a view, as they were put together from all their sources.
type assembly struct {
	ix       *index
	paused   map[string]bool
	files    []*sliceFile // by which one sees what has changed
	items    []*plan.Item
	lines    []*line                // of STATE.md's table, nil: not rendered yet
	warnings map[int][]plan.Warning // by the item's place
	rows     bool                   // some of it is from STATE.md
	unknown  bool                   // some dependency is no slice
}

// assemble puts all items together; those anew, where somebody follows, whose files have changed.
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
		a.items, a.lines, a.warnings = plan.Pointers(make([]plan.Item, n)), make([]*line, n), map[int][]plan.Warning{}
	}
	changed := make([]int, 0, n)
	for i := range v.ix.ids {
		if !again || v.files[v.ix.stem[i]] != last.files[v.ix.stem[i]] {
			changed = append(changed, i)
		}
	}
	if again && len(changed) > 0 { // others have the lists and the old items, too
		a.items, a.lines, a.warnings = slices.Clone(a.items), slices.Clone(a.lines), maps.Clone(a.warnings)
		for _, i := range changed {
			a.items[i] = new(plan.Item)
		}
	}
	var mu sync.Mutex
	inParallel(len(changed), func(from, to int) {
		part := assembly{ix: a.ix, items: a.items, lines: a.lines, warnings: map[int][]plan.Warning{}}
		own := *v // which takes the warnings
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

// holdsFor says whether what hasn't changed among the files is as it was joined.
func (a *assembly) holdsFor(v *view) bool {
	return a != nil && a.ix == v.ix && !a.rows && !a.unknown && maps.Equal(a.paused, v.paused)
}

// add puts one item together.
func (a *assembly) add(v *view, i int) {
	v.warnings = nil
	it := a.items[i]
	*it = v.itemAt(i, v.ix.ids[i])
	if len(v.warnings) > 0 {
		a.warnings[i] = v.warnings
	}
	a.lines[i] = nil
	a.rows = a.rows || v.ix.stem[i] < 0
	for _, d := range it.Deps {
		a.unknown = a.unknown || !v.ix.known(d)
	}
}
