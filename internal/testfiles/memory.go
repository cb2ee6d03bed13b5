package testfiles

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Run runs a package's tests with their temporary files in memory, where there is room and TMPDIR doesn't say otherwise: on disk those that
// make repositories take several times as long. More of them run at a time than there are processors. It returns the exit code.
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

// Overlap has more parallel tests run at a time than there are processors, for packages whose tests wait for processes. It is for TestMain;
// -parallel says otherwise.
func Overlap() {
	if err := flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+4)); err != nil {
		panic(err)
	}
}

// Memory makes a directory in memory, "" where there is no room or TMPDIR says where temporary files belong. The caller removes it.
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
