package slice

import (
	"errors"
	"strings"
	"unicode"

	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/state/sliceid"
)

// ErrNoTable is returned for a STATE.md without a slice table.
var ErrNoTable = errors.New("no slice table: gl found no table with the columns ID and Status")

// A Row is one line of the slice table in STATE.md.
type Row struct {
	ID, Name, Status string
	Tests, Security  int
	Deps             []string
	// verbatim, without its line ending; "" if its table has other columns than ours
	line string

	at        int // offset of the line's first bar in the text
	cols      columns
	emptyDeps string // the row's word for no dependencies, if it has none
}

// A section is a part of STATE.md under one heading, byte for byte; the first, before any
// heading, has no title.
type section struct {
	title string
	text  string
}

// owned are the sections that Refresh writes, in order; it leaves all others alone.
var owned = [...]string{"Overview", "Slices", "Current", "Test Summary", "Blockers", "Session"}

// ownedName returns the generator's name of a section, "" for a foreign one.
func ownedName(title string) string {
	for _, name := range owned {
		if strings.EqualFold(name, title) {
			return name
		}
	}
	return ""
}

// splitSections cuts STATE.md at its `## ` headings, and at `# ` headings after the first of
// them.
func splitSections(text string) []section {
	var all []section
	title, from := "", 0
	for l := range markdown.Lines(text) {
		if l.Level == 2 || l.Level == 1 && len(all) > 0 {
			all = append(all, section{title, text[from:l.Start]})
			title, from = l.Title, l.Start
			if l.Level == 1 {
				title = "# " + l.Title
			}
		}
	}
	return append(all, section{title, text[from:]})
}

// generated reports whether gl generated STATE.md and may overwrite it.
func generated(text string) bool {
	text = strings.TrimLeft(strings.TrimPrefix(text, textline.BOM), " \t\r\n")
	text, ok := strings.CutPrefix(text, "<!--")
	if !ok {
		return false
	}
	text, ok = strings.CutPrefix(strings.TrimLeft(text, " \t"), "GENERATED")
	return ok && (text == "" || !alnum(text[0]) && text[0] != '_')
}

// parseRows returns the rows of the slice tables in the Slices section, or else of any table
// with columns for an id and a status. tables reports whether there is such a table. If an id
// has two rows, the first counts.
func parseRows(text string) (rows []Row, tables bool) {
	return parseRowsBut(text, func(string) bool { return false })
}

// parseRowsBut is like parseRows, but skips rows whose first cell is just an id for which skip
// returns true; that costs less than parsing them.
func parseRowsBut(text string, skip func(id string) bool) (rows []Row, tables bool) {
	lines, tables := tableLines(text)
	for _, l := range lines {
		if first, _, _ := strings.Cut(strings.TrimPrefix(l.text, "|"), "|"); l.cols.id == 0 && skip(strings.Trim(first, " ")) {
			continue
		}
		if r, ok := l.cols.row(cells(l.text)); ok {
			if r.at, r.cols = l.at, l.cols; l.cols.ours {
				r.line = l.text
			}
			rows = append(rows, r)
		}
	}
	seen := map[string]bool{}
	kept := rows[:0]
	for _, r := range rows {
		if !seen[r.ID] {
			seen[r.ID] = true
			kept = append(kept, r)
		}
	}
	return kept, tables
}

// columns holds the index of the cell for each field; -1 for a missing column.
type columns struct {
	id, name, status, tests, security, deps int

	n    int // number of columns
	ours bool
}

// A rowLine is a line of a slice table, below its header.
type rowLine struct {
	text string // trimmed
	at   int    // offset of the text
	cols columns
}

// tableLines returns the lines of the slice tables in the Slices section, or else of any table
// with columns for an id and a status. found reports whether there is such a table.
func tableLines(text string) (lines []rowLine, found bool) {
	pos := 0
	for _, s := range splitSections(text) {
		if strings.EqualFold(s.title, "Slices") {
			l, ok := readTables(s.text, pos)
			lines, found = append(lines, l...), found || ok
		}
		pos += len(s.text)
	}
	if !found {
		return readTables(text, 0)
	}
	return lines, true
}

