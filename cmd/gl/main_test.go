package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"greenlight/internal/cli"
	"greenlight/internal/sandbox"
	"greenlight/internal/testfiles"
)

// raceOptions: a program with the race detector sleeps for a second before it exits, unless it is told not to, and the
// scripts run hundreds.
const raceOptions = "atexit_sleep_ms=0"

// The test binary is gl itself, so that scripts, wrappers and gates all run what is tested.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", raceOptions)
	testfiles.Overlap()
	testscript.Main(m, map[string]func(){"gl": run, "claude": fakeClaude})
}

func run() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// Every file in testdata/script is one promise of the command line. They work in memory where there is room, except for those that use a
// sandbox, which has a /dev/shm of its own.
func TestScript(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	confined := slices.Clone(files)
	uses := func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "bwrap")
	}
	files = slices.DeleteFunc(files, uses)
	confined = slices.DeleteFunc(confined, func(file string) bool { return !uses(file) })
	runScripts(t, confined)
	if kept := flag.Lookup("testwork"); kept != nil && kept.Value.String() == "true" { // on disk, where they stay
		runScripts(t, files)
		return
	}
	if root := testfiles.Memory(); root != "" {
		t.Cleanup(func() { os.RemoveAll(root) }) // after the scripts, which run in parallel
		t.Setenv("GOTMPDIR", root)               // where testscript makes its directories
	}
	runScripts(t, files)
}

func runScripts(t *testing.T, files []string) {
	testscript.Run(t, testscript.Params{
		Files:              files,
		Setup:              setup,
		Cmds:               allCommands(),
		Condition:          condition,
		RequireUniqueNames: true,
	})
}

// condition knows the conditions beyond testscript's own: "unshare" is true where PID namespaces may be made, "bwrap" where sandboxes,
// "long" where somebody has asked for the scripts that take their time.
func condition(name string) (bool, error) {
	switch name {
	case "bwrap":
		return sandbox.Check(context.Background()) == nil, nil
	case "long":
		return testfiles.Long(), nil
	case "unshare":
		return exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// allCommands are the script commands beyond testscript's own. testdata/script/README.md explains them.
func allCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := maps.Clone(commands)
	maps.Copy(all, runs)
	return all
}

// setup gives each script a directory for what the fake claude leaves, the place of gl for scripts that have their own
// PATH, and the name of this host for records that they forge. testscript itself passes nothing of our environment on
// but PATH.
func setup(env *testscript.Env) error {
	gl, err := exec.LookPath("gl")
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	calls := filepath.Join(env.WorkDir, "calls")
	env.Setenv("GORACE", raceOptions)
	env.Setenv("GLBIN", gl)
	if v, ok := os.LookupEnv("GL_INDEX"); ok { // make index
		env.Setenv("GL_INDEX", v)
	}
	env.Setenv("HOST", host)
	env.Setenv("FAKE_DIR", calls)
	env.Setenv("HOME", filepath.Join(env.WorkDir, ".home")) // made by what is kept there
	env.Values[startedKey{}] = map[string]*background{}
	env.Defer(func() { dumpFailure(env) })
	return os.Mkdir(calls, 0o755)
}
