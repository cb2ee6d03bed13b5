package ops

import (
	"errors"
	"slices"
	"testing"

	"greenlight/internal/state/slice"
)

// Every accepted key=value is written and reads back unchanged.
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
		if got, _ := again.Get(s.Key); got != s.Value ||
			!slices.Equal(again.Keys(), []string{"id", s.Key}) {
			t.Errorf("%q reads back as %q, keys %q", word, got, again.Keys())
		}
	})
}
