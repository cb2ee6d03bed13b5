package gsd

import (
	"path/filepath"
	"strings"

	"greenlight/internal/text/jsonedit"
)

// Config is what gl heeds of .planning/config.json. What is missing or of another type has GSD's default.
type Config struct {
	Compact bool // statusline.state_format is "compact"
	Front   bool // statusline.context_position is "front"

	SkipDiscuss bool // workflow.skip_discuss: phases are planned without having been discussed
	WantDiscuss bool // workflow.skip_discuss is false outright: they aren't
	NoResearch  bool // workflow.research is false
	NoVerifier  bool // workflow.verifier is false: phases are complete when their plans have been carried out
}

// ReadConfig reads the config of a place; a workstream without one has the project's.
func ReadConfig(p Place) Config {
	data, err := readStart(filepath.Join(p.Planning, "config.json"))
	if err != nil {
		data, _ = readStart(filepath.Join(p.Root, ".planning", "config.json"))
	}
	var doc map[string]any
	_ = jsonedit.Unmarshal(data, &doc) // the defaults stand for what can't be read
	is := func(key string, want any) bool { return lookUp(doc, key) == want }
	return Config{
		Compact:     is("statusline.state_format", "compact"),
		Front:       is("statusline.context_position", "front"),
		SkipDiscuss: is("workflow.skip_discuss", true),
		WantDiscuss: is("workflow.skip_discuss", false),
		NoResearch:  is("workflow.research", false),
		NoVerifier:  is("workflow.verifier", false),
	}
}

// lookUp finds a key that is written with dots, or as nested objects; nil for none, and for what is no plain value.
func lookUp(doc map[string]any, key string) any {
	v, ok := doc[key]
	if group, name, dotted := strings.Cut(key, "."); !ok && dotted {
		inner, _ := doc[group].(map[string]any)
		v = inner[name]
	}
	switch v.(type) {
	case string, bool:
		return v
	}
	return nil
}
