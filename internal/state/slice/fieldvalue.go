package slice

import (
	"strings"

	"greenlight/internal/core/plan"
)

// A keyed has values by key: the front matter of a file, an entry of GRAPH.json, or a row's
// entry in the side file.
type keyed interface {
	Get(key string) (value string, ok bool)
	List(key string) []string
}

// A value is the part of an item that a field is read into.
type value interface {
	// read sets it from the source. Words are copied: one that shares the source's memory would
	// keep the whole file there.
	read(it *plan.Item, from keyed, key string)
	// take copies it from another item, if that has one.
	take(it, from *plan.Item)
}

// A textValue is a value of words; parse may be nil.
type textValue struct {
	at    func(*plan.Item) *string
	parse func(string) string
}

func (v textValue) read(it *plan.Item, from keyed, key string) {
	s, _ := from.Get(key)
	if v.parse != nil {
		s = v.parse(s)
	}
	*v.at(it) = strings.Clone(s)
}

func (v textValue) take(it, from *plan.Item) {
	if s := *v.at(from); s != "" {
		*v.at(it) = s
	}
}

// A numberValue is a value that is a number; none stands for no value.
type numberValue struct {
	at    func(*plan.Item) *int
	parse func(string) int
	none  int
}

func (v numberValue) read(it *plan.Item, from keyed, key string) {
	s, _ := from.Get(key)
	*v.at(it) = v.parse(s)
}

func (v numberValue) take(it, from *plan.Item) {
	if n := *v.at(from); n != v.none {
		*v.at(it) = n
	}
}

// A listValue is a value of several words; parse may be nil.
type listValue struct {
	at    func(*plan.Item) *[]string
	parse func([]string) []string
}

func (v listValue) read(it *plan.Item, from keyed, key string) {
	l := from.List(key)
	if v.parse != nil {
		l = v.parse(l)
	}
	*v.at(it) = cloned(l)
}

// cloned returns the words in memory of their own.
func cloned(l []string) []string {
	for i, s := range l {
		l[i] = strings.Clone(s)
	}
	return l
}

func (v listValue) take(it, from *plan.Item) {
	if l := *v.at(from); len(l) > 0 {
		*v.at(it) = l
	}
}

// failingValue is the number of failing tests. Older files have it as tests_failing.
type failingValue struct{}

func (failingValue) read(it *plan.Item, from keyed, key string) {
	if s, ok := from.Get(key); ok {
		it.Failing = failing(s)
		return
	}
	s, _ := from.Get("tests_failing")
	it.Failing = count(s)
}

func (failingValue) take(it, from *plan.Item) {
	if from.Failing != 0 {
		it.Failing = from.Failing
	}
}

// gainValue is by how much a slice changed the number of tests, "3" or "-2"; no value is unknown.
type gainValue struct{}

func (gainValue) read(it *plan.Item, from keyed, key string) {
	s, _ := from.Get(key)
	it.NewTests, it.Counted = signed(s), s != ""
}

func (gainValue) take(it, from *plan.Item) {
	if from.Counted {
		it.NewTests, it.Counted = from.NewTests, true
	}
}
