// Package conflict finds the lines that git writes into a file that it can't merge:
//
//	<<<<<<< ours
//	||||||| base (with merge.conflictStyle diff3)
//	=======
//	>>>>>>> theirs
package conflict

import (
	"slices"
	"strings"

	"greenlight/internal/base/text/textline"
)

// Find returns the number of the line on which the first conflict begins, 0 for none. whole
// reports whether its middle and its end follow. If they don't, the mark is a leftover, or the
// text is about conflicts.
func Find(text string) (line int, whole bool) {
	if !strings.Contains(text, "<<<<<<<") {
		return 0, false
	}
	n, middle := 0, false
	for l := range strings.Lines(text) {
		n++
		if !IsMark(l) {
			continue
		}
		switch {
		case l[0] == '<' && line == 0:
			line = n
		case l[0] == '=' && line > 0:
			middle = true
		case l[0] == '>' && middle:
			return line, true
		}
	}
	return line, false
}

// IsMark reports whether the line, with or without its line ending, is one of git's: seven of
// its characters at the start, then nothing or a blank.
func IsMark(line string) bool {
	line = textline.Chomp(line)
	if len(line) < 7 || !strings.Contains("<|=>", line[:1]) ||
		strings.Count(line[:7], line[:1]) != 7 {
		return false
	}
	return len(line) == 7 || line[7] == ' '
}

// Both returns the text with both sides of each conflict, ours first, without the base and the
// marks. Lines that both sides begin or end with appear once. An incomplete conflict stays
// unchanged.
func Both(text string) string {
	var b strings.Builder
	var held []string         // lines of a conflict that isn't closed yet, with its marks
	var ours, theirs []string // its sides
	in := byte(0)             // the last mark seen; 0 for none
	for l := range strings.Lines(text) {
		mark := byte(0)
		if IsMark(l) {
			mark = l[0]
		}
		switch {
		case mark == '<':
			b.WriteString(strings.Join(held, ""))
			in, held, ours, theirs = '<', []string{l}, nil, nil
			continue
		case in == 0:
			b.WriteString(l)
			continue
		case mark == '>' && in == '=':
			b.WriteString(strings.Join(together(ours, theirs), ""))
			in, held = 0, nil
			continue
		}
		held = append(held, l)
		switch {
		case mark == '|' && in == '<', mark == '=' && in != '=':
			in = mark
		case in == '<':
			ours = append(ours, l)
		case in == '=':
			theirs = append(theirs, l)
		}
	}
	return b.String() + strings.Join(held, "")
}

// together returns a followed by b, without the lines at b's ends that a shares.
func together(a, b []string) []string {
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	last := 0
	for last < min(len(a), len(b))-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	return slices.Concat(a[:len(a)-last], b[first:len(b)-last], a[len(a)-last:])
}
