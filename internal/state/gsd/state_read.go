package gsd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"greenlight/internal/base/text/frontmatter"
)

// An object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(m.key)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode returns JSON in which <, > and & aren't escaped.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// JSON returns the front matter that a write would produce now, with all other keys in the
// file.
func (s *Store) JSON() (Result, error) {
	doc, err := s.load()
	if err != nil {
		return whenMissing(err)
	}
	st := settlement{doc: doc, facts: s.facts(doc), now: s.Now(), compat: s.Compat,
		pre: derive(doc.Body()), post: derive(doc.Body())}
	var out object
	for _, w := range st.values() {
		if w.text != "" {
			out = append(out, member{w.key, w.text})
		} else if _, there := doc.Get(w.key); there {
			out = append(out, member{w.key, nil})
		}
	}
	for _, e := range doc.Front {
		if e.Key != "progress" && !slices.ContainsFunc(out, func(m member) bool {
			return m.key == e.Key
		}) {
			v, _ := doc.Get(e.Key)
			out = append(out, member{e.Key, plainValue(v)})
		}
	}
	if progress := st.progress(); len(progress) > 0 {
		out = append(out, member{"progress", progress})
	}
	return Result{Doc: out}, nil
}

// plainValue converts a front matter value to JSON: texts, lists, maps and null.
func plainValue(v frontmatter.Value) any {
	switch v.Kind {
	case frontmatter.List:
		return append([]string{}, v.Items...)
	case frontmatter.Map:
		var out object
		for _, e := range v.Map {
			out = append(out, member{e.Key, plainValue(e.Value)})
		}
		return out
	case frontmatter.Scalar:
		if v.Text != "null" && v.Text != "~" {
			return v.Text
		}
	}
	return nil
}

// progress returns the block that would be written.
func (s *settlement) progress() object {
	t, ok := recount{compat: s.compat}.of(s.doc, s.facts)
	keep := !ok && s.doc.hasProgress()
	switch body := s.bodyTally(); {
	case s.compat && s.facts.HasPhases:
		if keep = s.further(t); t.percent == nil && !s.facts.Unbounded {
			t.percent = body.percent
		}
	case s.compat:
		t, keep = body, false
	case !ok:
		t = body
	}
	var out object
	for _, c := range t.list() {
		if old, ok := s.doc.storedCount(c.key); ok && keep {
			out = append(out, member{c.key, old})
		} else if c.n != nil && !keep {
			out = append(out, member{c.key, *c.n})
		}
	}
	stored, _ := s.doc.Get("progress")
	for _, e := range stored.Map {
		if !slices.Contains(progressOrder(), e.Key) {
			out = append(out, member{e.Key, plainValue(e.Value)})
		}
	}
	return out
}

// further reports whether more is stored as completed than was counted: then GSD shows the
// stored block.
func (s *settlement) further(t tally) bool {
	phases, _ := s.doc.storedCount("completed_phases")
	plans, _ := s.doc.storedCount("completed_plans")
	return phases > *t.completedPhases || plans > *t.completedPlans
}

// bodyTally returns the progress according to the body, used if nothing can be counted.
func (s *settlement) bodyTally() (t tally) {
	t.totalPhases = leadingNumber(s.post.totalPhases)
	t.totalPlans = leadingNumber(s.post.totalPlans)
	if m := regexp.MustCompile(`(\d+)%`).FindStringSubmatch(s.post.progress); m != nil {
		t.percent = leadingNumber(m[1])
	}
	return t
}

// leadingNumber returns the number at the start of a text; nil for none.
func leadingNumber(text string) *int {
	if digits(text) == "" {
		return nil
	}
	n := atoi(text)
	return &n
}

type contentDoc struct {
	Content string `json:"content"`
}

// Get returns the whole file, or a field or section of it. A name in lower case is looked up
// first as a front matter key; any other name first as a field of the body, then as a key, then
// as a section.
func (s *Store) Get(name string) (Result, error) {
	doc, err := s.load()
	if err != nil {
		return Result{}, err
	}
	if name == "" {
		return result(contentDoc{string(doc.Src)}, string(doc.Src)), nil
	}
	key := strings.ReplaceAll(strings.ToLower(name), " ", "_")
	value, isKey := doc.Get(key)
	if isKey && name == key {
		return keyResult(doc, name, value, s.Compat), nil
	}
	body := doc.Body()
	if f, ok := (&draft{body: body}).find(name); ok {
		return result(object{{name, f.text(body)}}, f.text(body)), nil
	}
	if isKey {
		return keyResult(doc, name, value, s.Compat), nil
	}
	if in, ok := findSection(body, 6, 0, name); ok {
		text := strings.TrimSpace(string(body[in.text.start:in.text.end]))
		return result(object{{name, text}}, text), nil
	}
	r := result(failure{fmt.Sprintf("Section or field %q not found", name)}, "")
	r.Failed = true
	return r, nil
}

