package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Tree is a program and everything it has started, wherever that has gone: to another group
// or session, to another parent, with another environment. No single sign of membership is
// certain, so every given one counts.
type Tree struct {
	Root  ID       // the program, which leads a session; the zero ID for none
	Marks []string // "NAME=value" each: the program got one of them in its environment

	// Below means that all descendants of this process belong to the tree. This process must
	// have called Adopt before the program was started.
	Below bool
	// Helpers means that descendants in this process's own session are its helpers and don't
	// belong to the program. The program leads another session, and nothing it starts can join
	// this one.
	Helpers bool
}

// End ends the tree: SIGTERM, then SIGKILL for processes that remain after grace. It returns
// when all of it is gone, with the names of the first few processes found. The error is for
// processes that may live on.
//
// On Linux, with Below, it is certain that nothing is left except what another service was
// asked to start. Elsewhere, processes that have left the program's group with an environment
// of their own aren't found.
func (t Tree) End(grace time.Duration) (found []string, err error) {
	switch {
	case t.Root.PID == 0:
	case t.Root.place() == Unknown:
		return nil, fmt.Errorf("end process %d: it is %s", t.Root.PID, t.Root.Where())
	case t.Root.place() == Dead: // of an earlier boot, with all its descendants
		return nil, nil
	}
	h := hunt{Tree: t, known: map[int]string{}, strangers: map[int]string{}, told: map[int]string{}}
	killing := time.Now().Add(grace)
	for pause, quiet := firstPause, 0; ; pause = min(2*pause, lastPause) {
		living, err := h.look()
		if err != nil {
			return nil, cmp.Or(h.endGroup(grace), err)
		}
		if len(living) == 0 {
			h.strangers = map[int]string{}
			if quiet++; h.quiet(quiet, time.Now().After(killing.Add(killLimit))) {
				return h.names, nil
			}
			if t.Below {
				time.Sleep(firstPause) // children that another part of this process waits for
			}
			continue
		}
		quiet = 0
		now := time.Now()
		if now.After(killing.Add(killLimit)) {
			return h.names, h.survivors(living)
		}
		h.signal(living, now.After(killing), now.After(killing.Add(killLimit/5)))
		time.Sleep(pause)
	}
}

// Reap reaps orphans that this process has adopted, which it alone can do. It leaves Root to
// the process that started it.
func (t Tree) Reap() {
	if _, ended := children(); !ended {
		return
	}
	if all, err := table(); err == nil {
		h := hunt{Tree: t}
		h.reap(all)
	}
}

// mostNames is how many of the ended processes are named.
const mostNames = 8

// helperLooks is how many looks have to find nothing beside this process's own helpers, less one.
const helperLooks = 4

// A hunt is the state of End.
type hunt struct {
	Tree
	known     map[int]string // pid → start of the processes found
	strangers map[int]string // pid → start of those without a mark in their environment
	told      map[int]string // pid → start of those that got SIGTERM
	names     []string       // of all processes found
	err       error          // the last error from signaling
}

// look returns the live processes of the tree.
func (h *hunt) look() (living []entry, err error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	if h.Below {
		h.reap(all)
	}
	marked, err := h.marked(all)
	if err != nil {
		return nil, err
	}
	below := map[int][]entry{}
	for _, e := range all {
		below[e.parent] = append(below[e.parent], e)
	}
	session := h.session(all)
	self, seen := os.Getpid(), map[int]bool{os.Getpid(): true}
	var add func(e entry)
	add = func(e entry) {
		if seen[e.pid] {
			return
		}
		seen[e.pid] = true
		if !e.zombie {
			living = append(living, e)
		}
		for _, child := range below[e.pid] {
			add(child)
		}
	}
	for _, e := range all {
		if marked[e.pid] || session && e.session == h.Root.PID ||
			session && e.group == h.Root.PID || h.known[e.pid] == e.start && e.start != "" ||
			h.Below && e.parent == self && !h.helper(e) {
			add(e)
		}
	}
	for _, e := range living {
		if h.known[e.pid] == e.start {
			continue
		}
		if h.known[e.pid] = e.start; len(h.names) < mostNames {
			h.names = append(h.names, fmt.Sprintf("%s (%d)", cmp.Or(e.name, "?"), e.pid))
		}
	}
	return living, nil
}

