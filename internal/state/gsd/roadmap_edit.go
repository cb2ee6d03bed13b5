package gsd

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
)

// A roadmapText is a ROADMAP.md being edited. Its edits concern one phase of the project's
// milestone, and replace single values or insert whole lines; a phase with the same number in
// another milestone stays.
type roadmapText struct {
	text  string
	key   string        // of the phase
	lines []roadmapLine // of the phase's milestone, or of none
	phase *Phase        // nil if the roadmap doesn't have it
	edits []edit
}

// A roadmapLine is a line with what it belongs to.
type roadmapLine struct {
	markdown.Line
	phase   string   // key of the phase whose section it is in; "" for none
	columns []string // of its table; nil outside one
}

// openRoadmap reads a roadmap for edits of a phase.
func openRoadmap(text string, at standing, key string) *roadmapText {
	t := &roadmapText{text: text, key: key}
	var milestones []int
	road := readRoadmap(text, func(r *roadmapReader, l markdown.Line) {
		t.lines = append(t.lines, roadmapLine{l, r.phase, r.columns})
		milestones = append(milestones, r.milestone)
	})
	current, i := road.current(at), 0
	t.lines = slices.DeleteFunc(t.lines, func(roadmapLine) bool {
		i++
		return milestones[i-1] >= 0 && milestones[i-1] != current
	})
	for _, p := range road.of(current) {
		if p.Key == key {
			t.phase = p
		}
	}
	return t
}

// String returns the roadmap with the edits.
func (t *roadmapText) String() string {
	return string(apply([]byte(t.text), slices.Clone(t.edits)))
}

func (t *roadmapText) replace(from, to int, text string) {
	if t.text[from:to] != text {
		t.edits = append(t.edits, edit{span{from, to}, text})
	}
}

