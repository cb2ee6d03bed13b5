package board

import (
	"slices"
	"strings"
	"unicode"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
)

// A line is a text being typed, with a cursor.
type line struct {
	text []rune
	at   int // index of the character after the cursor
}

func newLine(text string) line {
	l := line{}
	l.set(text)
	return l
}

func (l *line) String() string { return string(l.text) }

// before returns the text before the cursor.
func (l *line) before() string { return string(l.text[:l.at]) }

func (l *line) set(text string) {
	l.text = []rune(text)
	l.at = len(l.text)
}

// insert inserts a text at the cursor, as one line.
func (l *line) insert(text string) {
	added := []rune(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text))
	l.text = slices.Insert(l.text, l.at, added...)
	l.at += len(added)
}

// edit handles a key that moves the cursor or deletes text, and reports whether it is one. The keys
// are those of shells.
func (l *line) edit(key string) bool {
	switch key {
	case "left", "ctrl+b":
		l.at = max(l.at-1, 0)
	case "right", "ctrl+f":
		l.at = min(l.at+1, len(l.text))
	case "home", "ctrl+a":
		l.at = 0
	case "end", "ctrl+e":
		l.at = len(l.text)
	case "backspace", "ctrl+h":
		l.cut(l.at-1, l.at)
	case "delete", "ctrl+d":
		l.cut(l.at, l.at+1)
	case "ctrl+u":
		l.cut(0, l.at)
	case "ctrl+k":
		l.cut(l.at, len(l.text))
	case "ctrl+w", "alt+backspace":
		l.cut(l.word(), l.at)
	case "ctrl+left", "alt+b":
		l.at = l.word()
	default:
		return false
	}
	return true
}

// cut removes the characters from one index to another, as far as there are any.
func (l *line) cut(from, to int) {
	from, to = max(from, 0), min(to, len(l.text))
	if from < to {
		l.text = slices.Delete(l.text, from, to)
	}
	if l.at > from {
		l.at = max(l.at-(to-from), from)
	}
}

// word returns where the word before the cursor begins.
func (l *line) word() int {
	i := l.at
	for i > 0 && unicode.IsSpace(l.text[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(l.text[i-1]) {
		i--
	}
	return i
}

// show returns the text with its cursor behind a prompt, scrolled so that the cursor is visible.
func (l *line) show(prompt string, width int) string {
	const cursor = "█"
	prompt += "> "
	head, tail := sanitize.Text(l.before()), sanitize.Text(string(l.text[l.at:]))
	room := max(width-term.Width(prompt)-1, 1)
	for head != "" && term.Width(head) > room {
		head = string([]rune(head)[1:])
	}
	return prompt + head + cursor + term.Cut(tail, room-term.Width(head))
}