func keyResult(doc *Doc, name string, v frontmatter.Value, compat bool) Result {
	raw := strings.TrimSpace(string(doc.Src[v.Start:v.End]))
	switch {
	case v.Kind == frontmatter.Map || v.Kind == frontmatter.List:
		return result(object{{name, plainValue(v)}}, raw)
	case compat:
		return result(object{{name, raw}}, raw)
	}
	return result(object{{name, v.Text}}, v.Text)
}

type snapshotDoc struct {
	CurrentPhase      *string    `json:"current_phase"`
	CurrentPhaseName  *string    `json:"current_phase_name"`
	TotalPhases       *int       `json:"total_phases"`
	CurrentPlan       *string    `json:"current_plan"`
	TotalPlansInPhase *int       `json:"total_plans_in_phase"`
	Status            *string    `json:"status"`
	ProgressPercent   *int       `json:"progress_percent"`
	LastActivity      *string    `json:"last_activity"`
	LastActivityDesc  *string    `json:"last_activity_desc"`
	Decisions         []decision `json:"decisions"`
	Blockers          []string   `json:"blockers"`
	PausedAt          *string    `json:"paused_at"`
	PendingTodos      int        `json:"pending_todos"`
	Session           struct {
		LastDate   *string `json:"last_date"`
		StoppedAt  *string `json:"stopped_at"`
		ResumeFile *string `json:"resume_file"`
	} `json:"session"`
}

type decision struct {
	Phase     string `json:"phase"`
	Summary   string `json:"summary"`
	Rationale string `json:"rationale"`
}

// Snapshot returns the contents of the file as one document, with null for missing values.
func (s *Store) Snapshot() (Result, error) {
	doc, err := s.load()
	if err != nil {
		return whenMissing(err)
	}
	body := doc.Body()
	b := derive(body)
	text := func(key, inBody string) *string { return orNull(cmp.Or(doc.stored(key), inBody)) }
	out := snapshotDoc{CurrentPhase: text("current_phase", b.phase),
		CurrentPhaseName: text("current_phase_name", b.phaseName),
		CurrentPlan:      text("current_plan", b.plan), Status: text("status", b.bodyStatus),
		LastActivity:     text("last_activity", b.lastActivity),
		LastActivityDesc: text("last_activity_desc", b.lastDesc),
		PausedAt:         text("paused_at", b.pausedAt),
		TotalPhases:      leadingNumber(b.totalPhases),
		Decisions:        decisionList(body), Blockers: blockerList(body),
		TotalPlansInPhase: leadingNumber(b.totalPlans), PendingTodos: pendingTodos(s.Planning)}
	if n, ok := doc.storedCount("percent"); ok {
		out.ProgressPercent = &n
	} else if m := regexp.MustCompile(`(\d+)\s*%`).FindStringSubmatch(b.progress); m != nil {
		out.ProgressPercent = leadingNumber(m[1])
	}
	out.Session.LastDate = orNull(cmp.Or(sessionField(body, "Last Date"),
		sessionField(body, "Last session")))
	out.Session.StoppedAt = orNull(sessionField(body, "Stopped At"))
	out.Session.ResumeFile = orNull(sessionField(body, "Resume File"))
	return Result{Doc: out}, nil
}

// decisionList reads the table in the section Decisions Made, or else the items of the
// decisions section: `- [Phase 2]: Tokens are hashed — never stored`.
func decisionList(body []byte) []decision {
	out := decisionTable(body)
	in, ok := decisions(body)
	if len(out) > 0 || !ok {
		return out
	}
	item := regexp.MustCompile(`^(?:\*\*)?\[(?i:phase\s+)?([^\]]{1,64})\](?:\*\*)?:?\s+(.*)$`)
	for _, l := range (&draft{body: body}).lines(in.text) {
		text := itemText(body, l)
		if text == "" || isHollow(text) {
			continue
		}
		var d decision
		if m := item.FindStringSubmatch(text); m != nil {
			d.Phase, text = m[1], m[2]
		}
		d.Summary, d.Rationale, _ = strings.Cut(text, " — ")
		out = append(out, d)
	}
	return out
}

