package statcache

import "encoding/binary"

// A Coder writes values, or reads them: a single function for both, which gets pointers, keeps
// them in sync. The input may be anything; if it is invalid, Bad is true, and values are zero
// or partial. The zero Coder writes.
type Coder struct {
	reading bool
	out     []byte
	in      string // strings that are read share its memory
	bad     bool
}

// Reading returns a Coder that reads.
func Reading(text string) *Coder { return &Coder{reading: true, in: text} }

// IsReading reports whether the Coder reads.
func (c *Coder) IsReading() bool { return c.reading }

// Bad reports whether the input is invalid.
func (c *Coder) Bad() bool { return c.bad }

// Bytes returns the output.
func (c *Coder) Bytes() []byte { return c.out }

// Rest returns the unread input.
func (c *Coder) Rest() string { return c.in }

// Uint codes a number, small ones in few bytes.
func (c *Coder) Uint(v *uint64) {
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

func (c *Coder) fail() { c.bad, c.in = true, "" }

// When reading, a value is set without looking at its old content. Its memory is mostly
// untouched, and reading it would make the system map a page of zeros, only to replace it.

// Int64 is Uint for numbers that may be negative.
func (c *Coder) Int64(v *int64) {
	var u uint64
	if !c.reading {
		u = uint64(*v<<1) ^ uint64(*v>>63)
	}
	c.Uint(&u)
	if c.reading {
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

// Int is Int64.
func (c *Coder) Int(v *int) {
	var n int64
	if !c.reading {
		n = int64(*v)
	}
	c.Int64(&n)
	if c.reading {
		*v = int(n)
	}
}

// Bool codes a boolean.
func (c *Coder) Bool(v *bool) {
	var u uint64
	if !c.reading && *v {
		u = 1
	}
	c.Uint(&u)
	if c.reading {
		*v = u == 1
	}
}

// Text codes a string of any bytes.
func (c *Coder) Text(v *string) {
	if !c.reading {
		n := uint64(len(*v))
		c.Uint(&n)
		c.out = append(c.out, *v...)
		return
	}
	var n uint64
	c.Uint(&n)
	if n > uint64(len(c.in)) {
		c.fail()
		return
	}
	*v, c.in = c.in[:n], c.in[n:]
}

// Size codes the length of a list, and whether it is nil. A length that is read is at most that
// of the remaining input.
func (c *Coder) Size(n int, isNil bool) (int, bool) {
	u := uint64(n) + 1
	if isNil {
		u = 0
	}
	c.Uint(&u)
	if u > uint64(len(c.in))+1 && c.reading { // each element has at least one byte
		c.fail()
		return 0, true
	}
	return int(u) - 1, u == 0
}

// Texts codes a list of strings; nil stays nil.
func (c *Coder) Texts(v *[]string) {
	if !c.reading {
		c.Size(len(*v), *v == nil)
	} else if n, isNil := c.Size(0, true); !isNil {
		*v = make([]string, n)
	} else {
		return // it is nil
	}
	for i := range *v {
		c.Text(&(*v)[i])
	}
}

// Stamp codes a stamp. Its numbers are large and distinct, so each takes eight bytes.
func (c *Coder) Stamp(s *Stamp) {
	if !c.reading {
		c.out = s.Append(c.out)
		return
	}
	const words = 5
	if len(c.in) < 8*words {
		c.fail()
		return
	}
	word := func(i int) uint64 {
		w := c.in[8*i : 8*i+8]
		return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
	}
	*s = Stamp{Size: int64(word(0)), Mtime: int64(word(1)), Ctime: int64(word(2)),
		Ino: word(3), Dev: word(4)}
	c.in = c.in[8*words:]
}
