package runner_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A storm's gl has a wall clock that can be set without touching the machine's: package time is
// built with a Now that adds the number of seconds in a file to the wall clock's reading. The
// monotonic reading stays as it is, as with a real clock that is set. Only the kernel's times (of
// files, of processes) don't move.

// clockVariable names the file in the environment. Agents inherit it, so that the gl that they call
// has the same clock.
const clockVariable = "STORM_CLOCK"

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
	path, ok := syscall.Getenv("` + clockVariable + `")
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

// buildWithClock builds the package into the file out, with the clock that can be set.
func buildWithClock(t *testing.T, out, pkg string) {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	check(t, err)
	path := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	source, err := os.ReadFile(path)
	check(t, err)
	if strings.Count(string(source), nowBefore) != 1 {
		t.Fatalf("%s (%s) has no time.Now that begins with\n%s\nAdapt nowBefore in clock_test.go to it", path, runtime.Version(), nowBefore)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		check(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		path: write("time.go", strings.Replace(string(source), nowBefore, nowAfter, 1)),
		filepath.Join(filepath.Dir(path), "clock_offset.go"): write("clock_offset.go", clockOffset),
	}})
	check(t, err)
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", out, pkg)
	if words, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, words)
	}
}

// A clock is the wall clock of the gl processes of a site.
type clock struct{ file string }

func newClock(t testing.TB, file string) clock {
	t.Helper()
	check(t, os.WriteFile(file, make([]byte, 8), 0o644))
	return clock{file}
}

// set sets the clock ahead of the machine's, or behind it, at once and for everybody.
func (c clock) set(t testing.TB, offset time.Duration) {
	t.Helper()
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	check(t, err)
	defer f.Close()
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset/time.Second)), 0)
	check(t, err)
}

// jump sets the clock seconds to months ahead of the machine's or behind it, to what a computer
// without a battery believes, or right.
func (c clock) jump(t testing.TB, random *rand.Rand) time.Duration {
	units := []time.Duration{0, time.Second, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}
	offset := units[random.IntN(len(units))] * time.Duration(random.IntN(119)-59)
	if random.IntN(12) == 0 {
		offset = -time.Since(time.Unix(1000, 0).Round(0)) // in 1970
	}
	c.set(t, offset)
	return offset
}

// ticker prints the time whenever it reads a line: Unix seconds, and the whole minutes since it
// started.
const ticker = `package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	start := time.Now()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		now := <-time.After(time.Millisecond)
		fmt.Println(now.Unix(), int(time.Since(start).Minutes()), int(now.Sub(start).Minutes()))
	}
}
`

// The clock moves the wall clock's time of a running process and nothing else.
func TestStormClock(t *testing.T) {
	if os.Getenv("GREENLIGHT_STORM") == "" {
		t.Skip("the clock is for long storms: set GREENLIGHT_STORM")
	}
	t.Parallel()
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	check(t, os.WriteFile(main, []byte(ticker), 0o644))
	buildWithClock(t, filepath.Join(dir, "ticker"), main)

	c := newClock(t, filepath.Join(dir, "clock"))
	cmd := exec.Command(filepath.Join(dir, "ticker"))
	cmd.Env = append(os.Environ(), clockVariable+"="+c.file)
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	defer cmd.Wait()
	defer in.Close()
	ask := func() (ahead time.Duration, since, sub int) {
		fmt.Fprintln(in)
		var unix int64
		if _, err := fmt.Fscan(out, &unix, &since, &sub); err != nil {
			t.Fatal(err)
		}
		return time.Until(time.Unix(unix, 0)).Round(10 * time.Minute), since, sub
	}
	for _, offset := range []time.Duration{0, 2 * time.Hour, -48 * time.Hour, 400 * 24 * time.Hour, 0} {
		c.set(t, offset)
		if ahead, since, sub := ask(); ahead != offset || since > 5 || sub > 5 {
			t.Errorf("set %s ahead: the clock is %s ahead, %d and %d minutes have passed", offset, ahead, since, sub)
		}
	}
}
