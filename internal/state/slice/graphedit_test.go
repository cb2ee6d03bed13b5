package slice

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/text/textline"
)

func newEntry(id, name string, deps ...string) entry {
	return entry{id: id, name: name, deps: deps, hasDeps: true}
}

func TestInsertEntryKeepsTheStyle(t *testing.T) {
	e := newEntry("S-3", "Search", "S-1", "S-2")
	tests := []struct {
		name, text, want string
		entry            entry
	}{
		{"object, a line per entry",
			"{\"slices\": {\n  \"S-1\": {\"name\": \"A\", \"depends_on\": []},\n  \"S-2\": {\"name\": \"B\", \"depends_on\": [\"S-1\"]}\n}}\n",
			"{\"slices\": {\n  \"S-1\": {\"name\": \"A\", \"depends_on\": []},\n  \"S-2\": {\"name\": \"B\", \"depends_on\": [\"S-1\"]},\n" +
				"  \"S-3\": {\"name\": \"Search\", \"depends_on\": [\"S-1\", \"S-2\"]}\n}}\n", e},
		{"object, a line per key, blank lines between",
			"{\n  \"date\": 1,\n\n  \"slices\": {\n    \"S-1\": {\n      \"name\": \"A\",\n      \"deps\": []\n    },\n\n    \"S-2\": {\n      \"deps\": [\"S-1\"]\n    }\n  },\n  \"x\": []\n}",
			"{\n  \"date\": 1,\n\n  \"slices\": {\n    \"S-1\": {\n      \"name\": \"A\",\n      \"deps\": []\n    },\n\n    \"S-2\": {\n      \"deps\": [\"S-1\"]\n    },\n\n" +
				"    \"S-3\": {\n      \"name\": \"Search\",\n      \"deps\": [\"S-1\", \"S-2\"]\n    }\n  },\n  \"x\": []\n}", e},
		{"array, lists a line per item, tabs, CRLF",
			"{\r\n\t\"slices\": [\r\n\t\t{\r\n\t\t\t\"id\": \"S-1\",\r\n\t\t\t\"dependencies\": [\r\n\t\t\t\t\"S-0\"\r\n\t\t\t]\r\n\t\t}\r\n\t]\r\n}\r\n",
			"{\r\n\t\"slices\": [\r\n\t\t{\r\n\t\t\t\"id\": \"S-1\",\r\n\t\t\t\"dependencies\": [\r\n\t\t\t\t\"S-0\"\r\n\t\t\t]\r\n\t\t},\r\n" +
				"\t\t{\r\n\t\t\t\"id\": \"S-3\",\r\n\t\t\t\"name\": \"Search\",\r\n\t\t\t\"dependencies\": [\r\n\t\t\t\t\"S-1\",\r\n\t\t\t\t\"S-2\"\r\n\t\t\t]\r\n\t\t}\r\n\t]\r\n}\r\n", e},
		{"minified", `{"slices":{"S-1":{"depends_on":[]}}}`, `{"slices":{"S-1":{"depends_on":[]},"S-3":{"name":"Search","depends_on":["S-1","S-2"]}}}`, e},
		{"one line with spaces", `{ "slices": [ { "id": "S-1", "deps": ["S-0"] } ] }`,
			`{ "slices": [ { "id": "S-1", "deps": ["S-0"] }, { "id": "S-3", "name": "Search", "deps": ["S-1", "S-2"] } ] }`, e},
		{"numbers", `{"slices": [{"id": 1, "deps": []}, {"id": 2, "deps": [1]}]}`,
			`{"slices": [{"id": 1, "deps": []}, {"id": 2, "deps": [1]}, {"id": 3, "name": "Search", "deps": [2]}]}`, newEntry("3", "Search", "2")},
		{"dependencies as a text", `{"slices": [{"id": "a", "deps": "b, c"}]}`,
			`{"slices": [{"id": "a", "deps": "b, c"}, {"id": "S-3", "name": "Search", "deps": "S-1, S-2"}]}`, e},
		{"dependencies alone", `{"slices": {"a": [], "b": ["a"]}}`, `{"slices": {"a": [], "b": ["a"], "S-3": ["S-1", "S-2"]}}`, e},
		{"ids alone", `["a", "b"]`, `["a", "b", "S-3"]`, newEntry("S-3", "Search")},
		{"ids alone, with dependencies", `["a", "b"]`, `["a", "b", {"id": "S-3", "name": "Search", "depends_on": ["a"]}]`, newEntry("S-3", "Search", "a")},
		{"empty object", "{\n  \"slices\": {}\n}\n", "{\n  \"slices\": {\n    \"S-3\": {\n      \"name\": \"Search\",\n      \"depends_on\": [\"S-1\", \"S-2\"]\n    }\n  }\n}\n", e},
		{"empty array over lines", "{\n    \"slices\": [\n    ]\n}\n",
			"{\n    \"slices\": [\n        {\n            \"id\": \"S-3\",\n            \"name\": \"Search\",\n            \"depends_on\": [\"S-1\", \"S-2\"]\n        }\n    ]\n}\n", e},
		{"no slices", "{\n  \"project\": \"x\"\n}\n",
			"{\n  \"project\": \"x\",\n  \"slices\": {\n    \"S-3\": {\n      \"name\": \"Search\",\n      \"depends_on\": []\n    }\n  }\n}\n", newEntry("S-3", "Search")},
		{"nothing", `{}`, `{"slices": {"S-3": {"name": "Search", "depends_on": []}}}`, newEntry("S-3", "Search")},
		{"a byte order mark", textline.BOM + `{"slices": []}`, textline.BOM + `{"slices": [{"id": "S-3", "name": "Search", "depends_on": []}]}`, newEntry("S-3", "Search")},
		{"what HTML would escape", `{"slices": {"a": {"name": "x"}}}`, `{"slices": {"a": {"name": "x"}, "S-3": {"name": "a < b & \"c\"", "depends_on": []}}}`,
			newEntry("S-3", `a < b & "c"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := insertEntry([]byte(tt.text), tt.entry)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInsertEntryWritesAllItKnows(t *testing.T) {
	e := newEntry("S-2", "B", "S-1")
	e.description, e.contracts = "What it does", []string{"C-1", "C-2"}
	e.give("milestone", "m1", nil)
	got, err := insertEntry([]byte(`{"slices": [{"id": "S-1"}]}`), e)
	if err != nil {
		t.Fatal(err)
	}
	g, err := parseGraph(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, g.entries[1], cmp.AllowUnexported(entry{}, given{})); diff != "" {
		t.Error(diff)
	}
}

func TestInsertEntryRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no JSON", `{"slices": [`, "line 1"},
		{"a conflict", "{\n<<<<<<< HEAD\n}", "merge conflict in line 2"},
		{"a scalar", `7`, "unexpected"},
		{"there already", `{"slices": ["S-3"]}`, "by hand"},
		{"two lists, the id in the first", `{"slices": {"S-3": {}}, "slices": {}}`, "by hand"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := insertEntry([]byte(tt.text), newEntry("S-3", "x")); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// drawGraph generates a document with slices in any of the supported shapes.
func drawGraph(t *rapid.T) []byte {
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z]-[1-9]`), 0, 5, rapid.ID).Draw(t, "ids")
	key := rapid.SampledFrom(graphKeys[:]).Draw(t, "key")
	var slices any
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		m := map[string]any{}
		for _, id := range ids {
			m[id] = map[string]any{"name": id, key: ids[:0]}
		}
		slices = m
	case 1:
		list := []any{}
		for _, id := range ids {
			list = append(list, map[string]any{"id": id, key: ids[:1], "x": []any{1, map[string]any{}}})
		}
		slices = list
	case 2:
		list := []any{}
		for _, id := range ids {
			list = append(list, id)
		}
		slices = list
	case 3:
		m := map[string]any{}
		for _, id := range ids {
			m[id] = ids[:1]
		}
		slices = m
	}
	doc := map[string]any{"slices": slices, "a": "{", "z": map[string]any{"slices": []any{"no"}}}
	if _, list := slices.([]any); list && rapid.Bool().Draw(t, "bare") {
		return marshal(t, slices)
	}
	return marshal(t, doc)
}

func marshal(t *rapid.T, v any) []byte {
	data, err := json.Marshal(v)
	if indent := rapid.SampledFrom([]string{"", "  ", "\t"}).Draw(t, "indent"); indent != "" {
		data, err = json.MarshalIndent(v, "", indent)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "crlf") {
		data = []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
	}
	return data
}

// In every shape, the old bytes are all kept, in two pieces, with only the new entry between
// them.
func TestInsertEntryKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawGraph(t)
		e := newEntry("new-1", rapid.String().Draw(t, "name"))
		e.name = textline.Join(e.name)
		if rapid.Bool().Draw(t, "deps") {
			e.deps = []string{"A-1"}
		}
		got, err := insertEntry(data, e)
		if err != nil {
			t.Fatal(err)
		}
		checkPieces(t, data, got)
		again, err := insertEntry(got, newEntry("new-2", "again", "new-1"))
		if err != nil {
			t.Fatal(err)
		}
		checkPieces(t, got, again)
	})
}

