package slice

import (
	"encoding/binary"
)

// A coder writes values to, or reads them from, the index file: one func for both keeps them in step. What it reads may be
// anything; then bad is set, and the values are zero or part of the truth.
type coder struct {
	reading bool
	out     []byte
	in      string // strings that are read are parts of it
	bad     bool
}

func (c *coder) uint(v *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *v)
		return
	}
	if len(c.in) > 0 && c.in[0] < 0x80 { // most are
		*v, c.in = uint64(c.in[0]), c.in[1:]
		return
	}
	var x uint64
	for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
		if i >= len(c.in) || i >= binary.MaxVarintLen64 {
			c.fail()
			return
		}
		b := c.in[i]
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			c.in = c.in[i+1:]
			*v = x
			return
		}
	}
}

func (c *coder) fail() { c.bad, c.in = true, "" }

func (c *coder) int64(v *int64) {
	u := uint64(*v<<1) ^ uint64(*v>>63)
	c.uint(&u)
	*v = int64(u>>1) ^ -int64(u&1)
}

func (c *coder) int(v *int) {
	n := int64(*v)
	c.int64(&n)
	*v = int(n)
}

func (c *coder) bool(v *bool) {
	var u uint64
	if *v {
		u = 1
	}
	c.uint(&u)
	*v = u == 1
}

func (c *coder) text(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.reading {
		c.out = append(c.out, *v...)
		return
	}
	if n > uint64(len(c.in)) {
		c.fail()
		return
	}
	*v, c.in = c.in[:n], c.in[n:]
}

// size is the length of a list, and whether it is nil.
func (c *coder) size(n int, isNil bool) (int, bool) {
	u := uint64(n) + 1
	if isNil {
		u = 0
	}
	c.uint(&u)
	if u > uint64(len(c.in))+1 && c.reading { // each element has a byte at least
		c.fail()
		return 0, true
	}
	return int(u) - 1, u == 0
}

func (c *coder) texts(v *[]string) {
	n, isNil := c.size(len(*v), *v == nil)
	if isNil {
		return
	}
	if c.reading {
		*v = make([]string, n)
	}
	for i := range *v {
		c.text(&(*v)[i])
	}
}

// stamp has numbers that are large and all different: each has eight bytes.
func (c *coder) stamp(s *fileStamp) {
	const words = 5
	if !c.reading {
		for _, n := range [words]uint64{uint64(s.size), uint64(s.mtime), uint64(s.ctime), s.ino, s.dev} {
			c.out = binary.LittleEndian.AppendUint64(c.out, n)
		}
		return
	}
	if len(c.in) < 8*words {
		c.fail()
		return
	}
	word := func(i int) uint64 {
		w := c.in[8*i : 8*i+8]
		return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 | uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
	}
	*s = fileStamp{size: int64(word(0)), mtime: int64(word(1)), ctime: int64(word(2)), ino: word(3), dev: word(4)}
	c.in = c.in[8*words:]
}

func (c *coder) file(f *sliceFile) {
	c.text(&f.id)
	c.text(&f.name)
	c.text(&f.heading)
	c.text(&f.status)
	c.text(&f.step)
	c.text(&f.milestone)
	c.text(&f.session)
	c.text(&f.started)
	c.text(&f.updated)
	c.text(&f.waiting)
	c.int(&f.tests)
	c.int(&f.security)
	c.int(&f.failing)
	c.int(&f.wave)
	c.int(&f.priority)
	c.text((*string)(&f.verified))
	c.texts(&f.deps)
	c.texts(&f.wraps)
	c.bool(&f.hasDeps)
	c.bool(&f.row)
	c.text(&f.corrupt)
	c.texts(&f.warnings)
}

func (c *coder) entry(e *entry) {
	c.text(&e.id)
	c.text(&e.name)
	c.text(&e.description)
	c.text(&e.why)
	c.text(&e.milestone)
	c.texts(&e.deps)
	c.bool(&e.hasDeps)
	c.texts(&e.contracts)
	c.texts(&e.wraps)
	c.texts(&e.files)
	c.int(&e.wave)
	c.int(&e.priority)
}

func (c *coder) graph(g *graph) {
	n, _ := c.size(len(g.entries), false)
	if c.reading {
		g.entries, g.edges = make([]entry, max(n, 0)), map[string][]string{}
	}
	for i := range g.entries {
		c.entry(&g.entries[i])
	}
	n, _ = c.size(len(g.edges), false)
	if c.reading {
		for range n {
			c.edge("", nil, g)
		}
	} else {
		for from, to := range g.edges {
			c.edge(from, to, g)
		}
	}
	c.texts(&g.warnings)
}

func (c *coder) edge(from string, to []string, g *graph) {
	c.text(&from)
	c.texts(&to)
	if c.reading && !c.bad {
		g.edges[from] = to
	}
}
