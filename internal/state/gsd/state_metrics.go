package gsd

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/text/textline"
)

// A Metric is the cost of one plan.
type Metric struct{ Phase, Plan, Duration, Tasks, Files string }

type metricDoc struct {
	Recorded bool   `json:"recorded"`
	Phase    string `json:"phase"`
	Plan     string `json:"plan"`
	Duration string `json:"duration"`
	Created  bool   `json:"created,omitempty"`
}

// RecordMetric writes a plan's row to the Performance Metrics table, creating the table if it
// is missing, and updates the averages and the trend of that section. It updates the existing
// row of a plan.
func (s *Store) RecordMetric(ctx context.Context, m Metric) (Result, error) {
	if m.Phase == "" || m.Plan == "" || m.Duration == "" {
		return failed("phase, plan, and duration required"), nil
	}
	if err := checkTexts("--phase", m.Phase, "--plan", m.Plan, "--duration", m.Duration, "--tasks",
		m.Tasks, "--files", m.Files); err != nil {
		return Result{}, err
	}
	doc := metricDoc{Recorded: true, Phase: m.Phase, Plan: m.Plan, Duration: m.Duration}
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		in, ok := metrics(d.body)
		doc.Created = !ok
		if !ok {
			d.appendLines("## Performance Metrics", "", metricHead, metricRule, m.row())
			return nil
		}
		before := readFigures(d, in.text)
		old, replaced := d.putRow(in.text, m)
		refreshMetrics(d, before, m, old, replaced)
		return nil
	}, func(bool) Result { return reported(doc, true) })
}

const (
	metricHead = "| Plan | Duration | Tasks | Files |"
	metricRule = "|------|----------|-------|-------|"
)

func (m Metric) label() string { return "Phase " + m.Phase + " P" + m.Plan }

func (m Metric) row() string {
	return tableRow([]string{m.label(), m.Duration, cmp.Or(m.Tasks, "-") + " tasks",
		cmp.Or(m.Files, "-") + " files"})
}

func tableRow(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(textline.Join(c), "|", `\|`) + " ")
	}
	return b.String() + "|"
}

func metrics(body []byte) (section, bool) { return findSection(body, 6, 0, "Performance Metrics") }

// A table is the rows below a header and its rule.
type table struct {
	rule bodyLine
	rows []bodyLine
}

// findTable returns the first table with these columns in a part of the body.
func findTable(d *draft, in span, columns ...string) (table, bool) {
	lines := d.lines(in)
	for i := 0; i+1 < len(lines); i++ {
		if lines[i].fenced || !sameCells(cellTexts(d.body, lines[i]), columns) ||
			!isRule(cellTexts(d.body, lines[i+1])) {
			continue
		}
		t := table{rule: lines[i+1]}
		for _, l := range lines[i+2:] {
			if rowCells(d.body, l) == nil {
				break
			}
			t.rows = append(t.rows, l)
		}
		return t, true
	}
	return table{}, false
}

func planTable(d *draft, in span) (table, bool) {
	return findTable(d, in, "Plan", "Duration", "Tasks", "Files")
}

// planRows returns all rows of plans: those of their table, and those without a header, which
// older versions of GSD appended after whatever came last.
func planRows(d *draft, in span) []bodyLine {
	t, _ := planTable(d, in)
	var rows []bodyLine
	for _, l := range d.lines(in) {
		cells := cellTexts(d.body, l)
		if l.fenced || len(cells) < 2 || isRule(cells) {
			continue
		}
		ours := slices.ContainsFunc(t.rows, func(row bodyLine) bool { return row.start == l.start })
		if _, _, ok := readLabel(cells[0]); ok ||
			ours && len(cells) == 4 && strings.Trim(cells[0], "- ") != "" {
			rows = append(rows, l)
		}
	}
	return rows
}

var metricPatterns = sync.OnceValue(func() (p struct{ label, part, joined *regexp.Regexp }) {
	p.label = regexp.MustCompile(`(?i)^phase\s+(\S+)\s+(?:P|plan\s+)0*(\S+)$`)
	p.part = regexp.MustCompile(`(?i)^(\d+(?:\.\d+)?)\s*` +
		`(hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)?(?:[\s,]+|$)`)
	p.joined = regexp.MustCompile(`(?i)^(\d+h)(\d+m)`) // 1h20m
	return p
})

// readLabel parses `Phase 02 P01` into normalized ids.
func readLabel(cell string) (phase, plan string, ok bool) {
	m := metricPatterns().label.FindStringSubmatch(cell)
	if m == nil {
		return "", "", false
	}
	return cmp.Or(PhaseKey(m[1]), strings.ToLower(m[1])), strings.ToLower(m[2]), true
}

func (m Metric) is(cell string) bool {
	phase, plan, _ := readLabel(m.label())
	p, n, ok := readLabel(cell)
	return ok && p == phase && n == plan || strings.EqualFold(cell, m.label())
}

func sameCells(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !strings.EqualFold(a[i], b[i]) {
			return false
		}
	}
	return true
}

