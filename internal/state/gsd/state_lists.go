package gsd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"greenlight/internal/base/text/textline"
)

// A Decision is a decision of the project. Its texts may come from files, relative to the
// project.
type Decision struct {
	Phase                    string // "" for the current one
	Summary, SummaryFile     string
	Rationale, RationaleFile string
}

type addedDoc struct {
	Added    bool   `json:"added"`
	Decision string `json:"decision,omitempty"`
	Blocker  string `json:"blocker,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Entry    string `json:"entry,omitempty"`
	Created  bool   `json:"created,omitempty"`

	SubsectionCreated bool `json:"subsection_created,omitempty"`
}

func notAdded(reason error) Result { return refused(addedDoc{Reason: reason.Error()}) }

// AddDecision appends to the decisions section, creating it at the end of the file if it is
// missing.
func (s *Store) AddDecision(ctx context.Context, a Decision) (Result, error) {
	summary, err := textOrFile(s.Root, a.Summary, a.SummaryFile, "summary")
	if err != nil {
		return notAdded(err), nil
	}
	rationale, err := textOrFile(s.Root, a.Rationale, a.RationaleFile, "rationale")
	if err != nil {
		return notAdded(err), nil
	}
	if strings.TrimSpace(summary) == "" {
		return failed("summary required"), nil
	}
	err = checkTexts("the summary", summary, "the rationale", rationale, "--phase", a.Phase)
	if err != nil {
		return Result{}, err
	}
	doc := addedDoc{Added: true}
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		text := textline.Join(summary)
		if rationale != "" {
			text += " — " + textline.Join(rationale)
		}
		phase := cmp.Or(textline.Join(a.Phase), d.currentPhase(), "?")
		doc.Decision = "- [Phase " + phase + "]: " + text
		in, ok := decisions(d.body)
		if doc.Created = !ok; ok {
			d.addItem(in.text, doc.Decision)
		} else {
			d.appendLines("## Decisions", "", doc.Decision)
		}
		return nil
	}, func(bool) Result { return reported(doc, true) })
}

func (d *draft) currentPhase() string {
	return cmp.Or(d.doc.stored("current_phase"), derive(d.body).phase)
}

// A Blocker is an issue that affects future work. Its text may come from a file, relative to
// the project.
type Blocker struct {
	Phase          string // where it came up; "" for none
	Text, TextFile string
}

// AddBlocker appends to the blockers section, creating it at the end of the file if it is
// missing. The text is prefixed with the blocker's phase.
func (s *Store) AddBlocker(ctx context.Context, b Blocker) (Result, error) {
	text, err := textOrFile(s.Root, b.Text, b.TextFile, "blocker")
	if err != nil {
		return notAdded(err), nil
	}
	if strings.TrimSpace(text) == "" {
		return failed("text required"), nil
	}
	if err := checkTexts("the blocker", text, "--phase", b.Phase); err != nil {
		return Result{}, err
	}
	if b.Phase != "" {
		text = "[Phase " + textline.Join(b.Phase) + "]: " + text
	}
	doc := addedDoc{Added: true, Blocker: text}
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		in, ok := blockers(d.body)
		if doc.Created = !ok; ok {
			d.addItem(in.text, "- "+textline.Join(text))
		} else {
			d.appendLines("### Blockers", "", "- "+textline.Join(text))
		}
		return nil
	}, func(bool) Result { return reported(doc, true) })
}

type resolvedDoc struct {
	Resolved bool     `json:"resolved"`
	Blocker  string   `json:"blocker,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Matches  []string `json:"matches,omitempty"`
}

// ResolveBlocker removes the blocker that contains the text. If several do, it removes the one
// that equals the text, or all of them if all is set.
func (s *Store) ResolveBlocker(ctx context.Context, text string, all bool) (Result, error) {
	if strings.TrimSpace(text) == "" {
		return failed("text required"), nil
	}
	var doc resolvedDoc
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		in, ok := blockers(d.body)
		if !ok {
			doc = resolvedDoc{Reason: "Blockers section not found in STATE.md"}
			return nil
		}
		lines, why := d.matching(in.text, text, all)
		if len(lines) == 0 || why != "" {
			doc = resolvedDoc{Reason: why}
			for _, l := range lines {
				doc.Matches = append(doc.Matches, itemText(d.body, l))
			}
			return nil
		}
		doc = resolvedDoc{Resolved: true, Blocker: text}
		d.removeItems(in.text, lines)
		return nil
	}, func(bool) Result {
		r := reported(doc, doc.Resolved)
		r.Failed = !doc.Resolved
		return r
	})
}

