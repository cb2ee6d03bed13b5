package gsd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// Load returns the configuration, the content of STATE.md, and which files exist.
func (s *Store) Load() (Result, error) {
	src, err := durable.ReadFile(s.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, err
	}
	config, exists, err := readConfig(s.file("config.json"))
	if err != nil {
		return Result{}, err
	}
	roadmap := paths.IsFile(s.file("ROADMAP.md"))
	var lines []string
	for _, m := range config[:min(len(config), rawConfig)] {
		lines = append(lines, fmt.Sprintf("%s=%v", m.key, m.value))
	}
	lines = append(lines, fmt.Sprintf("config_exists=%v", exists),
		fmt.Sprintf("roadmap_exists=%v", roadmap), fmt.Sprintf("state_exists=%v", len(src) > 0))
	doc := object{{"config", config}, {"state_raw", string(src)}, {"state_exists", len(src) > 0},
		{"roadmap_exists", roadmap}, {"config_exists", exists},
		{"debug_dir", filepath.ToSlash(s.file("debug"))}}
	return result(doc, strings.Join(lines, "\n")), nil
}

// rawConfig is how many settings --raw prints: the first nine.
const rawConfig = 9

// readConfig returns config.json merged over GSD's defaults. Settings under workflow also
// appear under their short names.
func readConfig(path string) (config object, exists bool, err error) {
	config = object{{"model_profile", "balanced"}, {"commit_docs", true},
		{"branching_strategy", "none"}, {"phase_branch_template", "gsd/phase-{phase}-{slug}"},
		{"milestone_branch_template", "gsd/{milestone}-{slug}"}, {"parallelization", true},
		{"research", true}, {"plan_checker", true}, {"verifier", true}}
	data, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config, false, nil
	}
	var have map[string]any
	if err == nil {
		err = json.Unmarshal(data, &have)
	}
	if err != nil {
		return nil, true, fmt.Errorf("read %s: %w", path, err)
	}
	for i, m := range config {
		if v := setting(have, m.key); v != nil {
			config[i].value = v
		}
	}
	keys := make([]string, 0, len(have))
	for key := range have {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if !slices.ContainsFunc(config, func(m member) bool { return m.key == key }) {
			config = append(config, member{key, have[key]})
		}
	}
	return config, true, nil
}

// setting finds a setting at the top level, or in the group that newer files use; nil for none.
func setting(have map[string]any, key string) any {
	names := []string{key, key + ".enabled", "workflow." + key, "git." + key, "planning." + key}
	if key == "plan_checker" {
		names = append(names, "workflow.plan_check")
	}
	for _, name := range names {
		if v := lookUp(have, name); v != nil {
			return v
		}
	}
	return nil
}
