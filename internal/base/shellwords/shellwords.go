// Package shellwords splits a command line into words and quotes words for one, by the rules of the
// POSIX shell without expansion. It runs nothing; NeedsShell reports which lines need a shell.
package shellwords

import (
	"errors"
	"fmt"
	"strings"
)

// Split splits s into words as a POSIX shell does: at spaces, tabs and newlines, with single
// quotes, double quotes and backslashes. It has no expansions, comments or operators: $, *, #
// and | are literal. The error gives the quote that isn't closed by its byte position, counted
// from 1.
func Split(s string) ([]string, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, errors.New("a NUL byte can't be part of a command line")
	}
	w := splitter{in: s}
	for w.pos < len(s) {
		if err := w.step(); err != nil {
			return nil, err
		}
	}
	w.end()
	return w.words, nil
}

// A splitter is the state of Split between two quoted parts.
type splitter struct {
	in     string
	pos    int
	words  []string
	word   strings.Builder
	inWord bool // a word has begun; it may be empty, as in ''
}

func (w *splitter) step() error {
	c := w.in[w.pos]
	switch c {
	case ' ', '\t', '\n':
		w.pos++
		w.end()
		return nil
	case '\'':
		return w.single()
	case '"':
		return w.double()
	case '\\':
		return w.escape()
	}
	w.inWord = true
	w.word.WriteByte(c)
	w.pos++
	return nil
}

func (w *splitter) end() {
	if w.inWord {
		w.words = append(w.words, w.word.String())
	}
	w.word.Reset()
	w.inWord = false
}

func (w *splitter) single() error {
	body, _, closed := strings.Cut(w.in[w.pos+1:], "'")
	if !closed {
		return w.unbalanced("single", w.pos)
	}
	w.inWord = true
	w.word.WriteString(body)
	w.pos += len(body) + 2
	return nil
}

func (w *splitter) double() error {
	start := w.pos
	w.inWord = true
	for w.pos++; w.pos < len(w.in); w.pos++ {
		c := w.in[w.pos]
		if c == '"' {
			w.pos++
			return nil
		}
		if c == '\\' && w.pos+1 < len(w.in) {
			next := w.in[w.pos+1]
			// Inside double quotes a backslash escapes only these; before a newline both are
			// dropped.
			if strings.IndexByte("$`\"\\\n", next) >= 0 {
				w.pos++
				if next != '\n' {
					w.word.WriteByte(next)
				}
				continue
			}
		}
		w.word.WriteByte(c)
	}
	return w.unbalanced("double", start)
}

func (w *splitter) escape() error {
	if w.pos+1 == len(w.in) {
		return fmt.Errorf("nothing follows the backslash at the end of %q", w.in)
	}
	next := w.in[w.pos+1]
	w.pos += 2
	if next != '\n' { // a backslash before a newline joins two lines
		w.inWord = true
		w.word.WriteByte(next)
	}
	return nil
}

func (w *splitter) unbalanced(kind string, at int) error {
	return fmt.Errorf("the %s quote at byte %d of %q isn't closed", kind, at+1, w.in)
}

// Join returns argv as a line that can be typed into a shell.
func Join(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = Quote(a)
	}
	return strings.Join(words, " ")
}

// Quote quotes a word with single quotes unless a shell reads it as one literal word anyway.
func Quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'`$&|;<>()*?[]{}~#!\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Line is Quote on one line: a word with a line break or a tab becomes $'…', which bash, zsh
// and ksh read.
func Line(word string) string {
	if !strings.ContainsAny(word, "\n\r\t") {
		return Quote(word)
	}
	return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t",
		`\t`).Replace(word) + "'"
}

// NeedsShell reports whether s needs a shell: it has an operator, an expansion, a comment or a
// pattern outside quotes, or it begins with an assignment. The content of double quotes doesn't
// count, so sh -c "…" is plain words, whatever the quotes contain.
func NeedsShell(s string) bool {
	start := true // of a word
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return false
			}
			i += end + 1
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '\\':
			i++
		case '&', '|', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '\n':
			return true
		case '#', '~':
			if start {
				return true
			}
		case ' ', '\t':
			start = true
			continue
		}
		start = false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(s, " \t"), " ")
	name, _, assigned := strings.Cut(first, "=")
	return first == "!" || first == "{" || assigned && isName(name)
}

// isName reports whether s is a valid name of a shell variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
			(i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
