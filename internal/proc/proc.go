// Package proc knows processes by more than their pid: an ID is a pid together with the time the process started, the
// boot and the PID namespace it lives in, so that a pid that was given out again, or that means another process in another
// container, is never taken for the old process. It signals
// process groups after checking that identity. It doesn't start processes, and it doesn't reap them.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// An ID names one process for ever. The zero ID is no process.
type ID struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // opaque; equal exactly for the same process of one boot
	Boot  string `json:"boot"`  // opaque; differs after a reboot
	Host  string `json:"host"`
	NS    string `json:"ns,omitempty"` // PID namespace, opaque; "" where the system has none or doesn't tell
}

// State is what can be said about a process from here and now.
type State int

const (
	// Dead: proven gone. A zombie is dead, as is every process of an earlier boot.
	Dead State = iota
	// Alive: that very process runs (or sleeps, or is stopped).
	Alive
	// Unknown: it is another host's or another PID namespace's, or the system doesn't let us look. Never take it for dead.
	Unknown
)

func (s State) String() string {
	switch s {
	case Dead:
		return "dead"
	case Alive:
		return "alive"
	}
	return "unknown"
}

// A glimpse is what the system says about a process that exists.
type glimpse struct {
	start  string
	zombie bool // it has ended, and nobody has asked how yet
}

// Self is this process. Where the system doesn't tell when it started, Start is empty, and the State of such an ID is
// Unknown while its pid exists.
func Self() ID { return self() }

var self = sync.OnceValue(func() ID {
	id, err := Of(os.Getpid())
	if err != nil {
		return ID{PID: os.Getpid(), Boot: boot(), Host: host(), NS: namespace()}
	}
	return id
})

// Of is the process that has the pid now, a zombie too. The error is os.ErrNotExist where there is none.
func Of(pid int) (ID, error) {
	g, err := look(pid)
	if err != nil {
		return ID{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	return ID{PID: pid, Start: g.start, Boot: boot(), Host: host(), NS: namespace()}, nil
}

// State says whether the process lives.
func (id ID) State() State {
	if s := id.place(); s != Alive {
		return s
	}
	g, err := look(id.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Dead
	case err != nil:
		return Unknown
	case g.zombie:
		return Dead
	case id.Start == "":
		return Unknown
	case id.Start != g.start:
		return Dead
	}
	return Alive
}

// Alive says whether the process is proven alive.
func (id ID) Alive() bool { return id.State() == Alive }

// Dead says whether the process is proven dead. It can be neither alive nor dead: see Unknown.
func (id ID) Dead() bool { return id.State() == Dead }

// Here says whether the process can be seen from here, should it live: it is of this host, boot and PID namespace.
func (id ID) Here() bool { return id.place() == Alive }

// SameKernel says whether the process runs, or ran, under the kernel that this one runs under. Then a kernel lock that
// nobody holds isn't held by that process.
func (id ID) SameKernel() bool { return id.Boot != "" && id.Boot == boot() }

// Where names the place of a process that can't be seen from here: "on host build-7".
func (id ID) Where() string {
	if id.Host == host() && id.NS != namespace() {
		return "in another PID namespace (a container?)"
	}
	return fmt.Sprintf("on host %q", id.Host)
}

// place says whether the process can be seen from here: Alive for this host, boot and PID namespace, Dead for an earlier
// boot, Unknown for another host or namespace. An ID without a boot (none could be read) is told from others by its start
// alone, one without a namespace (older versions wrote none) counts as of ours.
func (id ID) place() State {
	sameBoot := id.SameKernel()
	switch {
	case id.PID <= 0:
		return Dead
	case id.Host != host() && !(sameBoot && bootNamesHost):
		return Unknown
	case id.Boot != boot() && id.Boot != "" && boot() != "":
		return Dead
	case id.NS != namespace() && id.NS != "" && namespace() != "":
		return Unknown
	}
	return Alive
}

// look finds out about the process that has the pid. The error is fs.ErrNotExist only where the kernel itself says that
// there is none: a /proc that isn't mounted or hides other people's processes, or a ps that mayn't run, proves nothing.
func look(pid int) (glimpse, error) {
	if pid <= 0 {
		return glimpse{}, fs.ErrNotExist
	}
	g, err := inspect(pid)
	if err != nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return glimpse{}, fs.ErrNotExist
	}
	return g, err
}

var host = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
})
