package gsd

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/base/text/textline"
)

// A draft is a STATE.md being changed by a command. Every edit replaces the bytes of one value
// or inserts whole lines; all others stay.
type draft struct {
	doc  *Doc
	body []byte
	eol  string
	// front matter keys set by the command itself; they take precedence over derived values
	set []change

	hold       []string // keys whose value the command has decided, changed or not
	drop       []string // keys that the command removes from the front matter
	force      bool     // sync: the body's values win, even if this write didn't change them
	zero       bool     // milestone-switch: the progress block restarts from zero
	keepCounts bool     // the progress block isn't recounted
	uncounted  bool     // the progress block loses its percent
	percent    bool     // the command's purpose is the progress, including its percent
	planned    *int     // planned-phase: recount the totals; this is the phase's number of plans
}

// A change sets a key of the front matter to a value in YAML syntax.
type change struct{ key, raw string }

func newDraft(doc *Doc) *draft {
	return &draft{doc: doc, body: doc.Body(), eol: doc.EOL}
}

// splice replaces a part of the body. The text is literal: `$` has no special meaning.
func (d *draft) splice(at span, text string) {
	d.body = slices.Concat(d.body[:at.start], []byte(text), d.body[at.end:])
}

// find returns the field that a person means by the name: the one in its home section, or else
// the first.
func (d *draft) find(name string) (field, bool) {
	if s, ok := home(d.body, name); ok {
		if f, ok := findIn(d.body, s.text, name); ok {
			return f, true
		}
	}
	return findIn(d.body, d.all(), name)
}

func (d *draft) all() span { return span{0, len(d.body)} }

// get returns the value of a field, "" for none.
func (d *draft) get(name string) string { return getField(d.body, name) }

func getField(body []byte, name string) string {
	f, ok := (&draft{body: body}).find(name)
	if !ok {
		return ""
	}
	return f.text(body)
}

// home returns the section that a field belongs to.
func home(body []byte, name string) (section, bool) {
	switch strings.ToLower(name) {
	case "stopped at", "resume file", "last session", "last date", "paused at":
		return session(body)
	}
	return currentPosition(body)
}

// replace sets an existing field and reports whether it exists.
func (d *draft) replace(name, value string) bool {
	f, ok := d.find(name)
	if ok {
		d.fill(f, value)
	}
	return ok
}

func (d *draft) replaceIn(in span, name, value string) bool {
	f, ok := findIn(d.body, in, name)
	if ok {
		d.fill(f, value)
	}
	return ok
}

func (d *draft) fill(f field, value string) {
	value = textline.Join(value)
	if value == f.text(d.body) {
		return
	}
	if f.cell {
		value = strings.ReplaceAll(value, "|", `\|`)
	}
	if f.bare && value != "" {
		value = " " + value
	}
	d.splice(f.value, value)
}

// lead sets a field for the commands that advance a phase: in Current Position and in the head
// of the file before it, where other readers look first. A copy in an archive further down
// stays. If neither has the field, lead sets its first occurrence. put decides by the old value
// and is called for each place.
func (d *draft) lead(name string, put func(old string) (string, bool)) bool {
	done := false
	each := func(part func() (span, bool)) {
		in, ok := part()
		if !ok {
			return
		}
		if f, ok := findIn(d.body, in, name); ok {
			done = true
			if value, ok := put(f.text(d.body)); ok {
				d.fill(f, value)
			}
		}
	}
	each(d.head)
	each(d.position)
	if !done {
		each(func() (span, bool) { return d.all(), true })
	}
	return done
}

func always(value string) func(string) (string, bool) {
	return func(string) (string, bool) { return value, true }
}

// ifDefault replaces only values written by a tool, not those written by a person.
func ifDefault(name, value string) func(string) (string, bool) {
	return func(old string) (string, bool) { return value, isDefault(name, old) }
}

func (d *draft) head() (span, bool) {
	s, ok := currentPosition(d.body)
	return span{0, s.heading.start}, ok
}

func (d *draft) position() (span, bool) {
	s, ok := currentPosition(d.body)
	return s.text, ok
}

// inPosition sets a field of Current Position, if both exist.
func (d *draft) inPosition(name string, put func(old string) (string, bool)) bool {
	in, ok := d.position()
	if !ok {
		return false
	}
	f, ok := findIn(d.body, in, name)
	if !ok {
		return false
	}
	value, ok := put(f.text(d.body))
	if ok {
		d.fill(f, value)
	}
	return ok
}

// An edit replaces a span by a text.
type edit struct {
	span
	text string
}

// apply makes edits that don't overlap, in any order. An insertion goes before a replacement at
// the same offset.
func apply(src []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(a.start-b.start, min(1, a.end-a.start)-min(1, b.end-b.start))
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, src[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, src[at:]...)
}

