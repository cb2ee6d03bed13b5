package proc

import (
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
	return parseCarriers(list, variables, among), nil
}

// environOf returns the environment that a process was started with, its variables ended by
// NULs, as far as ps shows it: values with spaces are cut.
func environOf(pid int) ([]byte, error) {
	line, err := ps("-E", "-ww", "-o", "command=", "-p", strconv.Itoa(pid))
	return []byte(strings.Join(strings.Fields(line), "\x00")), err
}
