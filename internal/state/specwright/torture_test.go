package specwright

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

const workers = 16

// workerChild completes tasks, each under the visible lock; its arguments are its token and the
// number of tasks. The link "holder" shows the holder, and each task reported as done is
// recorded in the worker's ledger.
func workerChild(root string) error {
	token := os.Args[1]
	quota, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	ledger, err := os.OpenFile(filepath.Join(root, "ledger"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	s, ctx := Open(root), context.Background()
	who := Caller{Token: token}
	for n := 0; n < quota; {
		_, err := s.Update(ctx, who, func(e *Edit) error { return e.TakeLock("sw-build") })
		var locked *LockedError
		if errors.As(err, &locked) {
			// between two checks of the lock
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
			continue
		}
		if err != nil {
			return err
		}
		if err := underLock(s, who, filepath.Join(root, "holder"), fmt.Sprintf("%s.%d", token, n), ledger); err != nil {
			return err
		}
		n++
	}
	return nil
}

func underLock(s *Store, who Caller, mark, task string, ledger *os.File) error {
	// created and named in one step, and only if there is none
	if err := os.Symlink(who.Token, mark); err != nil {
		other, _ := os.Readlink(mark)
		return fmt.Errorf("two holders: %s beside %s", who.Token, other)
	}
	ctx := context.Background()
	if _, err := s.Update(ctx, who, func(e *Edit) error { return e.FinishTask(task) }); err != nil {
		return err
	}
	if _, err := ledger.WriteString(task + "\n"); err != nil {
		return err
	}
	if err := os.Remove(mark); err != nil {
		return err
	}
	_, err := s.Update(ctx, who, func(e *Edit) error {
		had, err := e.ReleaseLock()
		if err == nil && !had {
			err = errors.New("the lock was gone before it was released")
		}
		return err
	})
	return err
}

// While many processes take and release the visible lock and complete tasks, and are killed at
// random, no task is lost, and there are never two holders.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	total := 128
	if testfiles.Long() {
		total = 1000 // each task rereads the tasks before it: twice as many take four times as long
	}
	s := Open(memDir(t))
	put(t, s, StateFile, `{"version":"2.0","currentWork":{"id":"w","status":"building","tasksCompleted":[]},"lock":null}`)
	live := map[*exec.Cmd]bool{}
	var mu sync.Mutex
	stop, kills := make(chan struct{}), 0
	var all, killer sync.WaitGroup
	for w := range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			for life := 0; !work(t, s, &mu, live, fmt.Sprintf("w%d.%d", w, life), total/workers); life++ {
			}
		}()
	}
	killer.Add(1)
	go func() {
		defer killer.Done()
		for kills < total/10 {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(60)) * time.Millisecond):
			}
			mu.Lock()
			for cmd := range live { // in random order
				if cmd.Process.Kill() == nil {
					kills++
				}
				break
			}
			mu.Unlock()
		}
	}()
	all.Wait()
	close(stop)
	killer.Wait()
	judge(t, s, total)
	t.Logf("%d tasks, %d kills", total, kills)
}

// work is one life of a worker; it returns true when the quota is done or the test has failed.
// A killed worker's lock is released in its name.
func work(t *testing.T, s *Store, mu *sync.Mutex, live map[*exec.Cmd]bool, token string, quota int) bool {
	prefix, _, _ := strings.Cut(token, ".")
	left := quota - len(ledgerOf(s, prefix+"."))
	if left <= 0 || t.Failed() {
		return true
	}
	cmd := exec.Command(os.Args[0], token, strconv.Itoa(left))
	cmd.Env = append(os.Environ(), "GREENLIGHT_TEST_CHILD=worker", "GREENLIGHT_TEST_ROOT="+s.root, "GOMAXPROCS=2")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return true
	}
	mu.Lock()
	live[cmd] = true
	mu.Unlock()
	err := cmd.Wait()
	mu.Lock()
	delete(live, cmd)
	mu.Unlock()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != -1 {
		t.Errorf("%s: %v: %s", token, err, out.String())
		return true
	}
	mark := filepath.Join(s.root, "holder")
	if by, _ := os.Readlink(mark); err != nil && by == token {
		os.Remove(mark)
	}
	if st, _ := s.Read(); st != nil && st.Lock != nil && st.Lock.Holder == token {
		if _, err := Open(s.root).Update(context.Background(), Caller{Token: token}, func(e *Edit) error {
			_, err := e.ReleaseLock()
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	return false
}

func ledgerOf(s *Store, prefix string) []string {
	data, _ := os.ReadFile(filepath.Join(s.root, "ledger"))
	var tasks []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, prefix) {
			tasks = append(tasks, strings.TrimSpace(line))
		}
	}
	return tasks
}

func judge(t *testing.T, s *Store, total int) {
	st, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	ledger := ledgerOf(s, "w")
	if len(ledger) < total {
		t.Errorf("%d tasks were reported as done, not %d", len(ledger), total)
	}
	for _, task := range ledger {
		if !slices.Contains(st.Work.Done, task) {
			t.Errorf("task %s was reported as done, and is lost", task)
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(st.Work.Done))); len(sorted) != len(st.Work.Done) {
		t.Error("a task is done twice")
	}
	if st.Lock != nil {
		t.Errorf("the lock is left with %s", st.Lock.Who())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path()), ".*.tmp")); len(left) > workers {
		t.Errorf("temporary files pile up: %d", len(left))
	}
}
