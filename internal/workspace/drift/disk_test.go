package drift

import (
	"maps"
	"os/exec"
	"slices"
	"testing"

	"greenlight/internal/base/testfiles"
)

// What git ignores at the claim isn't looked at; what an agent has it ignore later is, and nothing
// hides a test from what was noted.
func TestLook(t *testing.T) {
	root := t.TempDir()
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("git: %v: %s", err, out)
	}
	for name, text := range map[string]string{
		"a_test.go": "package a\n", "main.go": "package a\n", "run.sh": "sh lib.sh\n",
		"lib.sh": "true\n", "testdata/in": "1\n",
		".gitignore": "/out/\n", "out/x_test.go": "package x\n",
		"node_modules/y/y_test.go": "package y\n", "other/.git/HEAD": "",
		"other/o_test.go": "package o\n",
	} {
		testfiles.Put(t, root, name, text)
	}
	c := &Comparer{Command: "sh run.sh"}
	look := func(before *State) *State {
		t.Helper()
		s, err := c.Look(t.Context(), root, before)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	start := look(nil)
	want := []string{"a_test.go", "lib.sh", "run.sh", "testdata/in"}
	if got := slices.Sorted(maps.Keys(start.Files)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	testfiles.Put(t, root, "env/conftest.py", "")
	testfiles.Put(t, root, "env/.gitignore", "*\n")
	got := Changed(start.Files, look(start).Files)
	if !slices.Equal(got, []string{"env/conftest.py"}) {
		t.Errorf("ignored by a new .gitignore: %q", got)
	}
	testfiles.Put(t, root, ".gitignore", "/out/\n/hidden/\n")
	start = look(nil)
	testfiles.Put(t, root, "hidden/conftest.py", "")
	if got := Changed(start.Files, look(start).Files); len(got) > 0 {
		t.Errorf("ignored as at the claim: %q", got)
	}
	testfiles.Put(t, root, "jest.config.js", "")
	testfiles.Put(t, root, ".gitignore", "*\n")
	if got := Changed(start.Files, look(start).Files); !slices.Contains(got, "jest.config.js") {
		t.Errorf("hidden by .gitignore: %q", got)
	}
}
