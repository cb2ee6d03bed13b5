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

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// ConfigFile is the path of the settings, relative to the root.
const ConfigFile = statedir.Name + "/config.json"

// Settings is config.json held as its text: everything not set keeps every byte.
type Settings struct {
	doc  *jsonedit.Doc
	mode string // used if the file has none
}

// A Setting is a key of config.json and its effective value.
type Setting struct {
	Key   string          // its path, with dots
	Value json.RawMessage // nil if neither the file nor gl has a value
	File  bool            // the value is from the file
	State bool            // the value is from project-state.json
	Wrong string          // if not empty, why the file's value is invalid; the default applies
}

// Source returns where the value comes from: "config" for the file, "state" for
// project-state.json, "default", or "" if there is no value.
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

// A SettingError is returned for an unknown key or an invalid value.
type SettingError struct {
	Reason string
	Help   string   // what to do if no valid input is close; "" for nothing
	Got    string   // the input; "" if there is no list of valid inputs
	Known  []string // valid inputs
}

func (e *SettingError) Error() string { return e.Reason + e.Help }

func badSetting(format string, a ...any) error {
	return &SettingError{Reason: fmt.Sprintf(format, a...)}
}

// Settings reads config.json. A missing or blank file has no settings; neither has one that
// can't be read, which is also an error.
func (p *Project) Settings() (*Settings, error) {
	_, s, err := readSettings(p.Root, p.Config.Mode)
	return s, err
}

// DefaultSettings returns the defaults, for use without a project.
func DefaultSettings() *Settings {
	empty, _ := jsonedit.Parse(nil) // an empty document is valid
	return &Settings{doc: empty}
}

// readSettings returns the settings, and the bytes that they are in; mode is the project's.
func readSettings(root, mode string) (old []byte, s *Settings, err error) {
	s = DefaultSettings()
	s.mode = mode
	old, err = durable.ReadFile(filepath.Join(root, ConfigFile))
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

// settingTries is the number of attempts at a write that races with an editor.
const settingTries = 3

// EditSettings changes config.json by f, under the project's lock, in one durable write; if f
// changes nothing, it writes nothing. If other writers interfere, f runs up to three times,
// each time on the latest content; then the error is tracker.ErrChanged. A file that isn't JSON
// is an error and stays unchanged.
func (p *Project) EditSettings(ctx context.Context, f func(*Settings) error) error {
	return p.Tracker.Do(ctx, func(tracker.Tx) error {
		for range settingTries {
			old, s, err := readSettings(p.Root, p.Config.Mode)
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

// List returns every setting: those that gl knows first, then others in the file, except for
// the profiles and model overrides, which Models returns.
func (s *Settings) List() []Setting {
	var list []Setting
	for _, k := range knownSettings() {
		list = append(list, s.known(k))
	}
	for _, key := range s.leaves(nil) {
		if _, known := findSetting(key); !known && !strings.HasPrefix(key, "parallel.agents.") {
			raw, _ := s.doc.Get(strings.Split(key, ".")...)
			list = append(list, Setting{Key: key, Value: shown(key, raw), File: true})
		}
	}
	return list
}

// leaves returns the paths of all values other than objects, below the keys of path. Keys that
// contain a dot can't be named.
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

// known returns the effective value of a setting that gl knows.
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

// shown returns the value as people may see it: the environment of an agent may contain keys.
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
		return raw // verbatim
	}
	return rawJSON(v)
}

// Get returns one setting, which may be an object. The error is a *SettingError for an unknown
// key.
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
		Reason: fmt.Sprintf("no setting is called %q", key),
		Help:   fmt.Sprintf(" (gl settings lists them; a key of your own goes into %s by hand)", ConfigFile),
		Got:    key, Known: append(s.leaves(nil), SettingKeys()...),
	}
}

// Set writes the value that text means for the key. The error is a *SettingError for an invalid
// key or value.
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

// Unset removes the key from the file, so that its default counts, with the objects that are empty
// then. The error is a *SettingError for an unknown key.
func (s *Settings) Unset(key string) (err error) {
	path := strings.Split(key, ".")
	if role, ok := strings.CutPrefix(key, "model_overrides."); ok {
		if path[1], err = s.role(role); err != nil {
			return err
		}
	} else if _, err := s.Get(key); err != nil {
		return err
	}
	for s.doc.Remove(path...) && len(path) > 1 && len(s.doc.Keys(path[:len(path)-1]...)) == 0 {
		path = path[:len(path)-1]
	}
	return nil
}

// value converts a text to the JSON that the key needs.
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

// reads rejects a value beside a key that a person, or another program, takes for the same one:
// "Mode" beside "mode".
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

// kindOf names the type of a JSON value.
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

// CheckAgents rejects unknown agents. The error is a *SettingError.
func (s *Settings) CheckAgents() error {
	c, err := parseConfig(s.doc.Bytes())
	if err != nil {
		return nil // reported when the file is read
	}
	for _, name := range c.Agent {
		if _, err := c.FindAgent(name, ""); err != nil {
			return badSetting("parallel.agent: %v", err)
		}
	}
	return nil
}
