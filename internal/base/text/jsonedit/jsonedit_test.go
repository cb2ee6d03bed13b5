package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	for _, c := range []struct{ name, before, path, value, want string }{
		{"a value", `{"a": 1, "b": 2}`, "b", `3`, `{"a": 1, "b": 3}`},
		{"the same value", `{"a": [1,  2], "b":"\u0041"}`, "b", `"A"`,
			`{"a": [1,  2], "b":"\u0041"}`},
		{"the same list", `{"a": [1,  2]}`, "a", `[1,2]`, `{"a": [1,  2]}`},
		{"another form of a number", `{"a": 1.0}`, "a", `1`, `{"a": 1}`},
		{"a new key", "{\n  \"a\": 1\n}\n", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"a new key between others' lines", "{\n\t\"a\": 1,\n\n\t\"b\": 2\n}", "c", `3`, "{\n\t\"a\": 1,\n\n\t\"b\": 2,\n\n\t\"c\": 3\n}"},
		{"on one line", `{"a":1}`, "b.c", `2`, `{"a":1,"b":{"c":2}}`},
		{"on one line, with blanks", `{"a": 1}`, "b.c", `2`, `{"a": 1, "b": {"c": 2}}`},
		{"in an object", "{\r\n  \"a\": {\r\n    \"b\": 1\r\n  }\r\n}\r\n", "a.c", `2`,
			"{\r\n  \"a\": {\r\n    \"b\": 1,\r\n    \"c\": 2\r\n  }\r\n}\r\n"},
		{"in an object on one line", "{\n  \"a\": {\"b\": 1}\n}", "a.c", `2`, "{\n  \"a\": {\"b\": 1, \"c\": 2}\n}"},
		{"in an object with blanks", "{\n  \"a\": { \"b\": 1 }\n}", "a.c", `2`, "{\n  \"a\": { \"b\": 1, \"c\": 2 }\n}"},
		{"in an empty object", "{\n  \"a\": {}\n}", "a.b", `"x"`, "{\n  \"a\": {\n    \"b\": \"x\"\n  }\n}"},
		{"objects on the way", "{\r\n    \"x\" : 1\r\n}", "a.b", `true`,
			"{\r\n    \"x\" : 1,\r\n    \"a\" : {\r\n        \"b\" : true\r\n    }\r\n}"},
		{"null on the way", `{"a": null}`, "a.b", `1`, `{"a": {"b": 1}}`},
		{"a byte order mark", "\ufeff{\"a\": 1}", "a", `2`, "\ufeff{\"a\": 2}"},
		{"of two keys the last", `{"a": 1, "a": 2}`, "a", `3`, `{"a": 1, "a": 3}`},
		{"a key with an escape", `{"\u0061": 1}`, "a", `2`, `{"\u0061": 2}`},
		{"brackets in strings", `{"x": "}]{[\"", "a": {"y": ["\\", {}], "b": 1}}`, "a.b", `2`, `{"x": "}]{[\"", "a": {"y": ["\\", {}], "b": 2}}`},
		{"beside a number that no float holds", `{"x": 1e400}`, "a", `1`, `{"x": 1e400, "a": 1}`},
		{"nothing", "", "a", `1`, "{\n  \"a\": 1\n}\n"},
		{"an empty object", "{}", "a", `1`, "{\n  \"a\": 1\n}"},
	} {
		d, err := Parse([]byte(c.before))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := d.Set(json.RawMessage(c.value), strings.Split(c.path, ".")...); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, string(d.Bytes())); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	const text = `{"a": [1], "b": "x"}`
	for _, c := range []struct {
		path  []string
		value string
		want  string
	}{
		{[]string{"a", "c"}, "1", `"a" is not an object but [1]`},
		{[]string{"b", "c", "d"}, "1", `"b" is not an object`},
		{[]string{"c"}, "{", "is not JSON"},
		{nil, "1", "no key"},
	} {
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Set(json.RawMessage(c.value), c.path...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.path, err, c.want)
		}
		if got := string(d.Bytes()); got != text {
			t.Errorf("%v changed the text all the same: %s", c.path, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": 1,\n}": "line 3", "[1]": "not a JSON object", "null": "not a JSON object", `{"a": 1} x`: "line 1",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct{ before, path, want string }{
		{`{"a": 1, "b": 2, "c": 3}`, "a", `{"b": 2, "c": 3}`},
		{`{"a": 1, "b": 2, "c": 3}`, "b", `{"a": 1, "c": 3}`},
		{`{"a": 1, "b": 2, "c": 3}`, "c", `{"a": 1, "b": 2}`},
		{"{\n  \"a\": {\n    \"b\": 1\n  }\n}", "a.b", "{\n  \"a\": {}\n}"},
		{`{"a": 1, "b": 2, "a": 3}`, "a", `{"b": 2}`},
		{`{"a": 1}`, "b", `{"a": 1}`},
		{`{"a": 1}`, "a.b", `{"a": 1}`},
	} {
		d, err := Parse([]byte(c.before))
		if err != nil {
			t.Fatal(err)
		}
		if removed := d.Remove(strings.Split(c.path, ".")...); removed != (c.before != c.want) {
			t.Errorf("%s without %s: removed is %v", c.before, c.path, removed)
		}
		if got := string(d.Bytes()); got != c.want {
			t.Errorf("%s without %s: %s, want %s", c.before, c.path, got, c.want)
		}
	}
}

func TestGetAndKeys(t *testing.T) {
	d, err := Parse([]byte(` {"b": {"y" : 1 , "x":[ ]}, "a": "t", "b2": null} `))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"b": `{"y" : 1 , "x":[ ]}`, "b.y": "1", "b.x": "[ ]",
		"a": `"t"`, "b2": "null"} {
		if got, ok := d.Get(strings.Split(path, ".")...); !ok || string(got) != want {
			t.Errorf("%s: %s %v, want %s", path, got, ok, want)
		}
	}
	for _, path := range []string{"c", "a.b", "b.z", "b2.x"} {
		if got, ok := d.Get(strings.Split(path, ".")...); ok {
			t.Errorf("%s: %s, want nothing", path, got)
		}
	}
	if diff := cmp.Diff([]string{"b", "a", "b2"}, d.Keys()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"y", "x"}, d.Keys("b")); diff != "" {
		t.Error(diff)
	}
	if keys := d.Keys("a"); keys != nil {
		t.Errorf("a text has the keys %v", keys)
	}
}

