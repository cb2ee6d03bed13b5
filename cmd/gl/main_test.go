package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
	"greenlight/internal/cli/statusline"
	"greenlight/internal/workspace/sandbox"
)

// raceOptions stops programs with the race detector from sleeping for a second before they
// exit: the scripts run hundreds.
const raceOptions = "atexit_sleep_ms=0"

// TestMain makes the test binary act as gl, so that scripts, wrappers and gates all run the
// code under test.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", raceOptions)
	testfiles.Overlap()
	testscript.Main(m, map[string]func(){"gl": run, "claude": fakeClaude})
}

func run() {
	statusline.StateLimit = time.Minute
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr,
		os.Environ()))
}

// Every file in testdata/script is one promise of the command line. Scripts work in memory if
// there is room, except those that use a sandbox, which has a /dev/shm of its own.
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
	// on disk, where they stay
	if kept := flag.Lookup("testwork"); kept != nil && kept.Value.String() == "true" {
		runScripts(t, files)
		return
	}
	if root := testfiles.Memory(); root != "" {
		t.Cleanup(func() { os.RemoveAll(root) }) // after the scripts, which run in parallel
		t.Setenv("GOTMPDIR", root)               // where testscript creates its directories
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

// condition evaluates the conditions beyond testscript's own: "unshare" is true if PID
// namespaces may be made, "bwrap" if sandboxes may, "slow" if slow scripts run, "long" if their
// long forms do, "old" if there is an old gl, "root" if the user is root.
func condition(name string) (bool, error) {
	switch name {
	case "bwrap":
		return sandbox.Check(context.Background()) == nil, nil
	case "slow":
		return testfiles.RunsSlow(), nil
	case "long":
		return testfiles.Long(), nil
	case "old":
		return os.Getenv("GREENLIGHT_OLD_BIN") != "", nil
	case "root":
		return os.Geteuid() == 0, nil
	case "unshare":
		return exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// allCommands returns the script commands beyond testscript's own. testdata/script/README.md
// describes them.
func allCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := maps.Clone(commands)
	maps.Copy(all, runs)
	return all
}

// setup gives each script a directory for the files of the fake claude, the path of gl for
// scripts that have their own PATH, the name of this host for records that they forge, and a home
// in which the person has a name for commits. Of our environment, testscript itself passes on only
// PATH.
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
	env.Setenv("OLD_BIN", os.Getenv("GREENLIGHT_OLD_BIN"))
	env.Setenv("HOST", host)
	env.Setenv("FAKE_DIR", calls)
	home := filepath.Join(env.WorkDir, ".home")
	env.Setenv("HOME", home)
	env.Values[startedKey{}] = map[string]*background{}
	env.Defer(func() { dumpFailure(env) })
	return errors.Join(os.Mkdir(calls, 0o755), os.Mkdir(home, 0o755),
		os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\nname = t\nemail = t@t\n"),
			0o644))
}
