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

// A Tree is a program and everything that it has started, wherever that has gone: to another group
// or session, to another parent, with another environment. No single sign of it is certain, so
// each that is given counts.
type Tree struct {
	Root  ID       // the program, which leads a session; the zero ID for none
	Marks []string // "NAME=value" each: the program got one of them in its environment

	// Below: what is below this process belongs to it. This process must have called Adopt before
	// the program was started.
	Below bool
	// Helpers: processes below this one that are of its own session are helpers of this one's, and
	// don't belong to the program. The program leads another session, and nothing that it starts
	// can join this one.
	Helpers bool
}

// End ends the tree: SIGTERM, and SIGKILL to what is still there after grace. It returns when all
// of it is gone, with the names of what it found, of the first few. The error is for what may live
// on.
//
// On Linux, with Below, that nothing is left is certain, but for what another service was asked to
// start. Elsewhere, what has left the program's group with an environment of its own isn't found.
func (t Tree) End(grace time.Duration) (found []string, err error) {
	switch {
	case t.Root.PID == 0:
	case t.Root.place() == Unknown:
		return nil, fmt.Errorf("end process %d: it is %s", t.Root.PID, t.Root.Where())
	case t.Root.place() == Dead: // of an earlier boot, with all that it had started
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
			if quiet++; quiet > 1 || t.Below && h.alone() {
				return h.names, nil
			}
			continue // what forks while the table is read may not be in it
		}
		quiet = 0
		now := time.Now()
		if now.After(killing.Add(killLimit)) {
			return h.names, h.survivors(living)
		}
		h.signal(living, now.After(killing))
		time.Sleep(pause)
	}
}

// Reap takes the exit statuses of processes that were left to this one. Nobody else waits for
// them. Root is waited for by who has started it.
func (t Tree) Reap() {
	if _, ended := children(); !ended {
		return
	}
	if all, err := table(); err == nil {
		h := hunt{Tree: t}
		h.reap(all)
	}
}

// mostNames are told of what is ended.
const mostNames = 8

// A hunt is the ending of a tree.
type hunt struct {
	Tree
	known     map[int]string // pid and start of those that were found
	strangers map[int]string // of those whose environment has no mark
	told      map[int]string // of those that have got SIGTERM
	names     []string       // of all that were found
	err       error          // of the last signal that wasn't delivered
}

// look finds what lives of the tree.
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
		if marked[e.pid] || session && e.session == h.Root.PID || session && e.group == h.Root.PID || h.known[e.pid] == e.start && e.start != "" ||
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

// marked are the processes that carry the mark. What was found once, or once without the mark,
// isn't asked again.
func (h *hunt) marked(all []entry) (map[int]bool, error) {
	if len(h.Marks) == 0 {
		return nil, nil
	}
	unknown := slices.DeleteFunc(slices.Clone(all), func(e entry) bool {
		return e.zombie || e.pid == os.Getpid() || h.known[e.pid] == e.start || h.strangers[e.pid] == e.start
	})
	marked, err := carriers(h.Marks, unknown)
	for _, e := range unknown {
		if !marked[e.pid] {
			h.strangers[e.pid] = e.start
		}
	}
	return marked, err
}

// session reports whether a session or a group with Root's number is Root's: see SignalGroup.
func (h *hunt) session(all []entry) bool {
	if h.Root.PID <= 1 {
		return false
	}
	i := slices.IndexFunc(all, func(e entry) bool { return e.pid == h.Root.PID })
	return i < 0 || h.Root.Start != "" && !h.Root.succeededBy(all[i].glimpse)
}

// helper reports whether a child of this process isn't the program's.
func (h *hunt) helper(e entry) bool { return h.Helpers && e.session == ownSession() }

// ownSession is this process's session, -1 where the system doesn't tell.
var ownSession = sync.OnceValue(func() int {
	e, err := lookUp(os.Getpid())
	if err != nil {
		return -1
	}
	return e.session
})

// reap takes the statuses of zombies that were left to this process.
func (h *hunt) reap(all []entry) {
	for _, e := range all {
		if e.zombie && e.parent == os.Getpid() && e.pid != h.Root.PID && !h.helper(e) {
			_, _ = syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// alone reports whether it is certain that nothing is below this process: a descendant without a
// parent would be its child.
func (h *hunt) alone() bool {
	any, _ := children()
	return !any
}

func (h *hunt) signal(living []entry, kill bool) {
	for _, e := range living {
		id := e.id()
		switch {
		case kill:
			h.note(id.Signal(syscall.SIGKILL))
		case h.told[e.pid] != e.start:
			h.told[e.pid] = e.start
			h.note(id.Signal(syscall.SIGTERM))
			h.note(id.Signal(syscall.SIGCONT)) // a stopped process sees SIGTERM only when it goes on
		}
	}
}

func (h *hunt) note(err error) {
	if err != nil && !errors.Is(err, ErrDead) {
		h.err = err
	}
}

// survivors is the error of what can't be ended.
func (h *hunt) survivors(living []entry) error {
	var names []string
	for _, e := range living {
		names = append(names, fmt.Sprintf("%s (%d)", cmp.Or(e.name, "?"), e.pid))
	}
	err := fmt.Errorf("still there %g s after SIGKILL: %s", killLimit.Seconds(), strings.Join(names, ", "))
	return errors.Join(err, h.err)
}

// endGroup is what can be done where the process table can't be read.
func (h *hunt) endGroup(grace time.Duration) error {
	if h.Root.PID == 0 {
		return nil
	}
	return EndGroup(h.Root, grace)
}
