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
// parallel than there are processors. It returns the exit code.
func Run(m *testing.M) int {
	Overlap()
	dir := Memory()
	if dir == "" {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
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
