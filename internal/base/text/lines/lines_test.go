package lines

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// With any chunks, every byte comes once and in order, no piece is longer than the limit, and
// the lines don't depend on the chunks.
func TestSplitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(4, 9).Draw(t, "max")
		text := rapid.StringMatching(`[aä€😀\n\r]{0,60}`).Draw(t, "text")
		s := NewSplitter(most)
		var got []byte
		open := false
		take := func(p Piece) {
			if len(p.Text) > most || !utf8.Valid(p.Text) {
				t.Fatalf("piece %q", p.Text)
			}
			if p.Rest != open {
				t.Fatalf("%q: rest %v after a piece whose line is open: %v", p.Text, p.Rest, open)
			}
			got = append(got, p.Text...)
			if open = p.More; !p.More {
				got = append(got, '\n')
			}
		}
		for left := []byte(text); len(left) > 0; {
			n := rapid.IntRange(1, len(left)).Draw(t, "chunk")
			s.Write(bytes.Clone(left[:n]), take)
			left = left[n:]
		}
		s.End(take)
		want := text
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if string(got) != want || open {
			t.Fatalf("got %q of %q, open: %v", got, text, open)
		}
	})
}

// A line of exactly the limit is whole; one byte more cuts it.
func TestSplitterAtTheBound(t *testing.T) {
	for n, want := range map[int]int{7: 1, 8: 1, 9: 2, 16: 2, 17: 3} {
		pieces := 0
		s := NewSplitter(8)
		s.Write([]byte(strings.Repeat("x", n)+"\n"), func(Piece) { pieces++ })
		if pieces != want {
			t.Errorf("%d bytes are %d pieces, want %d", n, pieces, want)
		}
	}
}

// A line without end costs no more memory than the limit and the growth of the buffer.
func TestSplitterHoldsOnePiece(t *testing.T) {
	const size = 300 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	s := NewSplitter(Max)
	take := func(p Piece) { n += len(p.Text) }
	if err := s.Read(io.LimitReader(endless{}, size), take); err != nil {
		t.Fatal(err)
	}
	s.End(take)
	runtime.ReadMemStats(&after)
	if n != size {
		t.Errorf("got %d bytes", n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*Max {
		t.Errorf("allocated %d MiB for a line of %d MiB", used>>20, size>>20)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
