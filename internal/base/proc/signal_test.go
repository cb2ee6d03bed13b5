package proc

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// long is a grace period that a test waits for only if its subject is broken.
const long = 30 * time.Second

func TestSignal(t *testing.T) {
	c := start(t, "exec sleep 300")
	other := c.id
	other.Start += "1"
	for _, id := range []ID{{}, {PID: -c.id.PID}, other} {
		if err := id.Signal(syscall.SIGKILL); !errors.Is(err, ErrDead) {
			t.Errorf("%+v: %v, want ErrDead", id, err)
		}
	}
	if !c.id.Alive() {
		t.Fatal("a signal for another process hit it")
	}
	if err := c.id.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if st := c.status(); st.Signal() != syscall.SIGTERM {
		t.Errorf("ended by %v", st.Signal())
	}
	if err := c.id.Signal(syscall.SIGTERM); !errors.Is(err, ErrDead) {
		t.Errorf("signal to the dead: %v", err)
	}
}

func TestSignalToAGroupThatIsGone(t *testing.T) {
	c := start(t, "exec sleep 300")
	c.zombify(t)
	c.Wait()
	if err := c.id.SignalGroup(syscall.SIGTERM); !errors.Is(err, ErrDead) {
		t.Errorf("error %v, want ErrDead", err)
	}
}

func TestSignalToAZombie(t *testing.T) {
	c := start(t, "exec sleep 300")
	c.zombify(t)
	if err := c.id.Signal(syscall.SIGTERM); !errors.Is(err, ErrDead) {
		t.Errorf("error %v, want ErrDead", err)
	}
}

func TestGroupOutlivesItsLeader(t *testing.T) {
	for name, reap := range map[string]bool{"leader reaped": true, "leader a zombie": false} {
		t.Run(name, func(t *testing.T) {
			c := start(t, "sleep 300 & echo $!; read never <&-; exit 0")
			member := c.pid(t)
			soon(t, "the leader is dead", c.id.Dead)
			if reap {
				c.Wait()
			}
			if err := c.id.SignalGroup(0); err != nil {
				t.Errorf("the group is there, but: %v", err)
			}
			if err := EndGroup(c.id, long); err != nil {
				t.Error(err)
			}
			if !member.Dead() {
				t.Errorf("the member is %v", member.State())
			}
		})
	}
}

func TestGroupOfAnotherIsLeftAlone(t *testing.T) {
	c := start(t, "exec sleep 300")
	ids := map[string]ID{"reused": c.id, "earlier boot": c.id, "other host": c.id,
		"unknown start": c.id}
	edit := map[string]func(*ID){
		"reused":        func(id *ID) { id.Start += "1" },
		"earlier boot":  func(id *ID) { id.Boot = "earlier" },
		"other host":    func(id *ID) { id.Host, id.Boot = "elsewhere", "its own" },
		"unknown start": func(id *ID) { id.Start = "" },
	}
	for name, id := range ids {
		edit[name](&id)
		err := id.SignalGroup(syscall.SIGKILL)
		if err == nil || errors.Is(err, ErrDead) != (name != "unknown start") {
			t.Errorf("%s: signal: %v", name, err)
		}
		err = EndGroup(id, long)
		if proven := name == "reused" || name == "earlier boot"; (err == nil) != proven {
			t.Errorf("%s: end: %v", name, err)
		}
	}
	for _, id := range []ID{{}, {PID: 1, Start: c.id.Start, Boot: c.id.Boot, Host: c.id.Host}} {
		if err := id.SignalGroup(syscall.SIGKILL); !errors.Is(err, ErrDead) {
			t.Errorf("pid %d: %v, want ErrDead", id.PID, err)
		}
	}
	if !c.id.Alive() {
		t.Error("it is dead")
	}
}

func TestNoGroupOfItsOwn(t *testing.T) {
	cmd := exec.Command("sleep", "300") // stays in the group of this test
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.SignalGroup(syscall.SIGTERM); err == nil || errors.Is(err, ErrDead) {
		t.Errorf("signal: %v, want an error that doesn't call it dead", err)
	}
	if err := EndGroup(id, long); err == nil {
		t.Error("it was told to be ended, and it lives")
	}
	if !id.Alive() {
		t.Error("it is dead")
	}
}

func TestEndGroupEndsGrandchildren(t *testing.T) {
	c := start(t, `sleep 300 & echo $!; sh -c 'sleep 300 & echo $!; wait'; wait`)
	members := []ID{c.id, c.pid(t), c.pid(t)}
	if err := EndGroup(c.id, long); err != nil {
		t.Fatal(err)
	}
	for _, id := range members {
		if !id.Dead() {
			t.Errorf("%+v is %v", id, id.State())
		}
	}
	if st := c.status(); st.Signal() != syscall.SIGTERM {
		t.Errorf("the leader was ended by %v", st.Signal())
	}
	for _, f := range []func() error{
		func() error { return EndGroup(c.id, long) },
		func() error { return EndGroup(ID{}, long) },
	} {
		if err := f(); err != nil {
			t.Errorf("ending what is gone: %v", err)
		}
	}
}

func TestEndGroupKillsWhoIgnoresTERM(t *testing.T) {
	for _, grace := range []time.Duration{0, 20 * time.Millisecond} {
		c := start(t, `trap '' TERM; sleep 300 & echo $!; wait; wait`)
		member := c.pid(t)
		if err := EndGroup(c.id, grace); err != nil {
			t.Fatal(err)
		}
		if !c.id.Dead() || !member.Dead() {
			t.Errorf("leader %v, member %v", c.id.State(), member.State())
		}
		if st := c.status(); st.Signal() != syscall.SIGKILL {
			t.Errorf("the leader was ended by %v", st.Signal())
		}
	}
}

func TestEndGroupGivesTimeToCleanUp(t *testing.T) {
	c := start(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	c.line(t)
	if err := EndGroup(c.id, long); err != nil {
		t.Fatal(err)
	}
	if st := c.status(); st.ExitStatus() != 7 {
		t.Errorf("status %v, want exit 7", st)
	}
}

// A suspended agent (by Ctrl-Z, or for reading from its terminal) must handle the SIGTERM, not
// just have it pending.
func TestEndGroupWakesTheStopped(t *testing.T) {
	c := start(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	c.line(t)
	if err := c.id.SignalGroup(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := EndGroup(c.id, long); err != nil {
		t.Fatal(err)
	}
	if st := c.status(); st.ExitStatus() != 7 {
		t.Errorf("status %v, want exit 7", st)
	}
}

func TestGroupOfZombiesIsGone(t *testing.T) {
	c := start(t, "exec sleep 300")
	c.zombify(t)
	if c.id.groupLives() {
		t.Error("a zombie makes the group live")
	}
	if err := EndGroup(c.id, long); err != nil {
		t.Error(err)
	}
}

func TestEndGroupElsewhereSaysWhere(t *testing.T) {
	id := Self()
	id.Host, id.Boot = "elsewhere", "its own"
	if err := EndGroup(id, 0); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("error %v", err)
	}
}
