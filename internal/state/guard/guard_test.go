package guard

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const sliceFile = "---\nid: S-1\nstatus: pending # now\n---\n# S-1\n\nText. status: pending\n"

func TestState(t *testing.T) {
	crlf := strings.ReplaceAll(sliceFile, "\n", "\r\n")
	edit := func(from, to string) Call {
		return Call{Tool: "Edit", Input: Input{Edit: Edit{Old: from, New: to}}}
	}
	write := func(text string) Call { return Call{Tool: "Write", Input: Input{Content: text}} }
	multi := func(edits ...Edit) Call { return Call{Tool: "MultiEdit", Input: Input{Edits: edits}} }
	unsure := edit("Text", "More")
	unsure.Input.Unsure = true
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
		{"read", "slices/S-1.md", Call{Tool: "Read", Input: Input{}}, sliceFile, ""},
		{"the view", "STATE.md", write("x"), "", "generated"},
		{"a record", "runs/live/S-1.1.json", edit("a", "b"), "a", "gl stop"},
		{"the graph", "GRAPH.json", write("{}"), "{}", "gl add-slice"},
		{"a broken graph mended", "GRAPH.json", write("{}"), "{<<<<", ""},
		{"the settings", "config.json", write("{}"), "{}", "gl settings set"},
		{"the settings, for the first time", "config.json", write("{}"), "-", "gl settings set"},
		{"nonsense", "slices/S-1.md", Call{Tool: "Edit"}, sliceFile, ""},
		{"a tool of tomorrow", "slices/S-1.md", Call{Tool: "Rewrite"}, sliceFile, "gl state set"},
		{"a server's tool", "slices/S-1.md", Call{Tool: "mcp__files__write_file"}, sliceFile, "gl state set"},
		{"a server's tool that makes a slice", "slices/S-2.md", Call{Tool: "mcp__files__create"}, "-", "gl add-slice"},
		{"a server's tool, of a broken head", "slices/S-1.md", Call{Tool: "mcp__files__write_file"}, "<<<<<<< a\n", ""},
		{"a server's tool with a content", "GRAPH.json", Call{Tool: "mcp__x__go", Input: Input{HasContent: true}}, "{}", "gl add-slice"},
		{"a server's tool that reads", "runs/x.json", Call{Tool: "mcp__files__read_file"}, "{}", ""},
		{"the records, as a whole", "runs", Call{Tool: "mcp__files__delete"}, "-", "gl stop"},
		{"the slices, as a whole", "slices", Call{Tool: "mcp__files__move_file"}, "-", "through gl only"},
		{"the state, as a whole", "", Call{Tool: "mcp__files__move_file"}, "-", "through gl only"},
		{"a call without a tool", "runs/x.json", Call{}, "{}", "gl stop"},
		{"a call that is only understood in part", "slices/S-1.md", unsure, sliceFile, "gl state set"},
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
	rules, err := ParseIsolation([]byte(`{"gl-implementer": {"tools": ["Read", "Bash"], "may_read": ["plan", "setup", "code"], "may_write": ["setup", "code"]},
		"gl-tester": {"may_read": ["plan", "setup", "tests"], "may_write": ["tests"]}, "gl-looker": {"tools": ["Bash"], "may_read": ["plan", "setup", "code", "tests"], "may_write": []}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, agent, path string
		refused           bool
	}{
		{"Write", "gl-implementer", "a_test.go", true},
		{"Edit", "gl-implementer", "a_test.go", true},
		{"NotebookEdit", "gl-implementer", "tests/a.py", true},
		{"Read", "gl-implementer", "a_test.go", true},
		{"Grep", "gl-implementer", "a_test.go", true},
		{"Glob", "gl-implementer", "**/*_test.go", true},
		{"Glob", "gl-implementer", "src/**/*.go", false},
		{"Write", "gl-implementer", "a.go", false},
		{"Write", "gl-implementer", "go.mod", false},
		{"Write", "gl-implementer", ".greenlight/CONTRACTS.md", true},
		{"Read", "gl-implementer", ".greenlight/CONTRACTS.md", false},
		{"Read", "gl-implementer", "internal/testutil/db.go", true},
		{"Write", "gl-implementer", "testdata/a.golden", true},
		{"Read", "gl-implementer", "testdata/in.txt", false}, // the code may have to read it
		{"mcp__files__edit_file", "gl-implementer", "a_test.go", true},
		{"mcp__files__read_text_file", "gl-implementer", "a_test.go", true},
		{"mcp__files__list_directory", "gl-implementer", "a_test.go", false},
		{"Write", "gl-tester", "a_test.go", false},
		{"Write", "gl-tester", "testdata/a.golden", false},
		{"Write", "gl-tester", "internal/testutil/db.go", false},
		{"Write", "gl-tester", "tests/factories/user.js", false},
		{"Write", "gl-tester", "a.go", true},
		{"Read", "gl-tester", "src/a.go", true},
		{"Glob", "gl-tester", "src/**/*.ts", true},
		{"Glob", "gl-tester", "**/*.test.ts", false},
		{"Read", "gl-tester", "go.mod", false},
		{"Write", "gl-tester", ".greenlight/CONTRACTS.md", true},
		{"NotebookEdit", "gl-looker", "a.ipynb", true},
		{"Write", "gl-looker", "notes.md", true},
		{"Read", "gl-looker", "a_test.go", false},
		{"Write", "other", "a_test.go", false},
		{"Write", "", "a_test.go", false},
	} {
		if err := rules.Isolated(Call{Tool: c.tool, Agent: c.agent}, c.path, true); (err != nil) != c.refused {
			t.Errorf("%v: %v", c, err)
		}
	}
	if !rules.Watches("gl-looker") || !rules.Watches("gl-implementer") || rules.Watches("gl-tester") || rules.Watches("other") {
		t.Error("whoever has a shell and may not change everything is watched, and nobody else")
	}
	if got := rules.Strayed("gl-implementer", []string{"a.go", "a_test.go", "testdata/a.golden", ".greenlight/x.md"}, true); !slices.Equal(got, []string{"a_test.go", ".greenlight/x.md"}) {
		t.Errorf("strayed: %q", got)
	}
	if got := rules.Strayed("other", []string{"a.go"}, true); len(got) > 0 {
		t.Errorf("strayed: %q", got)
	}
	if got := rules.Strayed("gl-tester", []string{"a.go", "a_test.go", ".greenlight/x.md", "go.mod"}, true); !slices.Equal(got, []string{"a.go", ".greenlight/x.md", "go.mod"}) {
		t.Errorf("strayed: %q", got)
	}
	for _, c := range []struct {
		agent, input string
		refused      bool
	}{
		{"gl-implementer", `{"pattern": "x", "output_mode": "content"}`, true},
		{"gl-implementer", `{"pattern": "x"}`, false}, // names only
		{"gl-looker", `{"pattern": "x", "output_mode": "content"}`, false},
		{"", `{"pattern": "x", "output_mode": "content"}`, false},
	} {
		call := Call{Tool: "Grep", Agent: c.agent}
		if err := json.Unmarshal([]byte(c.input), &call.Input); err != nil {
			t.Fatal(err)
		}
		if err := rules.Search(call); (err != nil) != c.refused {
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
		"src/main/java/Attest.java": false, "tests/a.rs": true, "src/tests.rs": true, "src/a/tests.rs": true, "shop/tests.py": true, "latests.py": false, "Tests/AppTests/A.swift": true, "docs/tests.md": false,
		"tests/README.md": false, "": false, "tests/a.sh": true, "t/a.sh": true, "lib/a_test.sh": true, "test.sh": false, "src/t/a.sh": false,
		// what tests are run from is a test; what has their name in the middle of the sources
		// is a page, a model, a table
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

// An implementation may read what tests compare with, what they read, and how they are run, but
// not change it.
func TestIsTestData(t *testing.T) {
	for path, want := range map[string]bool{
		"testdata/a.go": true, "a/testdata/in.go": true, "internal/x/testdata/script/a.txtar": true, "testdata": false,
		"src/__snapshots__/a.snap": true, "src/a.snap": true, "out.golden": true, "a/out.golden.json": true, "golden.go": false,
		"fixtures/users.yml": true, "tests/fixtures/a.json": true, "spec/fixtures/a.json": true, "src/__tests__/fixtures/a.json": true,
		"src/__fixtures__/a.json": true, "src/fixtures/page.tsx": false, "app/fixtures/list.ts": false, "src/test/fixtures/a.json": true,
		"pytest.ini": true, "sub/pytest.ini": true, "conftest.py": false, "jest.config.ts": true, "vitest.config.mjs": true,
		"playwright.config.ts": true, ".mocharc.json": true, "phpunit.xml": true, ".rspec": true, "package.json": false, "config.json": false,
		"docs/snapshot.md": false, "": false, "a.go": false,
	} {
		if IsTestData(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

// A field of another type, or under another name, is read as far as possible, and the rest is
// known to be missing.
func TestInput(t *testing.T) {
	for text, want := range map[string]Input{
		`{"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}`:   {Paths: []string{"a"}, Edit: Edit{Old: "x", New: "y", All: true}, HasContent: true},
		`{"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": "true"}`: {Paths: []string{"a"}, Edit: Edit{Old: "x", New: "y", All: true}, HasContent: true},
		`{"file_path": "a", "content": ["x"]}`:                                            {Paths: []string{"a"}, HasContent: true, Unsure: true},
		`{"file_path": "a", "content": 7}`:                                                {Paths: []string{"a"}, HasContent: true, Unsure: true},
		`{"file_path": ["a"], "content": "x"}`:                                            {Paths: []string{"a"}, Content: "x", HasContent: true, Unsure: true},
		`{"file_path": {"path": "a"}}`:                                                    {Paths: []string{"a"}, Unsure: true},
		`{"file_path": 7}`:                                                                {Unsure: true},
		`{"file_path": "a", "notebook_path": "b"}`:                                        {Paths: []string{"a", "b"}},
		`{"file_path": "a", "edits": "[{\"old_string\": \"x\"}]"}`:                        {Paths: []string{"a"}, Edits: []Edit{{Old: "x"}}, HasContent: true},
		`{"file_path": "a", "edits": [7]}`:                                                {Paths: []string{"a"}, HasContent: true, Unsure: true},
		`{"file_path": "a", "edits": {"old_string": "x"}}`:                                {Paths: []string{"a"}, HasContent: true, Unsure: true},
		`{"path": "a", "text": "x"}`:                                                      {Paths: []string{"a"}, HasContent: true},
		`{"relativePath": "a", "body": "x"}`:                                              {Paths: []string{"a"}, HasContent: true},
		`{"source": "a", "destination": "b"}`:                                             {Paths: []string{"b", "a"}},
		`{"uri": "file:///a%20b"}`:                                                        {Paths: []string{"/a b"}},
		`{"files": [{"path": "a"}, {"path": "b"}]}`:                                       {Paths: []string{"a", "b"}},
		`{"paths": ["a", "b"]}`:                                                           {Paths: []string{"a", "b"}},
		`{"path": "a\nb", "query": "c"}`:                                                  {},
		`"{\"file_path\": \"a\"}"`:                                                        {Paths: []string{"a"}},
		`[]`:                                                                              {Unsure: true}, `7`: {Unsure: true}, `"x"`: {Unsure: true}, `{}`: {},
	} {
		var got Input
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

// A call may name any number of files; Input keeps at most maxPaths, and marks the rest as
// unsure.
func TestManyPaths(t *testing.T) {
	var in Input
	if err := json.Unmarshal([]byte(`{"paths": [`+strings.Repeat(`"a/b", `, 100_000)+`"c"]}`), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Paths) > maxPaths || !in.Unsure {
		t.Errorf("%d paths, unsure %v", len(in.Paths), in.Unsure)
	}
}

func TestCopy(t *testing.T) {
	write := Call{Tool: "Write", Input: Input{Content: "x"}}
	for _, c := range []struct {
		rel       string
		generated bool
		refused   string // part of the refusal; "" for none
	}{
		{"slices/S-1.md", true, "/p/.greenlight/slices/S-1.md"},
		{"slices/S-1.md", true, "gl state set S-1"},
		{"slices/notes.txt", true, ""},
		{"STATE.md", true, "gl state"},
		{"STATE.md", false, "Edit /p/.greenlight/STATE.md"},
		{"project-state.json", true, "gl state"},
		{"config.json", false, "gl settings"},
		{"GRAPH.json", true, "gl add-slice"},
		{"runs/live/S-1.1.json", true, "linked worktree"},
		{"", true, "linked worktree"},
		{"contracts/S-1.md", true, ""},
		{"DECISIONS.md", true, ""},
		{"summaries/STATE.md", true, ""},
	} {
		err := Copy(write, c.rel, "/p/.greenlight", c.generated)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", c.rel, err)
		}
		if err := Copy(Call{Tool: "Read"}, c.rel, "/p/.greenlight", c.generated); err != nil {
			t.Errorf("%s is read: %v", c.rel, err)
		}
	}
}
