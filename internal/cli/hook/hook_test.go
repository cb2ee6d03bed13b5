package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/content"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli/plugin"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/guard"
	"greenlight/internal/state/statedir"
)

var noon = time.Date(2031, 5, 6, 12, 0, 0, 0, time.Local)

// shop creates a project with slices in several states; the session "me" has claimed S-2.
func shop(t *testing.T) string {
	t.Helper()
	slice := func(id, rest string) string {
		return "---\nid: " + id + "\n" + rest + "---\n# " + id + "\n"
	}
	root := testfiles.Make(t, map[string]string{
		".greenlight/slices/S-1.md": slice("S-1", "status: complete\n"),
		".greenlight/slices/S-2.md": slice("S-2", "status: implementing\nstep: implementing\nsession: t2\n"),
		".greenlight/slices/S-3.md": slice("S-3", "status: pending\n"),
		".greenlight/slices/S-4.md": slice("S-4", "status: failed\n"),
	})
	runs := attempt.OpenStore(statedir.Path(root, "runs"))
	if err := runs.Claims.PutHolder("S-2", attempt.ClaimHolder{Token: "t2", Holder: "me"}); err != nil {
		t.Fatal(err)
	}
	return root
}

type object = map[string]any

// run calls a hook with a document; env has KEY, VALUE, ….
func run(t *testing.T, name string, doc object, env ...string) Answer {
	t.Helper()
	return runAt(t, noon, name, doc, env...)
}

func runAt(t *testing.T, now time.Time, name string, doc object, env ...string) Answer {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string {
		for i := 0; i < len(env); i += 2 {
			if env[i] == key {
				return env[i+1]
			}
		}
		return ""
	}
	return Run(name, strings.NewReader(string(data)), getenv, now)
}

func TestNothingToSay(t *testing.T) {
	inShop := `{"session_id": "me", "hook_event_name": "Stop", "cwd": "` + shop(t) + `"}`
	text := func(s string) func() io.Reader {
		return func() io.Reader { return strings.NewReader(s) }
	}
	for name, in := range map[string]func() io.Reader{
		"nothing":        text(""),
		"half an object": text(inShop[:len(inShop)-1]),
		"wrong types":    text(`{"session_id": 7}`),
		"no project":     text(`{"cwd": "/", "tool_input": {"file_path": "x_test.go"}, "tool_name": "Write"}`),
		"read error":     func() io.Reader { return iotest.ErrReader(errors.New("gone")) },
	} {
		for _, hook := range Names() {
			if got := Run(hook, in(), os.Getenv, noon); got != (Answer{}) {
				t.Errorf("%s, %s: %+v", hook, name, got)
			}
		}
	}
	if got := Run("tomorrow", strings.NewReader(inShop), os.Getenv, noon); got != (Answer{}) {
		t.Errorf("an unknown hook: %+v", got)
	}
}

// gl knows every hook in the plugin.
func TestNamesAreThePlugins(t *testing.T) {
	data, err := plugin.Read("hooks/hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, m := range regexp.MustCompile(`gl hook ([a-z-]+)`).FindAllStringSubmatch(string(data),
		-1) {
		asked = append(asked, m[1])
	}
	slices.Sort(asked)
	want := slices.Sorted(slices.Values(Names()))
	if d := cmp.Diff(want, slices.Compact(asked)); d != "" {
		t.Error(d)
	}
}

// Without the table every agent could read the tests.
func TestIsolationShips(t *testing.T) {
	if isolation().Isolated(guard.Call{Tool: "Write", Agent: "gl-implementer"}, "x_test.go",
		true) == nil {
		t.Error("the implementer may write tests")
	}
}