func isRule(cells []string) bool {
	for _, c := range cells {
		if strings.Trim(c, "-: ") != "" || !strings.Contains(c, "-") {
			return false
		}
	}
	return len(cells) > 0
}

// putRow writes a plan's row, replacing an existing one, whose duration it returns, or
// appending it after the last.
func (d *draft) putRow(in span, m Metric) (old string, replaced bool) {
	rows := planRows(d, in)
	for _, l := range rows {
		if cells := cellTexts(d.body, l); m.is(cells[0]) {
			d.splice(span{l.start, l.end}, m.row())
			return cells[1], true
		}
	}
	last := 0
	if t, ok := planTable(d, in); ok {
		last = t.rule.next
		if len(t.rows) > 0 {
			last = t.rows[len(t.rows)-1].next
		}
	} else if len(rows) > 0 {
		last = rows[len(rows)-1].next
	} else {
		d.addBlock(in, "**Per-Plan Metrics:**", "", metricHead, metricRule, m.row())
		return "", false
	}
	d.splice(span{last, last}, d.ended(last)+m.row()+d.eol)
	return "", false
}

// figures are the parsed rows of plans in the section.
type figures struct {
	minutes []float64 // of each row
	texts   []string
	phase   map[string][]float64
	read    bool // every duration could be parsed
}

func readFigures(d *draft, in span) figures {
	f := figures{read: true, phase: map[string][]float64{}}
	for _, l := range planRows(d, in) {
		cells := cellTexts(d.body, l)
		n, ok := readMinutes(cells[1])
		f.read = f.read && ok
		f.minutes, f.texts = append(f.minutes, n), append(f.texts, cells[1])
		if phase, _, ok := readLabel(cells[0]); ok {
			f.phase[phase] = append(f.phase[phase], n)
		}
	}
	return f
}

// average returns the average of the rows, formatted for the section.
func average(minutes []float64) string { return brief(sum(minutes)/float64(len(minutes))) + " min" }

// refreshMetrics updates the section's summary. If the rows cover all plans in the summary, it
// is computed from them; if the summary covers more plans, the new one is added to it. It sets
// only fields that exist and can be parsed. before are the rows before m was written, replacing
// one with duration old.
func refreshMetrics(d *draft, before figures, m Metric, old string, replaced bool) {
	in, _ := metrics(d.body)
	now := readFigures(d, in.text)
	minutes, ok := readMinutes(m.Duration)
	was, wasOK := 0.0, true
	if replaced {
		was, wasOK = readMinutes(old)
	}
	if !ok || !wasOK {
		return
	}
	set := func(name, value, counted string) {
		if in, ok := metrics(d.body); ok {
			d.setBullet(in.text, name, value, counted)
		}
	}
	refreshPhase(d, now, m, minutes-was, replaced)
	if covers(d, in.text, before, now) {
		if !now.read {
			return
		}
		if _, ok := d.bullet(in.text, "Total plans completed"); ok {
			set("Total plans completed", strconv.Itoa(len(now.minutes)), `\d+`)
			set("Total execution time",
				strconv.FormatFloat(sum(now.minutes)/60, 'f', 1, 64)+" hours", amount)
		}
		set("Average duration", average(now.minutes), amount)
		set("Last 5 plans", strings.Join(now.texts[max(0, len(now.texts)-5):], ", "),
			amount+`(?:, *`+amount+`)*`)
		set("Trend", trend(now.minutes), `improving|stable|degrading`)
		return
	}
	total, _ := d.bullet(in.text, "Total plans completed")
	n := float64(atoi(total))
	added := 1.0
	if replaced {
		added = 0
	}
	if n > 0 {
		set("Total plans completed", strconv.Itoa(int(n+added)), `\d+`)
		if text, ok := d.bullet(in.text, "Average duration"); ok {
			if mean, ok := readMinutes(text); ok {
				set("Average duration", brief((mean*n+minutes-was)/(n+added))+" min", amount)
			}
		}
	}
	if text, ok := d.bullet(in.text, "Total execution time"); ok && n > 0 {
		if spent, ok := readMinutes(text); ok {
			set("Total execution time",
				strconv.FormatFloat((spent+minutes-was)/60, 'f', 1, 64)+" hours", amount)
		}
	}
	if text, ok := d.bullet(in.text, "Last 5 plans"); ok && !replaced {
		last := append(strings.Split(text, ","), m.Duration)
		for i := range last {
			last[i] = strings.TrimSpace(last[i])
		}
		set("Last 5 plans", strings.Join(last[max(0, len(last)-5):], ", "),
			amount+`(?:, *`+amount+`)*`)
	}
}

// covers reports whether the rows are all the plans that the summary covers: it has counted no
// more plans, and its average, if computed, is theirs.
func covers(d *draft, in span, before, now figures) bool {
	if total, ok := d.bullet(in, "Total plans completed"); ok && digits(total) != "" {
		return atoi(total) <= len(now.minutes)
	}
	text, ok := d.bullet(in, "Average duration")
	n, counted := readMinutes(text)
	return !ok || !counted || n == 0 ||
		len(before.minutes) > 0 && strings.EqualFold(text, average(before.minutes))
}

