package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/run/attempt"
	"greenlight/internal/show/report"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

// A list is what there is to show: the newest data, the rows that pass the filter, and which of
// them is selected.
type list struct {
	snapshot
	now      time.Time
	filter   string
	selected string // id of the selected row
}

// rows returns the rows that pass the filter, in the board's order.
func (l *list) rows() []view.Row {
	if l.model == nil {
		return nil
	}
	var list []view.Row
	for _, g := range view.BoardGroups() {
		list = append(list, l.in(g)...)
	}
	return list
}

// in returns the rows of a group that pass the filter.
func (l *list) in(g view.Group) []view.Row {
	rows := l.model.In(g)
	if l.filter == "" {
		return rows
	}
	var list []view.Row
	wanted := strings.ToLower(l.filter)
	for _, r := range rows {
		text := strings.Join([]string{r.ID, r.Name, rowlayout.AgentName(r.By.Agent), r.By.Worker,
			r.Step, r.Text, g.String()}, "\x00")
		if strings.Contains(strings.ToLower(text), wanted) {
			list = append(list, r)
		}
	}
	return list
}

// row returns the selected row, nil for none.
func (l *list) row() *view.Row {
	rows := l.rows()
	if i := l.index(rows); i >= 0 {
		return &rows[i]
	}
	return nil
}

// moves reports whether a slice changes by itself.
func (l *list) moves() bool {
	return l.model != nil && l.model.Counts.Running+l.model.Counts.Merging > 0
}

// place returns where a slice is among the merges that are tested side by side, "place 2, ", and ""
// if it isn't.
func (l *list) place(id string) string {
	if t := l.model.Plan.State(id).Attempt.Train; t != nil && t.Position > 0 {
		return fmt.Sprintf("place %d, ", t.Position)
	}
	return ""
}

// lastAttempt returns the record of a slice's last attempt, nil for none.
func (l *list) lastAttempt(id string) *attempt.Record {
	for _, rec := range slices.Backward(l.facts.Records[id]) {
		if !rec.Accepted() { // an approval has no log
			return rec
		}
	}
	return nil
}

// named returns the row of a slice, nil for none.
func (l *list) named(id string) *view.Row {
	if l.model == nil || id == "" {
		return nil
	}
	if i := slices.IndexFunc(l.model.Rows, func(r view.Row) bool { return r.ID == id }); i >= 0 {
		return &l.model.Rows[i]
	}
	return nil
}

// index returns the index of the selected row, or -1.
func (l *list) index(rows []view.Row) int {
	return slices.IndexFunc(rows, func(r view.Row) bool { return r.ID == l.selected })
}

// settle keeps some row selected: if nothing moves, one that a person can do something about.
func (l *list) settle() {
	rows := l.rows()
	if l.index(rows) >= 0 || len(rows) == 0 {
		return
	}
	l.selected = rows[0].ID
	if g := rows[0].Group; g != view.Ready && g != view.Blocked {
		return
	}
	for _, g := range []view.Group{view.Failed, view.Stopped} {
		if list := l.in(g); len(list) > 0 {
			l.selected = list[0].ID
			return
		}
	}
}

// narrow shows the rows that have a text. A whole id selects its slice.
func (l *list) narrow(text string) {
	l.filter = text
	for _, r := range l.rows() {
		if strings.EqualFold(r.ID, text) {
			l.selected = r.ID
		}
	}
	l.settle()
}

// move selects a row that many rows further.
func (l *list) move(by int) {
	rows := l.rows()
	if len(rows) == 0 {
		return
	}
	l.selected = rows[min(max(l.index(rows)+by, 0), len(rows)-1)].ID
}

// hop selects the first row of the next nonempty group.
func (l *list) hop(by int) {
	row := l.row()
	if row == nil {
		return
	}
	groups := view.BoardGroups()
	for i := slices.Index(groups, row.Group) + by; i >= 0 && i < len(groups); i += by {
		if rows := l.in(groups[i]); len(rows) > 0 {
			l.selected = rows[0].ID
			return
		}
	}
}

// document returns the report of the last day, for the views about attempts.
func (l *list) document() *report.Document {
	return report.New(report.Input{
		Plan:    l.model.Plan,
		Facts:   l.facts,
		Since:   l.now.Add(-24 * time.Hour),
		Running: l.model.Counts.Running > 0,
		Now:     l.now,
	})
}

// firstLine returns the counts, and as much other information about the whole as fits.
func (l *list) firstLine(width int) string {
	if l.model == nil {
		return term.Truncate("? slices", width)
	}
	fits := func(s string) bool { return term.Width(s) <= width }
	line := l.model.Counts.Bar(l.model.Plan, l.now)
	if !fits(line) {
		return term.Truncate(l.model.Counts.Fit(l.model.Plan, l.now, fits), width)
	}
	add := func(text string) {
		if longer := line + " | " + text; text != "" && fits(longer) {
			line = longer
		}
	}
	switch {
	case l.leader != "":
		add("run active")
	case l.model.Counts.Ready > 0 || !l.moves(): // agents that gl slice launched need no run
		add("no run")
	}
	if l.facts.Slots > 0 {
		add("up to " + words.Count(l.facts.Slots, "agent"))
	}
	if cost := l.model.Cost.String(); cost != "" {
		add("cost " + cost)
	}
	if l.model.ETA != nil && *l.model.ETA > 0 {
		add("left: " + view.Left(l.model.Plan, *l.model.ETA, l.now))
	}
	return line
}
