package proc

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// bootNamesHost is false because containers share their machine's boot id, but not its pids.
const bootNamesHost = false

var boot = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// namespace returns the PID namespace of this process.
var namespace = sync.OnceValue(func() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
})

// inspect returns the state of the process and its start, in clock ticks since boot.
func inspect(pid int) (glimpse, error) {
	e, err := readStat(strconv.Itoa(pid))
	return e.glimpse, err
}

// foreign returns an error if /proc belongs to another PID namespace: unshare --pid without
// --mount-proc leaves the outer one's, in which our pids are other processes.
var foreign = sync.OnceValue(func() error {
	self, err := os.Readlink("/proc/self")
	if err == nil && self != strconv.Itoa(os.Getpid()) {
		err = errors.New("/proc is that of another PID namespace: mount one of this namespace (unshare --mount-proc)")
	}
	return err
})

func readStat(pid string) (entry, error) {
	if err := foreign(); err != nil {
		return entry{}, err
	}
	b, err := readLine("/proc/" + pid + "/stat")
	if err != nil {
		return entry{}, err
	}
	e, err := parseStat(string(b))
	if err == nil {
		e.pid, err = strconv.Atoi(pid)
	}
	return e, err
}

// anyLives searches all processes, since the kernel doesn't list the members of a group.
func anyLives(group int) (bool, error) {
	all, err := table()
	return slices.ContainsFunc(all,
		func(e entry) bool { return e.group == group && !e.zombie }), err
}

// table returns all visible processes.
func table() (all []entry, err error) {
	if err := foreign(); err != nil {
		return nil, err
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if e, err := readStat(name); err == nil {
			all = append(all, e)
		}
	}
	return all, nil
}

// readLine reads a line of /proc. A run does so every second for each wrapper, and os.File
// takes twice as many system calls.
func readLine(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	line := make([]byte, 4096) // the kernel returns it whole
	for {
		n, err := syscall.Read(fd, line)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		default:
			return line[:n], nil
		}
	}
}

func lookUp(pid int) (entry, error) { return readStat(strconv.Itoa(pid)) }

// parents looks processes up one at a time: each names its parent.
func parents() func(pid int) (entry, error) { return lookUp }
