package gsd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"greenlight/internal/base/text/frontmatter"
	"greenlight/internal/base/text/textline"
)

// checkFieldName checks that a field's name is a label, rather than a pattern or several lines.
func checkFieldName(verb, name string) error {
	valid := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _.\-/]{0,60}$`)
	if !valid.MatchString(name) {
		return usagef("state %s: field name %q must begin with a letter and have at most 61 letters, "+
			"digits, blanks, _ . - /", verb, name)
	}
	return nil
}

// checkText rejects characters that don't belong in a Markdown file. Line endings are allowed;
// they are joined on writing.
func checkText(label, text string) error {
	for _, r := range text {
		if r < 0x20 && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return usagef("%s has a control character (%q)", label, r)
		}
	}
	return nil
}

func checkTexts(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := checkText(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// countsProgress reports whether a field is used to count progress.
func countsProgress(name string) bool {
	switch strings.ToLower(name) {
	case "progress", "total plans in phase", "total phases":
		return true
	}
	return false
}

type updateDoc struct {
	Updated bool   `json:"updated"`
	Reason  string `json:"reason,omitempty"`
}

// Update sets a field of the body: the one in its home section, or else the first.
func (s *Store) Update(ctx context.Context, name, value string) (Result, error) {
	if err := checkFieldName("update", name); err != nil {
		return Result{}, err
	}
	if err := checkText("the value", value); err != nil {
		return Result{}, err
	}
	found := false
	_, err := s.edit(ctx, writing{}, func(d *draft) error {
		d.keepCounts = !countsProgress(name)
		found = d.replace(name, value)
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errNoState):
		return Result{}, err
	case !found:
		return Result{Doc: updateDoc{Reason: fmt.Sprintf("Field %q not found in STATE.md", name)},
			Failed: true}, nil
	}
	return Result{Doc: updateDoc{Updated: true}}, nil
}

// A Field is the name and new value of a field.
type Field struct{ Name, Value string }

// ParsePatch parses the JSON form of patch: one object, returned in order with its values as
// text.
func ParsePatch(text string) ([]Field, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	bad := func(err error) error { return usagef("state patch: invalid JSON object: %v", err) }
	if t, err := dec.Token(); err != nil {
		return nil, bad(err)
	} else if t != json.Delim('{') {
		return nil, usagef("state patch: JSON input must be an object of field/value pairs")
	}
	var fields []Field
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, bad(err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, bad(err)
		}
		fields = append(fields, Field{key.(string), plainText(raw)})
	}
	if _, err := dec.Token(); err != nil {
		return nil, bad(err)
	}
	return fields, nil
}

func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

type patchDoc struct {
	Updated []string `json:"updated"`
	Failed  []string `json:"failed"`
}

// Patch sets several fields in one write. A field of the body takes precedence; a key of the
// front matter may be set, too, if nothing is derived into it.
func (s *Store) Patch(ctx context.Context, fields []Field) (Result, error) {
	for _, f := range fields {
		if err := checkFieldName("patch", f.Name); err != nil {
			return Result{}, err
		}
		if err := checkText("the value of "+f.Name, f.Value); err != nil {
			return Result{}, err
		}
	}
	var doc patchDoc
	r, err := s.verb(ctx, writing{}, func(d *draft) error {
		doc = patchDoc{[]string{}, []string{}}
		d.keepCounts = !slices.ContainsFunc(fields, func(f Field) bool {
			return countsProgress(f.Name)
		})
		for _, f := range fields {
			if d.replace(f.Name, f.Value) || d.setKey(f.Name, f.Value) {
				doc.Updated = append(doc.Updated, f.Name)
			} else {
				doc.Failed = append(doc.Failed, f.Name)
			}
		}
		return nil
	}, func(bool) Result {
		r := reported(doc, len(doc.Updated) > 0)
		r.Failed = len(doc.Failed) > 0
		return r
	})
	return r, err
}

// setKey sets an existing front matter key that isn't derived.
func (d *draft) setKey(key, value string) bool {
	v, ok := d.doc.Get(key)
	if !ok || v.Kind == frontmatter.Map || v.Kind == frontmatter.List ||
		slices.Contains(derivedKeys(), key) {
		return false
	}
	if v.Kind != frontmatter.Scalar || v.Text != textline.Join(value) {
		d.set = append(d.set,
			change{key, yaml(textline.Join(value), string(d.doc.Src[v.Start:v.End]))})
	}
	return true
}

// derivedKeys returns the keys that every write derives: setting them by hand would not last.
func derivedKeys() []string {
	return slices.DeleteFunc(keyOrder(), func(key string) bool {
		return key == "active_phase" || key == "next_action" || key == "next_phases"
	})
}

// A Lifecycle is a change of the keys that describe the current work. Exactly one of its fields
// is set.
type Lifecycle struct {
	ActivePhase string   // a command is working on this phase
	NextAction  string   // nothing is running; this command is recommended
	NextPhases  []string // phases for NextAction
	Clear       bool     // clear both
	Paused      string   // the project is paused; the text tells where
	Resumed     bool
}

type lifecycleDoc struct {
	Updated     []string `json:"updated"`
	ActivePhase *string  `json:"active_phase"`
	NextAction  *string  `json:"next_action"`
	NextPhases  []string `json:"next_phases"`
	PausedAt    *string  `json:"paused_at"`
	Status      *string  `json:"status"`
}

// SetLifecycle writes active_phase, next_action and next_phases, or paused_at. Clearing an
// existing key sets it to null; a missing key stays missing.
func (s *Store) SetLifecycle(ctx context.Context, l Lifecycle) (Result, error) {
	if err := l.check(); err != nil {
		return Result{}, err
	}
	var updated []string
	return s.verb(ctx, writing{}, func(d *draft) error {
		d.keepCounts = true
		l.apply(d)
		updated = []string{}
		for _, c := range d.set {
			updated = append(updated, c.key)
		}
		return nil
	}, func(bool) Result {
		after, err := s.load()
		if err != nil {
			return failed("%v", err)
		}
		return reported(newLifecycleDoc(after, updated), len(updated) > 0)
	})
}

// nextActions returns GSD's commands that work on a phase, as named in next_action.
func nextActions() []string {
	return []string{"discuss-phase", "plan-phase", "execute-phase", "verify-phase", "verify-work"}
}

func newLifecycleDoc(d *Doc, updated []string) lifecycleDoc {
	text := func(key string) *string { return orNull(d.stored(key)) }
	doc := lifecycleDoc{Updated: updated, ActivePhase: text("active_phase"),
		NextAction: text("next_action"), PausedAt: text("paused_at"), Status: text("status")}
	if v, _ := d.Get("next_phases"); v.Kind == frontmatter.List {
		doc.NextPhases = v.Items
	}
	return doc
}

func (l Lifecycle) check() error {
	given := 0
	for _, is := range []bool{l.ActivePhase != "", l.NextAction != "" || len(l.NextPhases) > 0,
		l.Clear, l.Paused != "", l.Resumed} {
		if is {
			given++
		}
	}
	if given != 1 {
		return usagef("state set-lifecycle: give one of --active-phase ID, " +
			"--next-action NAME with --next-phases ID,ID, --clear, --paused TEXT and --resumed")
	}
	if (l.NextAction == "") != (len(l.NextPhases) == 0) {
		return usagef("state set-lifecycle: --next-action and --next-phases go together")
	}
	if l.NextAction != "" && !slices.Contains(nextActions(), l.NextAction) {
		return usagef("state set-lifecycle: unknown command %q; expected %s", l.NextAction,
			strings.Join(nextActions(), ", "))
	}
	id := regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9_]{0,31}[-.])?[A-Za-z]?\d{1,6}[A-Za-z]?(?:[.-]\d{1,6}){0,4}$`)
	for _, text := range slices.Concat([]string{l.ActivePhase}, l.NextPhases) {
		if text != "" && !id.MatchString(text) {
			return usagef("state set-lifecycle: %q isn't a phase: expected a number such as 4, 4.5 "+
				"or APP-05", text)
		}
	}
	return checkText("--paused", l.Paused)
}

