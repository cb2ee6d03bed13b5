package testfiles

import (
	"os"
	"testing"
)

// Run runs a package's tests with their temporary files in memory, where there is room and TMPDIR doesn't say otherwise: on disk those that
// make repositories take several times as long. It returns the exit code.
func Run(m *testing.M) int {
	dir := Memory()
	if dir == "" {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
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
