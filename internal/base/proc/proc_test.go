package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A child is a shell in a process group of its own.
type child struct {
	*exec.Cmd
	id  ID
	out *bufio.Reader
}

func start(t *testing.T, script string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command("sh", "-c", script)}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(pipe)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		c.Wait()
	})
	c.id, err = Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

// pid reads a line with the pid of one of the child's own children.
func (c *child) pid(t *testing.T) ID {
	t.Helper()
	pid, err := strconv.Atoi(c.line(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (c *child) status() syscall.WaitStatus {
	c.Wait()
	return c.ProcessState.Sys().(syscall.WaitStatus)
}

// soon polls until ok, with a deadline that only a bug exceeds.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// zombify kills the child and leaves it unreaped.
func (c *child) zombify(t *testing.T) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the killed child is a zombie", func() bool {
		g, err := look(c.id.PID)
		return err == nil && g.zombie
	})
}

func TestSelf(t *testing.T) {
	id := Self()
	if id.PID != os.Getpid() || id.Start == "" || id.Boot == "" || id.Host == "" {
		t.Errorf("incomplete: %+v", id)
	}
	if of, err := Of(os.Getpid()); err != nil || of != id {
		t.Errorf("Of says %+v (%v), Self %+v", of, err, id)
	}
	if id.State() != Alive || !id.Alive() || id.Dead() {
		t.Errorf("%+v is %v", id, id.State())
	}
}

func TestIDSurvivesItsRecord(t *testing.T) {
	b, err := json.Marshal(Self())
	if err != nil {
		t.Fatal(err)
	}
	var id ID
	if err := json.Unmarshal(b, &id); err != nil || id != Self() {
		t.Errorf("%s reads back as %+v (%v)", b, id, err)
	}
}

func TestChildLivesAndDies(t *testing.T) {
	c := start(t, "exec sleep 300")
	if !c.id.Alive() || c.id == Self() {
		t.Fatalf("%+v is %v", c.id, c.id.State())
	}
	if again, err := Of(c.id.PID); err != nil || again != c.id {
		t.Errorf("the second look says %+v (%v), the first %+v", again, err, c.id)
	}
	c.zombify(t)
	if c.id.Alive() || !c.id.Dead() {
		t.Errorf("a zombie is %v", c.id.State())
	}
	if id, err := Of(c.id.PID); err != nil || id != c.id {
		t.Errorf("Of a zombie is %+v (%v)", id, err)
	}
	c.Wait()
	if !c.id.Dead() {
		t.Errorf("after the wait it is %v", c.id.State())
	}
	if _, err := Of(c.id.PID); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Of none: %v", err)
	}
}

// The gate execs the agent, so its identity on disk must be the agent's.
func TestExecKeepsTheIdentity(t *testing.T) {
	stopped := start(t, "kill -STOP $$; exec sleep 300")
	soon(t, "the stopped child runs sleep", func() bool {
		stopped.id.Signal(syscall.SIGCONT)
		args, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(stopped.id.PID)).Output()
		return err == nil && strings.HasPrefix(string(args), "sleep")
	})
	if again, err := Of(stopped.id.PID); err != nil || again != stopped.id {
		t.Errorf("after exec %+v (%v), want %+v", again, err, stopped.id)
	}
}

func TestState(t *testing.T) {
	c := start(t, "exec sleep 300")
	gone := start(t, "exit 0")
	gone.Wait()
	with := func(id ID, f func(*ID)) ID { f(&id); return id }
	tests := []struct {
		name string
		id   ID
		want State
	}{
		{"itself", c.id, Alive},
		{"zero", ID{}, Dead},
		{"negative", with(c.id, func(id *ID) { id.PID = -id.PID }), Dead},
		{"pid given out again", with(c.id, func(id *ID) { id.Start += "1" }), Dead},
		{"earlier boot", with(c.id, func(id *ID) { id.Boot = "earlier" }), Dead},
		{"other host",
			with(c.id, func(id *ID) { id.Host, id.Boot = "elsewhere", "its own" }), Unknown},
		{"other host, no process with the pid here", with(gone.id, func(id *ID) { id.Host, id.Boot = "elsewhere", "its own" }), Unknown},
		{"start unknown", with(c.id, func(id *ID) { id.Start = "" }), Unknown},
		{"start unknown, but gone", with(gone.id, func(id *ID) { id.Start = "" }), Dead},
		{"boot unknown", with(c.id, func(id *ID) { id.Boot = "" }), Alive},
		{"boot unknown, pid given out again",
			with(c.id, func(id *ID) { id.Boot, id.Start = "", "1" }), Dead},
		{"gone", gone.id, Dead},
	}
	for _, tt := range tests {
		if got := tt.id.State(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if tt.id.Alive() != (tt.want == Alive) || tt.id.Dead() != (tt.want == Dead) {
			t.Errorf("%s: alive %v, dead %v", tt.name, tt.id.Alive(), tt.id.Dead())
		}
	}
}

func TestOfNone(t *testing.T) {
	for _, pid := range []int{0, -1, 1<<31 - 1} {
		_, err := Of(pid)
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), strconv.Itoa(pid)) {
			t.Errorf("Of(%d): %v", pid, err)
		}
	}
}

func BenchmarkAlive(b *testing.B) {
	for b.Loop() {
		if !Self().Alive() {
			b.Fatal("dead")
		}
	}
}
