package install

import (
	"bytes"
	"slices"
)

// A Conflict selects what to do if the user already has a CLAUDE.md.
type Conflict string

const (
	AsBefore Conflict = ""        // as in the existing installation, or else Theirs
	Theirs   Conflict = "keep"    // leave theirs alone and put ours beside it
	Append   Conflict = "append"  // add ours at the end of theirs, between markers
	Replace  Conflict = "replace" // save theirs and replace it by ours
)

// Markers surround our part of CLAUDE.md, even if the whole file is ours: people edit it, and
// text outside our part is theirs.
const (
	beginMark = "<!-- greenlight:begin; gl install keeps the lines down to greenlight:end up to date -->"
	beginWord = "<!-- greenlight:begin"
	endMark   = "<!-- greenlight:end -->"
)

// A block is our part of CLAUDE.md.
type block struct {
	entry
	Mode  Conflict `json:"mode"`            // append, or replace
	Made  bool     `json:"made,omitempty"`  // we created the file
	Joint string   `json:"joint,omitempty"` // what we put between theirs and ours
}

// since returns the block with its earlier contents from an older manifest.
func (b *block) since(old *manifest) *block {
	switch {
	case old == nil || old.Memory == nil:
		return b
	case b == nil:
		return old.Memory
	}
	c := *b
	c.entry = b.entry.since(&old.Memory.entry)
	return &c
}

// planMemory plans the change of CLAUDE.md; beside reports that ours goes beside it.
func (j *job) planMemory(ours []byte) (beside bool, err error) {
	cur, err := j.t.read(j.t.Memory)
	if err != nil {
		return false, err
	}
	var was *block
	if j.old != nil {
		was = j.old.Memory
	}
	if from, to, ok := findBlock(cur); ok {
		if theirs := j.replaceable(was, cur, from, to, ours); theirs != nil {
			j.planReplace(cur, theirs, ours)
		} else {
			j.planBlock(was, cur, from, to, ours)
		}
		return false, nil
	}
	if was != nil && j.old.complete() {
		was = nil // our part was removed since: start over
	}
	return j.planNewBlock(was, cur, ours), nil
}

// planNewBlock adds our part to a file without it. halfway is the intent of a killed
// installation, nil for none.
func (j *job) planNewBlock(halfway *block, cur, ours []byte) (beside bool) {
	b := &block{entry: entry{Path: j.t.Memory, SHA256: hash(plain(ours))}, Mode: Append}
	mode := j.o.Conflict
	if mode == AsBefore && halfway != nil {
		mode = halfway.Mode
	}
	switch {
	case cur == nil:
		b.Made = true
		if halfway != nil {
			b.Saved, b.Before, b.Mode, b.Made = halfway.Saved, halfway.Before,
				halfway.Mode, halfway.Made
		}
		data := wrapBlock(ours, "\n")
		j.step(Write, j.t.Memory, "", func() error { return j.put(j.t.Memory, nil, data) })
	case mode == Append:
		eol := lineEnd(cur)
		b.Joint = joint(cur, eol)
		data := slices.Concat(cur, []byte(b.Joint), wrapBlock(ours, eol))
		j.step(Edit, j.t.Memory, "ours is at its end", func() error {
			return j.put(j.t.Memory, cur, data)
		})
	case mode == Replace:
		j.planReplace(cur, cur, ours)
		return false
	default:
		return true
	}
	j.next.Memory = b
	return false
}

// replaceable returns the user's text in a file that ends with our part and is to be replaced
// as a whole; otherwise nil.
func (j *job) replaceable(was *block, cur []byte, from, to int, ours []byte) []byte {
	begun := was != nil && was.Mode == Replace
	if begun && j.old.complete() || !begun && j.o.Conflict != Replace {
		return nil
	}
	glue := ""
	if was != nil {
		glue = was.Joint
	}
	theirs, have := cut(cur, from, to, glue), hash(inner(cur[from:to]))
	if len(theirs) == 0 || have != hash(plain(ours)) && (was == nil || !was.ours(have)) {
		return nil
	}
	return theirs
}

// planReplace saves theirs and writes ours in its place.
func (j *job) planReplace(cur, theirs, ours []byte) {
	b := &block{entry: entry{Path: j.t.Memory, SHA256: hash(plain(ours)), Before: hash(theirs)},
		Mode: Replace}
	if was := j.old; was != nil && was.Memory != nil && was.Memory.Saved != "" {
		if saved, err := j.t.read(was.Memory.Saved); err == nil && bytes.Equal(saved, theirs) &&
			saved != nil {
			b.Saved = was.Memory.Saved
		}
	}
	if b.Saved == "" {
		b.Saved = j.t.free(j.t.Memory + ".backup")
		j.step(Save, b.Saved, "", func() error { return j.put(b.Saved, nil, theirs) })
	}
	data := wrapBlock(ours, "\n")
	j.step(Write, j.t.Memory, "yours is saved as "+b.Saved, func() error {
		return j.put(j.t.Memory, cur, data)
	})
	j.next.Memory = b
}

