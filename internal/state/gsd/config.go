package gsd

import (
	"path/filepath"
	"strings"

	"greenlight/internal/base/text/jsonedit"
)

// Config holds the settings of .planning/config.json that gl respects. Missing settings, and
// settings of the wrong type, have GSD's defaults.
type Config struct {
	Compact bool // statusline.state_format is "compact"
	Front   bool // statusline.context_position is "front"

	SkipDiscuss bool // workflow.skip_discuss: phases are planned without a discussion
	WantDiscuss bool // workflow.skip_discuss is explicitly false: phases must be discussed
	NoResearch  bool // workflow.research is false
	// workflow.verifier is false: a phase is complete when its plans are carried out
	NoVerifier bool
}

// ReadConfig reads the config of a place. A workstream without one uses the project's.
func ReadConfig(p Place) Config {
	data, err := readStart(filepath.Join(p.Planning, "config.json"))
	if err != nil {
		data, _ = readStart(filepath.Join(p.Root, ".planning", "config.json"))
	}
	var doc map[string]any
	_ = jsonedit.Unmarshal(data, &doc) // unreadable settings have their defaults
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

// lookUp finds a key written with dots, or as nested objects. It returns nil if the key is
// missing or its value isn't a scalar.
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
