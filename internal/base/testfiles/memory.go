package testfiles

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Run runs a package's tests with their temporary files in memory, if there is room and TMPDIR
// isn't set: tests that make repositories take several times as long on disk. More tests run in
// parallel than there are processors. Programs with the race detector don't sleep for a second
// before they exit: tests run thousands. It returns the exit code.
func Run(m *testing.M) int {
	Overlap()
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	dir := Memory()
	if dir == "" {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
}

// RunInNewHome is Run with a home directory of its own and without git's variables: what the tests
// allow or configure stays out of the developer's files.
func RunInNewHome(m *testing.M) int {
	home, err := os.MkdirTemp("", "greenlight-home-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	os.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		os.Unsetenv(name)
	}
	return Run(m)
}

// Overlap makes more parallel tests run than there are processors, for packages whose tests
// wait for processes. Call it from TestMain; -parallel takes precedence.
func Overlap() {
	if err := flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+4)); err != nil {
		panic(err)
	}
}

// Memory creates a directory in memory. It returns "" if there is no room or TMPDIR is set. The
// caller removes the directory.
func Memory() string {
	if os.Getenv("TMPDIR") != "" || !roomInMemory() {
		return ""
	}
	dir, err := os.MkdirTemp(memory, "gltest-")
	if err != nil {
		return ""
	}
	return dir
}
