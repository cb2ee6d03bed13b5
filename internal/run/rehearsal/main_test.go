package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/core/agent"
)

// With this variable set the test binary is the agent.
const playEnv = "REHEARSAL_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playEnv) != "" {
		os.Exit(Main(context.Background(), "/nowhere/gl", os.Args[1:], os.Getenv,
			os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// project creates a project with the slice S-3 and returns its root and the slice's file.
func project(t *testing.T) (root, file string) {
	t.Helper()
	root = t.TempDir()
	file = filepath.Join(root, ".greenlight", "slices", "S-3.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const text = "---\nid: S-3\nstatus: in_progress\nstep: none\nmilestone: m\nsession: tok\nkept: as it is # yes\n---\n\n# S-3: Three\n"
	for name, text := range map[string]string{file: text,
		filepath.Join(filepath.Dir(file), "S-4.md"): strings.ReplaceAll(text, "S-3", "S-4")} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, file
}

// command returns the agent as a process of its own that works on S-3.
func command(ctx context.Context, root, spec string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], "--spec", spec, "S-3")
	cmd.Env = append(os.Environ(), playEnv+"=1", "GREENLIGHT_ROOT="+root, "GL_SLICE=", "GL_ATTEMPT=", "GL_SESSION=tok")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func decode(t *testing.T, stdout []byte) agent.Summary {
	t.Helper()
	d := agent.NewDecoder(agent.StreamClaude)
	for line := range bytes.Lines(stdout) {
		for _, e := range d.Line(line) {
			if e.Kind == agent.KindPlain {
				t.Errorf("no event: %q", e.Text)
			}
		}
	}
	return d.Summary()
}

func TestProcess(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		exit int
		file []string // lines of the slice file afterwards
		ok   func(agent.Summary) bool
	}{
		{Complete, 0, []string{"status: complete", "step: complete"}, func(s agent.Summary) bool {
			return !s.Result.IsError && s.Result.Subtype == "success" && s.Result.Turns > 4 &&
				*s.Result.CostUSD == 0
		}},
		{Fail, 7, nil, func(s agent.Summary) bool { return s.Result == nil }},
		{Turns, 1, nil, func(s agent.Summary) bool {
			return s.Result.Subtype == "error_max_turns" && s.Result.IsError &&
				len(s.Result.Errors) == 1 && s.Limit == nil
		}},
		{Limit, 1, nil, func(s agent.Summary) bool {
			return s.Result.APIStatus == 429 && s.Limit != nil && s.Limit.Kind == agent.RateLimit &&
				s.Limit.Reset != nil
		}},
		{Outage, 1, nil, func(s agent.Summary) bool {
			return s.Result.APIStatus == 500 && s.Limit != nil && s.Limit.Kind == agent.Outage
		}},
		{Park, 0, []string{"waiting_for: "}, func(s agent.Summary) bool {
			return !s.Result.IsError
		}},
		{Quit, 0, nil, func(s agent.Summary) bool { return !s.Result.IsError && s.Denials == 0 }},
		{Refuse, 0, nil, func(s agent.Summary) bool { return !s.Result.IsError && s.Denials == 1 }},
		{NoCommand, 0, []string{"status: in_progress", "step: none", "milestone: m\nsession: tok"}, func(s agent.Summary) bool {
			return !slices.Contains(s.Commands, "gl:slice") && !s.Result.IsError
		}},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			t.Parallel()
			root, file := project(t)
			spec := "rehearsal:step=1ms"
			if tt.kind != Complete {
				spec += "," + string(tt.kind) + "=S-3"
			}
			cmd := command(t.Context(), root, spec)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.exit {
				t.Fatalf("exit %d, want %d; stderr %s", got, tt.exit, &stderr)
			}
			if (stderr.Len() > 0) != (tt.kind == Fail) {
				t.Errorf("stderr: %q", &stderr)
			}
			s := decode(t, stdout.Bytes())
			if !s.SawInit || s.ToolRunning ||
				tt.kind != Fail && (s.Result == nil || s.Result.SessionID != "tok") {
				t.Fatalf("%+v", s)
			}
			if tt.kind != NoCommand && !slices.Contains(s.Commands, "gl:slice") || !tt.ok(s) {
				t.Errorf("%+v, result %+v", s, s.Result)
			}
			if tt.kind != NoCommand {
				tt.file = append(tt.file, "updated: 2")
			}
			checkFile(t, file,
				append(tt.file, "session: tok", "kept: as it is # yes", "# S-3: Three"))
		})
	}
}

