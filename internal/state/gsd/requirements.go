package gsd

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/markdown"
)

// requirementIDs splits a list of requirements: "[A-01, A-02]", "A-01 A-02".
func requirementIDs(text string) []string {
	var ids []string
	valid := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)+$`)
	for _, id := range strings.FieldsFunc(text, func(r rune) bool {
		return strings.ContainsRune("[], \t\r\n", r)
	}) {
		if valid.MatchString(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// A marking is the result of marking requirements in the text of REQUIREMENTS.md.
type marking struct {
	text string

	marked, already, missing, unmatched []string
}

// markRequirements ticks requirements and sets their rows of the traceability table to
// Complete. A row with another status than Pending or Gaps Found has been decided by a person,
// so its requirement stays as it is.
func markRequirements(text string, ids []string) marking {
	m := marking{text: text}
	table := len(traceability(text)) > 0
	for _, id := range ids {
		box, ticked := checkbox(m.text, id)
		row := slices.IndexFunc(traceability(m.text), func(r traceRow) bool {
			return strings.EqualFold(r.id, id)
		})
		var edits []edit
		if box.end > 0 && !ticked {
			edits = append(edits, edit{box, "x"})
		}
		done := ticked && !table
		if row >= 0 {
			r := traceability(m.text)[row]
			done = strings.EqualFold(r.text, "Complete")
			switch strings.ToLower(r.text) {
			case "pending", "gaps found":
				edits = append(edits, edit{r.status, padded("Complete",
					m.text[r.status.start:r.status.end])})
			case "complete":
			default:
				edits = nil
			}
		}
		switch {
		case len(edits) > 0:
			m.marked = append(m.marked, id)
		case done:
			m.already = append(m.already, id)
		default:
			m.missing = append(m.missing, id)
		}
		if table && row < 0 && box.end > 0 {
			m.unmatched = append(m.unmatched, id)
		}
		m.text = string(apply([]byte(m.text), edits))
	}
	return m
}

// checkbox returns the place of a requirement's tick, `- [ ] **A-01**`; an empty span without
// one.
func checkbox(text, id string) (at span, ticked bool) {
	label := "] **" + strings.ToLower(id) + "**"
	for l := range markdown.Lines(text) {
		line := strings.ToLower(l.Text)
		i := strings.Index(line, label)
		if l.Code || i < 2 || line[i-2] != '[' ||
			strings.TrimLeft(strings.TrimSpace(line[:i-2]), "-*+") != "" {
			continue
		}
		at := span{l.Start + i - 1, l.Start + i}
		if line[i-1] == 'x' {
			return at, true
		}
		return at, false
	}
	return span{}, false
}

// A traceRow is a row of the traceability table.
type traceRow struct {
	id, text string // the requirement and its status
	status   span   // of the status cell with its blanks
}

// traceability returns the rows of the first table whose columns are a requirement and its
// status.
func traceability(text string) []traceRow {
	var rows []traceRow
	column := -1
	for l := range markdown.Lines(text) {
		cells := markdown.Cells(l.Text)
		if l.Code || len(cells) < 2 {
			if len(rows) > 0 {
				return rows
			}
			column = -1
			continue
		}
		if column < 0 {
			column = statusColumn(cells)
			continue
		}
		if column == 0 || column >= len(cells) || isRule(cells) {
			continue
		}
		row := strings.TrimLeft(l.Text, " \t")
		at, c := l.Start+len(l.Text)-len(row), markdown.CellSpans(row)[column]
		rows = append(rows, traceRow{cells[0], cells[column], span{at + c[0], at + c[1]}})
	}
	return rows
}

// statusColumn returns the index of the status in the traceability table's head; 0 for another
// table's.
func statusColumn(head []string) int {
	first := strings.ToLower(strings.NewReplacer("-", "", " ", "", "*", "").Replace(head[0]))
	if first != "requirement" && first != "requirementid" && first != "reqid" {
		return 0
	}
	return max(0, slices.IndexFunc(head, func(c string) bool {
		return strings.EqualFold(strings.Trim(c, "* "), "Status")
	}))
}

// openRequirements returns the requirements that aren't ticked, oldest first.
func openRequirements(text string) []string {
	open := []string{}
	item := regexp.MustCompile(`^\s*[-*+]\s+\[ \]\s+\*\*([^*]+)\*\*`)
	for l := range markdown.Lines(text) {
		if m := item.FindStringSubmatch(l.Text); m != nil && !l.Code {
			open = append(open, m[1])
		}
	}
	return open
}

type markedDoc struct {
	Updated         bool     `json:"updated"`
	Reason          string   `json:"reason,omitempty"`
	MarkedComplete  []string `json:"marked_complete"`
	AlreadyComplete []string `json:"already_complete"`
	NotFound        []string `json:"not_found"`
	TableUnmatched  []string `json:"table_unmatched"`
	Total           int      `json:"total"`
}

// MarkRequirements marks requirements as complete in REQUIREMENTS.md: their ticks, and their
// rows of the traceability table.
func (p *Project) MarkRequirements(ctx context.Context, words []string) (Result, error) {
	s := p.Store
	ids := requirementIDs(strings.Join(words, " "))
	if len(ids) == 0 {
		return Result{}, usagef("requirement IDs required. Usage: " +
			"requirements mark-complete REQ-01,REQ-02 or REQ-01 REQ-02")
	}
	var doc markedDoc
	err := locked(ctx, s, func() error {
		old, err := durable.ReadFile(s.file(requirementsFile))
		if errors.Is(err, fs.ErrNotExist) {
			doc = marking{}.doc(len(ids))
			doc.Reason = requirementsFile + " not found"
			return nil
		}
		if err != nil {
			return err
		}
		m := markRequirements(string(old), ids)
		doc = m.doc(len(ids))
		return durable.Replace(s.file(requirementsFile), old, []byte(m.text))
	})
	if err != nil {
		return Result{}, err
	}
	if doc.Reason != "" || len(doc.NotFound) > 0 {
		return refused(doc), nil
	}
	return reported(doc, doc.Updated), nil
}

const requirementsFile = "REQUIREMENTS.md"

func (m marking) doc(total int) markedDoc {
	list := func(ids []string) []string { return append([]string{}, ids...) }
	return markedDoc{Updated: len(m.marked) > 0, MarkedComplete: list(m.marked),
		AlreadyComplete: list(m.already), NotFound: list(m.missing),
		TableUnmatched: list(m.unmatched), Total: total}
}
