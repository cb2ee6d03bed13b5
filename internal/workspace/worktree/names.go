package worktree

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// longestPart bounds a part of a ref: while its file is locked, its name is longer.
const longestPart = 150

// part returns any text as one part of a ref, "_" for none. Different texts have different parts,
// also on file systems that ignore case or normalize Unicode: capitals, other bytes and what git
// doesn't allow become %xx.
func part(s string) string {
	if s == "" {
		return "_"
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; plain(s, i) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() <= longestPart {
		return b.String()
	}
	// After a % of an escape there is a hexadecimal digit.
	return fmt.Sprintf("%s%%h%x", b.String()[:longestPart/2], sha256.Sum256([]byte(s)))
}

// idPart returns a slice's id as one part of a ref. Most ids have only capitals (S-1, AUTH-2) and
// are kept readable in lists of branches; those with small letters have a _ in front, and tasks
// (@quick.1) keep their @. As with part, different ids have different parts.
func idPart(id string) string {
	if id == "" {
		return part(id)
	}
	if task, ok := strings.CutPrefix(id, "@"); ok {
		return "@" + part(task)
	}
	if strings.ContainsFunc(id, isSmall) {
		return "_" + part(id)
	}
	p := toCapital(part(toSmall(id)))
	if rest, ok := strings.CutPrefix(p, "_"); ok {
		return "%5F" + rest
	}
	return p
}

// unIDPart returns the id of a part of a ref, "" if it is unknown.
func unIDPart(p string) string {
	if rest, ok := strings.CutPrefix(p, "_"); ok {
		return unpart(rest)
	}
	if rest, ok := strings.CutPrefix(p, "@"); ok {
		return "@" + unpart(rest)
	}
	return toCapital(unpart(toSmall(p)))
}

func isSmall(r rune) bool { return r >= 'a' && r <= 'z' }

// toSmall and toCapital change English letters and keep every other byte.
func toSmall(s string) string { return shift(s, 'A', 'a') }

func toCapital(s string) string { return shift(s, 'a', 'A') }

func shift(s string, from, to byte) string {
	b := []byte(s)
	for i, c := range b {
		if c >= from && c < from+26 {
			b[i] = c - from + to
		}
	}
	return string(b)
}

// plain reports whether byte i of s is written as it is.
func plain(s string, i int) bool {
	switch c := s[i]; {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
		return true
	case c == '_':
		return s != "_"
	case c == '.':
		return i > 0 && i < len(s)-1 && s[i-1] != '.' && !strings.EqualFold(s[i:], ".lock")
	}
	return false
}

// name returns a text as a file name that is easy on people and tools. Two texts may have the same
// name.
func name(s string) string {
	if s == "" {
		return "_"
	}
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, s)
	if s[0] == '.' || s[0] == '-' { // a hidden directory, an option; and the @ of a task
		s = "_" + s[1:]
	}
	return s[:min(len(s), 100)]
}

// lastPart returns the name of a worktree's directory.
func lastPart(slice string, n int) string {
	if isLane(slice) {
		slice = strings.TrimPrefix(slice, "@")
	}
	return name(slice) + "." + strconv.Itoa(n)
}

// unpart returns the text of a part of a ref, "" for none and if it is unknown.
func unpart(p string) string {
	if p == "_" {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] != '%' {
			b.WriteByte(p[i])
			continue
		}
		if i+2 >= len(p) {
			return ""
		}
		c, err := strconv.ParseUint(p[i+1:i+3], 16, 8)
		if err != nil {
			return ""
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String()
}
