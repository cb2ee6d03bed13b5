package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/statedir"
)

// All the ways to hide a file from a guard that checks only one field, one type, one directory
// or one name.
func TestGuardIsNotGoneAround(t *testing.T) {
	root := shop(t)
	other := shop(t) // the session "me" has S-2 here, too
	plain := testfiles.Make(t, map[string]string{".greenlight/slices/S-9.md": "---\nid: S-9\nstatus: pending\n---\n"})
	nested := filepath.Join(root, "apps", "web")
	for _, dir := range []string{"apps/web/.greenlight/slices", "testdata/p/.greenlight/slices", "sub", ".git"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range [][2]string{
		// the target doesn't exist
		{filepath.Join(root, ".greenlight/slices/S-7.md"), filepath.Join(root, "notes.md")},
		{"../apps", filepath.Join(root, "sub/up")}, {"loop", filepath.Join(root, "loop")},
		{filepath.Join(root, "sub"), filepath.Join(plain, "in")},
	} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	in := func(path ...string) string { return filepath.Join(append([]string{root}, path...)...) }
	write := func(path string) object { return object{"file_path": path, "content": "x"} }
	slice := object{"file_path": in(".greenlight/slices/S-1.md"), "old_string": "complete", "new_string": "pending", "replace_all": "true"}
	head := func(more object) object {
		doc := object{}
		for key, value := range slice {
			doc[key] = value
		}
		for key, value := range more {
			doc[key] = value
		}
		return doc
	}
	record := in(".greenlight/runs/hold.json")
	for _, tt := range []struct {
		name, cwd, tool string
		input           any
		more            object
		refused         string // part of the refusal; "" for none
	}{
		{"a boolean as text", root, "Edit", slice, nil, "gl state set S-1"},
		{"a boolean as a number", root, "Edit", head(object{"replace_all": 1}), nil, "gl state set S-1"},
		{"a text as a list", root, "Edit", head(object{"new_string": []string{"pending"}}), nil, "gl state set S-1"},
		{"a content as an object", root, "Write", object{"file_path": in(".greenlight/slices/S-1.md"), "content": object{}}, nil, "gl state set S-1"},
		{"a path as a list", root, "Write", object{"file_path": []string{record}}, nil, "gl stop"},
		{"an input as text", root, "Write", `{"file_path": "` + record + `"}`, nil, "gl stop"},
		{"a tool as a list", root, "", write(record),
			object{"tool_name": []string{"Write"}}, "gl stop"},
		{"a session as a number", root, "Write", write("x_test.go"), object{"session_id": 7}, "S-2 is being implemented"},
		{"an agent as a list", root, "Write", write("x_test.go"), object{"agent_type": []string{"gl-implementer"}}, "S-2 is being implemented"},
		{"other fields of other types", root, "Write", write(record), object{"stop_hook_active": "x", "background_tasks": 7, "hook_event_name": []int{1}, "agent_id": 7}, "gl stop"},
		{"a second path", root, "NotebookEdit", object{"file_path": "x.go", "notebook_path": record}, nil, "gl stop"},

		{"state, from another project", plain, "Write", write(record), nil, "gl stop"},
		{"state, from a nested project", nested, "Write", write(record), nil, "gl stop"},
		{"a nested project's state", root, "Write", write(filepath.Join(nested, ".greenlight/runs/x")), nil, "gl stop"},
		{"a fixture's state", root, "Write", write(in("testdata/p/.greenlight/runs/x")), object{"session_id": "you"}, ""},
		{"another project's state", root, "Write", write(filepath.Join(plain, ".greenlight/GRAPH.json")), nil, "gl add-slice"},
		{"a test, from another project", plain, "Write", write(in("x_test.go")), nil, "S-2 is being implemented"},
		{"a test, from a nested project", nested, "Write", write(in("x_test.go")), nil, "S-2 is being implemented"},
		{"a test, from nowhere", "/", "Write", write(in("x_test.go")), nil, "S-2 is being implemented"},
		{"a test, from an agent's directory elsewhere", "/", "Write", write(in("x_test.go")), object{"agent_type": "gl-implementer"}, "may not change tests"},
		{"a source file, from another project", plain, "Write", write(in("x.go")), nil, ""},
		{"another project's test", root, "Write",
			write(filepath.Join(plain, "x_test.go")), nil, ""},
		{"a test of another project in which the session works, too", root, "Write", write(filepath.Join(other, "x_test.go")), nil, "S-2 is being implemented"},

		{"a link to a slice that isn't there", root, "Write", object{"file_path": "notes.md", "content": "---\nid: S-7\n---\n"}, nil, "gl add-slice"},
		// which is sub/.greenlight
		{"a link and back", root, "Write", write("sub/up/../.greenlight/runs/x"), nil, ""},
		{"a link from elsewhere", plain, "Write", write(filepath.Join(plain, "in/x_test.go")), nil, "S-2 is being implemented"},
		{"a link to itself", root, "Write", write("loop/x.go"), nil, ""},
		{"a long way to a record", root, "Write", write(strings.Repeat("a/../", 100_000) + ".greenlight/runs/x"), nil, "gl stop"},
		{"a path that no file has", root, "Write", write(strings.Repeat("a/", 200_000) + "x"), nil, "bytes long"},
		{"a directory that no session is in", strings.Repeat("/a", 200_000), "Write", write(record), nil, "gl stop"},

		{"the graph", root, "Write", write(".greenlight/GRAPH.json"), nil, "gl add-slice"},
		{"the settings", root, "Edit", write(".greenlight/config.json"), nil, "gl settings set"},
		{"what a person has allowed", root, "Write", write(filepath.Join(home, ".config/greenlight/trust/x.json")), nil, "gl trust"},
		{"the same, by its short name", root, "Write", write("~/.config/greenlight/trust/x.json"), nil, "gl trust"},
		{"a golden file", root, "Write", write("pkg/testdata/want.golden"), nil, "belongs to the tests"},
		{"a snapshot", root, "Write", write("src/__snapshots__/a.snap"), nil, "belongs to the tests"},
		{"a fixture", root, "Write", write("fixtures/users.yml"), nil, "belongs to the tests"},
		{"tests.py", root, "Write", write("shop/tests.py"), nil, "belongs to the tests"},
		{"tests.rs", root, "Write", write("src/tests.rs"), nil, "belongs to the tests"},
		{"conftest.py", root, "Write", write("conftest.py"), nil, "belongs to the tests"},
		{"pytest.ini", root, "Write", write("pytest.ini"), nil, "belongs to the tests"},

		{"an implementer prints a test", root, "Bash", object{"command": "cd . && cat x_test.go"}, object{"agent_type": "gl:gl-implementer"}, "by a shell either"},
		{"an implementer changes a test", root, "Bash", object{"command": "sed -i s/a/b/ " + in("x_test.go")}, object{"agent_type": "gl-implementer"}, "by a shell either"},
		{"an implementer runs a test", root, "Bash", object{"command": "npx vitest run src/a.test.ts | tail -n 20"}, object{"agent_type": "gl-implementer"}, ""},
		{"an implementer prints code", root, "Bash", object{"command": "cat x.go"}, object{"agent_type": "gl-implementer"}, ""},
		{"a verifier prints a test", root, "Bash", object{"command": "cat x_test.go"}, object{"agent_type": "gl-verifier"}, ""},
		{"a runner is configured after the hand-over", root, "Write", write("vitest.config.ts"), object{"agent_type": "gl-implementer"}, "handed over with the tests"},
		{"a runner is configured before", root, "Write", write("vitest.config.ts"), object{"agent_type": "gl-implementer", "session_id": "other"}, ""},

		{"a server writes a record", root, "mcp__files__write_file", object{"path": record, "content": "x"}, nil, "gl stop"},
		{"a server writes below the project", filepath.Join(root, "sub"), "mcp__serena__create_text_file", object{"relative_path": ".greenlight/runs/x"}, nil, "gl stop"},
		{"a server moves a slice", root, "mcp__files__move_file", object{"source": in(".greenlight/slices/S-1.md"), "destination": "/tmp/x"}, nil, "gl state set S-1"},
		{"a server edits a test", root, "mcp__files__edit_file", object{"path": "x_test.go", "edits": []object{}}, nil, "belongs to the tests"},
		{"a server writes several files", root, "mcp__files__write_files", object{"files": []object{{"path": "x.go"}, {"path": "x_test.go"}}}, nil, "belongs to the tests"},
		{"a server writes by an address", root, "mcp__x__put", object{"uri": "file://" + record, "data": "x"}, nil, "gl stop"},
		{"a server deletes the records", root, "mcp__files__delete_directory", object{"path": in(".greenlight/runs")}, nil, "gl stop"},
		{"a server writes a source file", root, "mcp__files__write_file", object{"path": "x.go", "content": "x_test.go"}, nil, ""},
		{"a server reads a record", root, "mcp__files__read_file", object{"path": record}, nil, ""},
		{"a server lists the tests", root, "mcp__files__list_directory", object{"path": "testdata"}, nil, ""},
	} {
		doc := object{"cwd": tt.cwd, "session_id": "me", "tool_name": tt.tool,
			"tool_input": tt.input}
		for key, value := range tt.more {
			doc[key] = value
		}
		refusal := run(t, Guard, doc, "HOME", home).Refusal
		if (refusal == nil) != (tt.refused == "") ||
			refusal != nil && !strings.Contains(refusal.Error(), tt.refused) {
			t.Errorf("%s: %v", tt.name, refusal)
		}
	}
}

// In a linked worktree the state files are copies: writing them is refused, and the reason
// names the real ones. Documents are written there, like code.
func TestGuardOfAWorktree(t *testing.T) {
	root := testfiles.Make(t, map[string]string{
		"apps/web/.greenlight/slices/S-2.md":            "---\nid: S-2\nstatus: implementing\nstep: implementing\nsession: t2\n---\n# S-2\n",
		"apps/web/.greenlight/contracts/S-2.md":         "",
		"apps/web/.planning/STATE.md":                   "",
		"apps/web/testdata/p/.greenlight/slices/S-9.md": "---\nid: S-9\n---\n",
		".git/worktrees/w/commondir":                    "../..\n",
		".git/worktrees/w/HEAD":                         "ref: refs/heads/w\n",
	})
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	project := filepath.Join(root, "apps", "web")
	runs := attempt.OpenStore(statedir.Path(project, "runs"))
	if err := runs.Claims.PutHolder("S-2", attempt.ClaimHolder{Token: "t2", Holder: "me"}); err != nil {
		t.Fatal(err)
	}
	linked := testfiles.Make(t, map[string]string{
		".git": "gitdir: " +
			filepath.Join(root, ".git", "worktrees", "w") + "\n",
		"apps/web/.greenlight/slices/S-2.md": "---\nid: S-2\nstatus: pending\n---\n# S-2\n", "apps/web/sub/x": "",
		"apps/web/.greenlight/contracts/S-2.md": "", "apps/web/.greenlight/STATE.md": "", "apps/web/.planning/STATE.md": "",
		"apps/web/testdata/p/.greenlight/slices/S-9.md": "---\nid: S-9\n---\n",
	})
	here := filepath.Join(linked, "apps", "web")
	const dot = ".greenlight/"
	for _, tt := range []struct {
		name, cwd, tool, path string
		refused               string // part of the refusal; "" for none
	}{
		{"a slice file", here, "Edit", dot + "slices/S-2.md", "gl state set S-2"},
		{"the file that counts, by its name", here, "Edit", dot + "slices/S-2.md", filepath.Join(project, dot, "slices", "S-2.md")},
		{"why", here, "Edit", dot + "slices/S-2.md", "linked worktree"},
		{"from below", filepath.Join(here, "sub"), "Write", "../" + dot + "GRAPH.json", "gl add-slice"},
		{"from the main checkout", project, "Write", filepath.Join(here, dot+"GRAPH.json"), "linked worktree"},
		{"from the worktree's top", linked, "Write", "apps/web/" + dot + "config.json", "linked worktree"},
		{"the view", here, "Write", dot + "STATE.md", "linked worktree"},
		{"a project's own numbers", here, "Write", dot + "project-state.json", "linked worktree"},
		{"a new slice", here, "Write", dot + "slices/S-3.md", "gl add-slice"},
		{"a record", here, "Write", dot + "runs/live/x", "linked worktree"},
		{"all of it", here, "mcp__files__delete", dot, "linked worktree"},
		{"GSD's state", here, "Write", ".planning/STATE.md", filepath.Join(project, ".planning/STATE.md")},
		{"Specwright's state", here, "Write", ".specwright/state/workflow.json", "gl sw"},
		{"a contract", here, "Write", dot + "contracts/S-2.md", ""},
		{"a summary", here, "Write", dot + "summaries/S-2-SUMMARY.md", ""},
		{"decisions", here, "Write", dot + "DECISIONS.md", ""},
		{"a plan", here, "Write", ".planning/phases/01/PLAN.md", ""},
		{"code", here, "Write", "x.go", ""},
		{"read", here, "Read", dot + "slices/S-2.md", ""},
		{"a fixture's state", here, "Write", "testdata/p/.greenlight/slices/S-9.md", "belongs to the tests"},
		{"a test", here, "Write", "tests/x.py", "S-2 is being implemented"},
		{"the state that counts", here, "Write", filepath.Join(project, dot+"GRAPH.json"), "gl add-slice"},
	} {
		for _, env := range [][]string{nil, {"GREENLIGHT_ROOT", project}} {
			doc := object{"cwd": tt.cwd, "session_id": "me", "tool_name": tt.tool, "tool_input": object{"file_path": tt.path, "content": "x"}}
			refusal := run(t, Guard, doc, env...).Refusal
			if (refusal == nil) != (tt.refused == "") ||
				refusal != nil && !strings.Contains(refusal.Error(), tt.refused) {
				t.Errorf("%s, with %q: %v", tt.name, env, refusal)
			}
		}
	}
}

// A document that is too long to be read can't be checked.
func TestGuardOfAnEndlessCall(t *testing.T) {
	for _, hook := range Names() {
		answer := Run(hook, &endless{}, func(string) string { return "" }, time.Now())
		if (answer.Refusal != nil) != (hook == Guard) || answer.Block != nil || answer.Text != "" {
			t.Errorf("%s: %+v", hook, answer)
		}
	}
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// The guard looks at each component of a path a few times at most, whatever links there are.
func TestRealPathIsBounded(t *testing.T) {
	asked := 0
	links := func(targets map[string]string) func(string) (string, error) {
		return func(path string) (string, error) {
			asked++
			if target, ok := targets[path]; ok {
				return target, nil
			}
			return "", errors.New("no link")
		}
	}
	for _, tt := range []struct {
		path, want string
		links      map[string]string
		most       int
	}{
		{"/a/b/c", "/a/b/c", nil, 3},
		{"/a/b/c", "/x/y/c", map[string]string{"/a": "x", "/x/b": "/x/y"}, 8},
		{"/a/b", "/b", map[string]string{"/a": ".."}, 8},
		{"/" + strings.Repeat("a/", 2000) + "b", "/" + strings.Repeat("a/", 2000) + "b", nil, 2001},
		{"/l/x", "/l/x", map[string]string{"/l": "l"}, maxLinks + 2},
		{"/l", "", map[string]string{"/l": strings.Repeat("l/", 2000)}, 2 * maxLinks},
		{"/l", "", map[string]string{"/l": strings.Repeat("./", 2000) + "l"}, 2 * maxLinks},
	} {
		asked = 0
		got := realPath(tt.path, links(tt.links))
		if tt.want != "" && got != tt.want || asked > tt.most {
			t.Errorf("%.40s: %.40q, after %d questions", tt.path, got, asked)
		}
	}
}
