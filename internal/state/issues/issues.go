// Package issues reads lists of work from other tools as slices: the issues of GitHub as gh
// prints them, those of beads, the task lists of Markdown. An issue's slice has an id that
// follows from the issue, so that a list that is read again makes nothing twice. The package
// reads text alone: it opens no file and changes no project.
package issues

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/core/depgraph"
	"greenlight/internal/state/sliceid"
)

// The limits of a list. A list comes from strangers: it must not fill a project, or a prompt.
const (
	MaxBytes = 32 << 20 // of the file
	MaxOpen  = 2000     // issues that aren't closed
	maxName  = 200      // bytes of a name
	maxText  = 32 << 10 // bytes of an issue's text
)

// ErrCycle is returned for issues that depend on each other.
var ErrCycle = errors.New("issues that block each other can't be slices")

// An Issue is one piece of work.
type Issue struct {
	ID        string // of its slice
	Name      string // one line
	Text      string // what it says, without control characters except line breaks
	Milestone string // one line, "" for none
	Closed    bool
	// ids of the issues that come first: those of the list, then those that may be elsewhere
	Deps, Elsewhere []string

	from string // what errors call it: "issue 12", "line 3"
}

// A List is what was read.
type List struct {
	Format string  // "GitHub issues", "beads", "Markdown tasks"
	Open   []Issue // each after those that it depends on
	Closed int
	Notes  []string // what was left out or cut, one line each
}

// Read reads a list of any of the formats. prefix begins the ids of issues that have only a number,
// "GH-" by default. Without edges, what the issues depend on is left out.
func Read(data []byte, prefix string, edges bool) (*List, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the list has more than %d MB", MaxBytes>>20)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the list isn't UTF-8 text")
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	r := reader{prefix: prefix, list: &List{}}
	var err error
	switch {
	case len(data) == 0:
		return nil, errors.New("the list is empty")
	case data[0] == '[':
		err = r.array(data)
	case data[0] == '{':
		err = r.lines(data)
	default:
		err = r.tasks(string(data))
	}
	if err != nil {
		return nil, err
	}
	return r.finish(edges)
}

// A reader collects the issues of a list.
type reader struct {
	prefix string
	list   *List
	all    []Issue
}

func (r *reader) notef(format string, args ...any) {
	r.list.Notes = append(r.list.Notes, fmt.Sprintf(format, args...))
}

// add takes an issue over, with its texts made safe and its id checked. If known is set, the issue
// depends on those that its texts name, too.
func (r *reader) add(i Issue, known func(id string) bool) error {
	if err := sliceid.Valid(i.ID); err != nil {
		return fmt.Errorf("%s: %w", i.from, err)
	}
	i.Name = short(plain(i.Name, false), maxName)
	if i.Name == "" {
		return fmt.Errorf("%s has no title", i.from)
	}
	i.Milestone = short(plain(i.Milestone, false), maxName)
	text := plain(i.Text, true)
	if i.Text = short(text, maxText); i.Text != text {
		r.notef("%s: its text is cut after %d KB", i.ID, maxText>>10)
	}
	if known != nil {
		i.Deps = r.hints(i.Name+"\n"+i.Text, known)
	}
	r.all = append(r.all, i)
	return nil
}

// finish checks the list as a whole and orders it.
func (r *reader) finish(edges bool) (*List, error) {
	byID := map[string]*Issue{}
	var order []string
	for k := range r.all {
		i := &r.all[k]
		if i.Closed {
			r.list.Closed++
		}
		key := sliceid.Key(i.ID)
		switch have := byID[key]; {
		case have == nil:
			byID[key] = i
			order = append(order, key)
		case have.Name == i.Name && have.Closed == i.Closed:
			r.notef("%s is in the list twice", i.ID)
		default:
			return nil, fmt.Errorf("%s and %s would both be the slice %s", have.from, i.from, i.ID)
		}
	}
	order = slices.DeleteFunc(order, func(key string) bool { return byID[key].Closed })
	if len(order) > MaxOpen {
		return nil, fmt.Errorf("the list has %d open issues: at most %d are taken at once", len(order), MaxOpen)
	}
	for _, key := range order {
		if i := byID[key]; edges {
			r.link(i, byID)
		} else {
			i.Deps = nil
		}
	}
	needs := map[string][]string{} // keys of the issues that come first
	for _, key := range order {
		for _, d := range byID[key].Deps {
			needs[key] = append(needs[key], sliceid.Key(d))
		}
	}
	if err := refuseCycles(order, needs, byID); err != nil {
		return nil, err
	}
	for _, key := range sorted(order, needs) {
		r.list.Open = append(r.list.Open, *byID[key])
	}
	return r.list, nil
}

