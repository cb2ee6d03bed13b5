package slice

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/text/textline"
)

func mustParse(t interface{ Fatalf(string, ...any) }, text string) *File {
	f, err := ParseFile([]byte(text))
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return f
}

func TestParseFile(t *testing.T) {
	for text, want := range map[string]string{
		"# S-1\n":                  "no frontmatter",
		"---\nid: a\nhello\n---\n": "line 3",
		"---\nfiles:\n- a\n---\n":  "a list, which only deps may have",
		"---\nid: a\n<<<<<<< HEAD\nstatus: x\n=======\nstatus: y\n>>>>>>> b\n---\n": "merge conflict in line 3",
		"---\nid: a\n---\n<<<<<<< HEAD\n":                                           "merge conflict in line 4",
	} {
		_, err := ParseFile([]byte(text))
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, want) {
			t.Errorf("%q: error %v, want a CorruptError with %q", text, err, want)
		}
	}
	f := mustParse(t, "---\nid: a # why\nname: fix #12 # now\n---\nx <<<<<<< y\n")
	id, _ := f.Get("id")
	name, _ := f.Get("name")
	if id != "a" || name != "fix #12 # now" {
		t.Errorf("id %q, name %q", id, name)
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
		{"deps: [S-1 , S-1,,]", []string{"S-1"}},
		{`deps: ["a,b"]`, []string{"a,b"}},
		{"deps:", nil}, {"deps: []", nil}, {`deps: ""`, nil}, {"deps: none", nil}, {"deps: None", nil}, {"deps: -", nil},
		{"deps: --", nil}, {"deps: —", nil}, {"deps: null", nil}, {"deps: # later", nil}, {"other: x", nil},
		{"deps: S-4..S-6, S-9", []string{"S-4", "S-5", "S-6", "S-9"}},
		{"deps: S-08..S-10", []string{"S-08", "S-09", "S-10"}},
		{"deps: S-4.1..S-4.2", []string{"S-4.1", "S-4.2"}},
		{"deps: S-9..S-4", []string{"S-9..S-4"}},
		{"deps: S-1..S-999999999", []string{"S-1..S-999999999"}},
		{"deps: a..b", []string{"a..b"}},
		{"deps:\n- S-1\n- S-2", []string{"S-1", "S-2"}},
		{"deps: # these\n  - \"S-1\" # why\n\n  # and\n  - S-2 # that\n  -", []string{"S-1", "S-2"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, mustParse(t, "---\n"+tt.line+"\n---\n").List("deps")); diff != "" {
			t.Errorf("%q: %s", tt.line, diff)
		}
	}
}

func TestSetList(t *testing.T) {
	tests := []struct {
		line  string
		items []string
		want  string
	}{
		{"deps: none", []string{"a"}, "deps: a"},
		{"deps: none", nil, "deps: none"},
		{"deps: S-1..S-2", []string{"S-1", "S-2"}, "deps: S-1..S-2"},
		{"deps:\n  - S-1..S-2", []string{"S-1"}, "deps:\n  - S-1"},
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
}

func TestSetOfABlock(t *testing.T) {
	f := mustParse(t, "---\ndeps:\n  - a\n---\n")
	if err := f.Set("deps", "S-1..S-2, none"); err != nil || string(f.Bytes()) != "---\ndeps:\n  - S-1\n  - S-2\n---\n" {
		t.Errorf("%v: %q", err, f.Bytes())
	}
}

func TestHeading(t *testing.T) {
	for text, want := range map[string]string{
		"---\n---\n# S-1: Name \n# other\n":      "S-1: Name",
		"---\n---\n## no\n#no\n":                 "",
		"---\n---\n```\n# code\n```\n# yes\r\n":  "yes",
		"---\n---\n```\n# the mark is stray\n":   "the mark is stray",
		"---\n# a comment\nid: a\n---\n\n# body": "body",
	} {
		if got := mustParse(t, text).Heading(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAppendToSection(t *testing.T) {
	tests := []struct{ name, text, section, line, want string }{
		{"at the end", "---\n---\n\n## A\n- x\n\n## B\n", "A", "y", "---\n---\n\n## A\n- x\n- y\n\n## B\n"},
		{"empty section", "---\n---\n## A\n\n## B\n", "A", "y", "---\n---\n## A\n- y\n\n## B\n"},
		{"last, no newline", "---\n---\n## A\n- x", "A", "y", "---\n---\n## A\n- x\n- y"},
		{"crlf", "---\r\n---\r\n## A\r\n- x\r\n", "A", "y", "---\r\n---\r\n## A\r\n- x\r\n- y\r\n"},
		{"missing", "---\n---\ntext", "A", "y", "---\n---\ntext\n\n## A\n- y\n"},
		{"no body", "---\n---", "A", "y", "---\n---\n\n## A\n- y\n"},
		{"there already", "---\n---\n## A\n- y  \n- z\n", "A", "y", "---\n---\n## A\n- y  \n- z\n"},
		{"there in another section", "---\n---\n## A\n## B\n- y\n", "A", "y", "---\n---\n## A\n- y\n## B\n- y\n"},
		{"deeper headings belong to it", "---\n---\n## A\n### C\n- x\n## B\n", "A", "y", "---\n---\n## A\n### C\n- x\n- y\n## B\n"},
		{"not in code", "---\n---\n```\n## A\n```\n## A\n", "A", "y", "---\n---\n```\n## A\n```\n## A\n- y\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustParse(t, tt.text)
			for range 2 { // the second time changes nothing
				if err := f.AppendToSection(tt.section, tt.line); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, string(f.Bytes())); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	f := mustParse(t, "---\n---\n")
	if f.AppendToSection("A", "x\n---") == nil || f.AppendToSection("", "x") == nil || f.AppendToSection("A", " ") == nil {
		t.Error("a line that is none was accepted")
	}
}

// genFile generates a slice file like those that people and agents write.
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

func TestSetListProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := mustParse(t, genFile(t))
		want := rapid.SliceOfNDistinct(rapid.StringMatching(`S-[1-9]{1,3}`), 0, 5, rapid.ID).Draw(t, "items")
		if err := f.SetList("deps", want); err != nil {
			t.Fatal(err)
		}
		if got := mustParse(t, string(f.Bytes())).List("deps"); !equal(got, want) {
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
		file, err := ParseFile(data)
		if err != nil {
			return
		}
		if !bytes.Equal(file.Bytes(), data) {
			t.Fatalf("%q became %q", data, file.Bytes())
		}
		_, _, _ = file.Heading(), file.List("deps"), file.Warnings()
		if file.AppendToSection("Decisions", "x") == nil {
			mustParse(t, string(file.Bytes()))
		}
		if key == "deps" || file.Set(key, value) != nil {
			return
		}
		if got, _ := mustParse(t, string(file.Bytes())).Get(key); got != value {
			t.Fatalf("set %q to %q, got %q from %q", key, value, got, file.Bytes())
		}
	})
}

func TestKeys(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"in the file's order", "---\nstatus: a\nid: b\nsession:\n---\nbody: c\n", "status id session"},
		{"comments and list items are none", "---\n# note: x\ndeps:\n- S-1\n  - S-2: x\nid: b\n---\n", "deps id"},
		{"twice counts once", "---\na: 1\na: 2\n---\n", "a"},
		{"bom, blank lines, crlf", "\ufeff\r\n---\r\na : 1\r\nb: 2\r\n---\r\nc: 3\r\n", "a b"},
		{"none", "---\n---\na: 1\n", ""},
	} {
		f, err := ParseFile([]byte(test.file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.Keys(), " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
