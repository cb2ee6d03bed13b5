package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrDead is returned if there is no such process or group that we could signal.
var ErrDead = errors.New("no such process here any more")

const (
	killLimit = 5 * time.Second // after SIGKILL only a process stuck in the kernel remains

	lowPriority = 10 // as nice(1) has it

	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// Signal sends sig to the process if it is alive; otherwise the error is ErrDead.
func (id ID) Signal(sig syscall.Signal) error {
	// Open the handle before the check: on Linux it is a pidfd, which stays with the process
	// that had the pid then, so the signal can't hit a process that gets the pid after the
	// check.
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

// SignalGroup sends sig to the process group that the process leads, or led: its members may
// outlive it. The error is ErrDead if the group is gone, or belongs to an earlier boot, another
// host or PID namespace. Success doesn't mean that a process received the signal: zombies
// accept signals, too.
//
// That the group is still ours follows from how pids are assigned: no new process gets a pid
// that is in use as the id of a group. So while our group has members, its pid belongs to its
// leader or, if the leader is gone, to no process. If a process with the pid exists that
// started at another time, our group ended before that process began, and any group with the
// number belongs to another leader. One case goes undetected: our group ended, all pids were
// used up, a new leader got the number, and died before its group did.
func (id ID) SignalGroup(sig syscall.Signal) error {
	err := id.signalGroup(sig)
	if err != nil {
		return fmt.Errorf("signal process group %d: %w", id.PID, err)
	}
	return nil
}

func (id ID) signalGroup(sig syscall.Signal) error {
	if id.PID <= 1 || id.place() != Alive { // kill(-1) signals every process
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
	case errors.Is(err, syscall.EPERM) && !id.groupLives():
		// on Darwin: all are zombies
		return ErrDead
	}
	return err
}

// EndGroup ends the process group that the process leads or led: SIGTERM, then SIGKILL for
// members that remain after grace. It returns when the group is gone; a group of only zombies
// counts as gone, whichever process has to reap them. A group that was gone before isn't an
// error. The error is for a group that may live on: on another host or in another PID
// namespace, not ours to signal, or stuck in the kernel for 5 s after SIGKILL. EndGroup doesn't
// end members that left for a group of their own.
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
	// a stopped process handles SIGTERM only after it continues
	_ = id.signalGroup(syscall.SIGCONT)
	if id.groupEnds(grace, func() {}) {
		return nil
	}
	// Repeat: a member can fork while the others are being killed, and not every kernel
	// prevents that.
	if id.groupEnds(killLimit, func() { err = id.signalGroup(syscall.SIGKILL) }) {
		return nil
	}
	if err != nil && !errors.Is(err, ErrDead) {
		return fmt.Errorf("end process group %d: %w", id.PID, err)
	}
	return fmt.Errorf("end process group %d: still there %g s after SIGKILL", id.PID,
		killLimit.Seconds())
}

// groupEnds calls nudge and checks, at growing intervals, until the group is gone (true) or
// limit has passed.
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

// succeededBy reports whether the process that has the pid now is a different one. A zombie's
// start may be unknown, but since it still has the pid, it is the same process.
func (id ID) succeededBy(g glimpse) bool { return g.start != "" && g.start != id.Start }

// groupLives reports whether the group has a member that isn't a zombie, or if unknown, true.
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

// LowerPriority has the process group that the process leads run after others, where the system
// lets it.
func (id ID) LowerPriority() {
	if id.Alive() {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, id.PID, lowPriority)
	}
}