// checkPieces checks that after is before with text inserted; white space between empty
// brackets may be dropped.
func checkPieces(t interface{ Fatalf(string, ...any) }, before, after []byte) {
	at := 0
	for at < len(before) && at < len(after) && before[at] == after[at] {
		at++
	}
	rest := strings.TrimLeft(string(before[at:]), " \t\r\n")
	if !strings.HasSuffix(string(after), rest) || len(after) < at+len(rest) {
		t.Fatalf("%q became %q", before, after)
	}
}

func TestInsertEntryTwiceLooksTheSame(t *testing.T) {
	text := []byte("{\n  \"slices\": {}\n}\n")
	for i := range 3 {
		var err error
		if text, err = insertEntry(text, newEntry(fmt.Sprintf("S-%d", i+1), "n")); err != nil {
			t.Fatal(err)
		}
	}
	var pretty strings.Builder
	pretty.WriteString("{\n  \"slices\": {\n")
	for i := range 3 {
		comma := ","
		if i == 2 {
			comma = ""
		}
		fmt.Fprintf(&pretty, "    \"S-%d\": {\n      \"name\": \"n\",\n      \"depends_on\": []\n    }%s\n", i+1, comma)
	}
	if diff := cmp.Diff(pretty.String()+"  }\n}\n", string(text)); diff != "" {
		t.Error(diff)
	}
}