func (l Lifecycle) apply(d *draft) {
	if l.Paused != "" || l.Resumed {
		d.key("paused_at", textline.Join(l.Paused))
		if in, ok := session(d.body); ok {
			d.replaceIn(in.text, "Paused At", l.Paused)
		}
		return
	}
	d.key("active_phase", l.ActivePhase)
	d.key("next_action", l.NextAction)
	v, there := d.doc.Get("next_phases")
	switch {
	case len(l.NextPhases) > 0 && !slices.Equal(v.Items, l.NextPhases):
		d.set = append(d.set, change{"next_phases", flowList(l.NextPhases)})
	case len(l.NextPhases) == 0 && there && (v.Kind != frontmatter.Scalar || !null(v.Text)):
		d.set = append(d.set, change{"next_phases", "null"})
	}
}

// key sets a key of the front matter to a quoted text, or to null, if it differs.
func (d *draft) key(key, text string) {
	v, there := d.doc.Get(key)
	switch {
	case text == d.doc.stored(key) &&
		(text != "" || !there || v.Kind == frontmatter.Scalar || v.Kind == frontmatter.Empty):
	case text == "":
		d.set = append(d.set, change{key, "null"})
	case key == "next_action":
		d.set = append(d.set, change{key, yaml(text, "")})
	default:
		d.set = append(d.set, change{key, frontmatter.Quote(text)})
	}
}
