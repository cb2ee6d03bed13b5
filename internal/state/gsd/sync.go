package gsd

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/base/text/frontmatter"
)

// derived holds the front matter values according to the body and the disk; "" for unknown.
type derived struct {
	phase, phaseName, plan  string
	stoppedAt, pausedAt     string
	lastActivity, lastDesc  string
	phaseLine               string // the value of Phase in Current Position
	bodyStatus              string
	totalPlans, totalPhases string
	progress                string
	prosePlan               string // the number at the start of Plan in Current Position
}

// derive reads the body's fields.
func derive(body []byte) derived {
	var d derived
	at := span{0, len(body)}
	if s, ok := currentPosition(body); ok {
		at = s.text
	}
	if f, ok := findIn(body, at, "Phase"); ok {
		d.phaseLine = f.text(body)
	}
	if f, ok := findIn(body, at, "Plan"); ok {
		d.prosePlan = digits(f.text(body))
	}
	prose := readPhase(d.phaseLine)
	d.phase = prose.id
	if current := getField(body, "Current Phase"); current != "" {
		d.phase = current
		if p := readPhase(current); p.id != "" && p.id != current {
			d.phase = p.id // for "2 of 5 (Name)"
		}
	}
	d.phaseName = cmp.Or(getField(body, "Current Phase Name"), prose.name)
	d.plan = getField(body, "Current Plan")
	d.bodyStatus = getField(body, "Status")
	d.stoppedAt, d.pausedAt = sessionField(body, "Stopped At"), sessionField(body, "Paused At")
	date, desc := readActivity(getField(body, "Last Activity"))
	d.lastActivity, d.lastDesc = date, cmp.Or(getField(body, "Last Activity Description"), desc)
	d.totalPlans, d.totalPhases = getField(body, "Total Plans in Phase"),
		getField(body, "Total Phases")
	d.progress = getField(body, "Progress")
	return d
}

// sessionField reads a field of the session section, so that a copy in an archive isn't used.
func sessionField(body []byte, name string) string {
	in := span{0, len(body)}
	if s, ok := session(body); ok {
		in = s.text
	}
	if f, ok := findIn(body, in, name); ok {
		return f.text(body)
	}
	return ""
}

// readActivity splits `2026-01-02 — what happened`. A value without a date is returned as the
// date, as GSD does.
func readActivity(value string) (date, desc string) {
	if len(value) < 10 || !isDate(value[:10]) {
		return value, ""
	}
	rest := strings.TrimLeft(value[10:], " \t")
	if rest == "" {
		return value[:10], ""
	}
	if len(rest) == len(value[10:]) {
		return value, ""
	}
	for _, dash := range []string{"——", "—-", "-—", "—", "--", "-"} {
		if text, ok := strings.CutPrefix(rest, dash); ok {
			if bare := strings.TrimSpace(text); bare != "" && len(bare) < len(text) {
				return value[:10], bare
			}
			break
		}
	}
	return value, ""
}

// null reports whether a scalar means "no value".
func null(text string) bool { return text == "" || text == "null" || text == "~" }

// stored returns a front matter key, "" if it is missing or null.
func (d *Doc) stored(key string) string {
	v, _ := d.Get(key)
	if v.Kind != frontmatter.Scalar || null(v.Text) {
		return ""
	}
	return v.Text
}

// A settlement determines the front matter after a write.
type settlement struct {
	doc       *Doc
	facts     Facts
	now       time.Time
	compat    bool
	pre, post derived
	given     []change // set by the command; they take precedence

	force, keepCounts, uncounted bool // as in draft
	recount                      recount
}

// settle returns the document to write: the draft's body, and the front matter updated to
// match. A stored key changes only if this write changed what it comes from. GSD derives all
// keys anew at each write, so a note about a decision recounts the progress there and renames
// the milestone.
func (d *draft) settle(facts Facts, now time.Time, compat bool) []byte {
	s := settlement{doc: d.doc, facts: facts, now: now, compat: compat, given: d.set,
		keepCounts: d.keepCounts, uncounted: d.uncounted, force: d.force,
		recount: recount{zero: d.zero, planned: d.planned, percent: d.force || d.percent},
		pre:     derive(d.doc.Body()), post: derive(d.body)}
	var set []change
	for _, v := range s.values() {
		if slices.ContainsFunc(d.set, func(c change) bool { return c.key == v.key }) ||
			slices.Contains(d.drop, v.key) ||
			slices.Contains(d.hold, v.key) {
			continue
		}
		if c, ok := s.change(v); ok {
			set = append(set, c)
		}
	}
	set = append(set, d.set...)
	drop := d.drop
	if s.post.phaseName == "" && !samePhase(s.pre.phase, s.post.phase) &&
		d.doc.stored("current_phase_name") != "" &&
		!slices.Contains(d.hold, "current_phase_name") {
		drop = append(slices.Clone(drop), "current_phase_name") // it belonged to another phase
	}
	return slices.Concat(editFront(d.doc, set, drop, s.counts()), d.body)
}

// A wanted is a key and its intended text.
type wanted struct{ key, text string }

// change returns the edit for a key; false if its text is already right.
func (s *settlement) change(w wanted) (change, bool) {
	v, _ := s.doc.Get(w.key)
	if w.text == "" || v.Kind == frontmatter.Scalar && v.Text == w.text {
		return change{}, false
	}
	raw := ""
	if v.Kind == frontmatter.Scalar {
		raw = string(s.doc.Src[v.Start:v.End])
	} else if _, there := s.doc.Get(w.key); !there {
		switch w.key {
		case "gsd_state_version":
			raw = "'"
		case "current_phase", "current_plan", "last_activity", "last_updated":
			raw = `"` // a phase is text: 4.10 isn't 4.1
		}
	}
	return change{w.key, yaml(w.text, raw)}, true
}

