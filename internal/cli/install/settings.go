package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"greenlight/internal/base/text/jsonedit"
)

// A settings is our part of settings.json.
type settings struct {
	Ours  []hook   `json:"hooks"`
	Rules []string `json:"permissions,omitempty"` // of permissions.allow
	Made  []string `json:"made,omitempty"`        // keys that we created; "" is the file itself
	// the file's original text, if it had no settings
	Bare *string `json:"bare,omitempty"`
	Line bool    `json:"status_line,omitempty"`
	// the user's status line that ours replaced, verbatim
	Was string `json:"was_status_line,omitempty"`
}

// statusLine is our line at the bottom of Claude Code's screen.
const statusLine, statusKey = `{"type": "command", "command": "gl statusline"}`, "statusLine"

// A hook is one element of a list under "hooks".
type hook struct {
	Event   string          `json:"event"`
	Element json.RawMessage `json:"element"`
}

// with adds the entries of an older manifest while an installation is incomplete.
func (h *settings) with(old *manifest) *settings {
	if old == nil || old.Settings == nil {
		return h
	}
	all := old.Settings.clone()
	if h != nil {
		all.Line = all.Line || h.Line
		if all.Was == "" {
			all.Was = h.Was
		}
		for _, k := range h.Ours {
			if !all.has(k) {
				all.Ours = append(all.Ours, k)
			}
		}
		all.Bare = cmp.Or(all.Bare, h.Bare)
		for _, rule := range h.Rules {
			if !slices.Contains(all.Rules, rule) {
				all.Rules = append(all.Rules, rule)
			}
		}
		for _, m := range h.Made {
			all.made(m)
		}
	}
	return all
}

func (h *settings) clone() *settings {
	if h == nil {
		return &settings{Ours: []hook{}}
	}
	c := *h
	c.Ours, c.Rules, c.Made = slices.Clone(h.Ours), slices.Clone(h.Rules), slices.Clone(h.Made)
	return &c
}

func (h *settings) has(k hook) bool {
	return h != nil && slices.ContainsFunc(h.Ours, func(o hook) bool {
		return o.Event == k.Event && sameJSON(o.Element, k.Element)
	})
}

