// Package contracts reads the parts of .greenlight/CONTRACTS.md that gl needs: which contracts
// a slice has, where they are, and whether a person must review work on them.
package contracts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/markdown"
)

// File is the path of the project's contracts, relative to the root.
const File = ".greenlight/CONTRACTS.md"

// A Contract is a contract named by a slice.
type Contract struct {
	ID      string  `json:"id"`
	Heading *string `json:"heading"` // in CONTRACTS.md; null if it isn't there
	Line    *int    `json:"line"`
}

var contractID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9]+)*`)
})

// In returns the ids of the contracts listed in the Contracts section of a slice's file, then
// those in its field.
func In(text, field string) []string {
	section, _ := markdown.Section(text, "Contracts")
	var ids []string
	for _, name := range append(ListItems(section),
		strings.Split(strings.Trim(field, "[]"), ",")...) {
		id := contractID().FindString(strings.TrimLeft(name, "*`\"' \t["))
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Find looks up contracts in the project's file.
func Find(root string, ids []string) []Contract {
	// if it is missing there are no headings
	data, _ := durable.ReadFile(filepath.Join(root, File))
	var list []Contract
	for _, id := range ids {
		list = append(list, find(string(data), id))
	}
	return list
}

// A Text is a contract with its section of CONTRACTS.md.
type Text struct {
	ID   string
	Text string // including the heading; "" if it isn't there
}

// Texts returns the sections of contracts, each from the first of the places that has it.
func Texts(ids []string, places ...string) []Text {
	list := make([]Text, len(ids))
	for _, place := range places {
		// if it is missing there are no sections
		data, _ := durable.ReadFile(filepath.Join(place, File))
		doc := strings.ReplaceAll(string(data), "\r\n", "\n")
		for i, id := range ids {
			if list[i].ID = id; list[i].Text == "" {
				list[i].Text = textOf(doc, id)
			}
		}
	}
	return list
}

// textOf returns the section whose heading begins with the id or, if there is none, the first
// that names it.
func textOf(doc, id string) string {
	for sure := 2; sure > 0; sure-- {
		s, found := markdown.Find(doc, 0, func(h markdown.Line) bool {
			return h.Level > 1 && owns(h.Title, id) == sure
		})
		if found {
			return markdown.TrimLines(doc[s.Heading.Start:s.End])
		}
	}
	return ""
}

// find returns the first heading that names the contract.
func find(text, id string) Contract {
	c := Contract{ID: id}
	for l := range markdown.Lines(text) {
		if l.Level > 0 && HasWord(l.Title, id) {
			c.Heading, c.Line = &l.Title, &l.N
			break
		}
	}
	return c
}

// ListItems returns the texts of a list's items.
func ListItems(text string) []string {
	var items []string
	for l := range markdown.Lines(text) {
		body := strings.TrimLeft(l.Text, " \t")
		for _, mark := range []string{"- ", "* ", "+ "} {
			if item, ok := strings.CutPrefix(body, mark); ok && !l.Code {
				items = append(items, strings.TrimSpace(item))
			}
		}
	}
	return items
}

// HasWord reports whether s contains the word as a whole: S-1 is neither in S-10 nor in S-1.2.
// It ignores case.
func HasWord(s, word string) bool {
	s, word = strings.ToLower(s), strings.ToLower(word)
	alnum := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; word != ""; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(s[:from])
		after, size := utf8.DecodeRuneInString(s[to:])
		behind, _ := utf8.DecodeRuneInString(s[to+size:])
		if !alnum(before) && !alnum(after) && !(after == '.' && unicode.IsDigit(behind)) {
			return true
		}
		at = from + 1
	}
	return false
}
