package testclock_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/base/testclock"
	"greenlight/internal/base/testfiles"
)

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
func TestClock(t *testing.T) {
	if os.Getenv("GREENLIGHT_STORM") == "" {
		t.Skip("the clock is for long storms: set GREENLIGHT_STORM")
	}
	t.Parallel()
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	testfiles.Check(t, os.WriteFile(main, []byte(ticker), 0o644))
	testclock.Build(t, filepath.Join(dir, "ticker"), main)

	c := testclock.New(t, filepath.Join(dir, "clock"))
	cmd := exec.Command(filepath.Join(dir, "ticker"))
	cmd.Env = append(os.Environ(), testclock.Variable+"="+c.File)
	in, err := cmd.StdinPipe()
	testfiles.Check(t, err)
	out, err := cmd.StdoutPipe()
	testfiles.Check(t, err)
	testfiles.Check(t, cmd.Start())
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
		c.Set(t, offset)
		if ahead, since, sub := ask(); ahead != offset || since > 5 || sub > 5 {
			t.Errorf("set %s ahead: the clock is %s ahead, %d and %d minutes have passed", offset, ahead, since, sub)
		}
	}
}
