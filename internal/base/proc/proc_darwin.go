package proc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// bootNamesHost is true because the boot's UUID is unique to this machine, while its host name
// changes with its network.
const bootNamesHost = true

// boot falls back to the boot time on systems without the UUID. That changes when the clock is
// set, but is better than nothing.
var boot = sync.OnceValue(func() string {
	if uuid, err := syscall.Sysctl("kern.bootsessionuuid"); err == nil && uuid != "" {
		return uuid
	}
	timeval, err := syscall.Sysctl("kern.boottime")
	if err != nil {
		return ""
	}
	return hex.EncodeToString([]byte(timeval))
})

// namespace returns "": there is only one.
func namespace() string { return "" }

// inspect runs ps, because the kernel's own answer is a struct that only C headers describe.
func inspect(pid int) (glimpse, error) {
	line, err := ps("-o", "state=", "-o", "lstart=", "-p", strconv.Itoa(pid))
	if err != nil {
		return glimpse{}, err
	}
	return parsePS(line)
}

func anyLives(group int) (bool, error) {
	table, err := ps("-A", "-o", "pgid=", "-o", "state=")
	if err != nil {
		return false, err
	}
	return parseGroups(table, group), nil
}

// table returns all processes.
func table() ([]entry, error) {
	out, err := ps("-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state=", "-o",
		"lstart=", "-o", "comm=")
	return parseTable(out), err
}

// ps runs ps without the user's locale and time zone. It prints times in both, and a process
// must have the same start in every shell and on either side of a clock change.
func ps(args ...string) (string, error) {
	cmd := exec.Command("/bin/ps", args...)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ps: %w", err)
	}
	return string(out), nil
}

func lookUp(pid int) (entry, error) {
	out, err := ps("-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state=", "-o", "lstart=",
		"-o", "comm=", "-p", strconv.Itoa(pid))
	if all := parseTable(out); err == nil && len(all) == 1 {
		return all[0], nil
	}
	return entry{}, errors.Join(err, fmt.Errorf("no process %d", pid))
}

// parents looks processes up in a single table, because it is slow to obtain.
func parents() func(pid int) (entry, error) {
	all, err := table()
	return func(pid int) (entry, error) {
		for _, e := range all {
			if e.pid == pid {
				return e, nil
			}
		}
		return entry{}, errors.Join(err, fmt.Errorf("no process %d", pid))
	}
}