// planBlock updates our part in place.
func (j *job) planBlock(was *block, cur []byte, from, to int, ours []byte) {
	b := block{entry: entry{Path: j.t.Memory}, Mode: Append}
	if was != nil {
		b = *was
		b.Was = nil
	}
	want, have := hash(plain(ours)), hash(inner(cur[from:to]))
	b.SHA256 = want
	data := slices.Concat(cur[:from], wrapBlock(ours, lineEnd(cur)), cur[to:])
	put := func() error { return j.put(j.t.Memory, cur, data) }
	switch {
	case have == want:
	case was != nil && was.ours(have):
		j.step(Edit, j.t.Memory, "our part", put)
	case j.o.Force:
		j.step(Edit, j.t.Memory,
			"our part; yours is saved as "+j.copy(j.t.Memory+".backup", cur), put)
	default:
		if was != nil {
			b.SHA256 = was.SHA256
		} else {
			b.SHA256 = ""
		}
		j.step(Keep, j.t.Memory, "you have changed our part of it", nil)
	}
	j.next.Memory = &b
}

// planMemoryRemoval removes our part from CLAUDE.md, and restores theirs if it was replaced.
func (j *job) planMemoryRemoval() error {
	b := j.old.Memory
	if b == nil {
		return nil
	}
	cur, err := j.t.read(j.t.Memory)
	if err != nil {
		return err
	}
	var saved []byte
	if b.Saved != "" {
		if saved, err = j.t.read(b.Saved); err != nil {
			return err
		}
	}
	dropSaved := func() error { return j.t.remove(b.Saved) }
	from, to, ok := findBlock(cur)
	rest := cut(cur, from, to, b.Joint)
	switch {
	case cur != nil && hash(cur) == b.Before: // not begun, or already undone
		if saved != nil && bytes.Equal(saved, cur) {
			j.step(Remove, b.Saved, "", dropSaved)
		}
	case ok && !b.ours(hash(inner(cur[from:to]))):
		j.step(Keep, j.t.Memory, "you have changed our part of it", nil)
	case saved != nil && (cur == nil || ok && len(rest) == 0):
		j.step(Restore, j.t.Memory, "", func() error { return j.put(j.t.Memory, cur, saved) })
		j.step(Remove, b.Saved, "", dropSaved)
	case !ok:
	case b.Made && len(rest) == 0:
		j.step(Remove, j.t.Memory, "", func() error { return j.t.remove(j.t.Memory) })
	default:
		note := "our part is out"
		if saved != nil {
			note += "; what was there before gl is " + b.Saved
		}
		j.step(Edit, j.t.Memory, note, func() error { return j.put(j.t.Memory, cur, rest) })
	}
	return nil
}

// findBlock returns the range of our part, including its markers and final line ending.
func findBlock(text []byte) (from, to int, ok bool) {
	from = lineWith(text, 0, beginWord)
	if from < 0 {
		return 0, 0, false
	}
	end := lineWith(text, from, endMark)
	if end < 0 {
		return 0, 0, false
	}
	to = len(text)
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		to = end + i + 1
	}
	return from, to, true
}

// HoldsMemory reports whether a CLAUDE.md contains our part.
func HoldsMemory(text []byte) bool {
	_, _, ok := findBlock(text)
	return ok
}

// lineWith returns the offset of the first line at or after at that begins with the word; -1
// for none.
func lineWith(text []byte, at int, word string) int {
	for at < len(text) {
		if bytes.HasPrefix(text[at:], []byte(word)) {
			return at
		}
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	return -1
}

// cut removes our part, and what we put before it. If text follows, a line ending stays before
// it.
func cut(text []byte, from, to int, joint string) []byte {
	head, tail := text[:from], text[to:]
	if cropped, ok := bytes.CutSuffix(head, []byte(joint)); ok && joint != "" {
		head = cropped
		if eol := lineEnd([]byte("x" + joint)); len(tail) > 0 && len(head) > 0 &&
			head[len(head)-1] != '\n' {
			tail = slices.Concat([]byte(eol), tail)
		}
	}
	return slices.Concat(head, tail)
}

// wrapBlock returns our part as it appears in the file.
func wrapBlock(ours []byte, eol string) []byte {
	lines := slices.Concat([]byte(beginMark+"\n"), plain(ours), []byte(endMark+"\n"))
	return bytes.ReplaceAll(lines, []byte("\n"), []byte(eol))
}

// inner returns the text between the markers, with plain line endings.
func inner(part []byte) []byte {
	part = bytes.ReplaceAll(part, []byte("\r\n"), []byte("\n"))
	_, part, _ = bytes.Cut(part, []byte("\n"))
	i := lineWith(part, 0, endMark)
	return part[:max(i, 0)]
}

// plain normalizes line endings, with exactly one at the end.
func plain(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return append(bytes.TrimRight(text, "\n"), '\n')
}

// joint returns the separator between their text and ours: a line ending if theirs lacks one,
// and an empty line.
func joint(theirs []byte, eol string) string {
	switch {
	case len(theirs) == 0:
		return ""
	case bytes.HasSuffix(theirs, []byte("\n")):
		return eol
	}
	return eol + eol
}

// lineEnd returns the line ending of the text's first line.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
