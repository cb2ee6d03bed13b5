package contracts

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/durable"
	"greenlight/internal/text/markdown"
)

// A Book has the headings of one CONTRACTS.md, with the fields that are given below each. Those are written in the ways of people and other
// tools: "Name: value", alone or in a list, the name in bold or not, the value in its line or in those below; or a heading with the name.
type Book struct{ sections []section }

type section struct {
	title string
	level int
	lines []line
}

// A line is one of a field's value.
type line struct {
	field string // in small letters
	text  string // without the mark of a list
	first bool
}

// ReadBook reads a directory's CONTRACTS.md. One that can't be read is empty.
func ReadBook(root string) *Book {
	data, _ := durable.ReadFile(filepath.Join(root, File))
	return newBook(string(data))
}

func newBook(text string) *Book {
	b := &Book{}
	var open []int // the sections in which a line is
	give := func(l line) {
		for _, i := range open {
			b.sections[i].lines = append(b.sections[i].lines, l)
		}
	}
	next := line{} // of the field whose value is in the lines below
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

// fields are a contract's. Other words before a colon may begin a sentence, unless they are in bold.
var fields = []string{"boundary", "slice", "source", "signature", "input", "output", "errors", "invariants", "security", "known", "verification",
	"acceptance criteria", "look at", "steps", "steps to verify", "dependencies"}

// fieldIn is the field that begins in the line, with its name in small letters.
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

// withoutMark is a line without the mark of a list's item.
func withoutMark(text string) string {
	return strings.TrimSpace(listMark().ReplaceAllString(text, ""))
}

// of are the lines in a contract's sections: those whose heading begins with its id or, where there is none, those that name it.
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

// ToLookAt is what a person is to look at to approve work on the contracts: acceptance criteria, then steps. A line of several has them apart
// by semicolons.
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