func (h *settings) made(key string) {
	if !slices.Contains(h.Made, key) {
		h.Made = append(h.Made, key)
	}
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// contentHooks reads the plugin's hooks.json.
func contentHooks(c Content) ([]hook, error) {
	const name = "hooks/hooks.json"
	data, err := fs.ReadFile(c.Plugin, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var doc struct {
		Hooks map[string][]json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	parsed, err := jsonedit.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []hook
	for _, event := range parsed.Keys("hooks") {
		for _, e := range doc.Hooks[event] {
			all = append(all, hook{event, compact(e)})
		}
	}
	return all, nil
}

// planSettings merges ours into settings.json, if wanted now or installed before.
func (j *job) planSettings(c Content) error {
	var was *settings
	if j.old != nil {
		was = j.old.Settings
	}
	hooks := j.o.Hooks || was != nil && len(was.Ours) > 0
	line := j.o.StatusLine || was != nil && was.Line
	rules := len(j.o.Permissions) > 0 || was != nil && len(was.Rules) > 0
	if j.t.Settings == "" || !hooks && !line && !rules {
		return nil
	}
	cur, doc, err := j.t.settings()
	if err != nil {
		return err
	}
	next := was.clone()
	if hooks {
		want, err := contentHooks(c)
		if err == nil {
			err = next.mergeHooks(doc, want)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
		}
	}
	if len(j.o.Permissions) > 0 {
		if err := next.mergeRules(doc, j.o.Permissions); err != nil {
			return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
		}
	}
	if line {
		if err := j.mergeLine(next, doc); err != nil {
			return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
		}
	}
	j.writeSettings(next, cur, doc.Bytes())
	return nil
}

// writeSettings plans the write of settings.json, if it changes. cur is nil if there is no file
// yet.
func (j *job) writeSettings(next *settings, cur, after []byte) {
	if len(next.Ours) > 0 || len(next.Rules) > 0 || next.Line {
		j.next.Settings = next
	}
	switch {
	case cur == nil && j.next.Settings != nil:
		next.made("")
		j.step(Write, j.t.Settings, "", func() error { return j.put(j.t.Settings, nil, after) })
	case cur != nil && !bytes.Equal(cur, after):
		if text := string(cur); strings.TrimSpace(text) == "" {
			next.Bare = &text
		}
		j.step(Edit, j.t.Settings, "our part", func() error {
			return j.put(j.t.Settings, cur, after)
		})
	}
}

// settings reads settings.json, which may be missing.
func (t Target) settings() ([]byte, *jsonedit.Doc, error) {
	cur, err := t.read(t.Settings)
	if err != nil {
		return nil, nil, err
	}
	doc, err := jsonedit.Parse(cur)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w: correct it by hand", t.Path(t.Settings), err)
	}
	return cur, doc, nil
}

// mergeHooks removes those of our hooks that are no longer wanted, and adds the missing ones.
func (h *settings) mergeHooks(doc *jsonedit.Doc, want []hook) error {
	was := h.clone()
	h.Ours = []hook{}
	for _, k := range was.Ours {
		if !(&settings{Ours: want}).has(k) {
			h.takeOut(doc, k)
		}
	}
	for _, k := range want {
		there := slices.ContainsFunc(doc.Elements("hooks", k.Event), k.is)
		if there && !was.has(k) {
			continue // the user's own
		}
		h.Ours = append(h.Ours, k)
		if there {
			continue
		}
		if err := h.putIn(doc, k); err != nil {
			return err
		}
	}
	return nil
}

// mergeLine sets the status line, unless the user has another one.
func (j *job) mergeLine(next *settings, doc *jsonedit.Doc) error {
	cur, there := doc.Get(statusKey)
	ours := there && sameJSON(cur, json.RawMessage(statusLine))
	halfway := next.Line && !j.old.complete() && string(cur) == next.Was
	switch {
	case ours:
		return nil // already recorded, or the user's own
	case there && !halfway && !(j.o.Force && j.o.StatusLine):
		next.Line, next.Was = false, ""
		j.step(Keep, j.t.Settings, "it has another statusLine, "+named(cur), nil)
		return nil
	}
	next.Line, next.Was = true, string(cur)
	return doc.Set(json.RawMessage(statusLine), statusKey)
}

// named describes a status line by its command, for a message.
func named(line json.RawMessage) string {
	const most = 80
	var v struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(line, &v) // anything but an object is shown verbatim
	text := []rune(v.Command)
	if len(text) == 0 {
		text = []rune(string(compact(line)))
	}
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return fmt.Sprintf("%q", string(text))
}

func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(compact(a), compact(b)) }

func (k hook) is(raw json.RawMessage) bool { return sameJSON(raw, k.Element) }

func (h *settings) putIn(doc *jsonedit.Doc, k hook) error {
	for _, key := range [][]string{{"hooks"}, {"hooks", k.Event}} {
		if _, ok := doc.Get(key...); !ok {
			h.made(key[len(key)-1])
		}
	}
	return doc.Append(k.Element, "hooks", k.Event)
}

// takeOut removes one of our hooks, and the list and object around it if we created them and
// they are empty.
func (h *settings) takeOut(doc *jsonedit.Doc, k hook) {
	i := slices.IndexFunc(doc.Elements("hooks", k.Event), k.is)
	if i >= 0 {
		doc.RemoveElement(i, "hooks", k.Event)
	}
	h.removeEmpty(doc, []string{"hooks", k.Event}, []string{"hooks"})
}

// planSettingsRemoval removes ours from settings.json.
func (j *job) planSettingsRemoval() error {
	h := j.old.Settings
	if h == nil {
		return nil
	}
	cur, doc, err := j.t.settings()
	if cur == nil || err != nil {
		return err
	}
	left := h.clone()
	for _, k := range h.Ours {
		left.takeOut(doc, k)
	}
	for _, rule := range h.Rules {
		left.takeOutRule(doc, rule)
	}
	if line, ok := doc.Get(statusKey); ok && h.Line && sameJSON(line, json.RawMessage(statusLine)) {
		if h.Was == "" {
			doc.Remove(statusKey)
		} else if err := doc.Set(json.RawMessage(h.Was), statusKey); err != nil {
			return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
		}
	}
	after := doc.Bytes()
	switch {
	case bytes.Equal(cur, after):
	case slices.Contains(h.Made, "") && len(compact(after)) == 2:
		j.step(Remove, j.t.Settings, "", func() error { return j.t.remove(j.t.Settings) })
	default:
		if h.Bare != nil && len(compact(after)) == 2 {
			after = []byte(*h.Bare)
		}
		j.step(Edit, j.t.Settings, "our part is out", func() error {
			return j.put(j.t.Settings, cur, after)
		})
	}
	return nil
}
