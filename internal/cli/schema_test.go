package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The keywords of JSON Schema that validate knows; TestSchemaIsUnderstood holds that our schemas use no others.
var keywords = []string{"$schema", "title", "description", "format", // these say nothing that can be wrong
	"type", "enum", "minimum", "required", "properties", "additionalProperties", "items"}

// validate says what of v isn't as the schema wants it; "" for nothing.
func validate(schema map[string]any, v any, at string) []string {
	var wrong []string
	bad := func(format string, a ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, a...)) }
	if t, ok := schema["type"]; ok && !hasType(t, v) {
		bad("%v isn't of type %v", v, t)
		return wrong
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		bad("%v is none of %v", v, enum)
	}
	switch v := v.(type) {
	case float64:
		if least, ok := schema["minimum"].(float64); ok && v < least {
			bad("%v is below %v", v, least)
		}
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for i, e := range v {
				wrong = append(wrong, validate(items, e, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case map[string]any:
		wrong = append(wrong, validateObject(schema, v, at)...)
	}
	return wrong
}

func validateObject(schema, v map[string]any, at string) []string {
	var wrong []string
	required, _ := schema["required"].([]any)
	for _, key := range required {
		if _, ok := v[key.(string)]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: no key %q", at, key))
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for key, e := range v {
		switch p, ok := properties[key].(map[string]any); {
		case ok:
			wrong = append(wrong, validate(p, e, at+"."+key)...)
		case schema["additionalProperties"] == false:
			wrong = append(wrong, fmt.Sprintf("%s: nobody knows of the key %q", at, key))
		}
	}
	return wrong
}

// hasType says whether v is of the type, or of one of the types.
func hasType(want, v any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(t any) bool { return hasType(t, v) })
	}
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", "status.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return object(t, data)
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// output runs one command line in this process and returns what it wrote to stdout; it must succeed.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(context.Background(), args, strings.NewReader(""), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("gl %s: exit code %d: %s", strings.Join(args, " "), code, &stderr)
	}
	return stdout.Bytes()
}

// projectOf writes a project's files, given by their paths under .greenlight, and returns its root.
func projectOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	_, legacy := files["STATE.md"]
	_, sibling := files["../.planning/STATE.md"]
	if !legacy && !sibling {
		if err := os.MkdirAll(filepath.Join(root, ".greenlight", "slices"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(root, ".greenlight", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// everyClass has a slice of each class, warnings with and without a path, and a hold.
var everyClass = map[string]string{
	"slices/S-1.md":  "---\nid: S-1\nstatus: complete\nmilestone: m1\ntests: 3\nupdated: 2026-01-02T03:04:05Z\n---\n",
	"slices/S-2.md":  "---\nid: S-2\nstatus: pending\n---\n",
	"slices/S-3.md":  "---\nid: S-3\nstatus: implementing\nsession: abc\nstep: tests\n---\n",
	"slices/S-4.md":  "---\nid: S-4\nstatus: failed\n---\n",
	"slices/S-5.md":  "---\nid: S-5\nstatus: pending\n---\n",
	"slices/S-6.md":  "---\nid: S-6\nstatus: paused\n---\n",
	"slices/S-7.md":  "---\nid: S-7\nstatus: odd\n---\n",
	"slices/S-8.md":  "nothing\n",
	"slices/S-9.md":  "---\nid: S-9\nstatus: pending\ndeps: S-10\n---\n",
	"slices/S-10.md": "---\nid: S-10\nstatus: pending\ndeps: S-9, S-99\n---\n",
	"runs/hold.json": `{"until": "2099-01-01T00:00:00Z", "since": "2026-01-01T00:00:00Z", "kind": "quota", "reason": "", "by": "S-3", "count": 1}`,
	"runs/done/S-5.1.stalled.json": `{"schema_version": 1, "slice": "S-5", "n": 1, "phase": "settled", "outcome": "stalled",
		"after": {"status": "pending", "step": "", "session": ""}}`,
}

func TestStatusIsAsItsSchemaSays(t *testing.T) {
	schema := readSchema(t)
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
	}{
		"every class": {everyClass, nil},
		"milestone":   {everyClass, []string{"--milestone", "m1"}},
		"empty":       {nil, nil},
		"graph only":  {map[string]string{"GRAPH.json": `{"slices": [{"id": "S-1"}, {"id": 2, "deps": ["S-1"]}]}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"status", "--json", "-C", projectOf(t, c.files)}, c.args...)
			if wrong := validate(schema, object(t, output(t, args...)), "$"); len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		})
	}
}

// Every class of the schema is one that occurs, so that none is described that isn't.
func TestSchemaNamesTheClasses(t *testing.T) {
	doc := object(t, output(t, "status", "--json", "-C", projectOf(t, everyClass)))
	seen := map[string]bool{}
	for _, s := range doc["slices"].([]any) {
		seen[s.(map[string]any)["class"].(string)] = true
	}
	slice := readSchema(t)["properties"].(map[string]any)["slices"].(map[string]any)["items"].(map[string]any)
	for _, class := range slice["properties"].(map[string]any)["class"].(map[string]any)["enum"].([]any) {
		if !seen[class.(string)] {
			t.Errorf("no slice is %s", class)
		}
	}
}

// The validator itself must notice what isn't right: each change of a right document is a wrong one.
func TestSchemaRefuses(t *testing.T) {
	schema, root := readSchema(t), projectOf(t, everyClass)
	for name, spoil := range map[string]func(doc map[string]any){
		"no key":          func(doc map[string]any) { delete(doc, "hold") },
		"null list":       func(doc map[string]any) { doc["ready"] = nil },
		"another key":     func(doc map[string]any) { doc["more"] = 1.0 },
		"another version": func(doc map[string]any) { doc["schema_version"] = 2.0 },
		"no whole number": func(doc map[string]any) { doc["total"] = 1.5 },
		"below 0":         func(doc map[string]any) { doc["done"] = -1.0 },
		"another class":   func(doc map[string]any) { doc["slices"].([]any)[0].(map[string]any)["class"] = "odd" },
		"number in ids":   func(doc map[string]any) { doc["failed"] = []any{4.0} },
		"key in a hold":   func(doc map[string]any) { delete(doc["hold"].(map[string]any), "until") },
	} {
		doc := object(t, output(t, "status", "--json", "-C", root))
		spoil(doc)
		if wrong := validate(schema, doc, "$"); len(wrong) != 1 {
			t.Errorf("%s: want one complaint, got %q", name, wrong)
		}
	}
}

func TestSchemaIsUnderstood(t *testing.T) {
	var walk func(schema map[string]any, at string)
	walk = func(schema map[string]any, at string) {
		for key, v := range schema {
			if !slices.Contains(keywords, key) {
				t.Errorf("%s: the validator doesn't know %q", at, key)
			}
			switch v := v.(type) {
			case map[string]any:
				if key == "items" {
					walk(v, at+"[]")
					continue
				}
				for name, p := range v {
					walk(p.(map[string]any), at+"."+name)
				}
			}
		}
	}
	walk(readSchema(t), "$")
}
