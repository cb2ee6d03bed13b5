package changelog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/sliceid"
)

// A Summary is one file of Dir.
type Summary struct {
	Entry     Entry
	Milestone string // "" for none

	quick    bool // of a task
	when     time.Time
	wholeDay bool // when is only a day
}

// quickPrefix begins the names of tasks' summaries.
const quickPrefix = "quick-"

// Read reads the summaries of the project at root; the plan lists its slices, and takenBack reports
// whether merged work was taken back, which leaves its summary behind: by the id of an open slice,
// or by the file of a task's summary. bad has an
// error for each file that can't be read.
func Read(root string, p *plan.Plan, takenBack func(id string) bool) (
	all []Summary, bad []error, err error) {
	entries, err := durable.ReadDir(filepath.Join(root, Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	r, err := roadmap.Own(root)
	if err != nil { // the roadmap only adds milestones and dates
		r = &roadmap.Roadmap{}
	}
	for _, en := range entries {
		stem, ok := stemOf(en.Name(), p)
		if !ok || en.IsDir() {
			continue
		}
		file := Dir + "/" + en.Name()
		data, err := durable.ReadFile(filepath.Join(root, file))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if strings.HasPrefix(stem, quickPrefix) && takenBack(file) {
			continue
		}
		if id := openSlice(stem, p); id != "" && (p.State(id).Class == plan.Waiting || takenBack(id)) {
			continue
		}
		s := newSummary(stem, strings.ToValidUTF8(string(data), "\ufffd"), p, r)
		s.Entry.File = file
		if info, err := en.Info(); err == nil && s.when.IsZero() {
			// good enough for the order; a checkout changes it, so it is no Date
			s.when = info.ModTime()
		}
		all = append(all, s)
	}
	return append(all, untold(all, p, r)...), bad, nil
}

// untold returns the done slices without a summary, which are listed by title.
func untold(told []Summary, p *plan.Plan, r *roadmap.Roadmap) (list []Summary) {
	has := make(map[string]bool, len(told))
	for i := range told {
		has[told[i].Entry.ID] = true
	}
	for i := range p.States {
		if st := &p.States[i]; st.Class == plan.Done && !has[st.ID] {
			list = append(list, newSummary(st.ID, "# "+cmp.Or(textline.Join(st.Name), st.ID)+"\n", p, r))
		}
	}
	return list
}

// openSlice returns the slice of a summary if it isn't done; "" for none.
func openSlice(stem string, p *plan.Plan) string {
	id, _, err := sliceid.Resolve(stem, p.IDs())
	if err != nil || p.State(id).Class == plan.Done {
		return ""
	}
	return id
}

// stemOf returns the name of a summary without "-SUMMARY.md", and false for other files.
func stemOf(name string, p *plan.Plan) (string, bool) {
	stem, ok := strings.CutSuffix(name, ".md")
	if !ok || strings.HasPrefix(name, ".") {
		return "", false
	}
	if stem, ok := strings.CutSuffix(stem, "-SUMMARY"); ok {
		return stem, stem != ""
	}
	_, _, err := sliceid.Resolve(stem, p.IDs())
	return stem, err == nil
}

func newSummary(stem, text string, p *plan.Plan, r *roadmap.Roadmap) Summary {
	s := Summary{quick: strings.HasPrefix(stem, quickPrefix)}
	id := stem
	if match, _, err := sliceid.Resolve(stem, p.IDs()); err == nil {
		id = match
	}
	title, body := splitTitle(text)
	s.Entry = Entry{ID: id, Title: titleOf(title, stem, id), Changed: changedText(body), Text: body}
	st, row := p.State(id), r.Rows[stem]
	if row.Milestone == "" {
		row = r.Rows[id]
	}
	s.Milestone = cmp.Or(fieldIn(body, "milestone"), row.Milestone)
	if st != nil {
		s.Milestone = cmp.Or(fieldIn(body, "milestone"), st.Milestone, row.Milestone)
		if s.Entry.Title == id {
			s.Entry.Title = st.Name
		}
	}
	s.date(stem, body, st, row)
	return s
}

// date sets the time of the summary: from the summary itself, a quick task's name, the slice's
// last change, or the roadmap.
func (s *Summary) date(stem, body string, st *plan.State, row roadmap.Row) {
	dates := []string{fieldIn(body, "completed"), fieldIn(body, "date"), quickTime(stem)}
	if st != nil && st.Class == plan.Done {
		dates = append(dates, st.Updated)
	}
	for _, d := range append(dates, row.Date) {
		t, err := time.Parse(time.RFC3339, d)
		if s.wholeDay = err != nil; s.wholeDay {
			d = roadmap.Date(d)
			t, err = time.ParseInLocation(time.DateOnly, d, time.Local)
		}
		if err == nil {
			s.when = t
			day := t.Format(time.DateOnly)
			s.Entry.Date = &day
			return
		}
	}
	s.wholeDay = false
}

// before reports whether the summary's time is before t. A whole day counts at its end.
func (s *Summary) before(t time.Time) bool {
	if s.wholeDay {
		return !s.when.AddDate(0, 0, 1).After(t)
	}
	return s.when.Before(t)
}

var quickName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^quick-(\d{4})-?(\d{2})-?(\d{2})(?:[T_-]?(\d{2})[:-]?(\d{2})(?:[:-]?(\d{2}))?)?(?:\D|$)`)
})

// quickTime returns the time in a quick task's name as RFC 3339, or only the day, or "".
func quickTime(stem string) string {
	m := quickName().FindStringSubmatch(stem)
	switch {
	case m == nil:
		return ""
	case m[4] == "":
		return m[1] + "-" + m[2] + "-" + m[3]
	}
	return fmt.Sprintf("%s-%s-%sT%s:%s:%sZ", m[1], m[2], m[3], m[4], m[5], cmp.Or(m[6], "00"))
}

// splitTitle splits a document into its first heading and the rest.
func splitTitle(text string) (title, body string) {
	var b strings.Builder
	for l := range markdown.Lines(text) {
		if title == "" && l.Level == 1 {
			title = l.Title
			continue
		}
		b.WriteString(l.Text + "\n")
	}
	return title, markdown.TrimLines(b.String())
}

// titleOf returns the heading without the id at its start.
func titleOf(title, stem, id string) string {
	for _, lead := range []string{id, stem} {
		if rest, ok := strings.CutPrefix(title, lead); ok {
			if name := strings.TrimLeft(rest, " \t:—–-"); name != "" && name != rest {
				return name
			}
		}
	}
	return cmp.Or(title, id)
}

var fieldLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*[-*]?\s*\**([A-Za-z]+)\**\s*:\s*\**\s*(.*?)\s*$`)
})