// decisionTable reads the table in the section Decisions Made.
func decisionTable(body []byte) []decision {
	out := []decision{}
	in, ok := findSection(body, 6, 0, "Decisions Made")
	if !ok {
		return out
	}
	d := &draft{body: body}
	ruled := false
	for _, l := range d.lines(in.text) {
		cells := cellTexts(body, l)
		switch {
		case isRule(cells):
			ruled = true
		case ruled && len(cells) >= 3 && cells[0] != "" && cells[1] != "" && cells[2] != "":
			out = append(out, decision{cells[0], cells[1], cells[2]})
		}
	}
	return out
}

// blockerList reads the items of the blockers section, which add-blocker writes.
func blockerList(body []byte) []string {
	out := []string{}
	in, ok := blockers(body)
	if !ok {
		return out
	}
	for _, l := range (&draft{body: body}).lines(in.text) {
		if item := itemText(body, l); item != "" && !isHollow(item) {
			out = append(out, item)
		}
	}
	return out
}

// maxLines is the maximum length of a STATE.md according to GSD's own description.
const maxLines = 100

type validDoc struct {
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings"`
	Drift    object   `json:"drift"`
	Notes    []string `json:"notes,omitempty"` // informational, not problems
}

func (v *validDoc) warn(format string, a ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, a...))
}

func (v *validDoc) note(format string, a ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, a...))
}

// differs records a value of which STATE.md has another than the disk.
func (v *validDoc) differs(key string, state, disk int) {
	v.Drift = append(v.Drift, member{key, object{{"state", state}, {"disk", disk}}})
}

// Validate compares STATE.md with the disk.
func (s *Store) Validate() (Result, error) {
	doc, err := s.load()
	if err != nil {
		return whenMissing(err)
	}
	v := validDoc{Warnings: []string{}, Drift: object{}}
	if at := bytes.IndexByte(doc.Src, 0); at >= 0 {
		v.warn("STATE.md has a NUL byte at offset %d: it is damaged, and tools that search text skip it", at)
	} else {
		s.drift(doc, &v)
	}
	pending := pendingTodos(s.Planning)
	if _, have, ok := todoCount(newDraft(doc)); ok && have != pending {
		v.warn("Todo count mismatch: STATE.md says %d, todos/pending has %d", have, pending)
		v.differs("pending_todos", have, pending)
	}
	if n := bytes.Count(doc.Src, []byte("\n")); n > maxLines {
		v.note("STATE.md has %d lines: it is read at every step and meant to stay under %d "+
			"(gl gsd state prune)", n, maxLines)
	}
	v.Valid = len(v.Warnings) == 0
	return Result{Doc: v}, nil
}

// drift compares the current phase with its directory. Where GSD's own validate finds nothing to
// compare, it calls the file invalid (S002, S004), even one that its milestone-switch has just
// written; here that is a note.
func (s *Store) drift(doc *Doc, v *validDoc) {
	b := derive(doc.Body())
	phase := cmp.Or(doc.stored("current_phase"), b.phase)
	status := cmp.Or(b.bodyStatus, doc.stored("status"))
	place := placeOf(s)
	dirs := ScanPhases(place.Phases())
	key := PhaseKey(readPhase(phase).id)
	i := slices.IndexFunc(dirs, func(d PhaseDir) bool { return d.Key == key })
	switch {
	case key == "":
		v.note("STATE.md names no current phase, so none was compared with the disk")
		return
	case i < 0:
		v.note("phase %s has no directory in %s, so it wasn't compared with the disk", key,
			place.rel(place.Phases()))
		return
	}
	dir := dirs[i]
	if n := atoi(b.totalPlans); digits(b.totalPlans) != "" && n != dir.Plans {
		v.warn("Plan count mismatch: STATE.md says %d plans, disk has %d", n, dir.Plans)
		v.differs("plan_count", n, dir.Plans)
	}
	executing := normalizeStatus(status, "", false) == Executing ||
		strings.Contains(strings.ToLower(status), "executing")
	switch {
	case !executing:
	case dir.Verification == "passed":
		v.warn("Status drift: STATE.md says %q but %s shows verification passed — "+
			"phase may be complete", status, dir.Name)
		v.Drift = append(v.Drift, member{"verification_status",
			object{{"state_status", status}, {"verification", "passed"}}})
	case dir.Verification == "" && dir.Plans > 0 && dir.Summaries >= dir.Plans:
		v.warn("All %d plans have summaries but status is still %q — "+
			"phase may be ready for verification", dir.Plans, status)
	}
}