// anyObject draws an object of objects, and a text of it in some layout.
func anyObject(t *rapid.T) (map[string]any, []byte) {
	key := rapid.SampledFrom([]string{"a", "b", "c", `q"`, "ü", ""})
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("}\"{,\\"),
		rapid.Just[any](-1.5e3), rapid.Just[any]([]any{1.0, "]", map[string]any{"a": "{"}}))
	object := rapid.MapOfN(key, leaf, 0, 3)
	v := map[string]any{}
	for k, inner := range rapid.MapOfN(key, object, 0, 4).Draw(t, "objects") {
		v[k] = inner
	}
	for k, value := range rapid.MapOfN(key, leaf, 0, 2).Draw(t, "leaves") {
		v[k] = value
	}
	var text []byte
	if indent := rapid.SampledFrom([]string{"", "  ", "\t"}).Draw(t, "indent"); indent != "" {
		text, _ = json.MarshalIndent(v, "", indent)
	} else {
		text, _ = json.Marshal(v)
	}
	if rapid.Bool().Draw(t, "crlf") {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return v, text
}

func decode(t interface{ Fatalf(string, ...any) }, text []byte) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// Setting or removing a key changes nothing else, and can be undone.
func TestEditsOfAnyObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, text := anyObject(t)
		want := decode(t, text)
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		outer, inner := rapid.SampledFrom([]string{"a", "b", `q"`, "new"}).Draw(t, "outer"), rapid.SampledFrom([]string{"a", "c", "x\n"}).Draw(t, "inner")
		object, isObject := want[outer].(map[string]any)
		err = d.Set(json.RawMessage(`"set"`), outer, inner)
		if (err != nil) != (want[outer] != nil && !isObject) {
			t.Fatalf("setting in %v: %v", want[outer], err)
		}
		if err != nil {
			return
		}
		if object == nil {
			object = map[string]any{}
			want[outer] = object
		}
		_, had := object[inner]
		object[inner] = "set"
		if diff := cmp.Diff(want, decode(t, d.Bytes())); diff != "" {
			t.Fatalf("%s\n%s", d.Bytes(), diff)
		}
		if had || !isObject || len(object) == 1 {
			return
		}
		if d.Remove(outer, inner); !bytes.Equal(d.Bytes(), text) {
			t.Fatalf("set and removed:\n%s\nbefore:\n%s", d.Bytes(), text)
		}
	})
}

func FuzzSet(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a": {"b": [1, {"c": "}"}]}}`, "\ufeff{\r\n\t\"a\":null\r\n}", "\ufeff\ufeff{}", `{"a":1,"a":{}}`, ` {"\u0061":{"b":-1.5e+3}} `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		before, ok := d.Get("a", "b")
		if err := d.Set(json.RawMessage(`[1, "x"]`), "a", "b"); err != nil {
			if got := d.Bytes(); !bytes.Equal(got, text) {
				t.Fatalf("refused, and yet %q became %q", text, got)
			}
			return
		}
		again, err := Parse(d.Bytes())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, d.Bytes(), err)
		}
		if got, _ := again.Get("a", "b"); !sameJSON(got, []byte(`[1,"x"]`)) {
			t.Fatalf("%q became %q", text, d.Bytes())
		}
		if ok {
			if err := d.Set(before, "a", "b"); err != nil || !bytes.Equal(d.Bytes(), text) {
				t.Fatalf("%q came back as %q (%v)", text, d.Bytes(), err)
			}
		}
	})
}
