package frontmatter

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/text/textline"
)

// rules are the rules of these tests: some keys with words, one with a list.
var rules = Rules{
	Token: func(key string) bool {
		return strings.Contains(" id status step tests session deps ", " "+key+" ")
	},
	List:  func(key string) bool { return key == "deps" },
	Lists: "deps",
}

func mustParse(t interface{ Fatalf(string, ...any) }, text string) *File {
	f, err := ParseFile([]byte(text), rules)
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return f
}

func TestParseFile(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
		corrupt    string // part of the error
	}{
		{"plain", "---\nid: S-1\nstatus: pending\n---\n", map[string]string{"id": "S-1", "status": "pending"}, ""},
		{"byte order mark", "\ufeff---\nid: S-1\n---\n", map[string]string{"id": "S-1"}, ""},
		{"crlf", "---\r\nid: S-1\r\n---\r\nbody\r\n", map[string]string{"id": "S-1"}, ""},
		{"mixed ends", "---\r\nid: S-1\nstep: x\r\n---\n", map[string]string{"id": "S-1", "step": "x"}, ""},
		{"leading blank lines", "\n \n---\nid: S-1\n---\n", map[string]string{"id": "S-1"}, ""},
		{"no final newline", "---\nid: S-1\n---", map[string]string{"id": "S-1"}, ""},
		{"empty value before the end", "---\ndeps:\n---\n", map[string]string{"deps": ""}, ""},
		{"no space", "---\nid:S-1\n---\n", map[string]string{"id": "S-1"}, ""},
		{"space before the colon", "---\nid : S-1\n---\n", map[string]string{"id": "S-1"}, ""},
		{"comments and blank lines", "---\n# a\n\n  # b\nid: S-1\n---\n", map[string]string{"id": "S-1"}, ""},
		{"trailing comment", "---\nstatus: failed # sadly\ntests: 3 #x\n---\n", map[string]string{"status": "failed", "tests": "3"}, ""},
		{"only a comment", "---\nsession: # none yet\n---\n", map[string]string{"session": ""}, ""},
		{"no comment in free text", "---\nname: fix #12 # now\n---\n", map[string]string{"name": "fix #12 # now"}, ""},
		{"quotes", "---\na: \"x \\\"y\\\" \\\\\"\nb: 'it''s'\nc: \"open\nd: \"p\" q\ne: \"v\" # c\n---\n",
			map[string]string{"a": `x "y" \`, "b": "it's", "c": `"open`, "d": `"p" q`, "e": "v"},
			""},
		{"colon in the value", "---\nupdated: 2026-01-02T03:04:05Z\n---\n", map[string]string{"updated": "2026-01-02T03:04:05Z"}, ""},
		{"first of two counts", "---\nid: a\nid: b\n---\n", map[string]string{"id": "a"}, ""},
		{"case matters", "---\nID: a\n---\n", map[string]string{"ID": "a", "id": "<none>"}, ""},

		{"empty", "", nil, "no frontmatter"},
		{"no frontmatter", "# S-1\n", nil, "no frontmatter"},
		{"not closed", "---\nid: S-1\n", nil, "not closed"},
		{"only the opening", "---", nil, "not closed"},
		{"no colon", "---\nid: a\nhello\n---\n", nil, "line 3"},
		{"indented", "---\nid: a\n  sub: b\n---\n", nil, "indented"},
		{"foreign list", "---\nfiles:\n- a\n---\n", nil, "list"},
		{"list under a value", "---\ndeps: a\n- b\n---\n", nil, "list"},
		{"empty key", "---\n: a\n---\n", nil, "line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ParseFile([]byte(tt.text), rules)
			if tt.corrupt != "" {
				if err == nil || !strings.Contains(err.Error(), tt.corrupt) {
					t.Fatalf("error %v, want one with %q", err, tt.corrupt)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range tt.want {
				got, ok := f.Get(key)
				if !ok {
					got = "<none>"
				}
				if got != want {
					t.Errorf("%s = %q, want %q", key, got, want)
				}
			}
			if got := string(f.Bytes()); got != tt.text {
				t.Errorf("Bytes:\n%q, want\n%q", got, tt.text)
			}
		})
	}
}

func TestDuplicateKeyWarns(t *testing.T) {
	if w := mustParse(t, "---\nid: a\nid: b\n---\n").Warnings(); len(w) != 1 ||
		!strings.Contains(w[0], `"id"`) {
		t.Errorf("warnings: %q", w)
	}
}

func TestSet(t *testing.T) {
	tests := []struct{ name, text, key, value, want string }{
		{"value", "---\nstatus: a\nx: y\n---\nb", "status", "b", "---\nstatus: b\nx: y\n---\nb"},
		{"keeps the comment", "---\nstatus:  a  # c\n---\n", "status", "b", "---\nstatus:  b  # c\n---\n"},
		{"keeps double quotes", "---\nsession: \"\"\n---\n", "session", "t", "---\nsession: \"t\"\n---\n"},
		{"keeps single quotes", "---\nname: 'a'\n---\n", "name", "it's", "---\nname: 'it''s'\n---\n"},
		{"keeps crlf", "---\r\nstatus: a\r\n---\r\n", "status", "b", "---\r\nstatus: b\r\n---\r\n"},
		{"keeps no space", "---\nstatus:a\n---\n", "status", "b", "---\nstatus:b\n---\n"},
		{"fills an empty one", "---\nsession:\n---\n", "session", "t", "---\nsession: t\n---\n"},
		{"fills one before a comment", "---\nsession: # who\n---\n", "session", "t", "---\nsession: t # who\n---\n"},
		{"clears", "---\nsession: t\n---\n", "session", "", "---\nsession:\n---\n"},
		{"clears before a comment", "---\nsession: t # c\n---\n", "session", "", "---\nsession:  # c\n---\n"},
		{"adds", "---\nid: a\n---\nbody", "session", "t", "---\nid: a\nsession: t\n---\nbody"},
		{"adds with crlf", "---\r\nid: a\r\n---\r\n", "x", "t", "---\r\nid: a\r\nx: t\r\n---\r\n"},
		{"adds to nothing", "---\r\n---\n", "x", "t", "---\r\nx: t\r\n---\n"},
		{"quotes what needs it", "---\nname: a\n---\n", "name", `x #1 "y"`, "---\nname: \"x #1 \\\"y\\\"\"\n---\n"},
		{"quotes space", "---\nname: a\n---\n", "name", " x", "---\nname: \" x\"\n---\n"},
		{"same value", "---\nname:   'a' # c\n---\n", "name", "a", "---\nname:   'a' # c\n---\n"},
		{"first of two", "---\nid: a\nid: b\n---\n", "id", "c", "---\nid: c\nid: b\n---\n"},
		{"a block list", "---\ndeps:\n  - a\n---\n", "deps", "b,c", "---\ndeps:\n  - b\n  - c\n---\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustParse(t, tt.text)
			if err := f.Set(tt.key, tt.value); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(f.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, kv := range [][2]string{{"a", "x\ny"}, {"a", "x\ry"}, {"a", "\x1b[0m"}, {"a", "\x00"}, {"", "x"}, {"a b", "x"}, {"-", "x"}, {"a:", "x"}, {"#a", "x"}} {
		f := mustParse(t, "---\nid: a\n---\n")
		if err := f.Set(kv[0], kv[1]); err == nil {
			t.Errorf("Set(%q, %q) was accepted", kv[0], kv[1])
		}
		if string(f.Bytes()) != "---\nid: a\n---\n" {
			t.Errorf("Set(%q, %q) changed the file", kv[0], kv[1])
		}
	}
}

func TestList(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"deps: S-1,S-2", []string{"S-1", "S-2"}},
		{"deps: S-1, S-2 # both", []string{"S-1", "S-2"}},
		{`deps: ["S-1", 'S-2']`, []string{"S-1", "S-2"}},
		{`deps: "S-1, S-2"`, []string{"S-1", "S-2"}},
		{`deps: "S-1","S-2"`, []string{"S-1", "S-2"}},
		{"deps: [S-1 , S-1,,]", []string{"S-1", "S-1"}},
		{`deps: ["a,b"]`, []string{"a,b"}},
		{"deps:", nil}, {"deps: []", nil}, {`deps: ""`, nil}, {"deps: # later", nil},
		{"other: x", nil},
		{"deps:\n- S-1\n- S-2", []string{"S-1", "S-2"}},
		{"deps: # these\n  - \"S-1\" # why\n\n  # and\n  - S-2 # that\n  -", []string{"S-1", "S-2"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want,
			mustParse(t, "---\n"+tt.line+"\n---\n").List("deps")); diff != "" {
			t.Errorf("%q: %s", tt.line, diff)
		}
	}
}

func TestKeys(t *testing.T) {
	f := mustParse(t, "---\nb : 1\n# no: key\na:\nb: 2\ndeps:\n- x: y\n---\nbody: 3\n")
	if diff := cmp.Diff([]string{"b", "a", "deps"}, f.Keys()); diff != "" || f.Has("body") ||
		!f.Has("a") || !f.IsBlock("deps") || f.IsBlock("a") {
		t.Error(diff)
	}
	if f.Body() != "body: 3\n" || f.Head()+f.Rest != string(f.Bytes()) {
		t.Errorf("body %q, head %q", f.Body(), f.Head())
	}
}

func TestSetList(t *testing.T) {
	tests := []struct {
		line  string
		items []string
		want  string
	}{
		{"deps: a", []string{"a", "b"}, "deps: a,b"},
		{"deps: a, b # c", []string{"a"}, "deps: a # c"},
		{"deps: a, b", []string{"c", "d"}, "deps: c, d"},
		{`deps: ["a", "b"]`, []string{"c"}, `deps: ["c"]`},
		{`deps: ['a','b']`, []string{"c", "d"}, `deps: ['c','d']`},
		{`deps: [a]`, []string{"c", "d"}, `deps: [c, d]`},
		{`deps: []`, []string{"c", "d"}, `deps: ["c", "d"]`},
		{`deps: ["a"]`, nil, `deps: []`},
		{"deps: a", nil, "deps:"},
		{"deps:", []string{"a"}, "deps: a"},
		{"deps: # c", []string{"a"}, "deps: a # c"},
		{`deps: "a, b"`, []string{"c", "d"}, `deps: "c, d"`},
		{"deps: a,b", []string{"a", "b"}, "deps: a,b"},
		{"deps:\n  - 'a'\n  # why\n  - 'b'", []string{"c", "d"}, "deps:\n  - 'c'\n  - 'd'\n  # why"},
		{"deps:\n- a\nid: x", nil, "deps:\nid: x"},
		{"id: x", []string{"a", "b"}, "id: x\ndeps: a,b"},
	}
	for _, tt := range tests {
		f := mustParse(t, "---\n"+tt.line+"\n---\n")
		if err := f.SetList("deps", tt.items); err != nil {
			t.Errorf("%q: %v", tt.line, err)
		}
		if diff := cmp.Diff("---\n"+tt.want+"\n---\n", string(f.Bytes())); diff != "" {
			t.Errorf("%q: %s", tt.line, diff)
		}
	}
	for _, bad := range []string{"", "a,b", "a b", "[", "x\n", `"`, "#"} {
		if mustParse(t, "---\ndeps: a\n---\n").SetList("deps", []string{bad}) == nil {
			t.Errorf("item %q was accepted", bad)
		}
	}
}

// genFile draws a slice file as people and agents write it.
func genFile(t *rapid.T) string {
	eol := func() string { return rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol") }
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", textline.BOM, "\n", "\r\n \n"}).Draw(t, "pre"))
	b.WriteString("---" + eol())
	for _, key := range []string{"id", "status", "name", "session", "x-y", "deps"} {
		switch rapid.IntRange(0, 9).Draw(t, "line") {
		case 0:
			b.WriteString("# comment" + eol())
		case 1:
			continue
		case 2:
			b.WriteString(eol())
		}
		value := rapid.SampledFrom([]string{"", " ", " v", "v", " 'v'", ` "v"`, " v # c", " # c", ` "v" # c`, " it's", ` "a\"b"`, "  v  ", " [a, b]"}).Draw(t, "value")
		b.WriteString(key + ":" + value + eol())
		if key == "deps" && value == "" && rapid.Bool().Draw(t, "block") {
			b.WriteString("  - a" + eol() + "  - b" + eol())
		}
	}
	b.WriteString("---")
	b.WriteString(rapid.SampledFrom([]string{"", "\n", "\r\n", "\n\n# S-1: T\n\n## Why\nx\n", "\nno end"}).Draw(t, "rest"))
	return b.String()
}

var genKey = rapid.SampledFrom([]string{"id", "status", "name", "session", "x-y", "new", "other"})

var genValue = rapid.OneOf(rapid.StringMatching(`[ -~äß—#"'\\:\[\]-]{0,12}`), rapid.SampledFrom([]string{"", "none", `"`, "'", "''", `\"`, " #", "a #b", "[]", "- x"}))

func TestSetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genFile(t)
		f := mustParse(t, text)
		if string(f.Bytes()) != text {
			t.Fatalf("Bytes of %q: %q", text, f.Bytes())
		}
		key, value := genKey.Draw(t, "key"), genValue.Draw(t, "value")
		old, had := f.Get(key)
		if err := f.Set(key, value); err != nil {
			t.Fatal(err)
		}
		again := mustParse(t, string(f.Bytes()))
		if got, ok := again.Get(key); !ok || got != value {
			t.Fatalf("set %q to %q in %q: got %q from %q", key, value, text, got, f.Bytes())
		}
		if had && old == value && string(f.Bytes()) != text {
			t.Fatalf("a change of nothing made %q of %q", f.Bytes(), text)
		}
		onlyLine(t, text, string(f.Bytes()), had)
	})
}

// onlyLine fails unless exactly one line differs: changed if the key was there, else added.
func onlyLine(t *rapid.T, before, after string, had bool) {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if had && (len(a) > 1 || len(b) != len(a)) || !had && (len(a) != 0 || len(b) > 1) {
		t.Fatalf("more than a line changed:\n%q\n%q", before, after)
	}
}

func TestEditsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genFile(t)
		k1 := rapid.SampledFrom([]string{"id", "status", "session"}).Draw(t, "k1")
		k2 := rapid.SampledFrom([]string{"name", "x-y", "new"}).Draw(t, "k2")
		v1, v2 := genValue.Draw(t, "v1"), genValue.Draw(t, "v2")
		one, two := mustParse(t, text), mustParse(t, text)
		_, _ = one.Set(k1, v1), one.Set(k2, v2)
		_, _ = two.Set(k2, v2), two.Set(k1, v1)
		for _, k := range []string{"id", "status", "session", "name", "x-y", "new", "deps"} {
			a, okA := one.Get(k)
			b, okB := two.Get(k)
			if a != b || okA != okB {
				t.Fatalf("%q: %q and %q", k, a, b)
			}
		}
		_, had1 := mustParse(t, text).Get(k1)
		_, had2 := mustParse(t, text).Get(k2)
		if (had1 || had2) && !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Fatalf("%q and %q", one.Bytes(), two.Bytes())
		}
	})
}

func TestSetListProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := mustParse(t, genFile(t))
		want := rapid.SliceOfNDistinct(rapid.StringMatching(`S-[1-9]{1,3}`), 0, 5, rapid.ID).Draw(t,
			"items")
		if err := f.SetList("deps", want); err != nil {
			t.Fatal(err)
		}
		if got := mustParse(t, string(f.Bytes())).List("deps"); !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", f.Bytes(), got, want)
		}
	})
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{
		"---\nid: S-1\nstatus: pending # c\ndeps: [\"S-2\"]\n---\n\n# S-1: Name\n\n## Why\n- x\n",
		"\ufeff\r\n---\r\nid: S-1\r\ndeps:\r\n  - a\r\n---\r\n", "---\nname: 'a''b'\n---", "---\n---\n```\n# x\n",
	} {
		f.Add([]byte(seed), "status", "x # y")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		file, err := ParseFile(data, rules)
		if err != nil {
			return
		}
		if !bytes.Equal(file.Bytes(), data) {
			t.Fatalf("%q became %q", data, file.Bytes())
		}
		for _, key := range file.Keys() {
			if _, ok := file.Get(key); !ok {
				t.Fatalf("%q: no value for the key %q", data, key)
			}
		}
		_, _ = file.List("deps"), file.Warnings()
		if key == "deps" || file.Set(key, value) != nil {
			return
		}
		if got, _ := mustParse(t, string(file.Bytes())).Get(key); got != value {
			t.Fatalf("set %q to %q, got %q from %q", key, value, got, file.Bytes())
		}
	})
}
