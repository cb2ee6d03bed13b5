package slice

import (
	"strings"
	"unicode"
)

// A row is one line of the slice table in STATE.md.
type row struct {
	id, name, status string
	tests, security  int
	deps             []string
	line             string // as it stands there, without its end; "" where its table has other columns than ours
}

// A section is a part of STATE.md under one heading, byte for byte; the first one, before any heading, has no title.
type section struct {
	title string
	text  string
}

// owned are the sections that Refresh writes, in their order; all others belong to whoever wrote them.
var owned = [...]string{"Overview", "Slices", "Current", "Test Summary", "Blockers", "Session"}

// ownedName returns the generator's own name of a section, "" for a foreign one.
func ownedName(title string) string {
	for _, name := range owned {
		if strings.EqualFold(name, title) {
			return name
		}
	}
	return ""
}

// splitSections cuts STATE.md at its `## ` headings, and at `# ` headings that come after the first of them.
func splitSections(text string) []section {
	var all []section
	var code fence
	title, from, pos := "", 0, 0
	for pos < len(text) {
		line := nextLine(text[pos:])
		if !code.inside(line, text[pos+len(line):]) {
			level, name := heading(line)
			if level == 2 || level == 1 && len(all) > 0 {
				all = append(all, section{title, text[from:pos]})
				title, from = name, pos
				if level == 1 {
					title = "# " + name
				}
			}
		}
		pos += len(line)
	}
	return append(all, section{title, text[from:]})
}

// generated says whether STATE.md is our own work and may be overwritten.
func generated(text string) bool {
	text = strings.TrimLeft(strings.TrimPrefix(text, bom), " \t\r\n")
	text, ok := strings.CutPrefix(text, "<!--")
	if !ok {
		return false
	}
	text, ok = strings.CutPrefix(strings.TrimLeft(text, " \t"), "GENERATED")
	return ok && (text == "" || !alnum(text[0]) && text[0] != '_')
}

// parseRows returns the rows of the slice table: of those in the Slices section, else of any table that has columns
// for an id and a status. tables says whether there is such a table at all; of two rows of one id the first counts.
func parseRows(text string) (rows []row, tables bool) {
	for _, s := range splitSections(text) {
		if strings.EqualFold(s.title, "Slices") {
			r, ok := readTables(s.text)
			rows, tables = append(rows, r...), tables || ok
		}
	}
	if !tables {
		rows, tables = readTables(text)
	}
	seen := map[string]bool{}
	kept := rows[:0]
	for _, r := range rows {
		if !seen[r.id] {
			seen[r.id] = true
			kept = append(kept, r)
		}
	}
	return kept, tables
}

// columns says which cell holds what; -1 for a column that the table hasn't.
type columns struct {
	id, name, status, tests, security, deps int
	ours                                    bool
}

func readTables(text string) (rows []row, found bool) {
	var code fence
	var cols columns
	inTable, wanted := false, false
	for text != "" {
		line := nextLine(text)
		text = text[len(line):]
		trimmed := strings.Trim(line, " \t\r\n")
		switch {
		case code.inside(line, text):
			inTable = false
		case conflictMark(line): // a merge left it; the rows go on behind it
		case !strings.HasPrefix(trimmed, "|"):
			inTable = false
		case !inTable:
			inTable = true
			cols, wanted = readHeader(cells(trimmed))
			found = found || wanted
		case wanted:
			if r, ok := cols.row(cells(trimmed)); ok {
				if cols.ours {
					r.line = trimmed
				}
				rows = append(rows, r)
			}
		}
	}
	return rows, found
}

// cells splits a table line at the bars that have no backslash before them.
func cells(line string) []string {
	line = strings.TrimPrefix(line, "|")
	var all []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
			cell.WriteByte('|')
		case line[i] == '|':
			all = append(all, oneLine(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	if rest := oneLine(cell.String()); rest != "" {
		all = append(all, rest)
	}
	return all
}

func readHeader(names []string) (columns, bool) {
	c := columns{id: -1, name: -1, status: -1, tests: -1, security: -1, deps: -1}
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
	c.ours = c == columns{id: 0, name: 1, status: 2, tests: 3, security: 4, deps: 5} && len(names) == 6
	return c, c.id >= 0 && c.status >= 0
}

// row reads the cells of one line; false for the line under the header and for what has no valid id.
func (c columns) row(cells []string) (row, bool) {
	cell := func(i int) string {
		if i < 0 || i >= len(cells) {
			return ""
		}
		return cells[i]
	}
	id := bare(cell(c.id))
	if ValidID(id) != nil {
		return row{}, false
	}
	return row{
		id:       id,
		name:     cell(c.name),
		status:   statusWord(cell(c.status)),
		tests:    count(cell(c.tests)),
		security: count(cell(c.security)),
		deps:     splitList(cell(c.deps)),
	}, true
}

// bare takes the decoration off an id: emphasis, code marks, a link.
func bare(cell string) string {
	cell = strings.Trim(cell, "*_` \t")
	if strings.HasPrefix(cell, "[") {
		if text, link, ok := strings.Cut(cell[1:], "]"); ok && strings.HasPrefix(link, "(") {
			cell = strings.Trim(text, "*_` \t")
		}
	}
	return cell
}

// statusWord takes marks such as a tick or emphasis off a status; a dash alone is no status.
func statusWord(cell string) string {
	return strings.TrimFunc(cell, func(r rune) bool {
		return r > 127 && !unicode.IsLetter(r) && !unicode.IsDigit(r) || r < 128 && !alnum(byte(r))
	})
}

// count reads a number of tests: 31, 31/31; anything else, such as "pass" or a dash, is 0.
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
