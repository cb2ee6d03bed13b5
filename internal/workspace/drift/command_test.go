package drift

import (
	"testing"

	"greenlight/internal/core/gate"
	"greenlight/internal/workspace/git"
)

// A script that the test command named before there was one decides what every later slice's
// "verified" says: a person is asked about it, once. A test that the command names is a test like
// any other, and new ones may come.
func TestCommandNamesNewFile(t *testing.T) {
	for _, c := range []struct{ command, added, want string }{
		{"sh t.sh", "t.sh", "test command changed: t.sh"},
		{"sh t.sh", "other.sh", ""},
		{"pytest tests/test_a.py", "tests/test_a.py", ""},
		{"go test ./x", "x/x_test.go", ""},
		{"go test ./x", "x/x.go", ""},
		{"make check", "Makefile", "test command changed: Makefile"},
	} {
		now := &State{Files: Files{c.added: git.File{Mode: "100644", ID: "1"}},
			Texts: map[string][]byte{"1": []byte("true\n")}}
		compare := &Comparer{Command: c.command, Read: Texts(now)}
		if err := compare.UseCommand(t.Context(), Files{}, now.Files); err != nil {
			t.Fatal(err)
		}
		found, err := compare.Find(t.Context(), &Promise{Want: Files{}, Free: map[string]bool{}},
			Files{}, now.Files, []string{c.added}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := gate.ItemsText(found); got != c.want {
			t.Errorf("%s, and an agent adds %s: %q, want %q", c.command, c.added, got, c.want)
		}
	}
}
