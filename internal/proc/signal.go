package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrDead: there is no such process, or no such group, that we could signal.
var ErrDead = errors.New("no such process here any more")

const (
	killLimit = 5 * time.Second // after SIGKILL only a process stuck in the kernel is still there

	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// Signal sends sig to the process if it is alive, and is ErrDead otherwise.
func (id ID) Signal(sig syscall.Signal) error {
	// The handle first, then the check: on Linux it is a pidfd, which stays with the process that had the pid when it
	// was opened, so that none that gets the pid between the check and the signal is hit.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, ErrDead)
	}
	defer p.Release()
	if !id.Alive() {
		return fmt.Errorf("signal process %d: %w", id.PID, ErrDead)
	}
	err = p.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		err = ErrDead
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// SignalGroup sends sig to the process group that the process leads, or led: its members may outlive it. It is
// ErrDead where the group is gone, of an earlier boot, another host or PID namespace. No error doesn't mean that somebody heard it:
// zombies take signals, too.
//
// That it is still our group follows from how pids are given out: no new process gets a pid that is in use as the id of
// a group. So while our group has members, its pid belongs to its leader or, when the leader is gone, to nobody. If a
// process with the pid exists that started at another time, then our group came to its end before that one began, and
// whatever group has the number now is another's. What this can't tell: our group ended, all pids went round, a new
// leader got the number, and died before its group did.
func (id ID) SignalGroup(sig syscall.Signal) error {
	err := id.signalGroup(sig)
	if err != nil {
		return fmt.Errorf("signal process group %d: %w", id.PID, err)
	}
	return nil
}

func (id ID) signalGroup(sig syscall.Signal) error {
	if id.PID <= 1 || id.place() != Alive { // kill(-1) is everybody
		return ErrDead
	}
	g, err := look(id.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case id.Start == "":
		return errors.New("its leader can't be identified")
	case id.succeededBy(g):
		return ErrDead
	}
	err = syscall.Kill(-id.PID, sig)
	switch {
	case errors.Is(err, syscall.ESRCH) && id.Alive():
		return errors.New("the process doesn't lead a group")
	case errors.Is(err, syscall.ESRCH):
		return ErrDead
	case errors.Is(err, syscall.EPERM) && !id.groupLives(): // so Darwin says that they are all zombies
		return ErrDead
	}
	return err
}

// EndGroup ends the process group that the process leads or led: SIGTERM, and SIGKILL to who is still there after
// grace. It returns when the group is gone; one of zombies alone is, whoever may have to reap them. A group that
// was gone before is no error. The error is for a group that may live on: on another host or in another PID namespace, or not ours to signal, or
// stuck in the kernel for 5 s after SIGKILL. Members that left for a group of their own are not ended.
func EndGroup(id ID, grace time.Duration) error {
	if id.place() == Unknown {
		return fmt.Errorf("end process group %d: it is %s", id.PID, id.Where())
	}
	err := id.signalGroup(syscall.SIGTERM)
	switch {
	case errors.Is(err, ErrDead):
		return nil
	case err != nil:
		return fmt.Errorf("end process group %d: %w", id.PID, err)
	}
	_ = id.signalGroup(syscall.SIGCONT) // a stopped process sees SIGTERM only when it goes on
	if id.groupEnds(grace, func() {}) {
		return nil
	}
	// Again and again: a member can fork while the others are being killed, and not every kernel holds forks off.
	if id.groupEnds(killLimit, func() { err = id.signalGroup(syscall.SIGKILL) }) {
		return nil
	}
	if err != nil && !errors.Is(err, ErrDead) {
		return fmt.Errorf("end process group %d: %w", id.PID, err)
	}
	return fmt.Errorf("end process group %d: still there %g s after SIGKILL", id.PID, killLimit.Seconds())
}

// groupEnds calls nudge and looks, at growing intervals, until the group is gone (true) or limit has passed.
func (id ID) groupEnds(limit time.Duration, nudge func()) bool {
	deadline := time.Now().Add(limit)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		nudge()
		if !id.groupLives() {
			return true
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		time.Sleep(min(pause, left))
	}
}

// succeededBy says whether the process that has the pid now is another one. Of a zombie the system may not know the
// start any more; it still has the pid, so it isn't another's.
func (id ID) succeededBy(g glimpse) bool { return g.start != "" && g.start != id.Start }

// groupLives says whether the group has a member that isn't a zombie. Where the system doesn't tell, it has.
func (id ID) groupLives() bool {
	g, err := look(id.PID)
	switch {
	case err == nil && id.succeededBy(g):
		return false
	case err == nil && !g.zombie:
		return true
	case errors.Is(syscall.Kill(-id.PID, 0), syscall.ESRCH):
		return false
	}
	lives, err := anyLives(id.PID)
	return lives || err != nil
}
