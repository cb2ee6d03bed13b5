package install

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"greenlight/internal/jsonedit"
)

func settings(t *testing.T, text string) *jsonedit.Doc {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// What is put in comes out again, and nothing else in the file has changed a byte.
func TestStatusLineInAndOut(t *testing.T) {
	for _, text := range []string{
		"{}", "{\n\t\"model\": \"opus\",\r\n\t\"hooks\": {}\n}\n", `{"permissions":{"allow":[ "Bash(ls:*)" ]} , "x":1.50E2}`,
	} {
		doc := settings(t, text)
		if was, err := PutStatusLine(doc, false); was != nil || err != nil {
			t.Fatal(was, err)
		}
		if have, _ := doc.Get("statusLine", "command"); string(have) != `"gl statusline"` || !json.Valid(doc.Bytes()) {
			t.Errorf("%s", doc.Bytes())
		}
		again := string(doc.Bytes())
		if _, err := PutStatusLine(doc, false); err != nil || string(doc.Bytes()) != again {
			t.Errorf("the second time: %v, %s", err, doc.Bytes())
		}
		if ok, err := DropStatusLine(doc, nil); !ok || err != nil || string(doc.Bytes()) != text {
			t.Errorf("%v %v: %q, want %q", ok, err, doc.Bytes(), text)
		}
	}
}

func TestStatusLineOfSomebodyElse(t *testing.T) {
	const theirs = `{"statusLine": {"type": "command", "command": "~/bin/mine --x", "padding": 0}}`
	doc := settings(t, theirs)
	var other *OtherStatusLineError
	if _, err := PutStatusLine(doc, false); !errors.As(err, &other) || !strings.Contains(err.Error(), `"~/bin/mine --x"`) || string(doc.Bytes()) != theirs {
		t.Errorf("%v, %s", err, doc.Bytes())
	}
	if ok, err := DropStatusLine(doc, nil); ok || err != nil || string(doc.Bytes()) != theirs {
		t.Errorf("took theirs out: %s", doc.Bytes())
	}
	was, err := PutStatusLine(doc, true)
	if err != nil || !ourStatusLine(must(doc.Get("statusLine"))) {
		t.Fatal(err, string(doc.Bytes()))
	}
	if ok, err := DropStatusLine(doc, was); !ok || err != nil || string(doc.Bytes()) != theirs {
		t.Errorf("%v %v: %s", ok, err, doc.Bytes())
	}
}

func must(raw json.RawMessage, _ bool) json.RawMessage { return raw }

// Ours with a flag, or by its path, is ours; what only looks like it isn't.
func TestStatusLineOurs(t *testing.T) {
	for command, want := range map[string]bool{"gl statusline --compact": true, "/opt/gl statusline": true, "gl status": false, "gl": false,
		"": false, "mygl statusline": false, "sh -c 'gl statusline'": false} {
		raw, _ := json.Marshal(map[string]string{"command": command})
		if got := ourStatusLine(raw); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	for _, odd := range []string{`"gl statusline"`, "[]", "7", `{"command": 7}`} {
		if doc := settings(t, `{"statusLine": `+odd+`}`); ourStatusLine(json.RawMessage(odd)) {
			t.Error(odd)
		} else if _, err := PutStatusLine(doc, false); err == nil {
			t.Errorf("replaced %s", odd)
		}
	}
}
