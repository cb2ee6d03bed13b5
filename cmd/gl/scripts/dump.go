package scripts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