// readTables returns the lines of the slice tables in a part of STATE.md that begins at offset
// base.
func readTables(text string, base int) (lines []rowLine, found bool) {
	var cols columns
	inTable, wanted := false, false
	for l := range markdown.Lines(text) {
		at := base + l.Start + len(l.Text) - len(strings.TrimLeft(l.Text, " \t\r"))
		trimmed := strings.Trim(l.Text, " \t\r")
		switch {
		case l.Code:
			inTable = false
		case conflict.IsMark(l.Text): // left by a merge; the rows continue after it
		case !strings.HasPrefix(trimmed, "|"):
			inTable = false
		case !inTable:
			inTable = true
			cols, wanted = readHeader(cells(trimmed))
			found = found || wanted
		case wanted:
			lines = append(lines, rowLine{trimmed, at, cols})
		}
	}
	return lines, found
}

// cells returns the texts of a table line's cells.
func cells(line string) []string {
	var all []string
	for _, s := range markdown.CellSpans(line) {
		all = append(all, textline.Join(strings.ReplaceAll(line[s[0]:s[1]], `\|`, "|")))
	}
	return all
}

func readHeader(names []string) (columns, bool) {
	c := columns{id: -1, name: -1, status: -1, tests: -1, security: -1, deps: -1, n: len(names)}
	for i, name := range names {
		var at *int
		switch strings.ToLower(strings.Trim(name, "*_` ")) {
		case "id", "slice", "slice id":
			at = &c.id
		case "name", "title", "description":
			at = &c.name
		case "status", "state":
			at = &c.status
		case "tests":
			at = &c.tests
		case "security", "security tests":
			at = &c.security
		case "deps", "dependencies", "depends on", "depends":
			at = &c.deps
		default:
			continue
		}
		if *at < 0 {
			*at = i
		}
	}
	c.ours = c == columns{id: 0, name: 1, status: 2, tests: 3, security: 4, deps: 5, n: 6}
	return c, c.id >= 0 && c.status >= 0
}

// row parses the cells of one line. It returns false for the line under the header and for a
// line without a valid id.
func (c columns) row(cells []string) (Row, bool) {
	cell := func(i int) string {
		if i < 0 || i >= len(cells) {
			return ""
		}
		return cells[i]
	}
	id := bare(cell(c.id))
	if sliceid.Valid(id) != nil {
		return Row{}, false
	}
	r := Row{
		ID:       id,
		Name:     cell(c.name),
		Status:   statusWord(cell(c.status)),
		Tests:    count(cell(c.tests)),
		Security: count(cell(c.security)),
		Deps:     splitList(cell(c.deps)),
	}
	if len(r.Deps) == 0 {
		r.emptyDeps = cell(c.deps)
	}
	return r, true
}

// bare strips the markup from an id: emphasis, code marks, a link.
func bare(cell string) string {
	cell = strings.Trim(cell, "*_` \t")
	if strings.HasPrefix(cell, "[") {
		if text, link, ok := strings.Cut(cell[1:], "]"); ok && strings.HasPrefix(link, "(") {
			cell = strings.Trim(text, "*_` \t")
		}
	}
	return cell
}

// statusWord strips marks such as a tick or emphasis from a status; a lone dash gives "".
func statusWord(cell string) string {
	return strings.TrimFunc(cell, func(r rune) bool {
		return r > 127 && !unicode.IsLetter(r) && !unicode.IsDigit(r) || r < 128 && !alnum(byte(r))
	})
}

// count parses a number of tests, such as 31 or 31/31; anything else, such as "pass" or a dash,
// is 0.
func count(text string) int {
	n, digits := 0, 0
	for digits < len(text) && digits < 9 && digit(text[digits]) {
		n = n*10 + int(text[digits]-'0')
		digits++
	}
	if digits < len(text) && text[digits] != '/' && text[digits] != ' ' {
		return 0
	}
	return n
}
