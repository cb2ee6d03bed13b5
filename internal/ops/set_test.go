package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/slice"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"in the file's order", "---\nstatus: a\nid: b\nsession:\n---\nbody: c\n", "status id session"},
		{"comments and list items are none", "---\n# note: x\ndeps:\n- S-1\n  - S-2: x\nid: b\n---\n", "deps id"},
		{"twice counts once", "---\na: 1\na: 2\n---\n", "a"},
		{"bom, blank lines, crlf", "\ufeff\r\n---\r\na : 1\r\nb: 2\r\n---\r\nc: 3\r\n", "a b"},
		{"none", "---\n---\na: 1\n", ""},
	} {
		f, err := slice.ParseFile([]byte(test.file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(keys(f), " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Whatever is accepted as key=value is written and reads back as it was given.
func FuzzParseChanges(f *testing.F) {
	for _, word := range []string{"status=In Progress", "tests=042", "tests=-1", "deps=S-1..S-3", `x="a" # b`, "=", "id=x",
		"a= b ", "mine='", "deps=[\"S-1\", S-2", "deps=none", "Tests=1", "a=\u0085"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		set, err := ParseChanges([]string{word})
		if err != nil {
			var argument *ArgumentError
			if !errors.As(err, &argument) {
				t.Fatalf("%q: %v is not an ArgumentError", word, err)
			}
			return
		}
		file, err := slice.ParseFile([]byte("---\nid: S-1\n---\n"))
		if err != nil {
			t.Fatal(err)
		}
		s := set[0]
		if s.Key == "deps" {
			return
		}
		if err := file.Set(s.Key, s.Value); err != nil {
			t.Fatalf("%q was accepted, but can't be set: %v", word, err)
		}
		again, err := slice.ParseFile(file.Bytes())
		if err != nil {
			t.Fatalf("%q makes a file that can't be read: %v", word, err)
		}
		if got, _ := again.Get(s.Key); got != s.Value || !slices.Equal(keys(again), []string{"id", s.Key}) {
			t.Errorf("%q reads back as %q, keys %q", word, got, keys(again))
		}
	})
}
