package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/durable"
	"greenlight/internal/statedir"
	"greenlight/internal/text/jsonedit"
	"greenlight/internal/tracker"
)

// ConfigFile is where settings are, relative to the root.
const ConfigFile = statedir.Name + "/config.json"

// Settings is config.json held as its text: what isn't set keeps every byte.
type Settings struct {
	doc  *jsonedit.Doc
	mode string // that counts if the file has none
}

// A Setting is one key of config.json and what counts for it.
type Setting struct {
	Key   string          // its path, with dots
	Value json.RawMessage // nil where neither the file nor gl says anything
	File  bool            // the value is the file's, not the default
	State bool            // the value is project-state.json's
	Wrong string          // non-empty: the file has a value that can't be, and why; using the default
}

// Source says where the value comes from: "config" for the file, "state" for project-state.json, "default", or "" if there is no value.
func (s Setting) Source() string {
	switch {
	case s.File:
		return "config"
	case s.State:
		return "state"
	case s.Value != nil:
		return "default"
	}
	return ""
}

// A SettingError is a key that is none, or a value that can't be.
type SettingError struct {
	Reason string
	Got    string   // what was given; "" where there is no list of what it could have been
	Known  []string // what it could have been
}

func (e *SettingError) Error() string { return e.Reason }

func badSetting(format string, a ...any) error {
	return &SettingError{Reason: fmt.Sprintf(format, a...)}
}

// Settings reads config.json. A missing or blank file has no settings; neither has one that can't be read, beside the
// error.
func (p *Project) Settings() (*Settings, error) {
	_, s, err := p.readSettings()
	return s, err
}

// DefaultSettings are those where there is no project yet: the defaults alone.
func DefaultSettings() *Settings {
	empty, _ := jsonedit.Parse(nil) // an empty document has no fault
	return &Settings{doc: empty}
}

func (p *Project) readSettings() (old []byte, s *Settings, err error) {
	s = DefaultSettings()
	s.mode = p.Config.Mode
	old, err = durable.ReadFile(filepath.Join(p.Root, ConfigFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, s, nil
	}
	if err != nil {
		return nil, s, err
	}
	doc, err := jsonedit.Parse(old)
	if err != nil {
		return nil, s, fmt.Errorf("%s: %w: correct it by hand", ConfigFile, err)
	}
	if old == nil {
		old = []byte{}
	}
	s.doc = doc
	return old, s, nil
}

// settingTries is how often a write is tried against an editor that writes at the same time.
const settingTries = 3

// EditSettings changes config.json by f, under the project's lock and in one durable write; none where f changes
// nothing. f may run up to three times, each time on what somebody else has just written; then the error is
// tracker.ErrChanged. A file that isn't JSON is an error, and stays.
func (p *Project) EditSettings(ctx context.Context, f func(*Settings) error) error {
	return p.Tracker.Do(ctx, func(tracker.Tx) error {
		for range settingTries {
			old, s, err := p.readSettings()
			if err != nil {
				return err
			}
			before := s.doc.Bytes()
			if err := f(s); err != nil {
				return err
			}
			if bytes.Equal(before, s.doc.Bytes()) {
				return nil
			}
			err = durable.Replace(filepath.Join(p.Root, ConfigFile), old, s.doc.Bytes())
			if !errors.Is(err, durable.ErrChanged) {
				return err
			}
		}
		return fmt.Errorf("%s: %w", ConfigFile, tracker.ErrChanged)
	})
}

// List returns every setting: those that gl knows first, then what else the file has, but the profiles and the
// overrides of models, which Models tells. Known settings that gl has no default for are there only where the file has
// them.
func (s *Settings) List() []Setting {
	var list []Setting
	for _, k := range knownSettings() {
		if set := s.known(k); set.Value != nil {
			list = append(list, set)
		}
	}
	for _, key := range s.leaves(nil) {
		if _, known := findSetting(key); !known && !strings.HasPrefix(key, "parallel.agents.") {
			raw, _ := s.doc.Get(strings.Split(key, ".")...)
			list = append(list, Setting{Key: key, Value: shown(key, raw), File: true})
		}
	}
	return list
}

// leaves lists the paths of what is no object, below the keys of path. Keys with a dot in them can't be named.
func (s *Settings) leaves(path []string) []string {
	var list []string
	for _, key := range s.doc.Keys(path...) {
		at := append(slices.Clone(path), key)
		switch raw, _ := s.doc.Get(at...); {
		case strings.Contains(key, "."), len(path) == 0 && (key == "profiles" || key == "model_overrides"):
		case raw[0] == '{':
			list = append(list, s.leaves(at)...)
		default:
			list = append(list, strings.Join(at, "."))
		}
	}
	return list
}

// known is what counts for a setting that gl knows.
func (s *Settings) known(k knownSetting) Setting {
	set := Setting{Key: k.key, Value: k.value}
	raw, ok := s.doc.Get(strings.Split(k.key, ".")...)
	if !ok || string(raw) == "null" {
		if mode := rawJSON(s.mode); k.key == "mode" && s.mode != "" && string(mode) != string(k.value) {
			set.Value, set.State = mode, true
		}
		return set
	}
	if err := k.check(s, raw); err != nil {
		set.Wrong = err.Error()
		return set
	}
	set.Value, set.File = shown(k.key, raw), true
	return set
}

// shown is the value as people may see it: the environment of an agent may hold keys.
func shown(key string, raw json.RawMessage) json.RawMessage {
	if key != "parallel.agents" && !strings.HasPrefix(key, "parallel.agents.") {
		return raw
	}
	path := strings.Split(key, ".")
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	hid := false
	var hide func(path []string, v any) any
	hide = func(path []string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				v[name] = hide(append(path[:len(path):len(path)], name), inner)
			}
		case string:
			if len(path) == 5 && path[3] == "env" {
				hid = true
				return shownVariable(path[4], v)
			}
		}
		return v
	}
	if v = hide(path, v); !hid {
		return raw // as it is written
	}
	return rawJSON(v)
}

