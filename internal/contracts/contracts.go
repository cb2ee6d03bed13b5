// Package contracts reads .greenlight/CONTRACTS.md as far as gl needs it: which contracts a slice has, where they are, and whether
// a person is to look at what keeps them.
package contracts

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/durable"
	"greenlight/internal/text/markdown"
)

// File has the project's contracts. It is relative to the root.
const File = ".greenlight/CONTRACTS.md"

// A Contract is one as a slice names it.
type Contract struct {
	ID      string  `json:"id"`
	Heading *string `json:"heading"` // in CONTRACTS.md; null if it isn't there
	Line    *int    `json:"line"`
}

var contractID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9]+)*`) })

// In returns the ids of contracts that the section Contracts of a slice's file lists, then those in its field.
func In(text, field string) []string {
	section, _ := markdown.Section(text, "Contracts")
	var ids []string
	for _, name := range append(ListItems(section), strings.Split(strings.Trim(field, "[]"), ",")...) {
		id := contractID().FindString(strings.TrimLeft(name, "*`\"' \t["))
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Find looks contracts up in the file that has them.
func Find(root string, ids []string) []Contract {
	data, _ := durable.ReadFile(filepath.Join(root, File)) // without it there are no headings
	var list []Contract
	for _, id := range ids {
		list = append(list, find(string(data), id))
	}
	return list
}

// find finds the first heading that names the contract.
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

// A Book has the headings of one CONTRACTS.md, with the tier that is said below each.
type Book struct{ sections []section }

type section struct {
	title string
	level int
	tier  string // in small letters: of several the first that isn't auto; "" for none
}

// ReadBook reads a directory's CONTRACTS.md. One that can't be read is empty.
func ReadBook(root string) *Book {
	data, _ := durable.ReadFile(filepath.Join(root, File))
	return newBook(string(data))
}

// newBook finds the field Verification: in bold or not, in a list or not, or a heading with the tier below it.
func newBook(text string) *Book {
	b := &Book{}
	var open []int // the sections in which a line is
	below := false // the heading Verification
	for l := range markdown.Lines(text) {
		line := l.Text
		if l.Level > 0 {
			for len(open) > 0 && b.sections[open[len(open)-1]].level >= l.Level {
				open = open[:len(open)-1]
			}
			line, below = l.Title, false
		}
		value, is := line, below && strings.TrimSpace(line) != ""
		if !is {
			key, rest, isField := strings.Cut(strings.TrimLeft(line, "-+"+marks), ":")
			value, is = rest, (isField || l.Level > 0) && strings.EqualFold(strings.Trim(key, marks), "verification")
		}
		if is && !l.Code {
			word := firstWord(value)
			below = l.Level > 0 && word == ""
			for _, i := range open {
				if s := &b.sections[i]; word != "" && (s.tier == "" || s.tier == auto) {
					s.tier = word
				}
			}
		}
		if l.Level > 0 {
			open = append(open, len(b.sections))
			b.sections = append(b.sections, section{title: l.Title, level: l.Level})
		}
	}
	return b
}

// tier is what a contract's sections say: those whose heading begins with its id or, where there is none, those that name it.
func (b *Book) tier(id string) (tier string, found bool) {
	best := 1
	for _, s := range b.sections {
		n := owns(s.title, id)
		if n > best {
			best, tier, found = n, "", false
		}
		if n < best {
			continue
		}
		if found = true; tier == "" || tier == auto && s.tier != "" {
			tier = s.tier
		}
	}
	return tier, found
}

// owns is how sure it is that a heading is the contract's: 2 where it begins with the id, 1 where it names it, 0 for another one's.
func owns(title, id string) int {
	switch {
	case !HasWord(title, id):
		return 0
	case strings.HasPrefix(strings.ToLower(strings.TrimLeft(title, "["+marks)), strings.ToLower(id)):
		return 2
	}
	return 1
}

// auto is the tier of a contract that nobody has to look at.
const auto = "auto"

