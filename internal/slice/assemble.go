package slice

import (
	"maps"
	"slices"

	"greenlight/internal/plan"
)

// An assembly is the items of a view, as they were put together from all their sources.
type assembly struct {
	ix       *index
	paused   map[string]bool
	files    []*sliceFile // by which one sees what has changed
	items    []plan.Item
	warnings map[int][]plan.Warning // by the item's place
	rows     bool                   // some of it is from STATE.md
	unknown  bool                   // some dependency is no slice
}

// assemble puts all items together; those anew, where somebody follows, whose files have changed. unknown says that a dependency is no slice.
func (v *view) assemble() (items []plan.Item, unknown bool) {
	n := len(v.ix.ids)
	j := &assembly{ix: v.ix, paused: v.paused, files: v.files, warnings: map[int][]plan.Warning{}}
	var last *assembly
	if v.memory != nil {
		last = v.memory.joined
	}
	if again := last.holdsFor(v); again {
		j.items, j.warnings = last.items, last.warnings
		own := false // until then others have them
		for i, id := range v.ix.ids {
			if k := v.ix.stem[i]; v.files[k] != last.files[k] {
				if !own {
					j.items, j.warnings, own = slices.Clone(last.items), maps.Clone(last.warnings), true
				}
				j.add(v, i, id)
			}
		}
	} else {
		j.items = make([]plan.Item, n)
		for i, id := range v.ix.ids {
			j.add(v, i, id)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(j.warnings)) {
		v.warnings = append(v.warnings, j.warnings[i]...)
	}
	if v.memory != nil {
		v.memory.joined = j
	}
	return j.items, j.unknown
}

// holdsFor says whether what hasn't changed among the files is as it was joined.
func (j *assembly) holdsFor(v *view) bool {
	return j != nil && j.ix == v.ix && !j.rows && !j.unknown && maps.Equal(j.paused, v.paused)
}

// add puts one item together.
func (j *assembly) add(v *view, i int, id string) {
	n := len(v.warnings)
	it := v.itemAt(i, id)
	delete(j.warnings, i)
	if own := v.warnings[n:]; len(own) > 0 {
		j.warnings[i] = slices.Clone(own)
	}
	v.warnings = v.warnings[:n]
	j.items[i] = it
	j.rows = j.rows || v.ix.stem[i] < 0
	for _, d := range it.Deps {
		j.unknown = j.unknown || !v.ix.known(d)
	}
}
