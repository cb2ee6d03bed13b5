package worktree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// longestRead is of one file by gl or a git of gl's.
const longestRead = time.Second

// watchReads looks at this process and those below it until the result is called, which returns the
// reads that took longer than longestRead: a thread that was blocked in one open, or a process that
// had the file at path open for reading.
func watchReads(path string) (findings func() []string) {
	stop, found := make(chan struct{}), make(chan []string)
	go func() {
		w := readWatch{path: path, since: map[string]time.Time{}, found: map[string]time.Duration{}}
		for {
			w.look()
			select {
			case <-stop:
				found <- w.long()
				return
			case <-time.After(40 * time.Millisecond):
			}
		}
	}()
	return func() []string { close(stop); return <-found }
}

type readWatch struct {
	path  string
	since map[string]time.Time // by what goes on: when it was seen first
	found map[string]time.Duration
}

func (w *readWatch) look() {
	now, before := time.Now(), w.since
	w.since = map[string]time.Time{}
	note := func(what string) {
		first, ok := before[what]
		if !ok {
			first = now
		}
		w.since[what] = first
		w.found[what] = max(w.found[what], now.Sub(first))
	}
	for _, pid := range family() {
		if pid != os.Getpid() { // the test opens the file, too
			w.open(pid, note)
		}
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			blockedInOpen(task, note)
		}
	}
}

// open notes that a process has the file open for reading.
func (w *readWatch) open(pid int, note func(string)) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err != nil || to != w.path {
			continue
		}
		info, _ := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		_, flags, _ := strings.Cut(string(info), "flags:\t")
		flags, _, _ = strings.Cut(flags, "\n")
		if n, err := strconv.ParseInt(flags, 8, 64); err == nil &&
			n&syscall.O_ACCMODE == syscall.O_RDONLY {
			note(fd + " is " + w.path)
		}
	}
}

// blockedInOpen notes that a thread is in an open. While it is blocked it is the same one: the
// kernel counts how often a thread was.
func blockedInOpen(task string, note func(string)) {
	call, err := os.ReadFile(task + "/syscall")
	if err != nil || !bytes.HasPrefix(call, fmt.Appendf(nil, "%d ", syscall.SYS_OPENAT)) {
		return
	}
	status, _ := os.ReadFile(task + "/status")
	_, switches, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:\t"))
	switches, _, _ = bytes.Cut(switches, []byte("\n"))
	name, _ := os.ReadFile(task + "/comm")
	note(fmt.Sprintf("%s %s opens, blocked %s times: %s", task, bytes.TrimSpace(name), switches,
		bytes.TrimSpace(call)))
}

func (w *readWatch) long() []string {
	var list []string
	for what, took := range w.found {
		if took > longestRead {
			list = append(list, fmt.Sprintf("%v: %s", took, what))
		}
	}
	return list
}

// family is this process and those below it.
func family() []int {
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		if f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(f) > 1 {
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	var list []int
	for pid := range parents {
		at := pid
		for range 20 {
			if at == os.Getpid() {
				list = append(list, pid)
				break
			}
			at = parents[at]
		}
	}
	return list
}
