package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/slice"
	"greenlight/internal/text/markdown"
)

const summariesDir = ".greenlight/summaries"

// A summary is one file of summaries/.
type summary struct {
	entry     chronicleEntry
	milestone string // "" for none
	quick     bool
	when      time.Time
	wholeDay  bool // only the day of when is known
}

// A chronicle is what gl changelog tells; also its JSON.
type chronicle struct {
	SchemaVersion int                  `json:"schema_version"`
	Milestone     *string              `json:"milestone"` // of --milestone
	Since         *string              `json:"since"`     // of --since, as it was given
	Milestones    []chronicleMilestone `json:"milestones"`
	Quick         []chronicleEntry     `json:"quick"`
}

type chronicleMilestone struct {
	Name    *string          `json:"name"` // null for entries of no milestone
	Entries []chronicleEntry `json:"entries"`
}

type chronicleEntry struct {
	ID      string  `json:"id"` // of the slice; of another task the file's name
	Title   string  `json:"title"`
	Date    *string `json:"date"` // 2026-03-01; null for unknown
	File    string  `json:"file"` // relative to the root
	Changed string  `json:"changed"`
	Text    string  `json:"text"` // all of it, below its title
}

// readSummaries reads all there are; a file that can't be read is one error among bad.
func readSummaries(root string, p *plan.Plan) (all []summary, bad []error, err error) {
	entries, err := os.ReadDir(filepath.Join(root, summariesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	roadmapText, _ := os.ReadFile(filepath.Join(root, roadmapFile)) // it only helps with milestones and dates
	r := readRoadmap(string(roadmapText))
	for _, en := range entries {
		stem, ok := summaryStem(en.Name(), p)
		if !ok || en.IsDir() {
			continue
		}
		file := summariesDir + "/" + en.Name()
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		s := newSummary(stem, strings.ToValidUTF8(string(data), "\ufffd"), p, r)
		s.entry.File = file
		if info, err := en.Info(); err == nil && s.when.IsZero() {
			s.when = info.ModTime() // better than no order at all, but a checkout changes it, so it isn't told
		}
		all = append(all, s)
	}
	return all, bad, nil
}

// summaryStem is the name of a summary without "-SUMMARY.md"; false for another file.
func summaryStem(name string, p *plan.Plan) (string, bool) {
	stem, ok := strings.CutSuffix(name, ".md")
	if !ok || strings.HasPrefix(name, ".") {
		return "", false
	}
	if stem, ok := strings.CutSuffix(stem, "-SUMMARY"); ok {
		return stem, stem != ""
	}
	_, _, err := slice.Resolve(stem, p.IDs())
	return stem, err == nil
}

func newSummary(stem, text string, p *plan.Plan, r roadmap) summary {
	s := summary{quick: strings.HasPrefix(stem, "quick-")}
	id := stem
	if match, _, err := slice.Resolve(stem, p.IDs()); err == nil {
		id = match
	}
	title, body := splitTitle(text)
	s.entry = chronicleEntry{ID: id, Title: titleOf(title, stem, id), Changed: changedText(body), Text: body}
	st, row := p.State(id), r.rows[stem]
	if row.milestone == "" {
		row = r.rows[id]
	}
	s.milestone = firstOf(fieldIn(body, "milestone"), row.milestone)
	if st != nil {
		s.milestone = firstOf(fieldIn(body, "milestone"), st.Milestone, row.milestone)
		if s.entry.Title == id {
			s.entry.Title = st.Name
		}
	}
	s.date(stem, body, st, row)
	return s
}

// date finds when it was: what the summary itself says, a quick task's name, the slice's last change, the roadmap.
func (s *summary) date(stem, body string, st *plan.State, row roadmapRow) {
	dates := []string{fieldIn(body, "completed"), fieldIn(body, "date"), quickTime(stem)}
	if st != nil && st.Class == plan.Done {
		dates = append(dates, st.Updated)
	}
	for _, d := range append(dates, row.date) {
		t, err := time.Parse(time.RFC3339, d)
		if s.wholeDay = err != nil; s.wholeDay {
			d = dateGrammar().FindString(d)
			t, err = time.ParseInLocation(time.DateOnly, d, time.Local)
		}
		if err == nil {
			s.when = t
			day := t.Format(time.DateOnly)
			s.entry.Date = &day
			return
		}
	}
	s.wholeDay = false
}

var quickStamp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^quick-(\d{4})-?(\d{2})-?(\d{2})(?:[T_-]?(\d{2})[:-]?(\d{2})(?:[:-]?(\d{2}))?)?(?:\D|$)`)
})

// quickTime is the time in a quick task's name, as RFC 3339, or the day where there is no more; "" for none.
func quickTime(stem string) string {
	m := quickStamp().FindStringSubmatch(stem)
	switch {
	case m == nil:
		return ""
	case m[4] == "":
		return m[1] + "-" + m[2] + "-" + m[3]
	}
	return fmt.Sprintf("%s-%s-%sT%s:%s:%sZ", m[1], m[2], m[3], m[4], m[5], firstOf(m[6], "00"))
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// splitTitle takes the first heading off a document, with the frontmatter's fences before it.
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

// titleOf is the heading without the id that it begins with.
func titleOf(title, stem, id string) string {
	for _, lead := range []string{id, stem} {
		if rest, ok := strings.CutPrefix(title, lead); ok {
			if name := strings.TrimLeft(rest, " \t:—–-"); name != "" && name != rest {
				return name
			}
		}
	}
	return firstOf(title, id)
}

var fieldGrammar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*[-*]?\s*\**([A-Za-z]+)\**\s*:\s*\**\s*(.*?)\s*$`)
})

