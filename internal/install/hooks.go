package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"greenlight/internal/jsonedit"
)

// Hooks are our part of settings.json.
type hooks struct {
	Ours []hook   `json:"ours"`
	Made []string `json:"made,omitempty"` // keys that we made; "" is the file itself
}

// A hook is one element of a list under "hooks".
type hook struct {
	Event   string          `json:"event"`
	Element json.RawMessage `json:"element"`
}

// with adds what an older manifest knows, for as long as an installation isn't complete.
func (h *hooks) with(old *manifest) *hooks {
	if old == nil || old.Hooks == nil {
		return h
	}
	all := &hooks{Ours: slices.Clone(old.Hooks.Ours), Made: slices.Clone(old.Hooks.Made)}
	if h != nil {
		for _, k := range h.Ours {
			if !all.has(k) {
				all.Ours = append(all.Ours, k)
			}
		}
		for _, m := range h.Made {
			all.made(m)
		}
	}
	return all
}

func (h *hooks) has(k hook) bool {
	return h != nil && slices.ContainsFunc(h.Ours, func(o hook) bool {
		return o.Event == k.Event && bytes.Equal(compact(o.Element), compact(k.Element))
	})
}

func (h *hooks) made(key string) {
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

// Hooks are the commands that the content's hooks run.
func Hooks(c Content) ([]string, error) {
	all, err := contentHooks(c)
	var commands []string
	for _, h := range all {
		var e struct{ Hooks []struct{ Command string } }
		if err := json.Unmarshal(h.Element, &e); err != nil {
			return nil, fmt.Errorf("hooks of %s: %w", h.Event, err)
		}
		for _, one := range e.Hooks {
			commands = append(commands, one.Command)
		}
	}
	return commands, err
}

// planHooks merges ours into settings.json, where they are wanted or were before.
func (j *job) planHooks(c Content) error {
	var was *hooks
	if j.old != nil {
		was = j.old.Hooks
	}
	if j.t.Settings == "" || !j.o.Hooks && was == nil {
		return nil
	}
	want, err := contentHooks(c)
	if err != nil {
		return err
	}
	return j.editSettings(was, want)
}

// editSettings takes out those of ours that aren't wanted any more, and puts in those that are missing.
func (j *job) editSettings(was *hooks, want []hook) error {
	cur, err := j.t.read(j.t.Settings)
	if err != nil {
		return err
	}
	doc, err := jsonedit.Parse(cur)
	if err != nil {
		return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
	}
	next := &hooks{Ours: []hook{}}
	if was != nil {
		next.Made = slices.Clone(was.Made)
		for _, h := range was.Ours {
			if !(&hooks{Ours: want}).has(h) {
				next.takeOut(doc, h)
			}
		}
	}
	for _, h := range want {
		there := slices.ContainsFunc(doc.Elements("hooks", h.Event), h.is)
		if there && !was.has(h) {
			continue // the user's own
		}
		next.Ours = append(next.Ours, h)
		if there {
			continue
		}
		if err := next.putIn(doc, h); err != nil {
			return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
		}
	}
	if len(next.Ours) > 0 {
		j.next.Hooks = next
	}
	after := doc.Bytes()
	switch {
	case cur == nil && len(next.Ours) > 0:
		next.made("")
		j.step(Write, j.t.Settings, "hooks", func() error { return j.put(j.t.Settings, nil, after) })
	case cur != nil && !bytes.Equal(cur, after):
		j.step(Edit, j.t.Settings, "hooks", func() error { return j.put(j.t.Settings, cur, after) })
	}
	return nil
}

func (k hook) is(raw json.RawMessage) bool { return bytes.Equal(compact(raw), compact(k.Element)) }

func (h *hooks) putIn(doc *jsonedit.Doc, k hook) error {
	for _, key := range [][]string{{"hooks"}, {"hooks", k.Event}} {
		if _, ok := doc.Get(key...); !ok {
			h.made(key[len(key)-1])
		}
	}
	return doc.Append(k.Element, "hooks", k.Event)
}

// takeOut removes one of ours, and the list and the object around it where we made them and nothing else is in them.
func (h *hooks) takeOut(doc *jsonedit.Doc, k hook) {
	i := slices.IndexFunc(doc.Elements("hooks", k.Event), k.is)
	if i >= 0 {
		doc.RemoveElement(i, "hooks", k.Event)
	}
	for _, key := range [][]string{{"hooks", k.Event}, {"hooks"}} {
		raw, ok := doc.Get(key...)
		if name := key[len(key)-1]; ok && slices.Contains(h.Made, name) && len(compact(raw)) == 2 {
			doc.Remove(key...)
			h.Made = slices.DeleteFunc(h.Made, func(m string) bool { return m == name })
		}
	}
}

// planHooksRemoval takes ours out of settings.json.
func (j *job) planHooksRemoval() error {
	h := j.old.Hooks
	if h == nil {
		return nil
	}
	cur, err := j.t.read(j.t.Settings)
	if cur == nil || err != nil {
		return err
	}
	doc, err := jsonedit.Parse(cur)
	if err != nil {
		return fmt.Errorf("%s: %w", j.t.Path(j.t.Settings), err)
	}
	left := &hooks{Made: slices.Clone(h.Made)}
	for _, k := range h.Ours {
		left.takeOut(doc, k)
	}
	after := doc.Bytes()
	switch {
	case bytes.Equal(cur, after):
	case slices.Contains(h.Made, "") && len(compact(after)) == 2:
		j.step(Remove, j.t.Settings, "", func() error { return j.t.remove(j.t.Settings) })
	default:
		j.step(Edit, j.t.Settings, "our hooks are out", func() error { return j.put(j.t.Settings, cur, after) })
	}
	return nil
}

// EditSettings changes the agent's settings.json, and says whether it did: every byte stays that f doesn't set. A missing
// file is made.
func (t Target) EditSettings(f func(*jsonedit.Doc) error) (changed bool, err error) {
	cur, err := t.read(t.Settings)
	if err != nil {
		return false, err
	}
	doc, err := jsonedit.Parse(cur)
	if err != nil {
		return false, fmt.Errorf("%s: %w", t.Path(t.Settings), err)
	}
	if err := f(doc); err != nil {
		return false, fmt.Errorf("%s: %w", t.Path(t.Settings), err)
	}
	after := doc.Bytes()
	if cur != nil && bytes.Equal(cur, after) {
		return false, nil
	}
	j := &job{t: t}
	return true, j.put(t.Settings, cur, after)
}
