package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScannerKeepsOrderAndPlaces(t *testing.T) {
	text := "\ufeff{\"b\": [1, \"x\" , null], \"a\":{\"\\u0061\" : true}, \"b\": -1.50}"
	type place struct{ Key, From, Value string }
	var got []place
	for _, m := range NewScanner([]byte(text)).Members() {
		got = append(got, place{m.Key, text[m.From:m.Value], text[m.Value:m.End]})
	}
	want := []place{{"b", `"b": `, `[1, "x" , null]`}, {"a", `"a":`, `{"\u0061" : true}`},
		{"b", `"b": `, `-1.50`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	s := NewScanner([]byte(text))
	s.Seek(strings.Index(text, "["))
	var elements []string
	for _, m := range s.Members() {
		elements = append(elements, m.Key+" "+text[m.Value:m.End])
	}
	if diff := cmp.Diff([]string{"0 1", `1 "x"`, "2 null"}, elements); diff != "" ||
		s.Err() != nil {
		t.Error(diff, s.Err())
	}
	if next := text[s.Pos():]; !strings.HasPrefix(next, `, "a"`) {
		t.Errorf("behind the list comes %q", next)
	}
}

func TestScannerScalars(t *testing.T) {
	text := `["a\u0041\"", 1.50, true, null, {"x": [1]}, [], "` + "\xff\xfe" + `"]`
	var got []string
	s := NewScanner([]byte(text))
	s.Array(func() { got = append(got, s.Scalar()) })
	s.End()
	if diff := cmp.Diff([]string{`aA"`, "1.50", "true", "", "", "", "\ufffd\ufffd"},
		got); diff != "" || s.Err() != nil {
		t.Error(diff, s.Err())
	}
}

func TestScannerErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": [\n  {\"id\": }\n]}":         "line 3 (byte 18): unexpected '}'",
		"":                                      "unexpected end",
		"{\"a\":[]":                             "unexpected end",
		"{}x":                                   "unexpected 'x'",
		"{\"a\":\"\\q\"}":                       "an unknown escape",
		"\"\\u00x0\"":                           "a wrong \\u escape",
		"\"a\nb\"":                              "a control character",
		strings.Repeat("[", 20000):              "nested too deeply",
		`[{"a": [{"b":1]]`:                      "unexpected ']'",
		"\ufeff\n[1, 2\n":                       "line 3 (byte 10): unexpected end",
		`{"a": 1 "b": 2}`:                       `unexpected '"'`,
		`[01]`:                                  "unexpected '0'",
		strings.Repeat(`{"a":`, 10001) + "{}":   "nested too deeply",
		"[" + strings.Repeat("1,", 3) + "\x00]": `unexpected '\x00'`,
	} {
		s := NewScanner([]byte(text))
		s.Skip()
		s.End()
		if s.Err() == nil || !strings.Contains(s.Err().Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, s.Err(), want)
		}
	}
}

// The scanner accepts exactly what encoding/json accepts, and reads the same values from it.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":["c",1.5e0,true,false,null,-0.1]},"a":"\u00e4\n"}`,
		`[01]`, "\"\xff\"", " [ { } ] "} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &Scanner{text: text}
		s.Skip()
		s.End()
		if (s.Err() == nil) != json.Valid(text) {
			t.Fatalf("%q: the scanner says %v, json.Valid %v", text, s.Err(), json.Valid(text))
		}
		if s.Err() != nil || bytes.TrimSpace(text)[0] != '{' {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		for _, m := range (&Scanner{text: text}).Members() {
			got[m.Key] = text[m.Value:m.End]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
