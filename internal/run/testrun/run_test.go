package testrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/testrun"
)

// TestMain makes the test binary act as gl when it is called as gl: gates are real processes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" && len(os.Args) > 1 && os.Args[1] == command.GateArg {
		os.Exit(command.Gate(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestParseCommand(t *testing.T) {
	for line, want := range map[string]string{
		"":                         "",
		"  ":                       "",
		"go test ./...":            `["go" "test" "./..."]`,
		"go test -run 'A|B' ./...": `["go" "test" "-run" "A|B" "./..."]`,
		`npm test -- "a b"`:        `["npm" "test" "--" "a b"]`,
		"cd web && npm test":       `["sh" "-c" "cd web && npm test"]`,
		"make; make test":          `["sh" "-c" "make; make test"]`,
		"a | b":                    `["sh" "-c" "a | b"]`,
		"a > /dev/null":            `["sh" "-c" "a > /dev/null"]`,
		"pytest test_*.py":         `["sh" "-c" "pytest test_*.py"]`,
		"a $HOME":                  `["sh" "-c" "a $HOME"]`,
		`sh -c "a $x; b"`:          `["sh" "-c" "a $x; b"]`,
		`a "\$HOME" '$HOME' \$x`:   `["a" "$HOME" "$HOME" "$x"]`,
		"CI=1 npm test":            `["sh" "-c" "CI=1 npm test"]`,
		"npm test A=1":             `["npm" "test" "A=1"]`,
		"a x#y":                    `["a" "x#y"]`,
		"a #y":                     `["sh" "-c" "a #y"]`,
		"a 'b":                     "! the single quote",
		"''":                       "! must begin with a program",
	} {
		c, err := testrun.ParseCommand(line)
		got := ""
		switch {
		case err != nil:
			got = "! " + err.Error()
		case c.IsSet():
			got = fmt.Sprintf("%q", c.Argv)
		}
		if got != want && !(strings.HasPrefix(want, "! ") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		if c.IsSet() && c.Line != line {
			t.Errorf("%s is shown as %s", line, c.Line)
		}
	}
	if c, err := testrun.ListCommand([]string{"a", "&&", "b c"}); err != nil || len(c.Argv) != 3 || c.Line != "a '&&' 'b c'" {
		t.Errorf("%+v, %v", c, err)
	}
}

func spec(t *testing.T, line string) testrun.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := testrun.ParseCommand(line)
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	dir := filepath.Join(top, "web")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return testrun.Spec{Executor: executor.NewLocal(self), Command: c, Root: top, Top: top, Dir: dir, Env: os.Environ(), Limit: time.Minute, Tree: "t1", Toolchain: "c1"}
}

func TestRun(t *testing.T) {
	s := spec(t, `echo "$GL_SLICE$GL_SESSION$GL_PORT_BASE"; echo "test a ... FAILED"; echo "test result: FAILED. 2 passed; 1 failed; 0 ignored"; echo why >&2; exit 3`)
	s.Env = append(s.Env, "GL_SLICE=S-1", "GL_SESSION=t", "GL_PORT_BASE=4000")
	s.Log = filepath.Join(s.Top, "log")
	var heard []string
	s.Line = func(line string) { heard = append(heard, line) }
	v, err := testrun.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if v.Green() || *v.ExitCode != 3 || *v.Passed != 2 || *v.Failed != 1 || !slices.Equal(v.Failing, []string{"a"}) || !v.Named() ||
		v.Reason != "test result: FAILED. 2 passed; 1 failed; 0 ignored" || v.Log != "log" || v.Dir != "web" || v.Tree != "t1" || v.Duration() <= 0 || v.At.IsZero() {
		t.Errorf("%+v", v)
	}
	if v.Last[0] != "4000" || !slices.Equal(heard, v.Last) {
		t.Errorf("last %q, heard %q", v.Last, heard)
	}
	if data, err := os.ReadFile(s.Log); err != nil || strings.Count(string(data), "\n") != 4 {
		t.Errorf("log %q, %v", data, err)
	}
	if how := v.How("1m"); how != "exit status 3: failed: a" {
		t.Error(how)
	}
	data, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(data), `"skipped":0`) || !strings.Contains(string(data), `"flaky":[]`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestRunGreen(t *testing.T) {
	for line, passed := range map[string]int{"true": -1, "echo 'no tests ran in 0.00s'": 0} {
		v, err := testrun.Run(t.Context(), spec(t, line))
		if err != nil || !v.Green() || v.Named() || known(v.Passed) != passed {
			t.Errorf("%s: %+v, %v", line, v, err)
		}
	}
}

// What a run's children used of the processors counts as its own.
func TestUsage(t *testing.T) {
	own := func(line string) float64 {
		t.Helper()
		v, err := testrun.Run(t.Context(), spec(t, line))
		if err != nil || !v.Green() {
			t.Fatalf("%+v, %v", v, err)
		}
		if u := v.Used; u.Own < 0 || u.Idle < 0 || u.Idle > 1 {
			t.Errorf("%s: %+v", line, u)
		}
		return v.Used.Own * v.Seconds
	}
	// longer than the gate takes to start, also under the race detector
	busy := own("sh -c 'i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done' & wait")
	if idle := own("sleep 0.1"); busy < 2*idle {
		t.Errorf("a loop uses %v seconds of all processors, a sleep %v", busy, idle)
	}
}

func TestRunWithoutEnd(t *testing.T) {
	s := spec(t, "trap 'exit 0' TERM; echo begun; sleep 600 & wait")
	s.Limit = 500 * time.Millisecond
	v, err := testrun.Run(t.Context(), s)
	if err != nil || v.Green() || !v.TimedOut || v.ExitCode != nil {
		t.Errorf("%+v, %v", v, err)
	}
	cache := testrun.Cache{Dir: t.TempDir()}
	if err := cache.Put(v); err != nil || cache.Get(v.Key()) != nil {
		t.Errorf("a timeout is a verdict that lasts: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := testrun.Run(ctx, spec(t, "true")); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := testrun.Run(t.Context(), spec(t, "no-such-program-anywhere")); err == nil {
		t.Errorf("%+v", v)
	}
}

func TestToolchain(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(top, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	of := func(program, top string) string {
		id, err := testrun.Toolchain([]string{program, "x"}, filepath.Dir(program), top)
		if err != nil || id == "" {
			t.Fatal(id, err)
		}
		return id
	}
	a := write("a", "#!/bin/sh\n")
	elsewhere := t.TempDir()
	first := of(a, elsewhere)
	if of(a, elsewhere) != first {
		t.Error("it isn't the same twice")
	}
	link := filepath.Join(elsewhere, "link")
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	if of(link, t.TempDir()) != first {
		t.Error("a link to a program is another one")
	}
	inTree := of(a, top)
	write("a", "#!/bin/sh\n# longer\n")
	if of(a, elsewhere) == first {
		t.Error("a program that has changed is the same")
	}
	if of(a, top) != inTree {
		t.Error("the tree's own program is known by more than the tree")
	}
	if _, err := testrun.Toolchain([]string{"no-such-program-anywhere"}, top, top); err == nil {
		t.Error("a program that isn't there")
	}
}

func TestCache(t *testing.T) {
	cache := testrun.Cache{Dir: filepath.Join(t.TempDir(), ".greenlight", "runs", "verdicts")}
	verdict := func(tree string, code int) *testrun.Verdict {
		return &testrun.Verdict{SchemaVersion: 1, Tree: tree, Command: "make test", Toolchain: "c", ExitCode: &code,
			Failing: []string{}, Last: []string{"\x1b[31m"}, Flaky: []string{}}
	}
	red, failed := verdict("t", 1), 1
	red.Failed = &failed
	if cache.Get(red.Key()) != nil {
		t.Error("it knows what nobody has told it")
	}
	if err := cache.Put(red); err != nil {
		t.Fatal(err)
	}
	got := cache.Get(red.Key())
	if got == nil || got.Green() || *got.ExitCode != 1 || got.Last[0] != `\x1b[31m` {
		t.Errorf("%+v", got)
	}
	for _, k := range []testrun.Key{{"u", "make test", "", "c"}, {"t", "make", "", "c"}, {"t", "make test", "web", "c"}, {"t", "make test", "", "d"}} {
		if cache.Get(k) != nil {
			t.Errorf("%+v is known", k)
		}
	}
	// Not kept: a verdict without a key, and a failure in which possibly no test ran.
	none := verdict("none", 1)
	none.Failed = new(int)
	for _, v := range []*testrun.Verdict{verdict("", 0), verdict("network", 1), none} {
		if err := cache.Put(v); err != nil || cache.Get(v.Key()) != nil {
			t.Errorf("%+v lasts, %v", v, err)
		}
	}

	// Bad files, and those of another key, count as missing.
	names, _ := filepath.Glob(filepath.Join(cache.Dir, "*.json"))
	if len(names) != 1 {
		t.Fatal(names)
	}
	good, _ := os.ReadFile(names[0])
	for _, text := range []string{"", "{", "[]", strings.Replace(string(good), `"t"`, `"u"`, 1), strings.Replace(string(good), `"exit_code": 1`, `"exit_code": null`, 1)} {
		if err := os.WriteFile(names[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if v := cache.Get(red.Key()); v != nil {
			t.Errorf("%q is %+v", text, v)
		}
	}

	// The oldest are removed.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(names[0], old, old); err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		if err := cache.Put(verdict(fmt.Sprint(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(cache.Dir, "*"))
	if len(left) != 256 || slices.Contains(left, names[0]) {
		t.Errorf("%d files are left", len(left))
	}
	if v := cache.Get(verdict("255", 0).Key()); !v.Green() {
		t.Errorf("%+v", v)
	}
}

// The line that a person reads is about the failure, not about where npm or make keep their logs.
func TestDecisive(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"npm error Missing script: \"test\"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run\n" +
			"npm error A complete log of this run can be found in: /root/.npm/_logs/x-debug-0.log", `npm error Missing script: "test"`},
		{"> p@1.0.0 test\n> jest\n\nsh: 1: jest: not found\nnpm error code 127\nnpm error path /p", "sh: 1: jest: not found"},
		{"1 failing\n  adds two\nnpm ERR! code 1\nnpm ERR! Test failed.  See above for more details.", "1 failing"},
		{"a.c:3: error: no x\nmake: *** [Makefile:2: test] Error 1", "a.c:3: error: no x"},
		{"make: *** No rule to make target 'test'.  Stop.", "make: *** No rule to make target 'test'.  Stop."},
		{"npm error code 1\nnpm error path /p", "npm error path /p"},
		{"all fine", "all fine"},
	} {
		s := spec(t, "cat out; exit 1")
		if err := os.WriteFile(filepath.Join(s.Dir, "out"), []byte(c.output+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := testrun.Run(t.Context(), s)
		if err != nil || v.Reason != c.want {
			t.Errorf("%q\n got %q, %v\nwant %q", c.output, v.Reason, err, c.want)
		}
	}
}

func TestFailsLike(t *testing.T) {
	one, two := 1, 2
	red := func(code *int, lines ...string) *testrun.Verdict {
		return &testrun.Verdict{ExitCode: code, Last: lines}
	}
	base := red(&one, "FAIL test_1 (0.02s)", "log: /root/2026-11-28T07_57_41_123Z-debug-0.log, pid 4711")
	for _, c := range []struct {
		name string
		v    *testrun.Verdict
		want bool
	}{
		{"another time", red(&one, "FAIL test_1 (1.70s)", "log: /root/2026-11-28T07_58_00_001Z-debug-0.log, pid 10815"), true},
		{"another test", red(&one, "FAIL test_2 (0.02s)", "log: /root/2026-11-28T07_57_41_123Z-debug-0.log, pid 4711"), false},
		{"one more", red(&one, "FAIL test_1 (0.02s)", "FAIL test_2 (0.02s)"), false},
		{"another exit code", red(&two, base.Last...), false},
		{"a signal", &testrun.Verdict{Signal: "killed", Last: base.Last}, false},
		{"a count", &testrun.Verdict{ExitCode: &one, Last: base.Last, Failed: &one}, false},
		{"the time limit", &testrun.Verdict{ExitCode: &one, Last: base.Last, TimedOut: true}, false},
	} {
		if got := c.v.FailsLike(base); got != c.want || base.FailsLike(c.v) != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
