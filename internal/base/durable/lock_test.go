package durable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// holdEnv makes the test binary a process that locks the file it names, reports that, and waits
// for the end of its stdin.
const holdEnv = "DURABLE_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		os.Exit(hold(path))
	}
	os.Exit(m.Run())
}

func hold(path string) int {
	l, err := Lock(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer l.Unlock()
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// startHolder returns once another process holds the lock.
func startHolder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "hold")
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	stdin, err := cmd.StdinPipe() // never written: the holder ends with this process at the latest
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q (%v)", line, err)
	}
	return cmd
}

func mustLock(t testing.TB, path string) *Held {
	t.Helper()
	l, err := Lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// soon polls until ok, for so long that only a bug times out.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func TestLockMakesTheFileAndLeavesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	for range 3 {
		l := mustLock(t, path)
		if want := fmt.Sprintf("%d ", os.Getpid()); !strings.HasPrefix(read(t, path), want) {
			t.Errorf("the file says %q, want %q…", read(t, path), want)
		}
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
		mode(t, path) // fails if the file is gone
	}
}

func TestLockOverwritesALongerText(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	seed(t, path, "1 "+strings.Repeat("long ", 100)+"\nmore\n")
	defer mustLock(t, path).Unlock()
	if got := read(t, path); got != string(signature()) {
		t.Errorf("the file says %q, want %q", got, signature())
	}
}

func TestLockExcludesGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	// atomic only for the race detector, which doesn't know kernel locks
	var inside, counter atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				l, err := Lock(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d inside", n)
				}
				counter.Store(counter.Load() + 1)
				inside.Add(-1)
				l.Unlock()
			}
		}()
	}
	wg.Wait()
	if counter.Load() != 8*50 {
		t.Errorf("counter %d", counter.Load())
	}
}

func TestLockIsFreeWhenItsHolderIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	cmd := startHolder(t, path)

	_, err := TryLock(path)
	var locked *LockedError
	if !errors.Is(err, ErrLocked) || !errors.As(err, &locked) {
		t.Fatalf("error %v while another process has the lock", err)
	}
	if want := fmt.Sprintf("pid %d (%s hold)", cmd.Process.Pid,
		filepath.Base(os.Args[0])); locked.Holder != want {
		t.Errorf("holder %q, want %q", locked.Holder, want)
	}

	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	l, err := TryLock(path)
	if err != nil {
		t.Fatalf("the dead process still has it: %v", err)
	}
	l.Unlock()
}

func TestWaiterGetsTheLockOfAKilledHolder(t *testing.T) {
	for name, take := range map[string]func(context.Context, string) (*Held, error){"Lock": Lock,
		"Await": Await} {
		path := filepath.Join(t.TempDir(), ".lock")
		cmd := startHolder(t, path)
		got := make(chan error, 1)
		go func() {
			l, err := take(context.Background(), path)
			if err == nil {
				l.Unlock()
			}
			got <- err
		}()
		cmd.Process.Kill()
		if err := <-got; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLockTimesOutAndNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	cmd := startHolder(t, path)
	_, err := lock(context.Background(), path, 20*time.Millisecond, flock)
	want := fmt.Sprintf("the project's lock %s has been held for 0.02 s by pid %d (%s hold)",
		path, cmd.Process.Pid, filepath.Base(os.Args[0]))
	if !errors.Is(err, ErrLocked) || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestAbandonedWaitGivesTheLockBack(t *testing.T) {
	// a garbage-collected file is closed too, but at an unknown time
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	tests := []struct {
		name  string
		limit time.Duration
		want  error
	}{
		{"canceled", forever, context.Canceled},
		{"timed out", time.Millisecond, ErrLocked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ".lock")
			held := mustLock(t, path)
			waiting, came := make(chan struct{}), make(chan error, 1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				<-waiting
				if tt.limit == forever {
					cancel()
				}
			}()
			_, err := lock(ctx, path, tt.limit, func(f *os.File, wait bool) error {
				if !wait {
					return flock(f, false)
				}
				close(waiting)
				err := flock(f, true)
				came <- err
				return err
			})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %v, with the path", err, tt.want)
			}
			held.Unlock()
			if err := <-came; err != nil {
				t.Fatal(err)
			}
			soon(t, "the lock that came too late is given back", func() bool {
				l, err := TryLock(path)
				if err == nil {
					l.Unlock()
				}
				return err == nil
			})
		})
	}
}

func TestLockWithEndedContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := TryLock(path); err != nil {
		t.Errorf("the lock was taken: %v", err)
	}
}

// git clean -fdx removes the lock file under its holder, and another process locks a new one: a
// process that waited for the old file must not proceed beside it.
func TestLockIsOnTheFileThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	var other *Held
	_, err := lock(context.Background(), path, 0, func(f *os.File, wait bool) error {
		if other == nil {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
			other = mustLock(t, path)
		}
		return flock(f, wait)
	})
	if !errors.Is(err, ErrLocked) {
		t.Errorf("error %v while another has the lock", err)
	}
	other.Unlock()
}

func TestLockMakesARemovedFileAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	removed := false
	l, err := lock(context.Background(), path, 0, func(f *os.File, wait bool) error {
		if !removed {
			removed = true
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
		return flock(f, wait)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second holder got it: %v", err)
	}
}

func TestLockWithoutKernelLocks(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOLCK, syscall.ENOTSUP, syscall.EOPNOTSUPP,
		syscall.ENOSYS} {
		path := filepath.Join(t.TempDir(), ".lock")
		l, err := lock(context.Background(), path, 0, func(*os.File, bool) error { return errno })
		if err != nil {
			t.Errorf("%v: %v", errno, err)
			continue
		}
		if err := l.Unlock(); err != nil {
			t.Errorf("%v: %v", errno, err)
		}
	}
	path := filepath.Join(t.TempDir(), ".lock")
	_, err := lock(context.Background(), path, 0, func(*os.File, bool) error { return syscall.EIO })
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want EIO with the path", err)
	}
}

func TestLockErrorsNameThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", ".lock")
	_, err := Lock(context.Background(), path)
	if want := fmt.Sprintf("lock %s: open: no such file or directory", path); err == nil ||
		err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestLockOnAFileThatWeMayOnlyRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	path := filepath.Join(t.TempDir(), ".lock")
	seed(t, path, "")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	defer mustLock(t, path).Unlock()
	_, err := TryLock(path)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder != "another process" {
		t.Errorf("error %v", err)
	}
}

func TestHolder(t *testing.T) {
	const unknown = "another process"
	for text, want := range map[string]string{
		"123 gl slice\n":                      "pid 123 (gl slice)",
		"123 gl slice\ne --max\n":             "pid 123 (gl slice)",
		"123 gl slice\non another\n":          "pid 123 on host another (gl slice)",
		"123 gl \x1b[31mred\n":                "pid 123 (gl  [31mred)",
		"123 gl slice":                        unknown, // half written
		"":                                    unknown,
		"\n":                                  unknown,
		"gl slice\n":                          unknown,
		"-1 gl\n":                             unknown,
		"7 " + strings.Repeat("é", 80) + "\n": "pid 7 (" + strings.Repeat("é", 59) + "…)",
	} {
		path := filepath.Join(t.TempDir(), ".lock")
		seed(t, path, text)
		if got := holder(path); got != want {
			t.Errorf("holder of %q is %q, want %q", text, got, want)
		}
	}
	if got := holder(filepath.Join(t.TempDir(), "none")); got != unknown {
		t.Errorf("holder of no file is %q", got)
	}
}

func BenchmarkLock(b *testing.B) {
	path := filepath.Join(b.TempDir(), ".lock")
	for b.Loop() {
		mustLock(b, path).Unlock()
	}
}
