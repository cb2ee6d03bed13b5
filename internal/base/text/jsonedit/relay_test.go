package jsonedit

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetInLists(t *testing.T) {
	for _, c := range []struct{ before, path, value, want string }{
		{`{"a": [1, {"b": 2}, 3]}`, "a.1.b", `4`, `{"a": [1, {"b": 4}, 3]}`},
		{`{"a": [1, 2]}`, "a.2", `3`, `{"a": [1, 2, 3]}`},
		{`{"a": [ ]}`, "a.0", `"x"`, `{"a": ["x"]}`},
		{"{\n  \"a\": [\n    1\n  ]\n}", "a.1", `2`, "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		{"{\n  \"a\": []\n}", "a.0.b", `2`, "{\n  \"a\": [\n    {\n      \"b\": 2\n    }\n  ]\n}"},
	} {
		d, err := Parse([]byte(c.before))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Set(json.RawMessage(c.value), strings.Split(c.path, ".")...); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, string(d.Bytes())); diff != "" {
			t.Errorf("%s: %s", c.before, diff)
		}
	}
	d, _ := Parse([]byte(`{"a": [1]}`))
	for _, place := range []string{"2", "-1", "01", "x", ""} {
		if err := d.Set(json.RawMessage("2"), "a", place); err == nil ||
			string(d.Bytes()) != `{"a": [1]}` {
			t.Errorf("place %q: %v, %s", place, err, d.Bytes())
		}
	}
	d, _ = Parse([]byte(`{"a": [1, 2, 3]}`))
	if !d.Remove("a", "1") || string(d.Bytes()) != `{"a": [1, 3]}` {
		t.Errorf("without its second element: %s", d.Bytes())
	}
}

// relayTexts have all kinds of layouts; node agrees on those in which it would change nothing.
var relayTexts = []string{
	`{}`, ` { "a" : [ ] , "b":{ } } `, "{\"a\":\r\n[1,[2,{\"c\":null}],\"x, y: {}\"], \"z\":true,\"b\":-1.5}",
	`{"s":"quote \" backslash \\ slash / tab \t é  😀 <&>","t":"` + "\u2028\u2029\u007f\u0080" + `"}`,
	"{\"a\":[[],[{}],[[1]]]}",
}

func TestRelayIsWhatNodeWrites(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here")
	}
	for _, text := range relayTexts {
		cmd := exec.Command(node, "-e", `process.stdout.write(JSON.stringify(JSON.parse(require("fs").readFileSync(0,"utf8")),null,2))`)
		cmd.Stdin = strings.NewReader(text)
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d.Relay()
		if diff := cmp.Diff(string(want),
			strings.ReplaceAll(string(d.Bytes()), "\r\n", "\n")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	const odd = "\"\\\b\f\n\r\t\u0000\u001f\u007f\u0085\u2028\u2029\ufeff<>&'é😀"
	cmd := exec.Command(node, "-e",
		`process.stdout.write(JSON.stringify(require("fs").readFileSync(0,"utf8")))`)
	cmd.Stdin = strings.NewReader(odd)
	if want, err := cmd.Output(); err != nil || string(want) != Quote(odd) {
		t.Errorf("node quotes %s (%v), we %s", want, err, Quote(odd))
	}
}

// Relay keeps what node would change: forms of numbers and strings, duplicate keys, the order
// of keys that look like numbers, line ends, a byte order mark, the end of the file.
func TestRelayKeeps(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1.0,"10":1e3,"2":-0,"a":12345678901234567890,"b":"\u0041\/"}`: "{\n  \"b\": 1.0,\n  \"10\": 1e3,\n  \"2\": -0,\n  \"a\": 12345678901234567890,\n  \"b\": \"\\u0041\\/\"\n}",
		"\ufeff{\r\n\"a\":[1]\r\n}\r\n":                                     "\ufeff{\r\n  \"a\": [\r\n    1\r\n  ]\r\n}\r\n",
		"{\"a\":1}\n\n":                                                     "{\n  \"a\": 1\n}\n",
		"{\"a\":\"\xff\"}":                                                  "{\n  \"a\": \"\xff\"\n}",
	} {
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			d.Relay()
			if diff := cmp.Diff(want, string(d.Bytes())); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
		}
	}
}

func FuzzRelay(f *testing.F) {
	for _, text := range relayTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		body := func() string {
			var b bytes.Buffer
			if err := json.Compact(&b, bytes.TrimPrefix(d.Bytes(), []byte(bom))); err != nil {
				t.Fatalf("%q became %q: %v", text, d.Bytes(), err)
			}
			return b.String()
		}
		before := body()
		d.Relay()
		if after := body(); after != before {
			t.Fatalf("%q became %q", before, after)
		}
		once := d.Bytes()
		if d.Relay(); !bytes.Equal(once, d.Bytes()) {
			t.Fatalf("%q isn't stable: %q", once, d.Bytes())
		}
	})
}
