package term

import (
	"slices"
	"strings"
	"unicode"
)

// units splits a text where a line may end: at its blanks, but not inside a command or quotation
// marks, which are meant for copying. A unit wider than most columns is split at its blanks; most 0
// is no limit.
func units(text string, most int) []string {
	words := wordsOf(text)
	var list []string
	for i := 0; i < len(words); {
		end := quoteEnd(words, i)
		if isProgram(words[i].text) {
			end = max(end, commandEnd(words, i))
		}
		unit := text[words[i].at : words[end].at+len(words[end].text)]
		if most > 0 && Width(unit) > most {
			for _, w := range words[i : end+1] {
				list = append(list, w.text)
			}
		} else {
			list = append(list, unit)
		}
		i = end + 1
	}
	return list
}

// A word of a text, and where it begins.
type word struct {
	text string
	at   int
}

func wordsOf(text string) (words []word) {
	at := 0
	for w := range strings.FieldsSeq(text) {
		at += strings.Index(text[at:], w)
		words = append(words, word{w, at})
		at += len(w)
	}
	return words
}

const (
	brackets = "([{"     // may precede a command or a quotation
	closers  = ".,;:)]}" // may follow them
)

// isProgram reports whether a command begins with the word: one of the programs that messages name.
func isProgram(word string) bool {
	word = strings.TrimLeft(word, brackets+`"'`)
	return word == "gl" || word == "git"
}

func isQuote(b byte) bool { return b == '"' || b == '\'' }

// quoteEnd returns the index of the last word of the quotation that word i opens, or i.
func quoteEnd(words []word, i int) int {
	first := strings.TrimLeft(words[i].text, brackets)
	if first == "" || !isQuote(first[0]) {
		return i
	}
	for j := i; j < len(words); j++ {
		text := strings.TrimRight(words[j].text, closers)
		if strings.HasSuffix(text, first[:1]) && (j > i || len(first) > 1) {
			return j
		}
	}
	return i
}

// commandEnd returns the index of the last word of the command that begins with word i.
func commandEnd(words []word, i int) int {
	for i+1 < len(words) {
		text, next := words[i].text, words[i+1].text
		if text != "." && strings.TrimRight(text, closers) != text {
			return i
		}
		switch {
		case isQuote(next[0]):
			i = quoteEnd(words, i+1)
		case expectsMore(strings.TrimLeft(text, brackets+`"'`)), isArgument(next), optionFollows(words, i+2):
			i++
		default:
			return i
		}
	}
	return i
}

// expectsMore reports whether a command has a word after this one, even if prose could go on with
// it.
func expectsMore(word string) bool {
	option := len(word) == 2 && word[0] == '-'
	return option || slices.Contains([]string{"gl", "git", "&&", "settings", "set", "get", "state", "sw",
		"gsd", "help", "switch", "checkout", "branch"}, word)
}

// optionFollows reports whether word i is an option or a quotation: then the one before it is of
// the command, too.
func optionFollows(words []word, i int) bool {
	return i < len(words) && (words[i].text[0] == '-' || isQuote(words[i].text[0])) &&
		strings.TrimRight(words[i-1].text, closers) == words[i-1].text
}

// isArgument reports whether a word in a command is what prose hardly has: an option, an id, a
// path, a key, an operator, a NAME to fill in.
func isArgument(word string) bool {
	bare := strings.TrimRight(word, closers)
	if bare == "" {
		return word == "."
	}
	upper := strings.TrimFunc(bare, func(r rune) bool { return unicode.IsUpper(r) || r == '…' }) == ""
	return bare == "&&" || bare[0] == '-' || upper && len(bare) > 1 ||
		strings.ContainsAny(bare, "/=_.:0123456789")
}
