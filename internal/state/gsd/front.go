package gsd

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"greenlight/internal/base/text/frontmatter"
)

// keyOrder returns GSD's keys in the order in which it writes them, which determines where a
// new key is inserted. Unknown keys stay where they are.
func keyOrder() []string {
	return []string{"gsd_state_version", "milestone", "milestone_name", "current_phase",
		"current_phase_name", "current_plan", "status", "active_phase", "next_action",
		"next_phases", "stopped_at", "paused_at", "last_updated", "last_activity",
		"last_activity_desc", "progress"}
}

func progressOrder() []string {
	return []string{"total_phases", "completed_phases", "total_plans", "completed_plans", "percent"}
}

// A frontEdit collects the edits of a front matter. Each key is set or dropped at most once.
type frontEdit struct {
	src   []byte
	eol   string
	edits []edit
}

// editFront sets keys to new values, removes keys, and keeps every other byte: keys keep their
// places, and an unchanged value keeps its text.
func editFront(doc *Doc, set []change, drop []string, counts []change) []byte {
	front := doc.Src[:doc.BodyStart]
	if doc.FrontStart == 0 && (len(set) > 0 || len(counts) > 0) {
		return newFront(front, doc.EOL, set, counts)
	}
	e := &frontEdit{src: front, eol: doc.EOL}
	inBlock := doc.hasProgress()
	if inBlock { // insertions at the end of the block must come before the keys inserted after it
		e.progress(doc, counts)
	}
	for _, c := range inOrder(set, keyOrder()) {
		e.set(doc.Front, keyOrder(), c, "", span{doc.FrontStart, doc.FrontEnd})
	}
	for _, key := range drop {
		for _, entry := range doc.Front {
			if entry.Key == key {
				e.edits = append(e.edits, edit{span{entry.Start, entry.End}, ""})
			}
		}
	}
	if !inBlock {
		e.progress(doc, counts)
	}
	return apply(front, e.edits)
}

func newFront(bom []byte, eol string, set, counts []change) []byte {
	lines := []string{"---"}
	for _, c := range inOrder(set, keyOrder()) {
		lines = append(lines, c.key+": "+c.raw)
	}
	if len(counts) > 0 {
		lines = append(lines, "progress:")
	}
	for _, c := range counts {
		if c.raw != "" {
			lines = append(lines, "  "+c.key+": "+c.raw)
		}
	}
	return append(slices.Clone(bom), strings.Join(append(lines, "---", "", ""), eol)...)
}

func inOrder(set []change, order []string) []change {
	set = slices.Clone(set)
	slices.SortStableFunc(set, func(a, b change) int {
		return slices.Index(order, a.key) - slices.Index(order, b.key)
	})
	return set
}

// set sets one key, among these entries and with their indentation.
func (e *frontEdit) set(entries []frontmatter.Entry, order []string, c change,
	indent string, in span) {
	entry := lastOf(entries, c.key)
	if entry == nil {
		e.edits = append(e.edits, edit{span{e.place(entries, order, c.key, in), 0},
			indent + c.key + ": " + c.raw + e.eol})
		e.edits[len(e.edits)-1].end = e.edits[len(e.edits)-1].start
		return
	}
	v := entry.Value
	lineEnd := endOfLine(e.src, entry.Start)
	switch {
	case v.Kind == frontmatter.Empty || v.Kind == frontmatter.Map && v.Start > lineEnd:
		// meaningless lines below stay
		colon := entry.Start + strings.IndexByte(string(e.src[entry.Start:lineEnd]), ':') + 1
		e.edits = append(e.edits,
			edit{span{colon, colon}, " " + guarded(c.raw, e.src[colon:lineEnd])})
	case v.Start > lineEnd || v.End > lineEnd:
		// a block below the key: remove the lines of the old value
		e.edits = append(e.edits,
			edit{span{entry.Start, entry.End}, indent + c.key + ": " + c.raw + e.eol})
	default:
		e.edits = append(e.edits, edit{span{v.Start, v.End}, guarded(c.raw, e.src[v.End:lineEnd])})
	}
}