// marked returns the processes that carry a mark. It doesn't check again those found before, or
// found without a mark.
func (h *hunt) marked(all []entry) (map[int]bool, error) {
	if len(h.Marks) == 0 {
		return nil, nil
	}
	unknown := slices.DeleteFunc(slices.Clone(all), func(e entry) bool {
		return e.zombie || e.pid == os.Getpid() || h.known[e.pid] == e.start ||
			h.strangers[e.pid] == e.start
	})
	marked, err := carriers(h.Marks, unknown)
	for _, e := range unknown {
		if !marked[e.pid] {
			h.strangers[e.pid] = e.start
		}
	}
	return marked, err
}

// session reports whether a session or group with Root's number belongs to Root: see
// SignalGroup.
func (h *hunt) session(all []entry) bool {
	if h.Root.PID <= 1 {
		return false
	}
	i := slices.IndexFunc(all, func(e entry) bool { return e.pid == h.Root.PID })
	return i < 0 || h.Root.Start != "" && !h.Root.succeededBy(all[i].glimpse)
}

// helper reports whether a child of this process is a helper rather than the program's.
func (h *hunt) helper(e entry) bool { return h.Helpers && e.session == ownSession() }

// ownSession returns this process's session, -1 if unknown.
var ownSession = sync.OnceValue(func() int {
	e, err := lookUp(os.Getpid())
	if err != nil {
		return -1
	}
	return e.session
})

// reap reaps zombies that this process has adopted.
func (h *hunt) reap(all []entry) {
	for _, e := range all {
		if e.zombie && e.parent == os.Getpid() && e.pid != h.Root.PID && !h.helper(e) {
			_, _ = syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// quiet reports whether nothing is left, after so many looks in a row that found nothing. One that
// was forked while the table was read may be missing from it, and on a busy machine another in the
// next one, too. With Below the kernel knows better, except of helpers from others.
func (h *hunt) quiet(looks int, late bool) bool {
	switch {
	case !h.Below:
		return looks > 1
	case h.alone():
		return true
	case h.Helpers:
		return looks > helperLooks
	}
	return looks > 1 && late
}

// alone reports whether it is certain that this process has no descendants: an orphaned one
// would be its child.
func (h *hunt) alone() bool {
	any, _ := children()
	return !any
}

// signal signals each process once, or kills them. Processes that fork faster than the table is
// read can outrun that, but not a signal to their group.
func (h *hunt) signal(living []entry, kill, groups bool) {
	for _, e := range living {
		id := e.id()
		switch {
		case groups && h.owns(e):
			if err := syscall.Kill(-e.group, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
				h.note(err)
			}
		case kill:
			h.note(id.Signal(syscall.SIGKILL))
		case h.told[e.pid] != e.start:
			h.told[e.pid] = e.start
			h.note(id.Signal(syscall.SIGTERM))
			// a stopped process handles SIGTERM only after it continues
			h.note(id.Signal(syscall.SIGCONT))
		}
	}
}

// owns reports whether all of a process's group is of the tree: it is in a session that was begun
// below this process.
func (h *hunt) owns(e entry) bool {
	return h.Below && e.parent == os.Getpid() && e.group > 1 && e.session != ownSession()
}

func (h *hunt) note(err error) {
	if err != nil && !errors.Is(err, ErrDead) {
		h.err = err
	}
}

// survivors returns the error for processes that can't be ended.
func (h *hunt) survivors(living []entry) error {
	var names []string
	for _, e := range living {
		names = append(names, fmt.Sprintf("%s (%d)", cmp.Or(e.name, "?"), e.pid))
	}
	err := fmt.Errorf("still there %g s after SIGKILL: %s", killLimit.Seconds(),
		strings.Join(names, ", "))
	return errors.Join(err, h.err)
}

// endGroup is the fallback if the process table can't be read.
func (h *hunt) endGroup(grace time.Duration) error {
	if h.Root.PID == 0 {
		return nil
	}
	return EndGroup(h.Root, grace)
}
