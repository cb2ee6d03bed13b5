package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func newGsdProject(t *testing.T) (root, state string) {
	t.Helper()
	root = t.TempDir()
	state = filepath.Join(root, ".planning", "STATE.md")
	if err := os.Mkdir(filepath.Dir(state), 0o755); err != nil {
		t.Fatal(err)
	}
	const text = "---\nstatus: executing\n---\n# State\n\n### Decisions\n\nNone yet.\n\n### Blockers/Concerns\n\nNone yet.\n"
	if err := os.WriteFile(state, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return root, state
}

// With eight writers and one of GSD's own, which locks by its own rules, no addition is lost,
// and gl doesn't write while GSD has the lock.
func TestGsdWritersLoseNothing(t *testing.T) {
	root, state := newGsdProject(t)
	const writers, each = 8, 3
	over := make(chan struct{})
	var theirs sync.WaitGroup
	theirs.Add(1)
	go func() {
		defer theirs.Done()
		holdLikeGsd(t, state, over)
	}()
	together(writers, func(i int) {
		for n := range each {
			for _, args := range [][]string{{"add-decision", "--summary"},
				{"add-blocker", "--text"}} {
				args = append([]string{"gsd", "state"},
					append(args, fmt.Sprintf("%s %d.%d.", args[0], i, n))...)
				if out, err := gl(root, args...).CombinedOutput(); err != nil {
					t.Errorf("gl %q: %v\n%s", args, err, out)
				}
			}
		}
	})
	close(over)
	theirs.Wait()
	data, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	for i := range writers {
		for n := range each {
			for _, kind := range []string{"add-decision", "add-blocker"} {
				if c := strings.Count(string(data),
					fmt.Sprintf("%s %d.%d.\n", kind, i, n)); c != 1 {
					t.Errorf("%s %d.%d stands there %d times", kind, i, n, c)
				}
			}
		}
	}
	if left, _ := filepath.Glob(state + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// holdLikeGsd creates the lock file with its pid now and then, as GSD's tools do, and checks
// that no other process writes meanwhile.
func holdLikeGsd(t *testing.T, state string, over <-chan struct{}) {
	lock, mine := state+".lock", filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(mine, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		t.Error(err)
		return
	}
	for held := 0; ; {
		select {
		case <-over:
			if held == 0 {
				t.Error("the lock was never free")
			}
			return
		default:
		}
		// The file has its pid from the first instant: a lock without a pid counts as abandoned
		// after a second, and a busy machine can delay this process for that long between two
		// calls.
		if err := os.Link(mine, lock); err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		held++
		before, _ := os.ReadFile(state)
		time.Sleep(20 * time.Millisecond) // long enough for a writer that ignores the lock
		after, _ := os.ReadFile(state)
		if string(before) != string(after) {
			t.Error("another process wrote while we held the lock")
		}
		if body, _ := os.ReadFile(lock); string(body) != strconv.Itoa(os.Getpid()) {
			t.Errorf("another process took our lock: %q", body)
		}
		os.Remove(lock)
		time.Sleep(50 * time.Millisecond) // the others' turn
	}
}

// Whenever a writer is killed, the file is whole, and the next one continues at once, or after
// the second that a lock without a pid is valid.
func TestGsdWriterKilled(t *testing.T) {
	root, state := newGsdProject(t)
	began := time.Now()
	if out, err := gl(root, "gsd", "state", "add-blocker", "--text",
		"first.").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pace := time.Since(began) // of a writer on this machine now
	for i := range 30 {
		cmd := gl(root, "gsd", "state", "add-blocker", "--text", fmt.Sprintf("killed %d.", i))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(pace)))) // at any instant of its work
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		data, err := os.ReadFile(state)
		if err != nil || !strings.HasPrefix(string(data), "---\n") ||
			!strings.HasSuffix(string(data), "\n") {
			t.Fatalf("after kill %d the file is %q (%v)", i, data, err)
		}
	}
	if out, err := gl(root, "gsd", "state", "add-blocker", "--text",
		"at last.").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out) // it gives up after 30 seconds
	}
	data, _ := os.ReadFile(state)
	for i := range 30 {
		if c := strings.Count(string(data), fmt.Sprintf("killed %d.\n", i)); c > 1 {
			t.Errorf("blocker %d stands there %d times", i, c)
		}
	}
	if !strings.Contains(string(data), "- at last.\n") {
		t.Errorf("the file is now\n%s", data)
	}
}

// gl waits for a lock of a live process of GSD, and then writes on top of that process's
// changes.
func TestGsdLockIsWaitedFor(t *testing.T) {
	root, state := newGsdProject(t)
	lock := state + ".lock"
	if err := os.WriteFile(lock, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := gl(root, "gsd", "state", "add-blocker", "--text", "second.")
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it didn't wait: %v", err)
	case <-time.After(300 * time.Millisecond):
		// longer would be safer; on a busy machine it may not have begun yet
	}
	data, _ := os.ReadFile(state)
	if err := os.WriteFile(state, append(data, "- first.\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(lock)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if data, _ = os.ReadFile(state); !strings.HasSuffix(string(data), "- first.\n- second.\n") {
		t.Errorf("the file is now\n%s", data)
	}
}