// link sorts out what an issue depends on: open issues of the list, issues that aren't in it, and
// closed ones, which no longer block anything.
func (r *reader) link(i *Issue, byID map[string]*Issue) {
	var in, out []string
	seen := map[string]bool{}
	for _, d := range i.Deps {
		key := sliceid.Key(d)
		if seen[key] {
			continue
		}
		seen[key] = true
		switch other := byID[key]; {
		case other == i:
			r.notef("%s says that it blocks itself: that is left out", i.ID)
		case other != nil && !other.Closed:
			in = append(in, other.ID)
		case other == nil && sliceid.Valid(d) == nil:
			out = append(out, d)
		}
	}
	i.Deps, i.Elsewhere = in, out
	i.Name = r.unhinted(i.Name, byID)
}

// unhinted returns a name without what it says in brackets at its end about dependencies, if all of
// them are issues of the list: the slice's dependencies say it.
func (r *reader) unhinted(name string, byID map[string]*Issue) string {
	at := bracketed().FindStringSubmatchIndex(name)
	if at == nil || at[0] == 0 {
		return name
	}
	for _, ref := range separator().Split(name[at[2]:at[3]], -1) {
		if id, _ := r.id(ref); byID[sliceid.Key(id)] == nil {
			return name
		}
	}
	return name[:at[0]]
}

func refuseCycles(order []string, needs map[string][]string, byID map[string]*Issue) error {
	cycles := depgraph.Cycles(order, func(key string) []string { return needs[key] })
	if len(cycles) == 0 {
		return nil
	}
	var told []string
	for _, c := range cycles {
		var path []string
		for _, key := range append(slices.Clone(c.Path), c.Path[0]) {
			path = append(path, byID[key].ID)
		}
		told = append(told, strings.Join(path, " -> "))
	}
	return fmt.Errorf("%w: %s", ErrCycle, strings.Join(told, "; "))
}

// sorted returns the keys with each after those that it depends on, and otherwise in their order.
// There are no cycles.
func sorted(order []string, needs map[string][]string) []string {
	var all []string
	done := map[string]bool{}
	next := map[string]int{} // how many of its needs are done
	for _, start := range order {
		for stack := []string{start}; len(stack) > 0; {
			key := stack[len(stack)-1]
			if n := next[key]; !done[key] && n < len(needs[key]) {
				next[key]++
				stack = append(stack, needs[key][n])
				continue
			}
			stack = stack[:len(stack)-1]
			if !done[key] {
				done[key] = true
				all = append(all, key)
			}
		}
	}
	return all
}

// plain returns the text without control characters, and with blanks at its ends cut. Line breaks
// stay if lines is set, and are blanks otherwise.
func plain(text string, lines bool) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' && lines:
			return c
		case c == '\n', c == '\t', c == '\r', c == '\u2028', c == '\u2029':
			return ' '
		case c < ' ', c >= 0x7f && c < 0xa0, // C0, C1
			c >= 0x200b && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069,
			c == '\ufeff', c >= 0xe0000 && c <= 0xe007f: // invisible, or turns the text around
			return -1
		}
		return c
	}, text)
	if !lines {
		return strings.Join(strings.Fields(text), " ")
	}
	return strings.TrimSpace(text)
}

// short cuts a text to at most limit bytes, at a character's end.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// The expression that finds dependencies in texts.
const (
	refText  = `#?[A-Za-z0-9][A-Za-z0-9._-]*`
	hintText = `\b(?:blocked by|depends on|needs|requires|after)\b:?[ \t]+(` +
		refText + `(?:(?:[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+and[ \t]+|[ \t]*&[ \t]*)` + refText + `)*)`
)

var (
	// "blocked by #12, #13 and #14", "Depends on: T001"
	hint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + hintText) })
	// the same in brackets at the end
	bracketed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[ \t]*[(\[]` + hintText + `[)\]]$`)
	})
	separator = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+and[ \t]+|[ \t]*&[ \t]*`)
	})
	number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#(\d{1,9})$`) })
)

// hints returns the ids that a text names as coming first, code aside. A bare word counts only if
// known says that it is an issue: "needs a database" names none.
func (r *reader) hints(text string, known func(id string) bool) []string {
	var ids []string
	for l := range markdown.Lines(text) {
		if l.Code {
			continue
		}
		for _, m := range hint().FindAllStringSubmatch(l.Text, -1) {
			for _, ref := range separator().Split(m[1], -1) {
				if id, numbered := r.id(ref); numbered || known(id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// id returns the id that a reference in a text means, "GH-12" for "#12", and whether it is a
// number.
func (r *reader) id(ref string) (id string, numbered bool) {
	ref = strings.TrimRight(ref, "._-")
	if n := number().FindStringSubmatch(ref); n != nil {
		return r.prefix + n[1], true
	}
	return ref, false
}