// refreshPhase updates the phase's row in the By Phase table: the number of completed plans,
// and their duration.
func refreshPhase(d *draft, now figures, m Metric, more float64, replaced bool) {
	in, _ := metrics(d.body)
	t, ok := findTable(d, in.text, "Phase", "Plans", "Total", "Avg/Plan")
	key := cmp.Or(PhaseKey(m.Phase), strings.ToLower(m.Phase))
	if !ok {
		return
	}
	rows := now.phase[key]
	last, hollow := t.rule.next, span{}
	for _, l := range t.rows {
		cells := cellTexts(d.body, l)
		if _, _, plan := readLabel(cells[0]); plan {
			continue
		}
		last = l.next
		if strings.Trim(strings.Join(cells, ""), "-—– ") == "" {
			hollow = span{l.start, l.next}
		}
		if len(cells) != 4 || dirKey(strings.TrimSpace(trimWord(cells[0], "phase"))) != key {
			continue
		}
		n := atoi(cells[1])
		total, read := readMinutes(cells[2])
		switch {
		case now.read && len(rows) >= n: // all plans have rows
			n, total = len(rows), sum(rows)
		case !read:
			return
		default:
			total += more
			if !replaced {
				n++
			}
		}
		cells[1] = strconv.Itoa(n) + strings.TrimLeft(cells[1], "0123456789-")
		cells[2], cells[3] = brief(total)+" min", brief(total/float64(max(1, n)))+" min"
		d.splice(span{l.start, l.end}, tableRow(cells))
		return
	}
	if !now.read || len(rows) == 0 {
		return
	}
	at := span{last, last}
	if hollow.end > 0 {
		at = hollow
	}
	d.splice(at, d.ended(at.start)+tableRow([]string{m.Phase, strconv.Itoa(len(rows)),
		brief(sum(rows)) + " min", average(rows)})+d.eol)
}

// trimWord removes a word from the start of a text.
func trimWord(text, word string) string {
	if foldPrefix([]byte(text), word+" ") {
		return text[len(word):]
	}
	return text
}

// amount matches a computed number with its unit.
const amount = `~?[\d.]+ *(?:hours?|h|minutes?|mins?|m|seconds?|s)?(?: *\d+ *(?:min|m|s))?`

// bullet returns a field that is a list item: `- Trend: Stable`.
func (d *draft) bullet(in span, name string) (string, bool) {
	f, ok := d.findBullet(in, name)
	return f.text(d.body), ok
}

func (d *draft) findBullet(in span, name string) (field, bool) {
	for _, l := range d.lines(in) {
		text := d.body[l.start:l.end]
		if l.fenced || len(text) < 2 || text[0] != '-' || text[1] != ' ' {
			continue
		}
		l.start += 2
		if f, ok := boldField(d.body, l, name); ok {
			return f, true
		}
		if f, ok := plainField(d.body, l, name); ok {
			return f, true
		}
	}
	return field{}, false
}

// setBullet replaces a computed value or a placeholder. Text written by a person stays.
func (d *draft) setBullet(in span, name, value, counted string) {
	f, ok := d.findBullet(in, name)
	machine := regexp.MustCompile(`(?i)^(?:` + counted +
		`|[-—]?|n/?a|none(?: yet)?|tbd|\[[^\]]*\])$`)
	if ok && machine.MatchString(f.text(d.body)) {
		d.fill(f, value)
	}
}

func sum(list []float64) float64 {
	total := 0.0
	for _, n := range list {
		total += n
	}
	return total
}

// brief formats minutes with at most one decimal.
func brief(n float64) string { return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) }

// trend compares the last five plans with the five before them: a tenth less time is better.
func trend(minutes []float64) string {
	now := minutes[max(0, len(minutes)-5):]
	before := minutes[max(0, len(minutes)-10):max(0, len(minutes)-5)]
	if len(before) == 0 {
		now, before = minutes[len(minutes)/2:], minutes[:len(minutes)/2]
	}
	if len(before) == 0 {
		return "Stable"
	}
	switch a, b := sum(now)/float64(len(now)), sum(before)/float64(len(before)); {
	case a < 0.9*b:
		return "Improving"
	case a > 1.1*b:
		return "Degrading"
	}
	return "Stable"
}

// readMinutes parses a duration as agents write it: 5min, 5 min, 1h 20m, 45s, ~12 min, 90
// (minutes).
func readMinutes(text string) (float64, bool) {
	p := metricPatterns()
	rest, total, unit := strings.TrimLeft(strings.TrimSpace(text), "~≈ "), 0.0, false
	rest = p.joined.ReplaceAllString(rest, "$1 $2")
	if rest == "" {
		return 0, false
	}
	for rest != "" {
		m := p.part.FindStringSubmatch(rest)
		if m == nil || m[2] == "" && (unit || len(m[0]) != len(rest)) {
			return 0, false
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, false
		}
		switch lower((m[2] + "m")[0]) {
		case 'h':
			n *= 60
		case 's':
			n /= 60
		}
		total, unit, rest = total+n, true, rest[len(m[0]):]
	}
	return total, true
}