// lines returns the lines of a part of the body.
func (d *draft) lines(in span) []bodyLine {
	lines := scan(d.body)
	from, _ := slices.BinarySearchFunc(lines, in.start, func(l bodyLine, at int) int {
		return l.start - at
	})
	to, _ := slices.BinarySearchFunc(lines, in.end, func(l bodyLine, at int) int {
		return l.start - at
	})
	return lines[from:to]
}

// addItem inserts a line after the last text of a section, replacing a line that declares it
// empty.
func (d *draft) addItem(in span, item string) {
	var last *bodyLine
	var edits []edit
	for _, l := range d.lines(in) {
		switch {
		case l.empty(d.body):
		case !l.fenced && isHollow(string(d.body[l.start:l.end])):
			edits = append(edits, edit{span{l.start, l.next}, ""})
		default:
			last = &l
		}
	}
	switch n := len(edits); {
	case n > 0 && (last == nil || edits[n-1].start > last.start):
		edits[n-1].text = item + d.eol
	case last != nil:
		edits = append(edits, edit{span{last.next, last.next}, d.ended(last.next) + item + d.eol})
	default:
		edits = append(edits, d.firstItem(in, item))
	}
	d.body = apply(d.body, edits)
}

// firstItem returns the edit for a section without any text: the item with a blank line on
// either side.
func (d *draft) firstItem(in span, item string) edit {
	at, before, after := in.start, d.ended(in.start)+d.eol, ""
	blank := d.lines(in)
	if len(blank) > 0 {
		at, before = blank[0].next, d.ended(blank[0].next)
	}
	if len(blank) < 2 && in.end < len(d.body) {
		after = d.eol
	}
	return edit{span{at, at}, before + item + d.eol + after}
}

// ended returns the line ending missing before an offset, at the end of a file without a final
// one.
func (d *draft) ended(at int) string {
	if at == 0 || d.body[at-1] == '\n' {
		return ""
	}
	return d.eol
}

// appendLines appends lines to the file, after a blank line.
func (d *draft) appendLines(lines ...string) {
	text := d.ended(len(d.body))
	if all := scan(d.body); len(all) > 0 && !all[len(all)-1].empty(d.body) {
		text += d.eol
	}
	d.splice(span{len(d.body), len(d.body)}, text+strings.Join(lines, d.eol)+d.eol)
}

// isHollow reports whether the whole line declares a list empty: None, None at this time, No
// blockers yet.
func isHollow(text string) bool {
	text = strings.TrimLeft(text, " \t-+*_(")
	return hollow().MatchString(strings.TrimRight(text, " \t.!()*_"))
}

var hollow = sync.OnceValue(func() *regexp.Regexp {
	const kind = `(?:\s+(?:known|open|active|current|new|major|outstanding|recorded|reported|identified|pending|blocking|noted))?`
	const when = `(?:\s+(?:yet|so\s+far|currently|now|right\s+now|for\s+now|at\s+(?:this|the)\s+(?:time|moment|point)|at\s+present|to\s+date|to\s+report))*`
	return regexp.MustCompile(`(?i)^(?:none` + when + kind + when + `|n/a|nothing` + when +
		`|no` + kind +
		`\s+(?:decisions?|blockers?|concerns?|issues?|items?|todos?)(?:\s*(?:/|and|or)\s*(?:blockers?|concerns?|issues?))?` + kind + when + `)$`)
})

// isDefault reports whether a tool wrote this value, so that another may replace it. Values
// from a person or an agent stay. An empty value is a default.
func isDefault(name, value string) bool {
	value = strings.ToLower(strings.TrimSpace(value))
	if value == "" {
		return true
	}
	switch strings.ToLower(name) {
	case "resume file":
		return value == "none"
	case "last activity":
		return isDate(value)
	case "status":
		return isDefaultStatus(value)
	}
	return false
}

func isDefaultStatus(value string) bool {
	switch value {
	case "ready to execute", "phase complete — ready for verification", "ready to plan",
		"defining requirements",
		"planning complete", "executing", "in progress", "planning", "verifying", "completed",
		"done", "active", "paused",
		"unknown":
		return true
	}
	if strings.HasPrefix(value, "phase complete") {
		return true
	}
	for _, verb := range []string{"executing phase ", "planning phase ", "verifying phase "} {
		if rest, ok := strings.CutPrefix(value, verb); ok &&
			digits(strings.TrimLeft(rest, " \t")) != "" {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(value, "phase "); ok && digits(rest) != "" {
		return strings.HasPrefix(strings.TrimLeft(strings.TrimLeft(rest, "0123456789"), " \t"),
			"complete")
	}
	if rest, ok := strings.CutPrefix(value, "complete"); ok {
		switch strings.TrimSpace(rest) {
		case "", "✓", "✔", "✅", "☑":
			return true
		}
	}
	return false
}

// isDate reports whether s has the form YYYY-MM-DD.
func isDate(s string) bool {
	if len(s) != 10 {
		return false
	}
	for i, c := range []byte(s) {
		if (i == 4 || i == 7) != (c == '-') || c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
