package gsd

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

type rebuildDoc struct {
	Rebuilt   bool   `json:"rebuilt"`
	DryRun    bool   `json:"dry_run,omitempty"`
	Mutations int    `json:"mutations"`
	Mutated   *bool  `json:"mutated,omitempty"`
	Note      string `json:"note"`
}

// A mutation is one entry of the Rebuild Log.
type mutation struct {
	Timestamp string `json:"timestamp"`
	Kind      string `json:"kind"`
	Section   string `json:"section"`
	Before    string `json:"before"`
	After     string `json:"after"`
	Reason    string `json:"reason"`
}

// Rebuild repairs the body's structure from the front matter and the disk, and logs each change
// under ## Rebuild Log. With dryRun it only reports what it would do. If tell isn't nil, it is
// called with each change.
func (s *Store) Rebuild(ctx context.Context, dryRun bool, tell func(string)) (Result, error) {
	var log []mutation
	result := func(bool) Result { return rebuildResult(log, dryRun) }
	say := func() {
		for _, m := range log {
			if line, err := json.Marshal(m); err == nil && tell != nil {
				tell("[rebuild] " + string(line))
			}
		}
	}
	if dryRun {
		doc, err := s.load()
		if err != nil {
			return whenMissing(err)
		}
		log = s.rebuild(newDraft(doc))
		say()
		return result(false), nil
	}
	r, err := s.verb(ctx, writing{note: true}, func(d *draft) error {
		log = s.rebuild(d)
		d.logRebuild(log)
		return nil
	}, result)
	if err == nil {
		say()
	}
	return r, err
}

func rebuildResult(log []mutation, dryRun bool) Result {
	mutated := len(log) > 0
	doc := rebuildDoc{Rebuilt: mutated && !dryRun, DryRun: dryRun, Mutations: len(log),
		Note: "Nothing to rebuild"}
	switch {
	case dryRun:
		doc.Mutated = &mutated
		if mutated {
			doc.Note = "Run without --dry-run to apply changes"
		}
	case mutated:
		doc.Note = "STATE.md rebuilt; see ## Rebuild Log section for the audit trail"
	}
	return reported(doc, mutated)
}

// A rebuilding collects the changes of one rebuild.
type rebuilding struct {
	d   *draft
	now string
	log []mutation
}

func (r *rebuilding) note(kind, section, before, after, reason string) {
	r.log = append(r.log,
		mutation{r.now, kind, section, shortened(before), shortened(after), reason})
}

// shortened limits a log entry to one line of at most 512 characters.
func shortened(text string) string {
	runes := []rune(strings.TrimSpace(text))
	if len(runes) > 512 {
		runes = append(runes[:509], '.', '.', '.')
	}
	return strings.NewReplacer("\r\n", ` \n `, "\n", ` \n `).Replace(string(runes))
}

func (s *Store) rebuild(d *draft) []mutation {
	r := &rebuilding{d: d, now: isoTime(s.Now())}
	r.position("current_phase", "Current Phase")
	r.position("current_phase_name", "Current Phase Name")
	r.phaseTable(s.facts(d.doc).Dirs)
	r.placeholders()
	r.sessions()
	return r.log
}

// position overwrites a field of the body that contradicts the front matter.
func (r *rebuilding) position(key, name string) {
	want, have := r.d.doc.stored(key), r.d.get(name)
	if want == "" || have == "" || have == want || readPhase(have).id == want {
		return
	}
	r.d.replace(name, want)
	r.note("current-position-reconciled", "## Current Position", have, want,
		fmt.Sprintf("frontmatter '%s' is canonical; body '%s' was stale", key, name))
}

