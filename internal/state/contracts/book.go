package contracts

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/markdown"
)

// A Book contains the headings of a CONTRACTS.md, with the fields below each. Fields are
// recognized in the forms that people and other tools use: "Name: value", alone or in a list,
// with the name in bold or not, with the value on the same line or the lines below; or a
// heading with the name.
type Book struct{ sections []section }

type section struct {
	title string
	level int
	lines []line
}

// A line is a line of a field's value.
type line struct {
	field string // in lower case
	text  string // without a list marker
	first bool
}

// ReadBook reads a directory's CONTRACTS.md. An unreadable one is empty.
func ReadBook(root string) *Book {
	data, _ := durable.ReadFile(filepath.Join(root, File))
	return newBook(string(data))
}

func newBook(text string) *Book {
	b := &Book{}
	var open []int // the sections that contain the line
	give := func(l line) {
		for _, i := range open {
			b.sections[i].lines = append(b.sections[i].lines, l)
		}
	}
	next := line{} // the field whose value is on the lines below
	for l := range markdown.Lines(text) {
		name, value, isField := fieldIn(l)
		if l.Level > 0 {
			for len(open) > 0 && b.sections[open[len(open)-1]].level >= l.Level {
				open = open[:len(open)-1]
			}
			open = append(open, len(b.sections))
			b.sections = append(b.sections, section{title: l.Title, level: l.Level})
		}
		switch {
		case isField && value != "":
			give(line{name, value, true})
			next = line{}
		case isField:
			next = line{field: name, first: true}
		case l.Level > 0:
			next = line{}
		case next.field != "" && !l.Code:
			if next.text = withoutMark(l.Text); next.text != "" {
				give(next)
				next.first = false
			}
		}
	}
	return b
}

// fields are a contract's fields. Other words before a colon may begin a sentence, unless they
// are in bold.
var fields = []string{"boundary", "slice", "source", "signature", "input", "output", "errors", "invariants", "security", "known", "verification",
	"acceptance criteria", "look at", "steps", "steps to verify", "dependencies"}

// fieldIn returns the field that begins on the line, with its name in lower case.
func fieldIn(l markdown.Line) (name, value string, is bool) {
	if l.Code {
		return "", "", false
	}
	body := cmp.Or(l.Title, withoutMark(l.Text))
	key, value, colon := strings.Cut(body, ":")
	key, value = strings.Trim(key, marks), strings.TrimSpace(strings.TrimLeft(value, "*_ \t"))
	is = (colon || l.Level > 0) && slices.Contains(fields, strings.ToLower(key)) || colon && strings.HasPrefix(body, "**") && boldName().MatchString(key)
	return strings.ToLower(key), value, is
}

var (
	listMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t]*(?:[-+*] +(?:\[[ xX]\] +)?|\d+[.)] +)?`) })
	boldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z ]{2,24}$`) })
)

// withoutMark returns a line without its list marker.
func withoutMark(text string) string {
	return strings.TrimSpace(listMark().ReplaceAllString(text, ""))
}

// of returns the lines in a contract's sections: those whose heading begins with its id or, if
// there is none, those that name it.
func (b *Book) of(id string) (lines []line, found bool) {
	best := 1
	for _, s := range b.sections {
		n := owns(s.title, id)
		if n > best {
			best, lines = n, nil
		}
		if n == best {
			lines, found = append(lines, s.lines...), true
		}
	}
	return lines, found
}

// owns rates how likely a heading belongs to the contract: 2 if it begins with the id, 1 if it
// names it, 0 otherwise.
func owns(title, id string) int {
	switch {
	case !HasWord(title, id):
		return 0
	case strings.HasPrefix(strings.ToLower(strings.TrimLeft(title, "["+marks)), strings.ToLower(id)):
		return 2
	}
	return 1
}

// auto is the tier of a contract that needs no review by a person.
const auto = "auto"

// ToVerify returns why a person must review work on these contracts: "its contract C-1 says
// verify". It returns "" if that isn't required, for which every contract must say auto: one
// without a tier predates tiers, or its tier wasn't considered.
func ToVerify(ids []string, books ...*Book) string {
	silent, missing := "", 0
	for _, id := range ids {
		tier, found := "", false
		for _, b := range books {
			lines, ok := b.of(id)
			found = found || ok
			for _, l := range lines {
				if word := firstWord(l.text); l.field == "verification" && l.first && word != "" && (tier == "" || tier == auto) {
					tier = word
				}
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

// ToLookAt returns what a person must check to approve work on the contracts: acceptance
// criteria, then steps. Several on one line are separated by semicolons.
func (b *Book) ToLookAt(ids []string) (list []string) {
	for _, names := range [][]string{{"acceptance criteria", "look at"}, {"steps", "steps to verify"}} {
		for _, id := range ids {
			lines, _ := b.of(id)
			for _, l := range lines {
				if !slices.Contains(names, l.field) {
					continue
				}
				for part := range strings.SplitSeq(l.text, "; ") {
					if part = strings.Trim(part, " \t;"); part != "" && !slices.Contains(list, part) {
						list = append(list, part)
					}
				}
			}
		}
	}
	return list
}

// marks are the characters around words, and the space between them.
const marks = "*_` \t"

// firstWord returns the first word of a value, in lower case and without marks around it; ""
// for a template's list of all values.
func firstWord(s string) string {
	if strings.Contains(s, "|") {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimLeft(s, "-+"+marks), " ")
	return strings.ToLower(strings.Trim(word, marks+".,;"))
}
