// Package lines splits the output of other programs into lines of bounded length. A line may
// never end: it comes in pieces, of which decoders look at the first.
package lines

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// Max is how many bytes of a line gl decodes. The longest lines that agents write on purpose
// contain an image: five megabytes in base64.
const Max = 8 << 20

// chunk is how much is read at a time.
const chunk = 64 << 10

// A Piece is a line, or a part of a line that exceeds the limit.
type Piece struct {
	Text []byte // without the \n; valid until the callback returns
	Rest bool   // it isn't the beginning of the line
	More bool   // the line continues
}

// A Splitter splits a stream of bytes into pieces. It buffers at most one piece.
type Splitter struct {
	max  int
	held []byte // the start of an unfinished piece
	rest bool   // the next piece continues a line
}

// NewSplitter returns a Splitter whose pieces have at most that many bytes, and at least one
// rune.
func NewSplitter(most int) *Splitter { return &Splitter{max: max(most, utf8.UTFMax)} }

// Write processes the next part of the stream, and calls f with each piece that ends in it.
func (s *Splitter) Write(data []byte, f func(Piece)) {
	for len(data) > 0 {
		line, after, ended := bytes.Cut(data, []byte("\n"))
		if len(s.held)+len(line) > s.max {
			data = s.fill(data, f)
			continue
		}
		if !ended {
			s.held = append(s.held, line...)
			return
		}
		if len(s.held) > 0 {
			s.held = append(s.held, line...)
			line = s.held
		}
		data = after
		s.emit(line, false, f)
	}
}

// fill makes a full piece from the buffer and the start of data, and returns the rest of data.
// It keeps runes whole.
func (s *Splitter) fill(data []byte, f func(Piece)) []byte {
	n := s.max - len(s.held)
	s.held = append(s.held, data[:n]...)
	end := len(s.held)
	for i := end - 1; i > end-utf8.UTFMax; i-- {
		if utf8.RuneStart(s.held[i]) {
			if !utf8.FullRune(s.held[i:]) {
				end = i
			}
			break
		}
	}
	var cut [utf8.UTFMax]byte
	kept := copy(cut[:], s.held[end:])
	s.emit(s.held[:end], true, f)
	s.held = append(s.held, cut[:kept]...)
	return data[n:]
}

func (s *Splitter) emit(text []byte, more bool, f func(Piece)) {
	f(Piece{Text: text, Rest: s.rest, More: more})
	s.rest = more
	if cap(s.held) > chunk && !more {
		s.held = nil // long lines are rare, and attempts run for hours
	}
	s.held = s.held[:0]
}

// End calls f with the last line, if it has no line ending.
func (s *Splitter) End(f func(Piece)) {
	if len(s.held) > 0 || s.rest {
		s.emit(s.held, false, f)
	}
}

// Read calls f with each piece of r until its end. Text after the last \n stays buffered.
func (s *Splitter) Read(r io.Reader, f func(Piece)) error {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		s.Write(buf[:n], f)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
