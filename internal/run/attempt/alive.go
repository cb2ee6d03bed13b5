package attempt

import (
	"os"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
)

// Two things report whether an attempt is alive. The identity of its wrapper is exact where the
// wrapper can be seen: on this host, in this boot and PID namespace. Elsewhere the kernel's
// lock on the attempt's log says it: the wrapper takes it and its agent inherits it, so it is
// free only when both are gone, and everything that the agent has started.

// mover is the process that must move an open attempt on.
func (l *Life) mover() proc.ID {
	if l.Phase == plan.Claimed || l.Wrapper == nil {
		return l.Launcher
	}
	return *l.Wrapper
}

// State reports whether the process that must move an open attempt on is there.
func (l *Life) State() proc.State {
	id := l.mover()
	state := id.State()
	if l.isRemote() {
		if state == proc.Alive && l.Remote.Silent == nil {
			return proc.Alive
		}
		return proc.Unknown // the agent runs on while no gl serve is there
	}
	exact := id.Here() && state != proc.Unknown
	if exact || l.Lock == 0 || l.Phase == plan.Claimed {
		return state
	}
	held, known := l.lockHeld()
	switch {
	case known && held:
		return proc.Alive
	case known && id.SameKernel(): // another kernel's locks needn't reach us
		return proc.Dead
	}
	return state
}

// treeGone reports whether the lock proves that the agent and everything it has started is
// gone, too.
func (l *Life) treeGone() bool {
	if l.isRemote() || l.Lock == 0 || l.Phase == plan.Claimed || !l.mover().SameKernel() {
		return false
	}
	held, known := l.lockHeld()
	return known && !held
}

// Dead reports whether it is proven that no process moves the attempt on. One that awaits the
// merge queue needs none.
func (l *Life) Dead() bool { return l.Phase != plan.Queued && l.State() == proc.Dead }

// LauncherLives reports whether the gl that launched the attempt may still be there.
func (l *Life) LauncherLives() bool { return l.Launcher.State() != proc.Dead }

// Elsewhere returns where the attempt runs, or ran, if its state is unknown from here; ""
// otherwise, and for a claim that is about to start.
func (l *Life) Elsewhere() string {
	if l.Phase == plan.Queued || l.State() != proc.Unknown ||
		l.Phase == plan.Claimed && time.Since(l.ClaimedAt) < time.Minute {
		return ""
	}
	return l.where()
}

// where is the place of the process that must move the attempt on.
func (l *Life) where() string {
	if l.isRemote() {
		return l.Remote.Place()
	}
	return l.mover().Where()
}

// unreachable returns where the attempt runs, if no signal from here can reach it; "" if one
// can, or if it is dead.
func (l *Life) unreachable() string {
	here := l.mover().Here()
	if l.isRemote() {
		here = l.State() == proc.Alive
	}
	if l.Phase != plan.Queued && !here && !l.Dead() {
		return l.where()
	}
	return ""
}

// lockHeld reports whether the lock on the attempt's log. It isn't known where the log isn't
// the file that was locked: it was removed, or this is a copy of the project.
func (l *Life) lockHeld() (held, known bool) {
	f, err := durable.Open(l.Log)
	if err != nil {
		return false, false
	}
	defer f.Close()
	if inode(f) != l.Lock {
		return false, false
	}
	held, err = durable.Busy(f)
	return held, err == nil
}

// TakeLock takes the lock on the log for this process and its agent; a nil file where locks
// don't work. The descriptor can only read: the agent inherits it.
func TakeLock(path string) (f *os.File, number uint64) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, 0
	}
	if durable.Claim(f) == nil {
		// Some file systems grant every lock: only one that excludes a second opening proves
		// anything.
		if second, err := durable.Open(path); err == nil {
			defer second.Close()
			if busy, err := durable.Busy(second); err == nil && busy {
				return f, inode(f)
			}
		}
	}
	f.Close()
	return nil, 0
}

func inode(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}