func FuzzInsertEntry(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"slices":{}}`, `{"slices":["a",{"id":"b"}]}`, `{"slices":{"a":null}}`,
		"{\n \"slices\" : [ ]\n , \"edges\":[]}", `{"slices":{"a":"b"},"slices":[1]}`, `[[]]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := insertEntry([]byte(text), newEntry("new.1", "N", "d"))
		if err != nil {
			return
		}
		if !json.Valid([]byte(strings.TrimPrefix(string(got), textline.BOM))) {
			t.Fatalf("%q became %q", text, got)
		}
		checkPieces(t, []byte(text), got)
	})
}

func TestCheckGraph(t *testing.T) {
	tests := []struct {
		name, text string
		ids        string
		wrong      []string // pieces of the error, all of them
	}{
		{"good", `{"slices": {"S-2": {"depends_on": ["s1"]}, "S-1": {}}}`, "S-2 S-1", nil},
		{"empty", `{"slices": {}}`, "", nil},
		{"edges", `{"slices": ["a", "b"], "edges": [{"from": "b", "to": "a"}]}`, "a b", nil},
		{"no slices", `{"nodes": []}`, "", []string{`no "slices"`}},
		{"an unknown dependency", `{"slices": {"S-1": {}, "S-2": {"deps": ["S-3", "x"]}}}`, "", []string{`S-2 depends on "S-3", which is not a slice, did you mean S-1, S-2?`, `"x", which is not a slice`}},
		{"a cycle", `{"slices": {"c": {"deps": ["b"]}, "a": {"deps": ["c"]}, "b": {"deps": ["a"]}}}`, "", []string{"cycle: c → b → a → c"}},
		{"a cycle of edges", `{"slices": ["a", "b"], "edges": [{"from": "b", "to": "a"}, {"from": "a", "to": "b"}]}`, "", []string{"cycle: a → b → a"}},
		{"two cycles", `{"slices": {"a": {"deps": ["b"]}, "b": {"deps": ["a"]}, "c": {"deps": ["d", "a"]}, "d": {"deps": ["c"]}}}`, "",
			[]string{"cycle: a → b → a", "cycle: c → d → c"}},
		{"on itself", `{"slices": {"a": {"deps": ["a"]}}}`, "", []string{"cycle: a → a"}},
		{"twice", `{"slices": [{"id": "a"}, {"id": "a"}]}`, "", []string{"a is there twice"}},
		{"twice, spelt differently", `{"slices": [{"id": "S-1"}, {"id": "s01"}]}`, "", []string{"S-1 and s01 read the same"}},
		{"a bad id", `{"slices": ["../x", "ok"]}`, "", []string{"../x"}},
		{"an edge from nowhere", `{"slices": ["a"], "edges": [{"from": "q", "to": "a"}]}`, "", []string{`an edge begins at "q"`}},
		{"all at once", `{"slices": [{"id": "a", "deps": ["zz"]}, {"id": "a"}, {"id": ".."}]}`, "", []string{"twice", "..", "zz"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids, err := CheckGraph([]byte(tt.text))
			if len(tt.wrong) == 0 {
				if got := strings.Join(ids, " "); err != nil || got != tt.ids {
					t.Errorf("%s, %v", got, err)
				}
				return
			}
			for _, w := range tt.wrong {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("%v doesn't say %q", err, w)
				}
			}
		})
	}
}