// values returns the keys in GSD's order with their intended values.
func (s *settlement) values() []wanted {
	d := s.doc
	// the body's current value, if this write changed it
	keep := func(key, now string, changed bool) wanted {
		if old := d.stored(key); old != "" && (!changed && !s.force || now == "") {
			return wanted{key, old}
		}
		return wanted{key, now}
	}
	out := []wanted{{"gsd_state_version", cmp.Or(d.stored("gsd_state_version"), "1.0")}}
	out = append(out, s.milestone()...)
	date, desc := s.activity()
	phase := wanted{"current_phase", cmp.Or(s.post.phase, d.stored("current_phase"))}
	if old := d.stored("current_phase"); old != "" && !s.phaseMoved() && !s.force {
		phase.text = old
	}
	return append(out,
		phase,
		keep("current_phase_name", s.post.phaseName, s.phaseMoved()),
		wanted{"current_plan", s.plan()},
		wanted{"status", s.status()},
		keep("stopped_at", s.post.stoppedAt, s.pre.stoppedAt != s.post.stoppedAt),
		keep("paused_at", s.post.pausedAt, s.pre.pausedAt != s.post.pausedAt),
		wanted{"last_updated", isoTime(s.now)},
		wanted{"last_activity", date},
		wanted{"last_activity_desc", desc},
	)
}

func (s *settlement) phaseMoved() bool {
	return s.pre.phaseLine != s.post.phaseLine || s.pre.phase != s.post.phase
}

// plan follows the body: its field Current Plan or, if the key exists, the number at the start
// of its Plan.
func (s *settlement) plan() string {
	old := s.doc.stored("current_plan")
	if s.post.plan == "" && old != "" {
		return cmp.Or(s.post.prosePlan, old)
	}
	return cmp.Or(s.post.plan, old)
}

// milestone keeps the stored value unless the project has moved on to another or sync is
// requested. A placeholder never replaces a real name.
func (s *settlement) milestone() []wanted {
	old, oldName := s.doc.stored("milestone"), s.doc.stored("milestone_name")
	if oldName == "milestone" {
		oldName = ""
	}
	name := s.facts.MilestoneName
	if !strings.ContainsFunc(name, unicode.IsLetter) || strings.HasPrefix(name, "—") ||
		strings.EqualFold(name, "milestone") {
		name = ""
	}
	switch moved := s.facts.Moved && !s.keepCounts; {
	case moved || old == "":
		return []wanted{{"milestone", cmp.Or(s.facts.Milestone, old)},
			{"milestone_name", cmp.Or(name, s.nameOf(old))}}
	case s.force && name != "" && !s.facts.Moved:
		return []wanted{{"milestone", old}, {"milestone_name", name}}
	}
	if !sameVersion(old, s.facts.Milestone) {
		name = "" // it belongs to another milestone
	}
	return []wanted{{"milestone", old},
		{"milestone_name", cmp.Or(oldName, name, s.doc.stored("milestone_name"))}}
}

// nameOf returns the stored name if it belongs to the milestone being written, otherwise GSD's
// placeholder.
func (s *settlement) nameOf(old string) string {
	if old != "" && !sameVersion(old, s.facts.Milestone) && s.doc.stored("milestone_name") != "" {
		return "milestone"
	}
	return s.doc.stored("milestone_name")
}

// status keeps the stored value while this write leaves the body's unchanged.
func (s *settlement) status() string {
	old := s.doc.stored("status")
	paused := cmp.Or(s.post.pausedAt, s.doc.stored("paused_at"))
	for _, c := range s.given {
		if c.key == "paused_at" {
			paused = c.raw
			if null(c.raw) {
				paused = ""
			}
			return normalizeStatus(s.post.bodyStatus, paused, s.compat)
		}
	}
	if s.pre.bodyStatus == s.post.bodyStatus && !s.force && old != "" && old != "unknown" {
		return old
	}
	status := normalizeStatus(s.post.bodyStatus, paused, s.compat)
	if status == "unknown" && old != "" {
		return old
	}
	return status
}

// activity follows the body's, but never goes back to an earlier day. Newer versions of GSD
// have a key for the text after the date; the text moves there.
func (s *settlement) activity() (date, desc string) {
	date, desc = s.post.lastActivity, s.post.lastDesc
	oldDate, oldDesc := s.doc.stored("last_activity"), s.doc.stored("last_activity_desc")
	changed := s.force || s.pre.lastActivity != date || s.pre.lastDesc != desc
	back := len(oldDate) >= 10 && len(date) >= 10 && isDate(oldDate[:10]) && isDate(date[:10]) &&
		date[:10] < oldDate[:10]
	if oldDate != "" && (date == "" || back || !changed) {
		// its own text, or another day's
		if day, text := readActivity(oldDate); text != "" || !changed && day != date {
			return oldDate, oldDesc
		}
		return oldDate, cmp.Or(oldDesc, desc)
	}
	if _, text := readActivity(oldDate); oldDesc == "" {
		oldDesc = text
	}
	if oldDesc != "" && (desc == "" || s.pre.lastDesc == s.post.lastDesc) {
		desc = oldDesc
	}
	return date, desc
}