// phaseTable makes the By Phase table list the phases on disk. Rows of remaining phases keep
// their times.
func (r *rebuilding) phaseTable(dirs []PhaseDir) {
	d := r.d
	if len(dirs) == 0 {
		return
	}
	t, ok := findTable(d, d.all(), "Phase", "Plans", "Total", "Avg/Plan")
	if !ok {
		return
	}
	have := map[string][]string{}
	for _, l := range t.rows {
		cells := cellTexts(d.body, l)
		if key := dirKey(cells[0]); key != "" && len(cells) == 4 {
			have[key] = cells
		}
	}
	var rows []string
	same := len(dirs) == len(t.rows)
	for i, dir := range dirs {
		cells, ok := have[dir.Key]
		if !ok {
			cells = []string{phaseToken(stripCode(dir.Name)), "", "-", "-"}
		}
		cells[1] = strconv.Itoa(dir.Plans)
		rows = append(rows, tableRow(cells))
		same = same && strings.Join(cells, "|") == strings.Join(cellTexts(d.body, t.rows[i]), "|")
	}
	if same {
		return
	}
	end := t.rule.next
	if len(t.rows) > 0 {
		end = t.rows[len(t.rows)-1].next
	}
	in := span{t.rule.next, end}
	before := string(d.body[in.start:in.end])
	d.splice(in, d.ended(in.start)+strings.Join(rows, d.eol)+d.eol)
	r.note("by-phase-table-reconciled", "## Performance Metrics", before, strings.Join(rows, "\n"),
		"phase dirs on disk are canonical; rows for missing phases dropped, missing phases added")
}

// placeholders sets bold fields that still have the template's value to (pending). A progress
// bar isn't a placeholder.
func (r *rebuilding) placeholders() {
	d := r.d
	label := regexp.MustCompile(`^\s*\*\*([^*]+):\*\*`)
	hollow := regexp.MustCompile(`^(\[[^\]█░▓▒]{1,200}\]|-)$`)
	var edits []edit
	for _, l := range scan(d.body) {
		text := d.body[l.start:l.end]
		m := label.FindSubmatchIndex(text)
		if l.fenced || m == nil {
			continue
		}
		f := valueAt(d.body, l.start+m[1], l.end)
		value := f.text(d.body)
		if !hollow.MatchString(value) {
			continue
		}
		after := "(pending)"
		if f.bare {
			after = " " + after
		}
		edits = append(edits, edit{f.value, after})
		name := string(text[m[2]:m[3]])
		r.note("placeholder-removed", "## Current Position", string(text),
			"**"+name+":** (pending)", fmt.Sprintf("field %q still carried template placeholder %q; "+
				"no canonical source available", name, value))
	}
	d.body = apply(d.body, edits)
}

// keptSessions is how many archived sessions stay.
const keptSessions = 3

// sessions keeps the last three of the archived sessions below Session Continuity.
func (r *rebuilding) sessions() {
	d := r.d
	in, ok := findSection(d.body, 2, 2, "Session Continuity")
	if !ok {
		return
	}
	var old []bodyLine
	lines := d.lines(in.text)
	for _, l := range lines {
		if l.level == 3 && strings.HasPrefix(l.title, "Session —") {
			old = append(old, l)
		}
	}
	var edits []edit
	for _, h := range old[:max(0, len(old)-keptSessions)] {
		end := in.text.end
		for _, l := range lines {
			if l.start > h.start && l.level != 0 && l.level <= 3 {
				end = l.start
				break
			}
		}
		edits = append(edits, edit{span{h.start, end}, ""})
		r.note("session-archive-deduplicated", "## Session Continuity",
			string(d.body[h.start:end]), "",
			fmt.Sprintf("archived session %q exceeded the %d-most-recent retention; dropped",
				h.title, keptSessions))
	}
	d.body = apply(d.body, edits)
}

// logRebuild appends to ## Rebuild Log, creating it if it is missing.
func (d *draft) logRebuild(log []mutation) {
	if len(log) == 0 {
		return
	}
	var lines []string
	for _, m := range log {
		lines = append(lines, "- timestamp: "+m.Timestamp, "  kind: "+m.Kind,
			"  section: "+m.Section, "  before: "+m.Before, "  after: "+m.After,
			"  reason: "+m.Reason)
	}
	if in, ok := findSection(d.body, 2, 2, "Rebuild Log"); ok {
		d.addBlock(in.text, lines...)
		return
	}
	d.appendLines(append([]string{"## Rebuild Log", ""}, lines...)...)
}
