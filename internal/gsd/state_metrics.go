package gsd

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"

	"greenlight/internal/text/textline"
)

// A Metric is what one plan has cost.
type Metric struct{ Phase, Plan, Duration, Tasks, Files string }

type metricDoc struct {
	Recorded bool   `json:"recorded"`
	Phase    string `json:"phase"`
	Plan     string `json:"plan"`
	Duration string `json:"duration"`
	Created  bool   `json:"created,omitempty"`
}

// RecordMetric writes a plan's row into the table of Performance Metrics, which is made where there is none, and brings the
// averages and the trend of that section up to date. A plan that has a row already gets its new figures there.
func (s *Store) RecordMetric(ctx context.Context, m Metric) (Result, error) {
	if m.Phase == "" || m.Plan == "" || m.Duration == "" {
		return failed("phase, plan, and duration required"), nil
	}
	if err := checkTexts("--phase", m.Phase, "--plan", m.Plan, "--duration", m.Duration, "--tasks", m.Tasks, "--files", m.Files); err != nil {
		return Result{}, err
	}
	doc := metricDoc{Recorded: true, Phase: m.Phase, Plan: m.Plan, Duration: m.Duration}
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		in, ok := metrics(d.body)
		doc.Created = !ok
		switch table, has := planTable(d, in.text); {
		case !ok:
			d.appendLines("## Performance Metrics", "", metricHead, metricRule, m.row())
		case has:
			d.putRow(table, m)
		default:
			d.addBlock(in.text, "**Per-Plan Metrics:**", "", metricHead, metricRule, m.row())
		}
		if in, ok := metrics(d.body); ok {
			refreshMetrics(d, in.text)
		}
		return nil
	}, func(bool) Result { return reported(doc, true) })
}

const (
	metricHead = "| Plan | Duration | Tasks | Files |"
	metricRule = "|------|----------|-------|-------|"
)

func (m Metric) label() string { return "Phase " + m.Phase + " P" + m.Plan }

func (m Metric) row() string {
	return tableRow([]string{m.label(), m.Duration, cmp.Or(m.Tasks, "-") + " tasks", cmp.Or(m.Files, "-") + " files"})
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

// findTable returns the first table of a part of the body that has these columns.
func findTable(d *draft, in span, columns ...string) (table, bool) {
	lines := d.lines(in)
	for i := 0; i+1 < len(lines); i++ {
		if lines[i].fenced || !sameCells(cellTexts(d.body, lines[i]), columns) || !isRule(cellTexts(d.body, lines[i+1])) {
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

// putRow writes a plan's row: over the one it has, else behind the last.
func (d *draft) putRow(t table, m Metric) {
	last := t.rule
	for _, l := range t.rows {
		if strings.EqualFold(cellTexts(d.body, l)[0], m.label()) {
			d.splice(span{l.start, l.end}, m.row())
			return
		}
		last = l
	}
	d.splice(span{last.next, last.next}, d.ended(last.next)+m.row()+d.eol)
}

// refreshMetrics brings the section's summary up to date from the rows of its table. It sets only what is there, and only
// where every duration can be read; totals that count more plans than there are rows are left alone.
func refreshMetrics(d *draft, in span) {
	t, _ := planTable(d, in)
	var minutes []float64
	var recent []string
	for _, l := range t.rows {
		cells := cellTexts(d.body, l)
		if len(cells) != 4 || strings.Trim(cells[0], "- ") == "" {
			continue
		}
		n, ok := readMinutes(cells[1])
		if !ok {
			return
		}
		minutes = append(minutes, n)
		recent = append(recent, cells[1])
	}
	if len(minutes) == 0 {
		return
	}
	set := func(name, value, counted string) {
		if in, ok := metrics(d.body); ok {
			d.setBullet(in.text, name, value, counted)
		}
	}
	if total, ok := d.bullet(in, "Total plans completed"); ok && atoi(total) <= len(minutes) {
		set("Total plans completed", strconv.Itoa(len(minutes)), `\d+`)
		set("Total execution time", strconv.FormatFloat(sum(minutes)/60, 'f', 1, 64)+" hours", amount)
	}
	set("Average duration", brief(sum(minutes)/float64(len(minutes)))+" min", amount)
	set("Last 5 plans", strings.Join(recent[max(0, len(recent)-5):], ", "), amount+`(?:, *`+amount+`)*`)
	set("Trend", trend(minutes), `improving|stable|degrading`)
}

// amount is a number that was counted, with its unit.
const amount = `~?[\d.]+ *(?:hours?|h|minutes?|mins?|m|seconds?|s)?(?: *\d+ *(?:min|m|s))?`

// bullet returns a field that is an item of a list: `- Trend: Stable`.
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

// setBullet replaces what was counted, or what says that nothing was. A person's words about it stay.
func (d *draft) setBullet(in span, name, value, counted string) {
	f, ok := d.findBullet(in, name)
	machine := regexp.MustCompile(`(?i)^(?:` + counted + `|[-—]?|n/?a|none(?: yet)?|tbd|\[[^\]]*\])$`)
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

// brief writes minutes with at most one decimal.
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

// readMinutes reads a duration as agents write them: 5min, 5 min, 1h 20m, 45s, ~12 min, 90 (minutes).
func readMinutes(text string) (float64, bool) {
	parts := regexp.MustCompile(`(?i)^(\d+(?:\.\d+)?)\s*(hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)?(?:[\s,]+|$)`)
	rest, total, unit := strings.TrimLeft(strings.TrimSpace(text), "~≈ "), 0.0, false
	if compact := regexp.MustCompile(`(?i)^(\d+h)(\d+m)`); compact.MatchString(rest) {
		rest = compact.ReplaceAllString(rest, "$1 $2")
	}
	if rest == "" {
		return 0, false
	}
	for rest != "" {
		m := parts.FindStringSubmatch(rest)
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
