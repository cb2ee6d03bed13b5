package statcache

import "encoding/binary"

// A Coder writes values, or reads them: one func for both, which is given pointers, keeps them in step. What is read may be anything; then
// Bad is true, and the values are zero or part of the truth. The zero Coder writes.
type Coder struct {
	reading bool
	out     []byte
	in      string // texts that are read are parts of it
	bad     bool
}

// Reading returns a Coder that reads.
func Reading(text string) *Coder { return &Coder{reading: true, in: text} }

// IsReading says whether the Coder reads.
func (c *Coder) IsReading() bool { return c.reading }

// Bad says that what was read isn't what somebody has written.
func (c *Coder) Bad() bool { return c.bad }

// Bytes is what was written.
func (c *Coder) Bytes() []byte { return c.out }

// Rest is what hasn't been read yet.
func (c *Coder) Rest() string { return c.in }

// Uint codes a number of any size, small ones in few bytes.
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

// A value that is read isn't looked at before it is set. It is in memory that nobody has touched, mostly, and the system would map a page of
// zeros there, only to take it away again.

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

// Bool codes a truth.
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

// Size codes the length of a list, and whether it is nil. One that is read is at most as long as what is left.
func (c *Coder) Size(n int, isNil bool) (int, bool) {
	u := uint64(n) + 1
	if isNil {
		u = 0
	}
	c.Uint(&u)
	if u > uint64(len(c.in))+1 && c.reading { // each element has a byte at least
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

// Stamp codes a stamp. It has numbers that are large and all different: each has eight bytes.
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
		return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 | uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
	}
	*s = Stamp{Size: int64(word(0)), Mtime: int64(word(1)), Ctime: int64(word(2)), Ino: word(3), Dev: word(4)}
	c.in = c.in[8*words:]
}
