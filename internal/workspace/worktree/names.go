package worktree

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// longestPart bounds a part of a ref: the file that has it has a longer name while it is locked.
const longestPart = 150

// part is any text as one part of a ref, "_" for none. No two texts have the same part, also where the file system doesn't
// tell capitals from small letters, or one way to write é from another: these, and what git doesn't allow, are %xx.
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
	// After a % of an escape there is a digit of a hexadecimal number.
	return fmt.Sprintf("%s%%h%x", b.String()[:longestPart/2], sha256.Sum256([]byte(s)))
}

// idPart is a slice's id as one part of a ref. Most ids have capitals alone (S-1, AUTH-2) and are to be read in lists of branches,
// so these stand as they are; those with small letters have a _ in front, and tasks (@quick.1) keep their @. What holds for part
// holds for it.
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

// unIDPart is the id that a part of a ref stands for, "" where it can't be told.
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

// toSmall and toCapital change the letters of English, and keep every other byte, whatever it is.
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

// plain says whether byte i of s stands for itself.
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

// name is any text as people and their tools can have it in a path. Two texts may have the same name.
func name(s string) string {
	if s == "" {
		return "_"
	}
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, s)
	if s[0] == '.' || s[0] == '-' { // a hidden directory, an option; and the @ of a task
		s = "_" + s[1:]
	}
	return s[:min(len(s), 100)]
}

// lastPart is the name of a worktree's directory.
func lastPart(slice string, n int) string {
	if slice == LaneSlice {
		slice = "lane"
	}
	return name(slice) + "." + strconv.Itoa(n)
}

// lockReason is why git keeps its hands off a worktree of ours. It is in the repository, where no clone can bring it, and so
// it tells our worktrees from a person's.
func lockReason(path string) string { return "in use by gl: " + path }

// unpart is the text that a part of a ref stands for, "" for none and where it can't be told.
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
