// Package uniq collects strings without duplicates, in order. It stays fast for a hundred
// thousand strings.
package uniq

import "slices"

// few is how many strings can be searched without an index at the same speed.
const few = 16

// A List is a list of strings without duplicates. The zero List is empty.
type List struct {
	items []string
	index map[string]struct{} // nil while there are few

	compared int // at most, one by one: for tests
}

// Add appends a string and reports whether it was new.
func (l *List) Add(s string) bool {
	if l.Has(s) {
		return false
	}
	l.items = append(l.items, s)
	switch {
	case l.index != nil:
		l.index[s] = struct{}{}
	case len(l.items) > few:
		l.index = make(map[string]struct{}, 2*len(l.items))
		for _, item := range l.items {
			l.index[item] = struct{}{}
		}
	}
	return true
}

// Has reports whether the list has the string.
func (l *List) Has(s string) bool {
	if l.index == nil {
		l.compared += len(l.items)
		return slices.Contains(l.items, s)
	}
	_, ok := l.index[s]
	return ok
}

// Items returns the strings, nil for none.
func (l *List) Items() []string { return l.items }

// Of returns a List of the strings.
func Of(items []string) *List {
	l := &List{}
	for _, s := range items {
		l.Add(s)
	}
	return l
}