// fieldIn is the value of a line `key: value`, `**Key:** value` or `- Key: value` before the first section.
func fieldIn(body, key string) string {
	for l := range markdown.Lines(body) {
		if l.Level > 0 {
			break
		}
		if m := fieldGrammar().FindStringSubmatch(l.Text); m != nil && strings.EqualFold(m[1], key) {
			return strings.Trim(m[2], `"'`+"`")
		}
	}
	return ""
}

// changedText is what a summary says about what changed: the section of that name, else the first paragraph.
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

// isField says whether the line is one of those that fieldIn reads.
func isField(line string) bool {
	m := fieldGrammar().FindStringSubmatch(line)
	return m != nil && slices.Contains([]string{"milestone", "completed", "date", "tests", "status", "id", "slice"}, strings.ToLower(m[1]))
}

// newChronicle puts the summaries in order.
func newChronicle(all []summary, milestone string, since time.Time) *chronicle {
	c := &chronicle{SchemaVersion: 1, Milestone: known(milestone), Milestones: []chronicleMilestone{}, Quick: []chronicleEntry{}}
	groups := map[string][]summary{}
	var quick []summary
	for _, s := range all {
		switch {
		case milestone != "" && s.milestone != milestone, s.before(since):
		case s.quick:
			quick = append(quick, s)
		default:
			groups[s.milestone] = append(groups[s.milestone], s)
		}
	}
	for _, name := range newestFirst(groups) {
		group := groups[name]
		sort.SliceStable(group, func(i, j int) bool { return plan.NaturalLess(group[i].entry.ID, group[j].entry.ID) })
		c.Milestones = append(c.Milestones, chronicleMilestone{known(name), entriesOf(group)})
	}
	sort.SliceStable(quick, func(i, j int) bool { return quick[i].when.After(quick[j].when) })
	c.Quick = append(c.Quick, entriesOf(quick)...)
	return c
}

// before says whether it was over before the time. Of a day it counts to its end.
func (s *summary) before(t time.Time) bool {
	if s.wholeDay {
		return !s.when.AddDate(0, 0, 1).After(t)
	}
	return s.when.Before(t)
}

func entriesOf(list []summary) []chronicleEntry {
	var out []chronicleEntry
	for _, s := range list {
		out = append(out, s.entry)
	}
	return out
}

// newestFirst orders milestones by their latest summary; of two of one day the one that was begun later.
func newestFirst(groups map[string][]summary) []string {
	latest, first := map[string]time.Time{}, map[string]string{}
	var names []string
	for name, group := range groups {
		names = append(names, name)
		for _, s := range group {
			if s.when.After(latest[name]) {
				latest[name] = s.when
			}
			if id := first[name]; id == "" || plan.NaturalLess(s.entry.ID, id) {
				first[name] = s.entry.ID
			}
		}
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := names[i], names[j]
		if !latest[a].Equal(latest[b]) {
			return latest[a].After(latest[b])
		}
		return plan.NaturalLess(first[b], first[a])
	})
	return names
}

func hasMilestone(all []summary, name string) bool {
	return slices.ContainsFunc(all, func(s summary) bool { return s.milestone == name })
}
