package proc

import (
	"slices"
	"strconv"
	"strings"
)

// carriers returns the processes that were started with one of the variables, "NAME=value", in
// their environment.
func carriers(variables []string, among []entry) (map[int]bool, error) {
	list, err := ps("-A", "-E", "-ww", "-o", "pid=", "-o", "command=")
	if err != nil {
		return nil, err
	}
	asked := map[int]bool{}
	for _, e := range among {
		asked[e.pid] = true
	}
	found := map[int]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil && asked[pid] {
			for _, word := range fields[1:] {
				found[pid] = found[pid] || slices.Contains(variables, word)
			}
		}
	}
	return found, nil
}

// environOf returns the environment that a process was started with, its variables ended by
// NULs, as far as ps shows it: values with spaces are cut.
func environOf(pid int) ([]byte, error) {
	line, err := ps("-E", "-ww", "-o", "command=", "-p", strconv.Itoa(pid))
	return []byte(strings.Join(strings.Fields(line), "\x00")), err
}
