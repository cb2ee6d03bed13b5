package crashtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

const threads = 6

func TestMain(m *testing.M) {
	root := os.Getenv("GREENLIGHT_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	before := os.Mkdir(filepath.Join(root, "before"), 0o755)
	Begin()
	if err := work(root); before != nil || err != nil {
		fmt.Fprintln(os.Stderr, before, err)
		os.Exit(1)
	}
}

// work makes a directory in each of several threads, and one in another process.
func work(root string) error {
	done := make(chan error)
	for i := range threads {
		go func() {
			runtime.LockOSThread()
			done <- os.Mkdir(filepath.Join(root, fmt.Sprint("own", i)), 0o755)
		}()
		if err := <-done; err != nil {
			return err
		}
	}
	return exec.Command("mkdir", filepath.Join(root, "child")).Run()
}

// The calls of all threads are counted, those of other processes and those before Begin aren't; and
// a process that is killed before a call didn't make it.
func TestAt(t *testing.T) {
	for n := 1; n <= threads+1; n++ {
		root := t.TempDir()
		killed, call := At(t, n, "GREENLIGHT_TEST_ROOT="+root)
		if killed != (n <= threads) {
			t.Fatalf("step %d of %d: killed %v at %s", n, threads, killed, call)
		}
		made, _ := filepath.Glob(filepath.Join(root, "own*"))
		child, _ := filepath.Glob(filepath.Join(root, "child"))
		if len(made) != n-1 || len(child) == 1 == killed {
			t.Errorf("killed before step %d (%s), it had made %v %v", n, call, made, child)
		}
	}
}
