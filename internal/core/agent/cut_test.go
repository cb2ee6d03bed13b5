package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"greenlight/internal/base/text/lines"
)

// The start of a JSON object, cut anywhere, becomes JSON with everything before the cut.
func TestCloseJSON(t *testing.T) {
	const text = ` {"a": [1, -2.5e3, {"b": "x\"\\\u00e4y", "c": [] }, true, null], "d\"": {"e": {}}, "f": "end" }`
	for n := 2; n <= len(text); n++ {
		got := closeJSON([]byte(text[1:n]))
		if !json.Valid(got) {
			t.Errorf("%s became %s", text[1:n], got)
		}
	}
	for cut, want := range map[string]string{
		`{"type":"result","result":"a long te`: `{"type":"result","result":"a long te"}`,
		`{"a":"b\`:                             `{"a":"b"}`,
		`{"a":"b\u00`:                          `{"a":"b"}`,
		`{"a":1,"b`:                            `{"a":1}`,
		`{"a":1,"b":`:                          `{"a":1}`,
		`{"a":1,"b":12`:                        `{"a":1}`,
		`{"a":[{"b":["c"`:                      `{"a":[{"b":["c"]}]}`,
		`{"a":[{"b":tru`:                       `{"a":[{}]}`,
		`{]`:                                   `{]`,
	} {
		if got := string(closeJSON([]byte(cut))); got != want {
			t.Errorf("%s became %s, want %s", cut, got, want)
		}
	}
}

// An event that is too long counts as far as it was read, with a note.
func TestPiece(t *testing.T) {
	d := NewDecoder(StreamClaude)
	result := `{"type":"result","subtype":"success","is_error":false,"num_turns":3,"result":"` + strings.Repeat("x", 1000)
	events := d.Piece(lines.Piece{Text: []byte(result), More: true})
	if len(events) != 2 || events[0].Kind != KindResult ||
		!strings.Contains(events[1].Text, "truncated") {
		t.Errorf("events %q", events)
	}
	if sum := d.Summary(); sum.Result == nil || sum.Result.Turns != 3 {
		t.Errorf("result %+v", sum.Result)
	}
	if events := d.Piece(lines.Piece{Text: []byte(`{"type":"result"`), Rest: true}); events != nil {
		t.Errorf("the rest of a line is %q", events)
	}
	if events := d.Piece(lines.Piece{Text: []byte("plain"), More: true}); len(events) != 2 ||
		events[0].Text != "plain" {
		t.Errorf("events %q", events)
	}
}

func FuzzCloseJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, -2.5e3, {"b": "x\"\\\u00e4y", "c": [] }, true, null], "d\"": {"e": {}}}`), 20)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		if n < 1 || n > len(text) || text[0] != '{' || !json.Valid(text) {
			closeJSON(text)
			return
		}
		if got := closeJSON(text[:n]); !json.Valid(got) {
			t.Errorf("%q became %q", text[:n], got)
		}
	})
}
