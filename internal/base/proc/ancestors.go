package proc

import (
	"os"
	"strings"
)

// farthest is the maximum number of ancestors: programs aren't nested that deep.
const farthest = 256

// Ancestors returns the processes above this one, starting with its parent, as far as they are
// visible. One that ends meanwhile ends the list, because its children have another parent by
// then.
func Ancestors() []ID { return Lineage(os.Getppid()) }

// Lineage returns a process and those above it, in the same way.
func Lineage(pid int) (list []ID) {
	of := parents()
	for seen := map[int]bool{0: true}; !seen[pid] && len(list) < farthest; {
		seen[pid] = true
		e, err := of(pid)
		if err != nil {
			return list
		}
		list = append(list, e.id())
		pid = e.parent
	}
	return list
}

// id returns the process's permanent identity.
func (e entry) id() ID {
	return ID{PID: e.pid, Start: e.start, Boot: boot(), Host: host(), NS: namespace()}
}

// Environ returns the environment that the process was started with, "NAME=value" each. It
// fails for another user's process.
func (id ID) Environ() ([]string, error) {
	env, err := environOf(id.PID)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(env), "\x00"), "\x00"), nil
}

// Is reports whether two IDs identify the same process.
func (id ID) Is(other ID) bool {
	return id.PID == other.PID && id.Start == other.Start && id.Start != "" &&
		(id.Boot == other.Boot || id.Boot == "" || other.Boot == "") &&
		(id.NS == other.NS || id.NS == "" || other.NS == "")
}
