package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// carriers returns the processes that were started with one of the variables, "NAME=value", in
// their environment.
func carriers(variables []string, among []entry) (map[int]bool, error) {
	found := map[int]bool{}
	for _, e := range among {
		env, err := environOf(e.pid)
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if slices.Contains(variables, string(v)) {
				found[e.pid] = true
				break
			}
		}
	}
	return found, nil
}

// environOf returns the environment that a process was started with, its variables ended by
// NULs. A zombie has none, and another user's process is unreadable.
func environOf(pid int) ([]byte, error) {
	return os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
}
