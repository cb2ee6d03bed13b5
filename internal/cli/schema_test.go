package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/run/project/projecttest"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// conforms checks a printed document against the schema of that name. A key that the schema doesn't
// describe is an error here, although published schemas allow more keys: they must describe
// everything that this version prints.
func conforms(t *testing.T, name string, printed []byte) error {
	t.Helper()
	schema := readSchema(t, name)
	closeObjects(schema)
	return validate(t, schema, printed)
}

func validate(t *testing.T, schema any, printed []byte) error {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json") // also validates the schema
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed))
	if err != nil {
		t.Fatalf("%v in %s", err, printed)
	}
	var wrong *jsonschema.ValidationError
	if err := compiled.Validate(doc); errors.As(err, &wrong) {
		return &nonconforming{wrong}
	}
	return nil
}

// A nonconforming says each complaint once, however many slices have it.
type nonconforming struct{ *jsonschema.ValidationError }

func (e *nonconforming) Unwrap() error { return e.ValidationError }

func (e *nonconforming) Error() string {
	counts := map[string]int{}
	where := map[string]string{} // the first place of each
	var note func(*jsonschema.ValidationError)
	note = func(err *jsonschema.ValidationError) {
		if len(err.Causes) == 0 {
			place := "/" + strings.Join(err.InstanceLocation, "/")
			_, what, _ := strings.Cut(err.Error(), "': ")
			if counts[what]++; counts[what] == 1 {
				where[what] = place
			}
		}
		for _, cause := range err.Causes {
			note(cause)
		}
	}
	note(e.ValidationError)
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%s (%d times, first at %s)", what, counts[what], where[what]))
	}
	return strings.Join(lines, "\n") + "\nIf the document is right, run make docs"
}

// closeObjects forbids keys that a schema doesn't describe, at every depth.
func closeObjects(schema map[string]any) {
	properties, isObject := schema["properties"].(map[string]any)
	if isObject {
		schema["additionalProperties"] = false
	}
	parts := slices.Collect(maps.Values(properties))
	for _, part := range append(parts, schema["items"]) {
		if inner, ok := part.(map[string]any); ok {
			closeObjects(inner)
		}
	}
}

func schemaPath(name string) string {
	return filepath.Join("..", "..", "docs", "schema", name+".schema.json")
}

func readSchema(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(schemaPath(name))
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

// output runs one command line in this process and returns what it wrote to stdout; it must
// succeed.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(context.Background(), args, strings.NewReader(""), &stdout, &stderr,
		[]string{"HOME=" + os.Getenv("HOME")}); code != 0 {
		t.Fatalf("gl %s: exit code %d: %s", strings.Join(args, " "), code, &stderr)
	}
	return stdout.Bytes()
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
	"slices/S-11.md": "---\nid: S-11\nstatus: verifying\nstep: verifying\n---\n",
	"runs/live/S-11.1.json": `{"schema_version": 1, "slice": "S-11", "n": 1, "lineage": 1, "token": "t", "phase": "landing",
		"landing": {"queued": "2026-01-01T00:00:00Z"}, "seen": {"status": "verifying", "step": "verifying", "session": ""}}`,
	"slices/S-12.md": "---\nid: S-12\nstatus: pending\n---\n",
	"runs/done/S-12.1.red.json": `{"schema_version": 1, "slice": "S-12", "n": 1, "phase": "settled", "outcome": "red", "continues": {"why": "", "mends": "red"},
		"after": {"status": "pending", "step": "", "session": ""}}`,
	"slices/S-13.md": "---\nid: S-13\nstatus: pending\n---\n",
	"runs/done/S-13.1.conflict.json": `{"schema_version": 1, "slice": "S-13", "n": 1, "phase": "settled", "outcome": "conflict", "continues": {"why": "", "mends": "conflict"},
		"after": {"status": "pending", "step": "", "session": ""}}`,
}

func TestStatusIsAsItsSchemaSays(t *testing.T) {
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
			args := append([]string{"status", "--json", "-C", projecttest.Write(t, c.files)},
				c.args...)
			if err := conforms(t, "status", output(t, args...)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Every class in the schema occurs in real output.
func TestSchemaNamesTheClasses(t *testing.T) {
	doc := object(t, output(t, "status", "--json", "-C", projecttest.Write(t, everyClass)))
	seen := map[string]bool{}
	for _, s := range doc["slices"].([]any) {
		seen[s.(map[string]any)["class"].(string)] = true
	}
	slice := readSchema(t, "status")["properties"].(map[string]any)["slices"].(map[string]any)["items"].(map[string]any)
	for _, class := range slice["properties"].(map[string]any)["class"].(map[string]any)["enum"].([]any) {
		if !seen[class.(string)] {
			t.Errorf("no slice is %s", class)
		}
	}
}

// Each change makes a valid document invalid, for one reason.
func TestSchemaRefuses(t *testing.T) {
	root := projecttest.Write(t, everyClass)
	hold := func(doc map[string]any) map[string]any { return doc["hold"].(map[string]any) }
	for name, spoil := range map[string]func(doc map[string]any){
		"no key":      func(doc map[string]any) { delete(doc, "hold") },
		"null list":   func(doc map[string]any) { doc["ready"] = nil },
		"another key": func(doc map[string]any) { doc["more"] = 1 },
		"another key inside": func(doc map[string]any) {
			doc["slices"].([]any)[0].(map[string]any)["more"] = 1
		},
		"another version": func(doc map[string]any) { doc["schema_version"] = 2 },
		"no whole number": func(doc map[string]any) { doc["total"] = 1.5 },
		"below 0":         func(doc map[string]any) { doc["done"] = -1 },
		"another class": func(doc map[string]any) {
			doc["slices"].([]any)[0].(map[string]any)["class"] = "odd"
		},
		"number in ids":       func(doc map[string]any) { doc["failed"] = []any{4} },
		"key in a hold":       func(doc map[string]any) { delete(hold(doc), "until") },
		"no time":             func(doc map[string]any) { hold(doc)["until"] = "tomorrow" },
		"null where none may": func(doc map[string]any) { doc["tests"] = nil },
		"document in another": func(doc map[string]any) {
			other := object(t, output(t, "status", "--json", "-C", root))
			delete(other, "total")
			doc["others"] = []any{other}
		},
	} {
		doc := object(t, output(t, "status", "--json", "-C", root))
		spoil(doc)
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var wrong *jsonschema.ValidationError
		if err := conforms(t, "status", data); !errors.As(err, &wrong) || complaints(wrong) != 1 {
			t.Errorf("%s: want one complaint, got %v", name, err)
		}
		published := validate(t, readSchema(t, "status"), data)
		if open := strings.HasPrefix(name, "another key"); open != (published == nil) {
			t.Errorf("%s: by the schema as published: %v", name, published)
		}
	}
}

// A key that every slice has is one complaint, and the message says what to do.
func TestComplaintsAreGrouped(t *testing.T) {
	doc := object(t, output(t, "status", "--json", "-C", projecttest.Write(t, everyClass)))
	for _, s := range doc["slices"].([]any) {
		s.(map[string]any)["more"] = 1
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("additional properties 'more' not allowed (%d times, first at /slices/0)\nIf the document is right, run make docs",
		len(doc["slices"].([]any)))
	if err := conforms(t, "status", data); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// complaints counts the errors at the leaves.
func complaints(err *jsonschema.ValidationError) int {
	if len(err.Causes) == 0 {
		return 1
	}
	n := 0
	for _, cause := range err.Causes {
		n += complaints(cause)
	}
	return n
}
