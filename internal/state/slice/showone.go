package slice

import (
	"bytes"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
)

// A fileEdit is the change of a slice's file under the lock.
type fileEdit struct {
	id       string
	old, new []byte // old is nil if there was no file
}

// showOne updates one slice's line, and the totals, in a STATE.md that was current before. It
// returns false if that isn't enough, and leaves STATE.md unchanged. If a slice is changed
// meanwhile without the lock, the next gl notices, as with any later change. The caller holds
// the lock.
func (p *statePage) showOne(was *shownState, e fileEdit) bool {
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	if e.old == nil || string(e.old) != string(was.own) {
		return false
	}
	changes, at := was.shape.change(was.text, e.id, parseSlice(e.old), parseSlice(e.new))
	if changes == nil {
		return false
	}
	text := splice(was.text, changes)
	if durable.Replace(p.dir.path("STATE.md"), was.text, text) != nil {
		return false
	}
	if was.basis.texts[was.place] = digestOf(e.new); len(was.basis.texts) <= mostTexts {
		p.writeShown(was.basis, digestOf(text), at)
	}
	return true
}

// change returns the edits to STATE.md for a changed slice, and the new shape. It returns nil
// if more changes than the slice's own line and the totals.
func (at shape) change(text []byte, id string, was, is *sliceFile) ([]textChange, shape) {
	if was.item.Corrupt+is.item.Corrupt != "" || was.name != is.name || was.heading != is.heading ||
		was.hasDeps != is.hasDeps || !slices.Equal(was.deps, is.deps) || !at.fits(text) {
		return nil, at
	}
	row := at.row(text, id)
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row.text, rowStart(id)), " |"),
		" | ")
	if len(cells) != 5 { // name, status, two counts, dependencies
		return nil, at
	}
	old, now := was.line(id, cells[0], cells[4]), is.line(id, cells[0], cells[4])
	next := at
	next.count(old, -1)
	next.count(now, 1)
	current := string(text[at.Current:at.CurrentEnd])
	changes := []textChange{
		{row.from, row.to(), now.text},
		{at.Progress, at.Progress + len(at.progress()), next.progress()},
		{at.Current, at.CurrentEnd, currentWith(current, id, old.current, now.current)},
		{at.Summary, at.Summary + len(at.summary()), next.summary()},
	}
	for i, c := range changes {
		if i > 0 && c.from < changes[i-1].to || c.to > len(text) {
			return nil, at
		}
	}
	if row.text != old.text || !bytes.HasPrefix(text[at.Progress:], []byte(at.progress())) ||
		!bytes.HasPrefix(text[at.Summary:], []byte(at.summary())) ||
		!strings.Contains(current, old.current) {
		return nil, at
	}
	for i, moved := range [][]*int{{&next.Progress, &next.Current, &next.CurrentEnd, &next.Summary},
		{&next.Current, &next.CurrentEnd, &next.Summary}, {&next.CurrentEnd, &next.Summary}} {
		for _, offset := range moved {
			*offset += len(changes[i].text) - (changes[i].to - changes[i].from)
		}
	}
	return changes, next
}

// fits reports whether the offsets are valid for the text: they come from a file.
func (at shape) fits(text []byte) bool {
	return slices.IsSorted([]int{0, at.Table, at.Progress, at.Current, at.CurrentEnd,
		at.Summary, len(text)})
}

func rowStart(id string) string { return "| " + id + " | " }

// row returns the slice's line of the table, empty if it has none.
func (at shape) row(text []byte, id string) stretch {
	table := text[at.Table:at.Progress]
	from := bytes.Index(table, []byte("\n"+rowStart(id))) + 1
	if from == 0 {
		return stretch{}
	}
	row, _, _ := bytes.Cut(table[from:], []byte("\n"))
	return stretch{at.Table + from, string(row)}
}

// line returns the slice's line, with these cells for its name and dependencies.
func (f *sliceFile) line(id, name, deps string) *line {
	it := plan.Item{ID: id}
	f.fill(&it)
	return lineWith(&it, name, deps)
}

// currentWith returns the Current section with line is in place of line was; ""
// for none.
func currentWith(text, id, was, is string) string {
	lines := slices.Collect(strings.Lines(strings.TrimPrefix(text, "\n")))
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == was || l == noneCurrent })
	if is != "" {
		at := slices.IndexFunc(lines, func(l string) bool {
			other, _, _ := strings.Cut(strings.TrimPrefix(l, "- "), currentMark)
			return plan.NaturalLess(id, other)
		})
		if at < 0 {
			at = len(lines)
		}
		lines = slices.Insert(lines, at, is)
	}
	if len(lines) == 0 {
		lines = []string{noneCurrent}
	}
	return "\n" + strings.Join(lines, "")
}
