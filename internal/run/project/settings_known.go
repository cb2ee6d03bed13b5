package project

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/core/agent"
)

// A knownSetting is a key that gl, or the commands shipped with it, read.
type knownSetting struct {
	key   string
	value json.RawMessage // the default; nil for none
	kind  settingKind
	about About
}

type settingKind int

const (
	textSetting   settingKind = iota
	parsedSetting             // a key of parallel, git or test, checked by its parser
	modeSetting
	fileSetting // a top-level key, checked by the parser of config.json
	profileSetting
	boolSetting
	countSetting // a whole number, 0 or more
)

// Modes returns the values of mode.
func Modes() []string { return []string{"interactive", "yolo"} }

const defaultProfile = "balanced"

// knownSettings returns the settings in display order.
func knownSettings() []knownSetting {
	var list []knownSetting
	for _, s := range SettingSections() {
		list = append(list, s.settings...)
	}
	return list
}

// DefaultFile returns a config.json with the default values of the settings that gl itself
// reads. It omits the section git, whose defaults are going to change.
func DefaultFile() []byte {
	doc, _ := jsonedit.Parse(nil) // an empty document is valid
	for _, k := range knownSettings() {
		if k.kind == modeSetting || strings.HasPrefix(k.key, "parallel.") {
			_ = doc.Set(k.value, strings.Split(k.key, ".")...) // all values on the way are objects
		}
	}
	return doc.Bytes()
}

// unread returns, for a setting that earlier files have and nothing reads, what decides
// instead. Such settings stay in the file, and can't be set.
func unread(key string) string {
	switch key {
	case "workflow.visual_checkpoint":
		return "a contract with Verification: verify asks for a person's look"
	case "workflow.auto_parallel":
		return "gl slice --watch builds side by side what is ready, and parallel.max says how many"
	case "workflow.run_full_suite_after_slice":
		return "the whole suite runs before every slice is complete"
	case "test.filter_flag":
		return "agents run test.command as it is"
	case "project.name":
		return "the directory's name is the project's"
	case "project.stack":
		return "run gl state overview stack=TEXT"
	case "project.src_dir", "project.test_dir":
		return "agents find code and tests by the conventions of the language"
	}
	return ""
}

// rawJSON encodes a value that has a JSON form.
func rawJSON(v any) json.RawMessage {
	if s, ok := v.(string); ok {
		return json.RawMessage(jsonedit.Quote(s))
	}
	raw, _ := jsondoc.Marshal(v, "") // as a person would write it
	return json.RawMessage(raw)
}

func findSetting(key string) (knownSetting, bool) {
	for _, k := range knownSettings() {
		if k.key == key {
			return k, true
		}
	}
	return knownSetting{}, false
}

// SettingKeys returns the keys that gl knows.
func SettingKeys() []string {
	var keys []string
	for _, k := range knownSettings() {
		keys = append(keys, k.key)
	}
	return keys
}

// literal converts a person's input to JSON: text that can be a number or a list becomes one.
func (k knownSetting) literal(text string) json.RawMessage {
	quoted := json.RawMessage(jsonedit.Quote(text))
	raw := json.RawMessage(strings.TrimSpace(text))
	switch {
	// that one may be a word, too
	case k.kind == boolSetting, k.kind == countSetting, k.key == widthKey:
	case k.kind == fileSetting && k.value[0] == '[':
	case k.kind != parsedSetting, (k.value == nil || k.value[0] == '"') && !strings.HasPrefix(string(raw), "["):
		return quoted
	}
	if !json.Valid(raw) {
		return quoted
	}
	return raw
}

