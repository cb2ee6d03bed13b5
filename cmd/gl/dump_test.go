package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"greenlight/internal/base/testfiles"
)

// dumpFailure logs what a failed script leaves: the output of its programs, records, logs,
// ledgers, the last screen it looked at, and the processes that still run. It must suffice to
// understand a failure that comes once in a hundred runs.
func dumpFailure(env *testscript.Env) {
	if t, ok := env.T().(interface{ Failed() bool }); !ok || !t.Failed() {
		return
	}
	var b strings.Builder
	for _, path := range telling(env.WorkDir) {
		if data, err := os.ReadFile(path); err == nil {
			name, _ := filepath.Rel(env.WorkDir, path)
			fmt.Fprintf(&b, "--- $WORK/%s\n%s\n", name, lastBytes(data, 3000))
		}
	}
	fmt.Fprintf(&b, "--- processes with $WORK in their command line or environment\n")
	left, err := testfiles.Processes(env.WorkDir)
	fmt.Fprintln(&b, strings.Join(left, "\n"), err)
	env.T().Log(b.String())
}

// telling returns the files below dir that show how its programs went.
func telling(dir string) (paths []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a directory that was removed meanwhile is ignored
		}
		parent := filepath.Base(filepath.Dir(path))
		switch {
		case filepath.Dir(path) == dir &&
			(filepath.Ext(path) == ".out" || filepath.Ext(path) == ".err"),
			// of start
			filepath.Dir(path) == dir && filepath.Base(path) == "screen",
			filepath.Base(path) == "ledger",
			filepath.Base(path) == "hold.json",
			parent == "live" || parent == "done" || parent == "log":
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// lastBytes returns the end of the data, at most n bytes.
func lastBytes(data []byte, n int) string {
	if len(data) <= n {
		return string(data)
	}
	return "…" + string(data[len(data)-n:])
}

// A recorder is the T of a script that a test runs: it keeps the log, and its failure doesn't
// fail the test.
type recorder struct {
	log    strings.Builder
	failed bool
}

func (r *recorder) Skip(args ...any)  { panic("skipped: " + fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) Parallel()         {}
func (r *recorder) Log(args ...any)   { fmt.Fprintln(&r.log, args...) }
func (r *recorder) FailNow()          { r.failed = true; panic(r) }
func (r *recorder) Failed() bool      { return r.failed }
func (r *recorder) Verbose() bool     { return false }
func (r *recorder) Run(_ string, f func(t testscript.T)) {
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f(r)
}

func TestDumpFailure(t *testing.T) {
	for _, test := range []struct {
		name, end string
		failed    bool
	}{{"failed", "exists nothing", true}, {"passed", "exists one.out", false}} {
		t.Run(test.name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "one.txtar")
			text := "start one sleep 600\n" + test.end + "\n-- p/.greenlight/runs/log/S-1.1.log --\nlast words\n-- p/.greenlight/slices/S-1.md --\nno news\n"
			if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := new(recorder)
			testscript.RunT(r,
				testscript.Params{Files: []string{script}, Setup: setup, Cmds: allCommands()})
			for _, want := range []string{"--- $WORK/p/.greenlight/runs/log/S-1.1.log\nlast words\n", "--- $WORK/one.out\n"} {
				if r.failed != test.failed ||
					strings.Contains(r.log.String(), want) != test.failed {
					t.Errorf("failed %v, and the log has %q: %v\n%s", r.failed, want, !test.failed,
						r.log.String())
				}
			}
			if strings.Contains(r.log.String(), "no news") {
				t.Errorf("the log has what tells nothing:\n%s", r.log.String())
			}
		})
	}
}
