package project

import (
	"encoding/json"
	"fmt"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/core/plan"
)

// A SettingItem is a key of config.json with its effective value.
type SettingItem struct {
	// its path in config.json, with dots
	Key string `json:"key"`
	// any JSON: the effective value; null for no value
	Value json.RawMessage `json:"value"`
	// where the value comes from
	Source *string `json:"source" jsonschema:"enum=config,enum=state,enum=default"`
	// any JSON: the value that applies if the file has none; null for none
	Default json.RawMessage `json:"default"`
	About   *string         `json:"about"` // what it does; null for a key of the project's own
}

// Item returns the setting for a JSON document.
func (s Setting) Item() SettingItem {
	item := SettingItem{Key: s.Key, Value: s.Value, Source: jsondoc.OrNull(s.Source())}
	about, usual, _ := AboutSetting(s.Key)
	item.Default, item.About = usual, jsondoc.OrNull(about.Line)
	for _, raw := range []*json.RawMessage{&item.Value, &item.Default} {
		if *raw == nil {
			*raw = json.RawMessage("null")
		}
	}
	return item
}

// A WarningItem is a problem in the project's files that stops nothing else.
type WarningItem struct {
	Path    *string `json:"path"` // relative to the root; null if no single file is to blame
	Message string  `json:"message"`
}

// maxWarnings is how many warnings a document has.
const maxWarnings = 1000

// WarningItems returns warnings for a JSON document. If there are too many, the last item tells
// how many were omitted.
func WarningItems(list []plan.Warning) []WarningItem {
	items := make([]WarningItem, 0, min(len(list), maxWarnings+1))
	for i, w := range list {
		if i == maxWarnings {
			return append(items, WarningItem{Message: fmt.Sprintf("%d more warnings: run gl doctor --json", len(list)-i)})
		}
		items = append(items, WarningItem{jsondoc.OrNull(w.Path), w.Message})
	}
	return items
}
