package proc

import (
	"os"
	"strings"
)

// farthest is how many ancestors are looked at: nobody nests programs so deep.
const farthest = 256

// Ancestors are the processes above this one, its parent first, as far as they can be seen from
// here. One that ends meanwhile ends the list: what it left has another parent by then.
func Ancestors() (list []ID) {
	of := parents()
	seen := map[int]bool{0: true}
	for pid := os.Getppid(); !seen[pid] && len(list) < farthest; {
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

// id is the process for ever.
func (e entry) id() ID {
	return ID{PID: e.pid, Start: e.start, Boot: boot(), Host: host(), NS: namespace()}
}

// Environ is what the process was started with, "NAME=value" each. The error is for one that isn't
// this user's.
func (id ID) Environ() ([]string, error) {
	env, err := environOf(id.PID)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(env), "\x00"), "\x00"), nil
}

// Is reports whether two IDs are of the same process.
func (id ID) Is(other ID) bool {
	return id.PID == other.PID && id.Start == other.Start && id.Start != "" && (id.Boot == other.Boot || id.Boot == "" || other.Boot == "") &&
		(id.NS == other.NS || id.NS == "" || other.NS == "")
}