func checkFile(t *testing.T, file string, want []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range want {
		if !strings.Contains(string(text), "\n"+line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func TestCrashIsASIGKILL(t *testing.T) {
	root, file := project(t)
	stdout, err := command(t.Context(), root, "step=1ms,crash=S-3#2", "GL_ATTEMPT=2").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("ended with %v", err)
	}
	if s := decode(t, stdout); s.Result != nil || !s.SawInit {
		t.Errorf("%+v", s)
	}
	step := walk[parse(t, "step=1ms,crash=S-3#2").Fate("S-3", 2).AtStep]
	checkFile(t, file, []string{"status: " + step, "step: " + step})
	if err := command(t.Context(), root, "step=1ms,crash=S-3#2", "GL_ATTEMPT=3").Run(); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
}

// TERM ends a hanging agent and a working one at once and without a result.
func TestTerminated(t *testing.T) {
	for _, spec := range []string{"step=1ms,hang=S-3", "step=1h"} {
		root, _ := project(t)
		cmd := command(t.Context(), root, spec)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The first byte is written after the signal is caught.
		first := make([]byte, 1)
		if _, err := io.ReadFull(out, first); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code is checked below
		if got := cmd.ProcessState.ExitCode(); got != 143 {
			t.Errorf("%s: exit %d", spec, got)
		}
		if s := decode(t, append(first, rest...)); s.Result != nil {
			t.Errorf("%s: result %+v", spec, s.Result)
		}
	}
}

func TestUsage(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tt := range []struct {
		args []string
		env  func(string) string
		want string
	}{
		{[]string{"--spec", "crahs=1%", "S-1"}, env("GREENLIGHT_ROOT", "/x"), `did you mean "crash"`},
		{[]string{"--sepc", "", "S-1"}, env("GREENLIGHT_ROOT", "/x"), "sepc"},
		{nil, env("GREENLIGHT_ROOT", "/x"), "which slice?"},
		{[]string{"S-1", "S-2"}, env("GREENLIGHT_ROOT", "/x"), "which slice?"},
		{[]string{"S-1"}, env(), "GREENLIGHT_ROOT isn't set"},
		{[]string{"S-1"}, env("GREENLIGHT_ROOT", "/x", "GL_ATTEMPT", "two"), `GL_ATTEMPT is "two"`},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(t.Context(), "/nowhere/gl", tt.args, tt.env, &stdout, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), tt.want) || stdout.Len() > 0 {
			t.Errorf("%q: exit %d, stderr %q, want %q", tt.args, code, &stderr, tt.want)
		}
	}
}

func TestResetIsNotTooEarly(t *testing.T) {
	reset := time.UnixMilli(1767225600_001)
	for seconds, want := range map[bool]string{true: `"resetsAt":1767225601,`,
		false: `"resetsAt":1767225600001,`} {
		var out bytes.Buffer
		s := stream{w: &out, start: time.Now()}
		s.rateLimit(reset, seconds)
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, &out)
		}
		if at := decode(t, out.Bytes()).Limit.Reset; at == nil || at.Before(reset) {
			t.Errorf("seconds %v: over at %v, before %v", seconds, at, reset)
		}
	}
}

// fake plays an attempt with a test's own writer.
func fake(t *testing.T, spec string, stdout io.Writer, stderr io.Writer, write writer) *player {
	s := parse(t, spec)
	start := time.Now()
	return &player{
		job:    job{spec: s, root: "/nowhere", slice: "S-3", attempt: 1},
		fate:   s.Fate("S-3", 1),
		start:  start,
		work:   sliceWorker{"S-3", write},
		out:    &stream{w: stdout, start: start},
		stderr: stderr,
	}
}