// guarded quotes a value before a comment, which would otherwise become part of it.
func guarded(raw string, behind []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(behind), []byte("#")) && raw[0] != '"' && raw[0] != '\'' &&
		raw[0] != '[' {
		return `"` + raw + `"`
	}
	return raw
}

func lastOf(entries []frontmatter.Entry, key string) *frontmatter.Entry {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Key == key {
			return &entries[i]
		}
	}
	return nil
}

// place returns the offset for a new key: after the nearest key that precedes it in GSD's
// order, or else before the first that follows it.
func (e *frontEdit) place(entries []frontmatter.Entry, order []string, key string, in span) int {
	i := slices.Index(order, key)
	if i < 0 {
		i = len(order)
	}
	for j := i - 1; j >= 0; j-- {
		if entry := lastOf(entries, order[j]); entry != nil {
			return entry.End
		}
	}
	for j := i + 1; j < len(order); j++ {
		if entry := lastOf(entries, order[j]); entry != nil {
			return entry.Start
		}
	}
	return in.end
}

// progress sets the counts; it removes a count with an empty text.
func (e *frontEdit) progress(doc *Doc, counts []change) {
	if len(counts) == 0 {
		return
	}
	entry := lastOf(doc.Front, "progress")
	if entry == nil || entry.Value.Kind != frontmatter.Map {
		e.newProgress(doc, entry, counts)
		return
	}
	children := entry.Value.Map
	flow := children[0].Start < endOfLine(e.src, entry.Start)
	indent := ""
	if !flow {
		line := e.src[children[0].Start:]
		indent = string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	}
	for _, c := range counts {
		child := lastOf(children, c.key)
		switch {
		case c.raw == "" && child == nil:
		case c.raw == "" && flow:
			e.edits = append(e.edits, edit{span{child.Value.Start, child.Value.End}, "null"})
		case c.raw == "":
			e.edits = append(e.edits, edit{span{child.Start, child.End}, ""})
		case child == nil && flow:
			at := children[len(children)-1].End
			e.edits = append(e.edits, edit{span{at, at}, ", " + c.key + ": " + c.raw})
		default:
			e.set(children, progressOrder(), c, indent, span{0, children[len(children)-1].End})
		}
	}
}

func (e *frontEdit) newProgress(doc *Doc, old *frontmatter.Entry, counts []change) {
	text := "progress:" + e.eol
	for _, c := range counts {
		if c.raw != "" {
			text += "  " + c.key + ": " + c.raw + e.eol
		}
	}
	at := e.place(doc.Front, keyOrder(), "progress", span{doc.FrontStart, doc.FrontEnd})
	where := span{at, at}
	if old != nil {
		where = span{old.Start, old.End}
	}
	e.edits = append(e.edits, edit{where, text})
}

// yaml formats a text as a scalar, in the style of the raw text it replaces: quoted text stays
// quoted.
func yaml(text, old string) string {
	plain := strings.IndexFunc(text, unicode.IsControl) < 0
	switch {
	case strings.HasPrefix(old, "'") && plain && !strings.Contains(text, "'"):
		return "'" + text + "'"
	case !strings.HasPrefix(old, `"`) && !needsQuotes(text):
		return text
	case plain && strings.ContainsAny(text, `"\`) && !strings.Contains(text, "'"):
		return "'" + text + "'" // avoid escapes: GSD's own reader doesn't unescape
	}
	return frontmatter.Quote(text)
}

func needsQuotes(text string) bool {
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, ":#\"\\") ||
		strings.ContainsFunc(text, unicode.IsControl) {
		return true
	}
	if strings.ContainsRune(",[]{}&*!|>'%@`", rune(text[0])) || strings.HasPrefix(text, "- ") ||
		strings.HasPrefix(text, "? ") || text[len(text)-1] == '\'' ||
		text == "null" || text == "~" {
		return true
	}
	_, err := strconv.ParseFloat(text, 64) // quote numbers: 4.10 isn't 4.1
	return err == nil && strings.Contains(text, ".")
}

// flowList formats a list in the form the status line reads best: ["4.5", "4.6"].
func flowList(items []string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = frontmatter.Quote(item)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