// Get returns one setting, also one that is an object. The error is a *SettingError for a key that nothing knows.
func (s *Settings) Get(key string) (Setting, error) {
	if k, ok := findSetting(key); ok {
		return s.known(k), nil
	}
	if raw, ok := s.doc.Get(strings.Split(key, ".")...); ok {
		return Setting{Key: key, Value: shown(key, raw), File: true}, nil
	}
	if strings.HasPrefix(key, "model_overrides.") {
		return Setting{Key: key}, nil
	}
	return Setting{}, s.unknown(key)
}

func (s *Settings) unknown(key string) error {
	return &SettingError{
		Reason: fmt.Sprintf("no setting is called %q (gl settings lists them; a key of your own goes into %s by hand)", key, ConfigFile),
		Got:    key, Known: append(s.leaves(nil), SettingKeys()...),
	}
}

// Set writes the value that text means for the key. The error is a *SettingError where the key or the value can't be.
func (s *Settings) Set(key, text string) error {
	if agent, ok := strings.CutPrefix(key, "model_overrides."); ok {
		return s.SetModel(agent, text)
	}
	raw, err := s.value(key, text)
	if err != nil {
		return err
	}
	return s.put(raw, strings.Split(key, ".")...)
}

// value makes JSON of a text as the key wants it.
func (s *Settings) value(key, text string) (json.RawMessage, error) {
	if k, ok := findSetting(key); ok {
		raw := k.literal(text)
		return raw, k.check(s, raw)
	}
	if name, ok := strings.CutPrefix(key, "parallel.agents."); ok {
		return s.agentValue(name, text)
	}
	if instead := unread(key); instead != "" {
		return nil, badSetting("nothing reads %s: %s", key, instead)
	}
	old, ok := s.doc.Get(strings.Split(key, ".")...)
	if !ok {
		return nil, s.unknown(key)
	}
	if old[0] == '{' {
		return nil, badSetting("%s is an object: set its keys, one by one", key)
	}
	raw := json.RawMessage(text)
	if old[0] == '"' {
		raw = json.RawMessage(jsonedit.Quote(text))
	}
	if !json.Valid(raw) || kindOf(raw) != kindOf(old) {
		return nil, badSetting("%s is %s in the file, and must stay one, not %s", key, kindOf(old), short(json.RawMessage(text)))
	}
	return raw, nil
}

func (s *Settings) put(raw json.RawMessage, path ...string) error {
	if err := s.doc.Set(raw, path...); err != nil {
		return fmt.Errorf("%s: %w: correct it by hand", ConfigFile, err)
	}
	return s.reads(path)
}

// reads refuses a value beside a key that a person, or another program, takes for the same one: "Mode" beside "mode".
func (s *Settings) reads(path []string) error {
	for i, key := range path {
		for _, k := range s.doc.Keys(path[:i]...) {
			if k != key && strings.EqualFold(k, key) {
				return fmt.Errorf("%s has a key %q that reads like %q: correct it by hand", ConfigFile, k, key)
			}
		}
	}
	return nil
}

// kindOf names what a JSON value is.
func kindOf(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '"':
		return "a text"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// CheckAgents refuses a choice of agents that gl doesn't know. The error is a *SettingError.
func (s *Settings) CheckAgents() error {
	c, err := parseConfig(s.doc.Bytes())
	if err != nil {
		return nil // whoever reads the file is told
	}
	for _, name := range c.Agent {
		if _, err := c.FindAgent(name, ""); err != nil {
			return badSetting("parallel.agent: %v", err)
		}
	}
	return nil
}
