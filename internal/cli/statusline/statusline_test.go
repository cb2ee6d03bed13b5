package statusline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/term"
	"greenlight/internal/base/testfiles"
)

// env is a getenv; pairs has KEY, VALUE, ….
func env(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func client(t *testing.T, text string) Client {
	t.Helper()
	c := ReadClient(strings.NewReader(text))
	if c == nil {
		t.Fatalf("%s can't be read", text)
	}
	return c
}

// For any input from Claude Code and the file, the result is one line that is safe for a
// terminal, without a failure.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"model": "x\u001b[2J\n"}`), []byte("---\nmilestone: v1\n---\n"))
	f.Fuzz(func(t *testing.T, in, state []byte) {
		root := testfiles.Make(t, map[string]string{".planning/STATE.md": string(state)})
		o := Options{Dir: root, Getenv: env("HOME", root, "COLUMNS", "100")}
		line := New(ReadClient(bytes.NewReader(in)), o).Render(false)
		if strings.ContainsFunc(line, unicode.IsControl) || term.Width(line) > 150 {
			t.Errorf("%q and %q: %q", in, state, line)
		}
	})
}

func TestReadClient(t *testing.T) {
	open, _ := io.Pipe()
	for name, in := range map[string]io.Reader{
		"no input": nil, "half an object": strings.NewReader(`{"a": `),
		"an array": strings.NewReader(`[]`), "null": strings.NewReader(`null`),
		"an error": iotest.ErrReader(errors.New("gone")), "a panic": panicking{},
		"nothing, for ever": open,
	} {
		if c := ReadClient(in); c != nil {
			t.Errorf("%s: %v", name, c)
		}
	}
	body, end := io.Pipe()
	go func() { _, _ = end.Write([]byte(`{"cwd": "/x"} and more`)) }() // without an end of input
	if c := ReadClient(body); c.Dir() != "/x" {
		t.Errorf("an input that doesn't end: %v", c)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a fault of gl") }

func TestClient(t *testing.T) {
	for _, tt := range []struct {
		text       string
		model, dir string
		used       int
	}{
		{`{}`, "Claude", "", -1},
		{`{"model": {"display_name": "Opus 4.5", "id": "x"}, "cwd": "/a", "workspace": {"current_dir": "/b"}}`, "Opus 4.5", "/b", -1},
		{`{"model": "M", "cwd": "/a", "context_window": {"used_percentage": 71.4, "remaining_percentage": 1}}`, "M", "/a", 86},
		{`{"cwd": "a", "context_window": {"remaining_percentage": 28.6}}`, "Claude", "", 86},
		{`{"model": 7, "workspace": [], "cwd": 7, "context_window": {"used_percentage": 170}}`, "Claude", "", 100},
		{`{"context_window": {"used_percentage": "x", "remaining_percentage": 170}}`, "Claude", "", 0},
	} {
		c := client(t, tt.text)
		if c.model() != tt.model || c.Dir() != tt.dir || c.used() != tt.used {
			t.Errorf("%s: %q, %q, %d", tt.text, c.model(), c.Dir(), c.used())
		}
	}
	if c := Client(nil); c.model() != "" || c.Dir() != "" || c.used() != -1 {
		t.Errorf("no client: %q, %q, %d", c.model(), c.Dir(), c.used())
	}
}

func TestRender(t *testing.T) {
	full := Line{Model: "Opus", State: "1/4 done | 1 running", Dir: "shop", Context: 71}
	with := func(f func(*Line)) Line { l := full; f(&l); return l }
	for _, tt := range []struct {
		name  string
		line  Line
		color bool
		want  string
	}{
		{"all", full, false, "Opus │ 1/4 done | 1 running │ shop ███████░░░ 71%"},
		{"the context first", with(func(l *Line) { l.ContextFirst = true }), false, "Opus ███████░░░ 71% │ 1/4 done | 1 running │ shop"},
		{"unknown context", with(func(l *Line) { l.Context = -1 }), false, "Opus │ 1/4 done | 1 running │ shop"},
		{"no directory", with(func(l *Line) { l.Dir = "" }), false, "Opus │ 1/4 done | 1 running │ ███████░░░ 71%"},
		{"only a directory", Line{Dir: "shop", Context: -1}, false, "shop"},
		{"nothing", Line{Context: -1}, false, ""},
		{"a narrow screen", with(func(l *Line) { l.Columns = 40 }), false, "Opus │ 1/4 done … │ shop ███████░░░ 71%"},
		{"a screen that is too narrow", with(func(l *Line) { l.Columns = 10 }), false, "Opus │ … │ shop ███████░░░ 71%"},
		{"control characters", with(func(l *Line) { l.State = "a\x1b[2J\nb" }), false,
			`Opus │ a\x1b[2J b │ shop ███████░░░ 71%`},
		{"colors", full, true, "\x1b[2mOpus\x1b[0m │ \x1b[2m1/4 done | 1 running\x1b[0m │ \x1b[2mshop\x1b[0m \x1b[38;5;208m███████░░░ 71%\x1b[0m"},
		{"a task", Line{Task: "Testing", Context: 100}, true, "\x1b[1mTesting\x1b[0m │ \x1b[31m██████████ 100%\x1b[0m"},
	} {
		if d := cmp.Diff(tt.want, tt.line.Render(tt.color)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// On a screen with room for the other parts and one column, nothing is wider.
func TestRenderFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a日é🙂 ]{0,60}`)
		l := Line{Model: text.Draw(t, "model"), State: text.Draw(t, "state"),
			Dir: text.Draw(t, "dir"), Context: rapid.IntRange(-1, 100).Draw(t, "context"),
			ContextFirst: rapid.Bool().Draw(t, "first")}
		l.Columns = rapid.IntRange(maxModel+maxDir+30, 300).Draw(t, "columns")
		if got := l.Render(false); term.Width(got) > l.Columns {
			t.Fatalf("%q has %d columns of %d", got, term.Width(got), l.Columns)
		}
	})
}

func TestInTime(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, tt := range map[string]struct {
		f    func() string
		want string
	}{
		"a result":    {func() string { return "x" }, "x"},
		"a panic":     {func() string { panic("a fault of gl") }, ""},
		"a hung disk": {func() string { <-release; return "x" }, ""},
	} {
		limit := time.Minute
		if name == "a hung disk" {
			limit = time.Millisecond
		}
		if got := inTime(limit, tt.f); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestCurrentTask(t *testing.T) {
	list := func(status string) string {
		return `[{"status": "completed", "activeForm": "Old"}, 7, {"status": "` + status + `", "activeForm": "Testing"}]`
	}
	home := testfiles.Make(t, map[string]string{
		".claude/todos/s1-agent-a.json": list("in_progress"), ".claude/todos/s1-agent-b.json": `[]`, ".claude/todos/s1-other.json": list("in_progress"),
		".claude/todos/s2-agent-a.json": list("pending"), ".claude/todos/s3-agent-a.json": `nonsense`,
		"elsewhere/todos/s2-agent-a.json": list("in_progress"), "elsewhere/todos/[a-z]-agent-a.json": list("in_progress"),
	})
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(home, ".claude/todos/s1-agent-b.json"), old,
		old); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(home, "elsewhere")
	for _, tt := range []struct{ session, config, want string }{
		{"s1", "", "Testing"}, {"s2", "", ""}, {"s3", "", ""}, {"s4", "", ""}, {"", "", ""}, {"../todos/s1", "", ""}, {"s*", "", ""},
		{"s2", elsewhere, "Testing"}, {"[a-z]", elsewhere, "Testing"}, {"b", elsewhere, ""},
	} {
		if got := currentTask(env("HOME", home, "CLAUDE_CONFIG_DIR", tt.config),
			tt.session); got != tt.want {
			t.Errorf("%q in %q: %q", tt.session, tt.config, got)
		}
	}
}

// A task in progress takes the place of the project's state.
func TestNew(t *testing.T) {
	root := testfiles.Make(t, map[string]string{
		"p/.greenlight/slices/S-1.md":       "---\nid: S-1\nstatus: complete\n---\n",
		"p/.planning/STATE.md":              "",
		"p/.planning/config.json":           `{"statusline": {"state_format": "compact", "context_position": "front"}}`,
		"home/.claude/todos/s-agent-a.json": `[{"status": "in_progress", "activeForm": "Testing"}]`,
	})
	getenv := env("HOME", filepath.Join(root, "home"), "COLUMNS", "90")
	want := Line{Model: "M", Task: "Testing", Dir: "p", Context: -1,
		ContextFirst: true, Columns: 90}
	if d := cmp.Diff(want, New(client(t, `{"model": "M", "session_id": "s"}`),
		Options{Dir: filepath.Join(root, "p"), Getenv: getenv})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Line{Context: -1}, New(nil, Options{Getenv: env("HOME", root,
		"GREENLIGHT_ROOT", filepath.Join(root, "none"))})); d != "" {
		t.Errorf("a directory that is gone: %s", d)
	}
}

func TestProjectState(t *testing.T) {
	slice := func(status string) string { return "---\nstatus: " + status + "\n---\n" }
	work := `{"version": "2.0", "currentWork": {"id": "shop", "status": "building", "unitId": "cart", "workDir": "d", "tasksCompleted": ["a"]},
		"workUnits": [{"id": "cart", "status": "building", "order": 1, "workDir": "d"}]}`
	both := map[string]string{
		".greenlight/slices/S-1.md": slice("complete"), ".greenlight/slices/S-2.md": slice("failed"),
		".greenlight/runs/hold.json": `{"until": "2099-01-01T15:04:00Z", "since": "2026-01-01T00:00:00Z", "kind": "quota", "count": 1}`,
		".planning/STATE.md":         "---\nmilestone: v2\nmilestone_name: Second\nstatus: executing\n---\n",
	}
	held := " | held until " +
		time.Date(2099, 1, 1, 15, 4, 0, 0, time.UTC).Local().Format("2006-01-02 15:04")
	for _, tt := range []struct {
		name    string
		files   map[string]string
		dir     string
		compact bool
		want    string
	}{
		{"no project", nil, "", false, ""},
		{"slices", map[string]string{".greenlight/slices/S-1.md": slice("complete"), ".greenlight/slices/S-2.md": slice("implementing"),
			".greenlight/slices/S-3.md": slice("failed"), ".greenlight/slices/S-4.md": slice("odd")}, "", false, "1/4 done | 1 running | 1 failed | 1 needs you"},
		{"a directory below", map[string]string{".greenlight/slices/S-1.md": slice("complete"), "a/b/c": ""}, "a/b", false, "1/1 done"},
		{"two systems", both, "", false, "1/2 done | 1 failed" + held + " │ v2 Second · executing"},
		{"two systems, compact", both, "", true, "1/2 done | 1 failed" + held + " │ v2 · executing"},
		{"Specwright", map[string]string{".specwright/state/workflow.json": work}, "", false, "shop/cart building 1/?"},
		{"Specwright, compact", map[string]string{".specwright/state/workflow.json": work}, "", true, "cart building 1/?"},
		{"Specwright, broken", map[string]string{".specwright/state/workflow.json": work[1:]}, "", true, "workflow.json can't be understood"},
	} {
		root := testfiles.Make(t, tt.files)
		if got := projectState(filepath.Join(root, tt.dir), tt.compact,
			env("HOME", root)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A large project costs no more than its STATE.md and the records of running attempts.
func TestProjectStateOfALargeProject(t *testing.T) {
	files := map[string]string{
		".greenlight/STATE.md":             "# State\n\nProgress: [##..] 1/2 slices\n\nProgress: [###.] 300/400 slices\n",
		".greenlight/runs/live/S-3.1.json": `{"schema_version": 1, "slice": "S-3", "n": 1, "phase": "started"}`,
		".greenlight/runs/live/S-4.1.json": `{"schema_version": 1, "slice": "S-4", "n": 1, "phase": "ended"}`,
	}
	for n := range 300 {
		files[fmt.Sprintf(".greenlight/slices/S-%d.md", n)] = "not read\n"
	}
	root := testfiles.Make(t, files)
	if got := projectState(root, false, env("HOME", root)); strings.HasPrefix(got, "300/400") {
		t.Errorf("a project of %d slices isn't read: %q", 300, got)
	}
	if err := os.WriteFile(filepath.Join(root, ".greenlight", "slices", "one-more.md"), nil,
		0o644); err != nil {
		t.Fatal(err)
	}
	if got := projectState(root, false, env("HOME", root)); got != "300/400 done | 1 running" {
		t.Errorf("%q", got)
	}
}