// matching returns the items to remove, or the candidates and the reason why none was chosen.
func (d *draft) matching(in span, text string, all bool) (found []bodyLine, why string) {
	var exact []bodyLine
	for _, l := range d.lines(in) {
		item := itemText(d.body, l)
		if item == "" || !strings.Contains(strings.ToLower(item), strings.ToLower(text)) {
			continue
		}
		found = append(found, l)
		if strings.EqualFold(item, strings.TrimSpace(text)) {
			exact = append(exact, l)
		}
	}
	switch {
	case len(found) == 0:
		return nil, "no blocker has this text in it"
	case all || len(found) == 1:
		return found, ""
	case len(exact) == 1:
		return exact, ""
	}
	return found, "several blockers have this text in them: give the whole text of one, or --all"
}

// itemText returns the text of a list item at the start of a line; "" for any other line.
func itemText(body []byte, l bodyLine) string {
	text := string(body[l.start:l.end])
	if l.fenced || !strings.HasPrefix(text, "- ") {
		return ""
	}
	return strings.TrimSpace(text[2:])
}

// removeItems removes items with the lines that belong to them. An emptied list then says None.
func (d *draft) removeItems(in span, items []bodyLine) {
	var edits []edit
	lines := d.lines(in)
	left := false
	for i := 0; i < len(lines); i++ {
		if !slices.ContainsFunc(items, func(l bodyLine) bool { return l.start == lines[i].start }) {
			left = left || itemText(d.body, lines[i]) != ""
			continue
		}
		end := lines[i].next
		for i+1 < len(lines) && !lines[i+1].empty(d.body) && lines[i+1].indent > 0 {
			i++
			end = lines[i].next
		}
		edits = append(edits, edit{span{items[len(edits)].start, end}, ""})
	}
	if !left {
		edits[0].text = "None" + d.eol
	}
	d.body = apply(d.body, edits)
}

// An Evolution is a change of the roadmap.
type Evolution struct {
	Phase, Action, After string
	Note, NoteFile       string
	Urgent               bool
}

// AddRoadmapEvolution appends to Accumulated Context › Roadmap Evolution, unless the entry
// exists.
func (s *Store) AddRoadmapEvolution(ctx context.Context, e Evolution) (Result, error) {
	note, err := textOrFile(s.Root, e.Note, e.NoteFile, "note")
	if err != nil {
		return notAdded(err), nil
	}
	if strings.TrimSpace(note) == "" {
		return failed("note required"), nil
	}
	err = checkTexts("the note", note, "--phase", e.Phase, "--action", e.Action, "--after", e.After)
	if err != nil {
		return Result{}, err
	}
	var doc addedDoc
	return s.verb(ctx, writing{note: true}, func(d *draft) error {
		doc = addedDoc{Added: true, Entry: e.entry(d, note)}
		addEvolution(d, &doc)
		return nil
	}, func(bool) Result { return reported(doc, doc.Added) })
}

func (e Evolution) entry(d *draft, note string) string {
	text := "- Phase " + cmp.Or(textline.Join(e.Phase), d.currentPhase(), "?") + " " +
		cmp.Or(textline.Join(e.Action), "changed")
	if after := textline.Join(e.After); after != "" {
		text += " after Phase " + after
	}
	text += ": " + textline.Collapse(note)
	if e.Urgent {
		text += " (URGENT)"
	}
	return text
}

func addEvolution(d *draft, doc *addedDoc) {
	context, ok := findSection(d.body, 2, 2, "Accumulated Context")
	if !ok {
		doc.Created, doc.SubsectionCreated = true, true
		d.appendLines("## Accumulated Context", "", "### Roadmap Evolution", "", doc.Entry)
		return
	}
	part := d.body[context.text.start:context.text.end]
	sub, ok := matchSection(part, 3, func(level int, title string) bool {
		return level == 3 && strings.EqualFold(title, "Roadmap Evolution")
	})
	if !ok {
		doc.SubsectionCreated = true
		d.addBlock(context.text, "### Roadmap Evolution", "", doc.Entry)
		return
	}
	in := span{context.text.start + sub.text.start, context.text.start + sub.text.end}
	for _, l := range d.lines(in) {
		if strings.TrimSpace(string(d.body[l.start:l.end])) == doc.Entry {
			*doc = addedDoc{Reason: "duplicate", Entry: doc.Entry}
			return
		}
	}
	d.addItem(in, doc.Entry)
}

// addBlock inserts lines after the last text of a section, preceded by a blank line.
func (d *draft) addBlock(in span, lines ...string) {
	at := in.start
	for _, l := range d.lines(in) {
		if !l.empty(d.body) {
			at = l.next
		}
	}
	d.splice(span{at, at}, d.ended(at)+d.eol+strings.Join(lines, d.eol)+d.eol)
}
