package scripts

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// beside gl-remote: puts gl-remote beside gl. The test binary isn't gl-remote too: with all that
// gl-remote links, each of the thousands of gl that scripts run would start more slowly.
func beside(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 || args[0] != "gl-remote" {
		ts.Fatalf("usage: beside gl-remote")
	}
	ts.Check(builtRemote())
}

// builtRemote builds gl-remote once, with the race detector if these tests have it.
var builtRemote = sync.OnceValue(func() error {
	gl, err := exec.LookPath("gl")
	if err != nil {
		return err
	}
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(filepath.Dir(gl), "gl-remote")}
	if info, ok := debug.ReadBuildInfo(); ok &&
		slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "greenlight/cmd/gl-remote")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build gl-remote: %w\n%s", err, out)
	}
	return nil
})