func TestStateThatCannotBeWritten(t *testing.T) {
	var stdout, stderr bytes.Buffer
	p := fake(t, "step=1ms", &stdout, &stderr, func(context.Context, string, []field) error {
		return errors.New("disk full")
	})
	if code := p.play(t.Context()); code != 1 ||
		!strings.Contains(stderr.String(), "write the state of S-3: disk full") {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
	if s := decode(t, stdout.Bytes()); s.Result != nil || s.ToolRunning {
		t.Errorf("%+v", s)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWithoutListeners(t *testing.T) {
	var stderr bytes.Buffer
	writes := 0
	p := fake(t, "step=1h", closedPipe{}, &stderr, func(context.Context, string, []field) error {
		writes++
		return nil
	})
	if code := p.play(t.Context()); code != 1 || writes > 1 {
		t.Errorf("exit %d after %d writes", code, writes)
	}
}

func TestCancelledWhileWriting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := fake(t, "step=1h", io.Discard, io.Discard,
		func(ctx context.Context, _ string, _ []field) error {
			cancel()
			return ctx.Err()
		})
	if code := p.play(ctx); code != 143 {
		t.Errorf("exit %d", code)
	}
}

// A rehearsal in a worktree of its own commits its work there. Red work is broken, and the next
// attempt repairs it; slices that clash change the same line, and an attempt that begins in an
// unfinished merge keeps both sides' lines.
func TestCommitsInWorktrees(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root, _ := project(t)
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "merge.conflictStyle=diff3"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && args[0] != "merge" {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(root, "init", "-q", "-b", "main")
	git(root, "add", ".")
	git(root, "commit", "-q", "-m", "first")
	tree := filepath.Join(t.TempDir(), "S-3")
	git(root, "worktree", "add", "-q", "-b", "work", tree)
	play := func(dir, spec string, env ...string) {
		t.Helper()
		cmd := command(t.Context(), root, spec, env...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	shows := func(dir, name, want string) {
		t.Helper()
		if got := git(dir, "show", "HEAD:rehearsal/"+name); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}

	play(root, "step=1ms,red=S-3,clash=S-3") // in the checkout, it doesn't touch the files
	if _, err := os.Stat(filepath.Join(root, "rehearsal")); err == nil {
		t.Error("a rehearsal in the checkout has written files")
	}
	play(tree, "step=1ms,red=S-3#1")
	shows(tree, "S-3.md", "# S-3\n\nBroken in attempt 1, as the rehearsal was asked to.")
	play(tree, "step=1ms,red=S-3#1", "GL_ATTEMPT=2")
	shows(tree, "S-3.md", "# S-3\n\nA rehearsal built this in attempt 2.")
	play(tree, "step=1ms,clash=S-3", "GL_ATTEMPT=3")
	play(tree, "step=1ms,clash=S-3", "GL_ATTEMPT=4") // its line is there
	shows(tree, "index.md", "# Index\n\n- [S-3](S-3.md)")

	other := filepath.Join(t.TempDir(), "S-4")
	git(root, "worktree", "add", "-q", "-b", "other", other)
	play(other, "step=1ms,clash=S-4", "GL_SLICE=S-4", "GL_ATTEMPT=1")
	shows(other, "index.md", "# Index\n\n- [S-4](S-4.md)")
	git(tree, "merge", "-q", "other")
	if got := git(tree, "diff", "--name-only", "--diff-filter=U"); got != "rehearsal/index.md" {
		t.Fatalf("in conflict: %q", got)
	}
	play(tree, "step=1ms,clash=S-3", "GL_ATTEMPT=5")
	shows(tree, "index.md", "# Index\n\n- [S-3](S-3.md)\n- [S-4](S-4.md)")
	shows(tree, "S-3.md", "# S-3\n\nA rehearsal built this in attempt 4.") // it does nothing else
	if got := git(tree, "log", "-1", "--format=%an %s"); got != "gl rehearsal Merge branch 'other' into work" {
		t.Errorf("the merge: %s", got)
	}
	if got := git(tree, "status", "--porcelain", "rehearsal"); got != "" {
		t.Errorf("uncommitted: %s", got)
	}
}
