// Package scripts runs the scripts in its folders, each of which is one promise of the command
// line. It has the verbs that scripts use beyond testscript's own, and the agent that they
// start. README.md describes them. Only tests use it.
package scripts

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

// RaceOptions is GORACE for programs with the race detector: they don't sleep for a second before
// they exit, because tests run hundreds.
const RaceOptions = "atexit_sleep_ms=0"

// Patience is the timeout of a script's waits. A machine may be slow; gl promises nothing about
// that.
const Patience = 60 * time.Second

// Main makes the test binary act as gl and as claude, so that scripts, wrappers and gates all run
// the code under test. Call it from TestMain.
func Main(m *testing.M) {
	os.Setenv("GORACE", RaceOptions)
	testfiles.Overlap()
	testscript.Main(m, map[string]func(){"gl": run, "claude": fakeClaude})
}

func run() {
	statusline.StateLimit = time.Minute
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr,
		os.Environ()))
}

// Run runs the scripts in the package's testdata. They work in memory if there is room, except
// those that use a sandbox, which has a /dev/shm of its own.
func Run(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
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
	runFiles(t, confined)
	// on disk, where they stay
	if kept := flag.Lookup("testwork"); kept != nil && kept.Value.String() == "true" {
		runFiles(t, files)
		return
	}
	if root := testfiles.Memory(); root != "" {
		t.Cleanup(func() { os.RemoveAll(root) }) // after the scripts, which run in parallel
		t.Setenv("GOTMPDIR", root)               // where testscript creates its directories
	}
	runFiles(t, files)
}

func runFiles(t *testing.T, files []string) {
	testscript.Run(t, params(files...))
}

func params(files ...string) testscript.Params {
	return testscript.Params{
		Files:              files,
		Setup:              setup,
		Cmds:               allCommands(),
		Condition:          condition,
		RequireUniqueNames: true,
	}
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

// allCommands returns the script commands beyond testscript's own. README.md describes them.
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
	env.Setenv("GORACE", RaceOptions)
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