func TestStart(t *testing.T) {
	root := shop(t)
	for _, tt := range []struct {
		name, session string
		env           []string
		want          string
	}{
		{"the session that has a claim", "me", nil, `Greenlight keeps this project's state. Change it only with gl. 1/4 done.
This session has claimed S-2 (implementing).
Running: S-2
Ready: S-3
Failed: S-4
Next: gl why says what to do about each; gl slice builds what is ready.
`},
		{"another", "you", nil, `Greenlight keeps this project's state. Change it only with gl. 1/4 done.
Running: S-2
Ready: S-3
Failed: S-4
Next: gl why says what to do about each; gl slice builds what is ready.
`},
		{"gl's agent on a slice", "", []string{"GL_SESSION", "t2", "GL_SLICE", "S-2"},
			"gl started this session to work on S-2. The session has claimed it: gl state show S-2 --text. No one is there to answer questions.\n\n" + content.Standards},
		{"gl's agent on a task", "", []string{"GL_SESSION", "t", "GL_TASK", "@quick"},
			"gl started this session to work on @quick. No one is there to answer questions.\n\n" + content.Standards},
		{"gl's agent on nothing", "", []string{"GL_SESSION", "t"}, content.Standards},
	} {
		got := run(t, SessionStart, object{"cwd": root, "session_id": tt.session}, tt.env...)
		if d := cmp.Diff(Answer{Text: tt.want}, got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// A long list is cut, the hold is named, and text from files can't control the terminal.
func TestStartOfALargeProject(t *testing.T) {
	files := map[string]string{".greenlight/runs/hold.json": `{"until": "2099-01-01T00:00:00Z", "since": "2026-01-01T00:00:00Z",
		"kind": "quota", "reason": "come\u001b[2J\nback", "by": "S-3", "count": 1}`}
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		files[".greenlight/slices/S-"+n+".md"] = "---\nid: S-" + n + "\nstatus: pending\n---\n"
	}
	got := run(t, SessionStart, object{"cwd": testfiles.Make(t, files)}).Text
	for _, want := range []string{"\nReady: S-1, S-2, S-3, S-4, S-5, S-6 and 2 more\n", `(quota met by S-3: come\x1b[2J back)` + "\n",
		"\nNext: /gl:slice builds S-1; gl slice --watch in a terminal builds everything.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestStop(t *testing.T) {
	mine := func(root string, more object) object {
		doc := object{"cwd": root, "session_id": "me", "hook_event_name": "Stop"}
		for key, value := range more {
			doc[key] = value
		}
		return doc
	}
	for _, tt := range []struct {
		name  string
		more  object
		asked bool
	}{
		{"a slice in progress", nil, true},
		{"another session", object{"session_id": "you"}, false},
		{"already continued by a hook", object{"stop_hook_active": true}, false},
		{"a sub-agent", object{"agent_id": "a"}, false},
		{"a command in the background", object{"background_tasks": []string{"b"}}, false},
		{"another event", object{"hook_event_name": "SubagentStop"}, false},
	} {
		got := run(t, Stop, mine(shop(t), tt.more))
		if (got.Block != nil) != tt.asked || got.Text != "" || got.Refusal != nil {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}

	root := shop(t)
	first := run(t, Stop, mine(root, nil)).Block
	if first == nil || first.Decision != "block" ||
		!strings.Contains(first.Reason, "gl state release S-2") {
		t.Errorf("%+v", first)
	}
	if again := run(t, Stop, mine(root, nil)); again != (Answer{}) {
		t.Errorf("asked again: %+v", again)
	}

	for _, rest := range []string{"status: complete\n", "status: failed\n", "status: implementing\nwaiting_for: you\n"} {
		root := shop(t)
		text := "---\nid: S-2\nsession: t2\n" + rest + "---\n"
		if err := os.WriteFile(filepath.Join(root, ".greenlight/slices/S-2.md"), []byte(text),
			0o644); err != nil {
			t.Fatal(err)
		}
		if got := run(t, Stop, mine(root, nil)); got != (Answer{}) {
			t.Errorf("asked about %q: %+v", rest, got)
		}
	}
}

func TestGuard(t *testing.T) {
	root := shop(t)
	legacy := testfiles.Make(t, map[string]string{".greenlight/STATE.md": "| ID | Name | Status | Deps |\n|--|--|--|--|\n| S-1 | x | pending | |\n"})
	fixture := "testdata/p/.greenlight/slices/S-1.md"
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(fixture)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, ".greenlight"),
		filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, cwd, session, agent, path string
		refused                         string // part of the refusal; "" for none
	}{
		{"a generated view", root, "", "", ".greenlight/STATE.md", "generated"},
		{"a legacy project's state", legacy, "", "", ".greenlight/STATE.md", ""},
		{"a record, by its absolute path", root, "", "", filepath.Join(root, ".greenlight/runs/hold.json"), "gl stop"},
		{"a record, through a link", root, "", "", "link/runs/hold.json", "gl stop"},
		{"a record, from a subdirectory", filepath.Join(root, "testdata"), "", "", "../.greenlight/runs/hold.json", "gl stop"},
		{"a record, from elsewhere", "/", "", "", filepath.Join(root, ".greenlight/runs/hold.json"), "gl stop"},
		{"a fixture", root, "", "", fixture, ""},
		{"a source file", root, "me", "", "x.go", ""},
		{"a test, by the session that implements", root, "me", "", "x_test.go", "S-2 is being implemented"},
		{"a test, by another session", root, "you", "", "x_test.go", ""},
		{"a test, by the plugin's implementer", root, "you", "gl:gl-implementer", "x_test.go", "gl-implementer may not change tests"},
		{"a test, by an installed implementer", root, "you", "gl-implementer", "x_test.go", "gl-implementer may not change tests"},
		{"a test, by the test writer", root, "me", "gl:gl-test-writer", "x_test.go", ""},
		{"a test of nobody's project", "/", "me", "", "/x_test.go", ""},
		{"no path", root, "me", "", "", ""},
	} {
		got := run(t, Guard, object{"cwd": tt.cwd, "session_id": tt.session, "agent_type": tt.agent,
			"tool_name": "Write", "tool_input": object{"file_path": tt.path, "content": "x"}})
		refusal := got.Refusal
		if (refusal == nil) != (tt.refused == "") || refusal != nil &&
			!strings.Contains(refusal.Error(), tt.refused) || got.Text != "" || got.Block != nil {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// The standards are for sessions that gl started, once: not for sessions that read them in a
// CLAUDE.md, nor for resumed ones.
func TestStandards(t *testing.T) {
	root, home := shop(t), t.TempDir()
	start := func(source string, env ...string) string {
		return run(t, SessionStart, object{"cwd": root, "source": source},
			append(env, "HOME", home)...).Text
	}
	started := []string{"GL_SESSION", "t2", "GL_SLICE", "S-2"}
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a person's session", start("startup"), false},
		{"gl's agent", start("startup", started...), true},
		{"compacted", start("compact", started...), true},
		{"resumed", start("resume", started...), false},
		{"a talk", start("startup", "CLAUDE_PLUGIN_ROOT", "/p/.greenlight/runs/plugin-1/plugin"), true},
		{"a person's own plugin", start("startup", "CLAUDE_PLUGIN_ROOT", "/home/.claude/plugins/gl"), false},
	} {
		if strings.Contains(c.text, "# Engineering standards") != c.want {
			t.Errorf("%s: %q", c.name, c.text)
		}
	}
	sub := func() *Context {
		return run(t, SubagentStart, object{"cwd": root, "agent_type": "gl:x"},
			append(started, "HOME", home)...).Context
	}
	if c := sub(); c == nil || c.Output.Event != "SubagentStart" ||
		c.Output.Text != content.Standards {
		t.Errorf("a sub-agent: %+v", c)
	}
	memory := "<!-- greenlight:begin -->\nx\n<!-- greenlight:end -->\n"
	if err := os.WriteFile(filepath.Join(root, "CLAUDE.md"), []byte(memory), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := start("startup", started...); strings.Contains(text, "# Engineering standards") ||
		sub() != nil {
		t.Error("standards that are in CLAUDE.md are told twice")
	}
}

// A hook gets what a client says of a model's call.
func FuzzCall(f *testing.F) {
	f.Add([]byte(`{"hook_event_name": "PreToolUse", "session_id": "a", "cwd": "/x", "tool_name": "Bash", "tool_input": {"command": "rm x"}}`))
	f.Add([]byte(`{"session_id": 7, "agent_type": null, "tool_input": "x", "stop_hook_active": "false", "background_tasks": []}`))
	f.Add([]byte(`{"tool_name": "Write", "tool_input": {"file_path": ["a", {"b": "../../x"}], "edits": [1, null]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readCall(bytes.NewReader(data))
		if err == nil && len(c.Cwd) > guard.MaxPath {
			t.Fatalf("a directory of %d bytes", len(c.Cwd))
		}
	})
}
