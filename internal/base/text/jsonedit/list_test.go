package jsonedit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct{ name, before, path, value, want string }{
		{"to lines", "{\n  \"a\": [\n    1\n  ]\n}\n", "a", `{"b":[2]}`,
			"{\n  \"a\": [\n    1,\n    {\n      \"b\": [\n        2\n      ]\n    }\n  ]\n}\n"},
		{"on one line", `{"a":[1,2],"b":3}`, "a", `{"c": 4}`, `{"a":[1,2,{"c":4}],"b":3}`},
		{"on one line, with blanks", `{"a": [1, 2]}`, "a", `3`, `{"a": [1, 2, 3]}`},
		{"to an empty list", "{\r\n\t\"a\": []\r\n}", "a", `1`, "{\r\n\t\"a\": [\r\n\t\t1\r\n\t]\r\n}"},
		{"to no list", "{\n  \"x\": 1\n}", "h.s", `{"a":1}`,
			"{\n  \"x\": 1,\n  \"h\": {\n    \"s\": [\n      {\n        \"a\": 1\n      }\n    ]\n  }\n}"},
		{"to null", `{"a": null}`, "a", `1`, `{"a": [1]}`},
		{"behind brackets in strings", `{"a": ["]", {"b": "["}]}`, "a", `"x"`, `{"a": ["]", {"b": "["}, "x"]}`},
	} {
		d, err := Parse([]byte(c.before))
		if err != nil {
			t.Fatal(err)
		}
		path := strings.Split(c.path, ".")
		if err := d.Append(json.RawMessage(c.value), path...); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, string(d.Bytes())); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		n := len(d.Elements(path...))
		if !d.RemoveElement(n-1, path...) || d.RemoveElement(n-1, path...) {
			t.Errorf("%s: the last of %d isn't removed once", c.name, n)
		}
		if _, was := mustParse(t, c.before).list(path); was && string(d.Bytes()) != c.before {
			t.Errorf("%s: removed again it is %q", c.name, d.Bytes())
		}
	}
}

func mustParse(t *testing.T, text string) *Doc {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRemoveElement(t *testing.T) {
	const text = `{"a": [1, {"b": [2]},  3]}`
	for i, want := range []string{`{"a": [{"b": [2]},  3]}`, `{"a": [1, 3]}`,
		`{"a": [1, {"b": [2]}]}`, text} {
		d := mustParse(t, text)
		d.RemoveElement(i, "a")
		if got := string(d.Bytes()); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	d := mustParse(t, `{"a": {"b": 1}}`)
	for _, path := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}, {}} {
		if err := d.Append(json.RawMessage("1"), path...); err == nil {
			t.Errorf("%v: appended", path)
		}
	}
	if err := d.Append(json.RawMessage("{"), "x"); err == nil {
		t.Error("appended what is no JSON")
	}
}
