// Package proc identifies processes by more than their pid: an ID is a pid together with the
// process's start time, boot and PID namespace, so that a reused pid, or the same pid in
// another container, is never mistaken for the old process. It signals process groups after
// checking that identity. It neither starts nor reaps processes.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// An ID identifies one process permanently. The zero ID is no process.
type ID struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // opaque; unique to the process within one boot
	Boot  string `json:"boot"`  // opaque; differs after a reboot
	Host  string `json:"host"`
	// PID namespace, opaque; "" if the system has none or doesn't tell
	NS string `json:"ns,omitempty"`
}

// State is what is known about a process at the moment.
type State int

const (
	// Dead means proven gone. A zombie is dead, as is every process of an earlier boot.
	Dead State = iota
	// Alive means that this very process is running, sleeping or stopped.
	Alive
	// Unknown means that it belongs to another host or PID namespace, or that the system hides
	// it. Never treat it as dead.
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

// A glimpse is the system's information about an existing process.
type glimpse struct {
	start  string
	zombie bool // it has ended, but hasn't been reaped
}

// Self returns the ID of this process. If the system doesn't report its start time, Start is
// empty, and the State of such an ID is Unknown while its pid exists.
func Self() ID { return self() }

var self = sync.OnceValue(func() ID {
	id, err := Of(os.Getpid())
	if err != nil {
		return ID{PID: os.Getpid(), Boot: boot(), Host: host(), NS: namespace()}
	}
	return id
})

// Of returns the process that has the pid now, even a zombie. The error is os.ErrNotExist if
// there is none.
func Of(pid int) (ID, error) {
	g, err := look(pid)
	if err != nil {
		return ID{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	return ID{PID: pid, Start: g.start, Boot: boot(), Host: host(), NS: namespace()}, nil
}

// State returns the state of the process.
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

// Alive reports whether the process is proven alive.
func (id ID) Alive() bool { return id.State() == Alive }

// Dead reports whether the process is proven dead. A process can be neither alive nor dead: see
// Unknown.
func (id ID) Dead() bool { return id.State() == Dead }

// Here reports whether the process, if alive, would be visible: it has this host, boot and PID
// namespace.
func (id ID) Here() bool { return id.place() == Alive }

// SameKernel reports whether the process runs, or ran, under the same kernel as this one. If
// so, a kernel lock that is free isn't held by that process.
func (id ID) SameKernel() bool { return id.Boot != "" && id.Boot == boot() }

// Where describes the place of a process that isn't visible from here: "on host build-7".
func (id ID) Where() string {
	if id.Host == host() && id.NS != namespace() {
		return "in another PID namespace (a container?)"
	}
	return fmt.Sprintf("on host %q", id.Host)
}

// place reports whether the process is visible from here: Alive for this host, boot and PID
// namespace, Dead for an earlier boot, Unknown for another host or namespace. An ID without a
// boot (none could be read) is distinguished by its start alone; one without a namespace (older
// versions wrote none) counts as ours.
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

// look returns information about the process that has the pid. The error is fs.ErrNotExist only
// if the kernel itself reports that there is none: a /proc that isn't mounted or hides other
// users' processes, or a ps that isn't permitted, proves nothing.
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
