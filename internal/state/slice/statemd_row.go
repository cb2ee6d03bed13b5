package slice

import (
	"errors"
	"fmt"
	"strings"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/state/sliceid"
)

// A NewRow is a slice to add to the table.
type NewRow struct {
	ID, Name string
	Deps     []string
}

// WithRow adds a pending slice after the last line of the last slice table, in the table's
// columns and style. The Current section stays unchanged. An id that the table already has, in
// any spelling, is an error.
func (m StateMD) WithRow(r NewRow) (StateMD, error) {
	text, err := addRow(m.text, r)
	return StateMD{m.mark, text}, err
}

// addRow returns the text with a row added after the last line of the last slice table.
func addRow(text string, r NewRow) (string, error) {
	if err := errors.Join(sliceid.Valid(r.ID), validIDs(r.Deps)); err != nil {
		return "", err
	}
	rows, _ := parseRows(text)
	for _, have := range rows {
		if sliceid.Key(have.ID) == sliceid.Key(r.ID) {
			return "", fmt.Errorf("%s has %s already", stateRel("STATE.md"), have.ID)
		}
	}
	lines, found := tableLines(text)
	if !found || len(lines) == 0 {
		return "", fmt.Errorf("%s has no slice table to add %s to: run gl doctor", stateRel("STATE.md"), r.ID)
	}
	last := lines[len(lines)-1]
	start := strings.LastIndexByte(text[:last.at], '\n') + 1
	end := last.at + len(textline.First(text[last.at:]))
	eol := textline.End(text[start:end])
	line := text[start:last.at] + r.line(last, rows)
	if !strings.HasSuffix(text[:end], "\n") {
		line = eol + line
	} else {
		line += eol
	}
	next := text[:end] + line + text[end:]
	if after, _ := parseRows(next); len(after) != len(rows)+1 || after[len(rows)].ID != r.ID {
		return "", fmt.Errorf("%s can't be written into the table of %s: run gl migrate", r.ID, stateRel("STATE.md"))
	}
	return next, nil
}

func validIDs(ids []string) error {
	for _, id := range ids {
		if err := sliceid.Valid(id); err != nil {
			return err
		}
	}
	return nil
}

// line formats the row like the last line of the table.
func (r NewRow) line(last rowLine, rows []Row) string {
	none, deps := "none", strings.Join(r.Deps, ", ")
	for _, have := range rows {
		if len(have.Deps) == 0 && have.cols == last.cols && have.emptyDeps != "" {
			none = have.emptyDeps
		}
	}
	if deps == "" {
		deps = none
	}
	set := map[int]string{}
	for i := range last.cols.n {
		set[i] = ""
	}
	for at, text := range map[int]string{
		last.cols.name: textline.Join(r.Name), last.cols.tests: "0", last.cols.security: "0", last.cols.deps: deps,
		last.cols.status: "pending", last.cols.id: r.ID,
	} {
		set[at] = text
	}
	delete(set, -1)
	like := last.text
	if separator(like) {
		like = strings.Repeat("|  ", last.cols.n) + "|"
	}
	for i := last.cols.n; i < len(markdown.CellSpans(like)); i++ { // cells without a column
		set[i] = ""
	}
	return setCells(like, set)
}

// separator reports whether line is the line under a table's header.
func separator(line string) bool {
	return strings.Trim(line, "|-: \t") == "" && strings.Contains(line, "-")
}