// check returns a *SettingError with the key's name if the value is invalid. For values that gl
// reads, the parser of config.json decides.
func (k knownSetting) check(s *Settings, raw json.RawMessage) error {
	want := ""
	switch k.kind {
	case parsedSetting:
		section, key, _ := strings.Cut(k.key, ".")
		return parses(fmt.Appendf(nil, `{%s: {%s: %s}}`, jsonedit.Quote(section), jsonedit.Quote(key), raw))
	case fileSetting:
		return parses(fmt.Appendf(nil, `{%s: %s}`, jsonedit.Quote(k.key), raw))
	case modeSetting:
		return k.oneOf(raw, Modes())
	case profileSetting:
		return k.oneOf(raw, s.Profiles())
	case textSetting:
		var text string
		if json.Unmarshal(raw, &text) != nil || strings.ContainsFunc(text, unicode.IsControl) {
			want = "one line of text"
		}
	case boolSetting:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			want = "true or false"
		}
	case countSetting:
		var n float64
		if json.Unmarshal(raw, &n) != nil || n < 0 || n != math.Trunc(n) {
			want = "a whole number, 0 or more"
		}
	}
	if want != "" {
		return badSetting("%s must be %s, not %s", k.key, want, short(raw))
	}
	return nil
}

// parses returns the objections of config.json's parser to the text.
func parses(config []byte) error {
	if _, err := parseConfig(config); err != nil {
		return badSetting("%s", err)
	}
	return nil
}

// oneOf accepts one of a few texts.
func (k knownSetting) oneOf(raw json.RawMessage, all []string) error {
	var text string
	if json.Unmarshal(raw, &text) == nil && slices.Contains(all, text) {
		return nil
	}
	return &SettingError{
		Reason: fmt.Sprintf("%s must be one of %s, not %s", k.key, strings.Join(all, ", "), short(raw)), Got: text, Known: all,
	}
}

// agentValue parses a value below parallel.agents: an agent as an object, or one of its keys.
// The resulting agent must be valid.
func (s *Settings) agentValue(key, text string) (json.RawMessage, error) {
	name, part := key, ""
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		name, part = key[:i], key[i+1:]
	}
	if name == "" || strings.Contains(name, ".") || part != "" && !slices.Contains([]string{"command", "resume", "extends", "env"}, part) {
		return nil, badSetting("parallel.agents.%s: the name of an agent can't have a dot here", key)
	}
	entry := map[string]json.RawMessage{}
	if old, ok := s.doc.Get("parallel", "agents", name); ok && part != "" {
		_ = json.Unmarshal(old, &entry) // anything but an object is replaced
	}
	raw := json.RawMessage(strings.TrimSpace(text))
	var err error
	switch {
	case part == "extends":
		raw = rawJSON(text)
	case part == "env" && !strings.HasPrefix(string(raw), "{"):
		raw, err = variables(text)
	case (part == "command" || part == "resume") && !strings.HasPrefix(string(raw), "["):
		var words []string
		words, err = shellwords.Split(text)
		raw = rawJSON(words)
	}
	switch {
	case err != nil:
		return nil, badSetting("parallel.agents.%s can't be split into words (%v)", key, err)
	case !json.Valid(raw):
		return nil, badSetting(`parallel.agents.%s must be {"command": ["program", "{prompt}"]} or {"extends": "claude", "env": {"NAME": "value"}}`, name)
	case part == "resume" && entry["command"] == nil:
		return nil, badSetting("parallel.agents.%s has no command: set parallel.agents.%s.command first", name, name)
	case part == "env" && len(entry) == 0 && !slices.Contains(agent.BuiltIn(), name):
		return nil, badSetting("parallel.agents.%s isn't an agent yet: set parallel.agents.%s.extends or .command first", name, name)
	}
	whole := raw
	if part != "" {
		entry[part] = raw
		whole = rawJSON(entry)
	}
	return raw, parses(fmt.Appendf(nil, `{"parallel": {"agents": {%s: %s}}}`, jsonedit.Quote(name), whole))
}

// variables converts NAME=VALUE words to an object.
func variables(text string) (json.RawMessage, error) {
	words, err := shellwords.Split(text)
	env := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%s is not NAME=VALUE", w)
		}
		env[name] = value
	}
	return rawJSON(env), err
}
