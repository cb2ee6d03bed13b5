// Package testclock builds programs whose wall clock tests can set without touching the machine's.
// Only tests use it.
package testclock

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// Package time is built with a Now that adds the number of seconds in a file to the wall clock's
// reading. The monotonic reading stays as it is, as with a real clock that is set. Only the
// kernel's times (of files, of processes) don't move.

// Variable names the file in the environment. Agents inherit it, so that the gl that they call
// has the same clock.
const Variable = "STORM_CLOCK"

const (
	nowBefore = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	nowAfter  = nowBefore + "\tsec += *clockOffset\n"
)

// clockOffset is the file that package time gets. It can't import os. The number is mapped into
// memory, since timers call Now where no system call may be made.
const clockOffset = `package time

import (
	"syscall"
	"unsafe"
)

var clockOffset = openClock()

func openClock() *int64 {
	path, ok := syscall.Getenv("` + Variable + `")
	if !ok {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("open the clock's file " + path + ": " + err.Error())
	}
	defer syscall.Close(fd)
	number, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map the clock's file " + path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&number[0]))
}
`

// Build builds the package into the file out, with the clock that can be set.
func Build(t testing.TB, out, pkg string) {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	testfiles.Check(t, err)
	path := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	source, err := os.ReadFile(path)
	testfiles.Check(t, err)
	if strings.Count(string(source), nowBefore) != 1 {
		t.Fatalf("%s (%s) has no time.Now that begins with\n%s\nAdapt nowBefore to it", path, runtime.Version(), nowBefore)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		testfiles.Check(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		path: write("time.go", strings.Replace(string(source), nowBefore, nowAfter, 1)),
		filepath.Join(filepath.Dir(path), "clock_offset.go"): write("clock_offset.go", clockOffset),
	}})
	testfiles.Check(t, err)
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", out, pkg)
	if words, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, words)
	}
}

// A Clock is the wall clock of all processes that have its file in their environment.
type Clock struct{ File string }

// New returns a clock that has the machine's time.
func New(t testing.TB, file string) Clock {
	t.Helper()
	testfiles.Check(t, os.WriteFile(file, make([]byte, 8), 0o644))
	return Clock{file}
}

// Set sets the clock ahead of the machine's, or behind it, at once and for all of its processes.
func (c Clock) Set(t testing.TB, offset time.Duration) {
	t.Helper()
	f, err := os.OpenFile(c.File, os.O_WRONLY, 0)
	testfiles.Check(t, err)
	defer f.Close()
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset/time.Second)), 0)
	testfiles.Check(t, err)
}

// Jump sets the clock seconds to months ahead of the machine's or behind it, to what a computer
// without a battery believes, or right.
func (c Clock) Jump(t testing.TB, random *rand.Rand) time.Duration {
	units := []time.Duration{0, time.Second, time.Minute, time.Hour, 24 * time.Hour,
		30 * 24 * time.Hour}
	offset := units[random.IntN(len(units))] * time.Duration(random.IntN(119)-59)
	if random.IntN(12) == 0 {
		offset = -time.Since(time.Unix(1000, 0).Round(0)) // in 1970
	}
	c.Set(t, offset)
	return offset
}