func (t *roadmapText) eol() string {
	if strings.Contains(t.text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// tick marks the phase's line in the list of phases as complete, in GSD's words.
func (t *roadmapText) tick(date string) {
	for _, l := range t.lines {
		m := roadmapPatterns().bullet.FindStringSubmatch(l.Text)
		box := strings.Index(l.Text, "[ ]")
		if m == nil || m[1] != " " || PhaseKey(m[4]) != t.key || box < 0 {
			continue
		}
		t.replace(l.Start+box, l.Start+box+3, "[x]")
		end := l.Start + len(strings.TrimRight(l.Text, " \t"))
		t.replace(end, end, " (completed "+date+")")
	}
}

// setRow fills in the phase's row of the progress table. A date that already exists stays if
// the phase is complete.
func (t *roadmapText) setRow(plans, status, date string) {
	for _, l := range t.lines {
		cells := markdown.Cells(l.Text)
		if len(cells) < 2 || !isProgress(l.columns) || rowKey(cells[0]) != t.key {
			continue
		}
		row := strings.TrimLeft(l.Text, " \t")
		at := l.Start + len(l.Text) - len(row)
		for i, c := range markdown.CellSpans(row) {
			if i == 0 || i >= len(l.columns) || i >= len(cells) {
				continue
			}
			text := cells[i]
			switch strings.ToLower(strings.Trim(l.columns[i], "* ")) {
			case "plans complete", "plans", "progress":
				text = plans
			case "status", "state":
				text = status
			case "completed", "date":
				text = completedCell(cells[i], date)
			}
			if text != cells[i] {
				t.replace(at+c[0], at+c[1], padded(text, row[c[0]:c[1]]))
			}
		}
	}
}

// completedCell returns the new text of a cell with the date of completion, "" for an
// incomplete phase.
func completedCell(old, date string) string {
	switch {
	case isDate(old) && date != "":
		return old
	case isDate(old):
		return "-"
	case date == "":
		return old
	}
	return date
}

// padded returns a cell that is as wide as the old one, if it fits.
func padded(text, old string) string {
	cell := " " + text + " "
	return cell + strings.Repeat(" ", max(0, len(old)-len(cell)))
}

type planPatterns struct{ count, value, item, wave *regexp.Regexp }

var planLines = sync.OnceValue(func() (p planPatterns) {
	p.count = regexp.MustCompile(`(?i)^\s*(?:[-*]\s+)?(?:\*\*Plans\*\*:|\*\*Plans:\*\*|Plans:)[ \t]*`)
	p.value = regexp.MustCompile(`(?i)^(?:\d+\s*/\s*\d+\s+plans?(?:\s+(?:complete|executed))?|\d+\s+plans?\b|` +
		`\[\s*Number of plans\b.*\]|TBD)`)
	p.item = regexp.MustCompile(`(?i)^\s*[-*]\s+\[([ x])\]\s+\**((?:[A-Z][A-Z0-9_]*-)?\d+[A-Z]?(?:\.\d+)*-\d+[A-Z]?(?:\.\d+)*)`)
	p.wave = regexp.MustCompile(`(?i)^\s*\*\*(?:Wave\s+\d+|Cross-cutting constraints:)`)
	return p
})

// section returns the lines below the phase's heading.
func (t *roadmapText) section() []roadmapLine {
	var all []roadmapLine
	for _, l := range t.lines {
		if l.phase == t.key && l.Level == 0 {
			all = append(all, l)
		}
	}
	return all
}

// setCount replaces the number of plans in the phase's section, or GSD's placeholder for it.
// Text that a person wrote in its place stays.
func (t *roadmapText) setCount(text string) {
	for _, l := range t.section() {
		label := planLines().count.FindString(l.Text)
		value := planLines().value.FindString(l.Text[len(label):])
		if label == "" || value == "" {
			continue
		}
		at := l.Start + len(label)
		t.replace(at, at+len(value), text)
		return
	}
}

// listPlans ticks the plans that are carried out and adds those that the list lacks.
func (t *roadmapText) listPlans(files []planFile) {
	missing := slices.Clone(files)
	var last, header, count *roadmapLine
	section := t.section()
	for i := range section {
		l := &section[i]
		m := planLines().item.FindStringSubmatchIndex(l.Text)
		switch label := planLines().count.FindString(l.Text); {
		case m == nil && label != "" && strings.TrimSpace(l.Text[len(label):]) == "":
			header = l
			continue
		case m == nil && label != "":
			count = l
			continue
		case m == nil:
			continue
		}
		last = l
		at := slices.IndexFunc(missing, func(f planFile) bool {
			return samePlan(f.name, l.Text[m[4]:m[5]])
		})
		if at < 0 {
			continue
		}
		if missing[at].done && l.Text[m[2]:m[3]] == " " {
			t.replace(l.Start+m[2], l.Start+m[3], "x")
		}
		missing = slices.Delete(missing, at, at+1)
	}
	for _, l := range []*roadmapLine{last, header, count} {
		if l != nil {
			t.insertPlans(l, missing, l == count && l != header)
			return
		}
	}
}

// insertPlans adds plans below a line, after a blank one where that line is no list.
func (t *roadmapText) insertPlans(below *roadmapLine, files []planFile, apart bool) {
	if len(files) == 0 {
		return
	}
	text := ""
	if below.Next == below.Start+len(below.Text) { // the file's last line, without an end
		text = t.eol()
	}
	if apart {
		text += t.eol()
	}
	for _, f := range files {
		mark := " "
		if f.done {
			mark = "x"
		}
		text += "- [" + mark + "] " + f.name + t.eol()
	}
	t.replace(below.Next, below.Next, text)
}

// samePlan reports whether a plan's file is the one that a list calls 01-02.
func samePlan(file, id string) bool {
	i := strings.LastIndexByte(id, '-')
	number, ok := planNumber(file)
	return ok && i > 0 && number == PhaseKey(id[i+1:])
}

// annotate groups the phase's list of plans by waves, and lists below it what several plans
// must keep. It changes nothing if the list is annotated already, and reports whether it did.
func (t *roadmapText) annotate(files []planFile, shared []string) bool {
	list, byWave := t.planItems(files)
	if len(list) == 0 || len(byWave) < 2 && len(shared) == 0 {
		return false
	}
	var out []string
	waves := make([]int, 0, len(byWave))
	for n := range byWave {
		waves = append(waves, n)
	}
	slices.Sort(waves)
	for i, n := range waves {
		switch {
		case len(waves) == 1:
		case i == 0:
			out = append(out, fmt.Sprintf("**Wave %d**", n), "")
		default:
			out = append(out, "", fmt.Sprintf("**Wave %d** *(blocked on Wave %d completion)*", n,
				waves[i-1]), "")
		}
		out = append(out, byWave[n]...)
	}
	if len(shared) > 0 {
		out = append(out, "", "**Cross-cutting constraints:**", "")
		for _, s := range shared {
			out = append(out, "- "+textline.Join(s))
		}
	}
	first, last := list[0], list[len(list)-1]
	t.replace(first.Start, last.Start+len(last.Text), strings.Join(out, t.eol()))
	return true
}

// planItems returns the lines of the phase's list of plans, together and by wave; nil if they
// are annotated already, or aren't one list.
func (t *roadmapText) planItems(files []planFile) ([]roadmapLine, map[int][]string) {
	var list []roadmapLine
	byWave := map[int][]string{}
	for _, l := range t.section() {
		if planLines().wave.MatchString(l.Text) {
			return nil, nil
		}
		m := planLines().item.FindStringSubmatch(l.Text)
		if m == nil {
			continue
		}
		if n := len(list); n > 0 && list[n-1].N+1 != l.N {
			return nil, nil
		}
		list = append(list, l)
		wave := 1
		if i := slices.IndexFunc(files, func(f planFile) bool {
			return samePlan(f.name, m[2])
		}); i >= 0 {
			wave = files[i].wave
		}
		byWave[wave] = append(byWave[wave], l.Text)
	}
	return list, byWave
}

// requirements returns the ids that the phase's section names: "**Requirements**: A-01, A-02".
func (t *roadmapText) requirements() []string {
	label := regexp.MustCompile(`(?i)^\s*(?:[-*]\s+)?\*\*Requirements:?\*\*:?[ \t]*(.*)$`)
	for _, l := range t.section() {
		if m := label.FindStringSubmatch(l.Text); m != nil {
			text, _, _ := strings.Cut(m[1], "<!--")
			return requirementIDs(text)
		}
	}
	return nil
}

// planCount returns "2/3", as GSD's table has it.
func planCount(done, total int) string { return strconv.Itoa(done) + "/" + strconv.Itoa(total) }
