package gsd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// process starts a process that lives until the test ends, and returns its pid.
func process(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

// deadPID returns the pid of a process that has exited.
func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	return cmd.Process.Pid
}

// A stale lock file is cleared by GSD's rules, and a held one isn't.
func TestLockRules(t *testing.T) {
	alive, dead := strconv.Itoa(process(t)), strconv.Itoa(deadPID(t))
	// in the future: younger than a second for as long as the test takes
	const justMade = -time.Hour
	asJSON := func(pid string) string {
		return fmt.Sprintf(`{"pid":%s,"cwd":"/x","acquired":"2026-01-01T00:00:00.000Z"}`, pid)
	}
	for _, test := range []struct {
		name, body string
		age        time.Duration
		taken      bool // by us
	}{
		{"of a process that lives", alive, 0, false},
		{"of a process that lives, for a minute", alive, 61 * time.Second, true},
		{"of a dead process", dead, 0, true},
		{"of a dead process, as JSON", asJSON(dead), 0, true},
		{"of a process that lives, as JSON", asJSON(alive), 30 * time.Second, false},
		{"just made", "", justMade, false},
		{"just made, a second ago", "", 1100 * time.Millisecond, true},
		{"garbage", "12 34", justMade, false},
		{"garbage, old", alive + "\n# host", 2 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "STATE.md.lock")
			if err := os.WriteFile(path, []byte(test.body), 0o644); err != nil {
				t.Fatal(err)
			}
			when := time.Now().Add(-test.age)
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
			l, err := tryLock(path, "1")
			var busy *busyError
			if (err == nil) != test.taken || err != nil && !errors.As(err, &busy) {
				t.Fatalf("taken: %v (%v)", err == nil, err)
			}
			if err != nil {
				if now, _ := os.ReadFile(path); string(now) != test.body {
					t.Errorf("the holder's file has %q now", now)
				}
				return
			}
			l.release()
			if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Another gl holds its lock regardless of its age and pid: it may be in another container.
func TestLockOfAnotherGl(t *testing.T) {
	path := filepath.Join(t.TempDir(), "STATE.md.lock")
	l, err := tryLock(path, strconv.Itoa(deadPID(t)))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path, "1"); err == nil {
		t.Fatal("two have it")
	}
	// GSD's own tools steal it after a minute, and then it is theirs.
	if err := os.Rename(path, path+".stale"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.release()
	if now, _ := os.ReadFile(path); string(now) != "theirs" {
		t.Errorf("the thief's lock has %q now", now)
	}
}

// GSD's tools can parse the body as a pid, and both locks are taken and released.
func TestLockState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "STATE.md")
	release, err := lockState(ctx, state, true)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := os.ReadFile(state + ".lock"); string(body) != strconv.Itoa(os.Getpid()) {
		t.Errorf("STATE.md.lock has %q", body)
	}
	planning := filepath.Join(filepath.Dir(state), ".lock")
	if body, _ := os.ReadFile(planning); holderPID(body) != os.Getpid() || body[0] != '{' {
		t.Errorf(".lock has %q", body)
	}
	release()
	if left, _ := filepath.Glob(state + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A process that waits for the second lock doesn't hold the first: GSD takes them in the
// opposite order.
func TestLockStateDoesNotDeadlock(t *testing.T) {
	state := filepath.Join(t.TempDir(), "STATE.md")
	planning := filepath.Join(filepath.Dir(state), ".lock")
	if err := os.WriteFile(planning, fmt.Appendf(nil, `{"pid":%d}`, process(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := lockState(waiting, state, true)
		ended <- err
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		l, err := tryLock(state+".lock", "1") // as GSD's phase command does while holding .lock
		if err == nil {
			l.release()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("STATE.md.lock never came free")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiting ended with %v", err)
	}
}