// fieldIn returns the value of a line `key: value`, `**Key:** value` or `- Key: value` before
// the first section.
func fieldIn(body, key string) string {
	for l := range markdown.Lines(body) {
		if l.Level > 0 {
			break
		}
		if m := fieldLine().FindStringSubmatch(l.Text); m != nil && strings.EqualFold(m[1], key) {
			return strings.Trim(m[2], `"'`+"`")
		}
	}
	return ""
}

// changedText returns what a summary lists as changed: the section of that name, or else the
// first paragraph.
func changedText(body string) string {
	for _, title := range []string{"What Changed", "What Was Built", "What Changed and Why", "Summary", "Changes"} {
		if text, ok := markdown.Section(body, title); ok && text != "" {
			return text
		}
	}
	var lines []string
	for l := range markdown.Lines(body) {
		blank := strings.TrimSpace(l.Text) == ""
		switch {
		case l.Level > 0, l.Text == "---", len(lines) == 0 && (blank || isField(l.Text)):
			if len(lines) > 0 {
				return strings.Join(lines, "\n")
			}
		case blank && !l.Code:
			return strings.Join(lines, "\n")
		default:
			lines = append(lines, l.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// isField reports whether fieldIn reads the line as a field.
func isField(line string) bool {
	m := fieldLine().FindStringSubmatch(line)
	return m != nil && slices.Contains([]string{"milestone", "completed", "date", "tests", "status", "id", "slice"}, strings.ToLower(m[1]))
}
