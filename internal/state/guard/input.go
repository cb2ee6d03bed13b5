package guard

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// An Input is the part of a tool's input that describes the change to a file. It is parsed
// leniently: models write "true" for true, servers have fields of their own, and a field of the
// wrong type must not hide the others.
type Input struct {
	Paths   []string // everything that may be a file, Claude Code's own fields first
	Content string   // of Write
	Edit
	Edits      []Edit // of MultiEdit
	HasContent bool   // some field has a text to write
	Lines      bool   // the search prints lines of files
	Pattern    string // of Glob
	Command    string // of a shell
	Unsure     bool   // some field can't be parsed: the resulting file is unknown
}

// An Edit replaces a text by another, once or everywhere.
type Edit struct {
	Old string
	New string
	All bool
}

// MaxPath is the maximum length of a path in bytes: no system opens a longer one.
const MaxPath = 4 << 10

const (
	maxPaths   = 64 // paths of a call that are checked
	maxNesting = 8  // depth of objects searched for paths
)

// UnmarshalJSON accepts any JSON.
func (in *Input) UnmarshalJSON(data []byte) error {
	*in = Input{}
	fields, ok := object(data)
	if !ok {
		in.Unsure = true
		return nil
	}
	in.text(fields["content"], &in.Content)
	in.edit(fields, &in.Edit)
	if raw, ok := fields["edits"]; ok {
		in.edits(raw)
	}
	var mode string
	in.text(fields["output_mode"], &mode)
	in.Lines = mode == "content"
	in.text(fields["pattern"], &in.Pattern)
	in.text(fields["command"], &in.Command)
	for key := range fields {
		in.HasContent = in.HasContent || isContent(key)
	}
	for _, key := range []string{"file_path", "notebook_path"} {
		var path string
		if in.text(fields[key], &path); path != "" {
			in.add(path)
		}
	}
	in.find("", data, maxNesting)
	return nil
}

// object parses an object, even one encoded as a string.
func object(data []byte) (map[string]json.RawMessage, bool) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		data = []byte(text)
	}
	var fields map[string]json.RawMessage
	return fields, json.Unmarshal(data, &fields) == nil && fields != nil
}

// text parses a string, if present.
func (in *Input) text(raw json.RawMessage, to *string) {
	if len(raw) > 0 && json.Unmarshal(raw, to) != nil {
		in.Unsure = true
	}
}

func (in *Input) edit(fields map[string]json.RawMessage, to *Edit) {
	in.text(fields["old_string"], &to.Old)
	in.text(fields["new_string"], &to.New)
	switch raw := strings.ToLower(strings.Trim(string(fields["replace_all"]), `"`)); raw {
	case "", "false", "null":
	case "true":
		to.All = true
	default:
		in.Unsure = true
	}
}

// edits parses a list of edits, even one encoded as a string.
func (in *Input) edits(raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		in.Unsure = true
		return
	}
	for _, one := range list {
		fields, ok := object(one)
		if !ok {
			in.Unsure = true
			continue
		}
		var e Edit
		in.edit(fields, &e)
		in.Edits = append(in.Edits, e)
	}
}

// find adds the strings in the key's value that may be paths.
func (in *Input) find(key string, raw json.RawMessage, depth int) {
	if depth == 0 || len(in.Paths) > maxPaths {
		in.Unsure = true
		return
	}
	if fields, ok := object(raw); ok {
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			if isPath(k) || !isContent(k) {
				under := k
				if isPath(key) { // for {"file_path": {"value": "x"}}
					under = key
				}
				in.find(under, fields[k], depth-1)
			}
		}
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, one := range list[:min(len(list), maxPaths)] {
			in.find(key, one, depth-1)
		}
		in.Unsure = in.Unsure || len(list) > maxPaths
		return
	}
	var text string
	if isPath(key) && json.Unmarshal(raw, &text) == nil {
		in.add(text)
	}
}

// add adds a possible path. A path that is too long is kept, so that it is refused; a text of
// several lines isn't a path.
func (in *Input) add(path string) {
	if rest, ok := strings.CutPrefix(path, "file://"); ok {
		path = rest
		if plain, err := url.PathUnescape(rest); err == nil {
			path = plain
		}
	}
	if path == "" || strings.ContainsAny(path, "\n\x00") || slices.Contains(in.Paths, path) {
		return
	}
	if len(in.Paths) >= maxPaths {
		in.Unsure = true
		return
	}
	in.Paths = append(in.Paths, path)
}

// plainKey normalizes a key: filePath, file_path, file-path.
func plainKey(key string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
}

// isPath reports whether a field with that name may contain a path.
func isPath(key string) bool {
	key = plainKey(key)
	return strings.Contains(key, "path") || strings.Contains(key, "file") && !isContent(key) ||
		slices.Contains([]string{"uri", "source", "src", "destination", "dest", "dst", "target", "from", "to", "location"}, key)
}

// isContent reports whether a field with that name contains a text to be written.
func isContent(key string) bool {
	key = plainKey(key)
	return slices.ContainsFunc([]string{"content", "text", "string", "body", "edits", "patch", "diff", "data"}, func(word string) bool {
		return strings.Contains(key, word)
	}) && !strings.Contains(key, "path")
}
