package slice

import (
	"greenlight/internal/base/statcache"
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
	// read sets it from the source.
	read(it *plan.Item, from keyed, key string)
	// take copies it from another item, if that has one.
	take(it, from *plan.Item)
	// code writes it to the index, or reads it.
	code(c *statcache.Coder, it *plan.Item)
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
	*v.at(it) = s
}

func (v textValue) take(it, from *plan.Item) {
	if s := *v.at(from); s != "" {
		*v.at(it) = s
	}
}

func (v textValue) code(c *statcache.Coder, it *plan.Item) { c.Text(v.at(it)) }

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

func (v numberValue) code(c *statcache.Coder, it *plan.Item) { c.Int(v.at(it)) }

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
	*v.at(it) = l
}

func (v listValue) take(it, from *plan.Item) {
	if l := *v.at(from); len(l) > 0 {
		*v.at(it) = l
	}
}

func (v listValue) code(c *statcache.Coder, it *plan.Item) { c.Texts(v.at(it)) }

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

func (failingValue) code(c *statcache.Coder, it *plan.Item) { c.Int(&it.Failing) }

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

func (gainValue) code(c *statcache.Coder, it *plan.Item) {
	c.Int(&it.NewTests)
	c.Bool(&it.Counted)
}