// ToVerify says why a person is to look at what keeps these contracts: "its contract C-1 says verify". It is "" where nobody has to. A
// contract has to say auto for that: one without a tier is from before there were any, or nobody has thought about it.
func ToVerify(ids []string, books ...*Book) string {
	silent, missing := "", 0
	for _, id := range ids {
		tier, found := "", false
		for _, b := range books {
			t, ok := b.tier(id)
			if found = found || ok; tier == "" || tier == auto && t != "" {
				tier = t
			}
		}
		switch {
		case !found:
			missing++
		case tier == "" && silent == "":
			silent = fmt.Sprintf("its contract %s doesn't say auto", id)
		case tier != "" && tier != auto:
			return fmt.Sprintf("its contract %s says %s", id, tier)
		}
	}
	if silent == "" && missing > 0 && missing == len(ids) {
		silent = "its contracts aren't in " + File
	}
	return silent
}

// marks are those around words, and the space between them.
const marks = "*_` \t"

// firstWord is the first word of a value, in small letters and without marks around it; "" for the list of all values that a template has.
func firstWord(s string) string {
	if strings.Contains(s, "|") {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimLeft(s, "-+"+marks), " ")
	return strings.ToLower(strings.Trim(word, marks+".,;"))
}

// begins matches the title of a contract, at any level.
var begins = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(contract\b|[A-Z]{1,4}-\d)`) })

// ToLookAt is what a person is to look at to approve work on the contracts, by the CONTRACTS.md of a directory: acceptance criteria, then steps.
// A line of several has them apart by semicolons.
func ToLookAt(dir string, ids []string) (list []string) {
	data, err := durable.ReadFile(filepath.Join(dir, File))
	if err != nil {
		return nil
	}
	for _, names := range [][]string{{"acceptance criteria", "look at"}, {"steps", "steps to verify"}} {
		for _, id := range ids {
			values, _ := fieldsOf(string(data), id, names...)
			for _, v := range values {
				for part := range strings.SplitSeq(v, "; ") {
					if part = strings.Trim(part, " \t;"); part != "" && !slices.Contains(list, part) {
						list = append(list, part)
					}
				}
			}
		}
	}
	return list
}

// fieldsOf are the values of a contract's field, by any of its names: of the line that has it and, where that has none, of the lines below it as far as the
// next field or heading.
func fieldsOf(text, id string, names ...string) (values []string, found bool) {
	level, below := 0, false
	for l := range markdown.Lines(text) {
		if l.Level > 0 && !found && HasWord(l.Title, id) {
			level, found = l.Level, true
			continue
		}
		if !found || l.Code {
			continue
		}
		if l.Level > 0 && (l.Level <= level || begins().MatchString(l.Title)) {
			break
		}
		body := listMark().ReplaceAllString(l.Text, "")
		key, value, ok := strings.Cut(cmp.Or(l.Title, body), ":")
		key, value = strings.Trim(key, "*_ \t"), strings.TrimSpace(strings.TrimLeft(value, "*_ \t"))
		isField := l.Level > 0 || ok && fieldName().MatchString(key) && (strings.HasPrefix(body, "**") || isKnown(key))
		switch {
		case slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, key) }) && (ok || l.Level > 0):
			if below = value == ""; !below {
				values = append(values, value)
			}
		case isField:
			below = false
		case below && strings.TrimSpace(body) != "":
			values = append(values, strings.TrimSpace(body))
		}
	}
	return values, found
}

// isKnown says whether a word before a colon is one of a contract's fields. Others may begin a sentence of a list.
func isKnown(key string) bool {
	return slices.Contains(strings.Fields("boundary slice source signature input output errors invariants security known verification steps dependencies"),
		strings.ToLower(key)) || strings.EqualFold(key, "acceptance criteria") || strings.EqualFold(key, "look at")
}

var (
	listMark  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t]*(?:[-+*] +(?:\[[ xX]\] +)?|\d+[.)] +)?`) })
	fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z ]{2,24}$`) })
)

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

// HasWord reports whether s contains the word, and not only as a part of a longer one: S-1 is neither in S-10 nor in S-1.2.
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
