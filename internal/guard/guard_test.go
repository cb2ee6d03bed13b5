package guard

import (
	"strings"
	"testing"
)

const sliceFile = "---\nid: S-1\nstatus: pending # now\n---\n# S-1\n\nText. status: pending\n"

func TestState(t *testing.T) {
	crlf := strings.ReplaceAll(sliceFile, "\n", "\r\n")
	edit := func(from, to string) Call {
		return Call{Tool: "Edit", Input: Input{FilePath: "x", Edit: Edit{Old: from, New: to}}}
	}
	write := func(text string) Call { return Call{Tool: "Write", Input: Input{FilePath: "x", Content: text}} }
	multi := func(edits ...Edit) Call { return Call{Tool: "MultiEdit", Input: Input{Edits: edits}} }
	all := edit("pending", "complete")
	all.Input.All = true
	for _, c := range []struct {
		name, rel string
		call      Call
		before    string // "-" for no file
		refused   string // part of the refusal, "" for none
	}{
		{"status", "slices/S-1.md", edit("status: pending", "status: complete"), sliceFile, "gl state set S-1"},
		{"status, of a file with other line ends", "slices/S-1.md", edit("id: S-1\nstatus: pending", "id: S-1\nstatus: complete"), crlf, "gl state set S-1"},
		{"a comment in the head", "slices/S-1.md", edit(" # now", ""), sliceFile, "gl state set"},
		{"text", "slices/S-1.md", edit("# S-1\n", "# S-1: One\n"), sliceFile, ""},
		{"text that looks like the head", "slices/S-1.md", edit("Text. status: pending", "Text. status: done"), sliceFile, ""},
		{"everywhere", "slices/S-1.md", all, sliceFile, "gl state set"},
		{"what isn't there", "slices/S-1.md", edit("status: failed", "status: complete"), sliceFile, ""},
		{"the whole file, head as it is", "slices/S-1.md", write(strings.Replace(crlf, "Text", "More", 1)), sliceFile, ""},
		{"the whole file, another head", "slices/S-1.md", write(strings.Replace(sliceFile, "S-1\n", "S-2\n", 1)), sliceFile, "gl state set"},
		{"the head broken", "slices/S-1.md", write("# S-1\n"), sliceFile, "gl state set"},
		{"a broken head mended", "slices/S-1.md", write(sliceFile), "<<<<<<< a\n" + sliceFile, ""},
		{"several edits, one of the head", "slices/S-1.md", multi(Edit{Old: "Text", New: "More"}, Edit{Old: "pending #", New: "failed #"}), sliceFile, "gl state set"},
		{"several edits of the text", "slices/S-1.md", multi(Edit{Old: "Text", New: "More"}, Edit{Old: "More", New: "Less"}), sliceFile, ""},
		{"a new slice", "slices/S-2.md", write(strings.Replace(sliceFile, "S-1", "S-2", 1)), "-", "gl add-slice"},
		{"a new slice, by an edit of nothing", "slices/S-2.md", edit("", sliceFile), "-", "gl add-slice"},
		{"a new text", "slices/README.md", write("# Slices\n"), "-", ""},
		{"read", "slices/S-1.md", Call{Tool: "Read", Input: Input{FilePath: "x"}}, sliceFile, ""},
		{"the view", "STATE.md", write("x"), "", "generated"},
		{"a record", "runs/live/S-1.1.json", edit("a", "b"), "a", "gl stop"},
		{"the graph", "GRAPH.json", write("{}"), "{}", ""},
		{"nonsense", "slices/S-1.md", Call{Tool: "Edit"}, sliceFile, ""},
		{"a tool of tomorrow", "slices/S-1.md", Call{Tool: "Rewrite"}, sliceFile, ""},
	} {
		before := []byte(c.before)
		if c.before == "-" {
			before = nil
		}
		err := State(c.call, c.rel, before, true)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := State(write("x"), "STATE.md", []byte("old"), false); err != nil {
		t.Errorf("a STATE.md that is the state: %v", err)
	}
}

func TestIsolation(t *testing.T) {
	rules, err := ParseIsolation([]byte(`{"gl-implementer": {"tools": ["Read"], "may_read": ["code"], "may_write": ["code"]},
		"gl-tester": {"may_read": ["tests"], "may_write": ["tests"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, agent, path string
		refused           bool
	}{
		{"Write", "gl-implementer", "a_test.go", true},
		{"Read", "gl-implementer", "a_test.go", true},
		{"Write", "gl-implementer", "a.go", false},
		{"Write", "gl-tester", "a_test.go", false},
		{"Write", "gl-tester", "a.go", false}, // it may be a helper of tests
		{"Write", "other", "a_test.go", false},
		{"Write", "", "a_test.go", false},
		{"Grep", "gl-implementer", "a_test.go", false},
	} {
		if err := rules.Tests(Call{Tool: c.tool, Agent: c.agent}, c.path); (err != nil) != c.refused {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestIsTest(t *testing.T) {
	for path, want := range map[string]bool{
		"a_test.go": true, "pkg/x/a_test.go": true, "a.go": false, "testdata/a.go": false, "test/a.go": false, "contest.go": false,
		"tests/helpers.py": true, "src/latest.py": false, "test_a.py": true, "conftest.py": true, "tests/data.json": false,
		"src/a.test.ts": true, "src/__tests__/a.tsx": true, "src/test.ts": false, "e2e/a.spec.mjs": true, "spec/openapi.yaml": false,
		"spec/a_helper.rb": true, "lib/spec/a.py": false, "src/test/java/A.java": true, "src/test/java/ATest.java": true,
		"src/main/java/Attest.java": false, "tests/a.rs": true, "src/tests.rs": false, "Tests/AppTests/A.swift": true, "docs/tests.md": false,
		"tests/README.md": false, "": false,
		// what tests are run from is a test; what has their name in the middle of the sources is a page, a model, a table
		"src/main/java/LabTest.java": false, "src/main/java/AUDIT.java": false, "app/src/androidTest/java/ATest.kt": true,
		"app/models/lab_test.rb": false, "test/models/lab_test.rb": true, "app/Models/LabTest.php": false, "tests/Unit/LabTest.php": true,
		"src/Shop/LabTest.cs": false, "src/Shop.Tests/LabTest.cs": true, "Sources/App/SpeedTest.swift": false, "AppTests/SpeedTest.swift": true,
		"app/tests/page.tsx": false, "src/features/tests/list.ts": false, "pages/test/index.js": false, "src/a/__tests__/b.ts": true,
		"packages/a/test/b.js": true, "crates/a/tests/common/mod.rs": true, "src/lib.rs": false,
		"a/testdata/in.go": false, "src/__snapshots__/a.snap": false, "tests/fixtures/a.json": false, "lib/rspec/spec/a.rb": false,
	} {
		if IsTest(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
