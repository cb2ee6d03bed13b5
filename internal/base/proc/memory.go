package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OutOfMemory returns how many processes the kernel has killed for lack of memory since the
// machine started, 0 if unknown. If the number has grown while a process was killed, it was, or
// may have been, one of them; otherwise the kill had another cause.
func OutOfMemory() int {
	data, err := os.ReadFile("/proc/vmstat") // Linux
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, _ := strconv.Atoi(strings.TrimSpace(n))
			return count
		}
	}
	return 0
}

// Memory returns how much memory this process and its children can still get without swapping, and
// how much there is for them in all, in bytes. Both are limited by the machine and by the control
// groups that the process is in. known is false where the system doesn't say.
func Memory() (available, total uint64, known bool) {
	return memoryIn("/")
}

// memoryIn is Memory for the files below a root.
func memoryIn(root string) (available, total uint64, known bool) {
	info := numbers(filepath.Join(root, "proc/meminfo"))
	available, known = info["MemAvailable:"]
	if available, total = available*1024, info["MemTotal:"]*1024; !known {
		return 0, 0, false
	}
	for _, dir := range groups(root) {
		limit, limited := number(filepath.Join(dir, "memory.max"), "memory.limit_in_bytes")
		used, _ := number(filepath.Join(dir, "memory.current"), "memory.usage_in_bytes")
		if !limited || limit >= total {
			continue
		}
		stat := numbers(filepath.Join(dir, "memory.stat"))
		used -= min(used, max(stat["inactive_file"], stat["total_inactive_file"])) // caches
		total, available = min(total, limit), min(available, limit-min(limit, used))
	}
	return available, total, true
}

// groups returns the directories of the control groups that limit this process's memory, of both
// versions.
func groups(root string) []string {
	data, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	var dirs []string
	for line := range strings.Lines(string(data)) { // number:controllers:path
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		top := filepath.Join(root, "sys/fs/cgroup")
		switch fields[1] {
		case "":
		case "memory":
			top = filepath.Join(top, "memory")
		default:
			continue
		}
		for path := filepath.Clean("/" + fields[2]); ; path = filepath.Dir(path) {
			dirs = append(dirs, filepath.Join(top, path))
			if path == "/" {
				break
			}
		}
	}
	return dirs
}

// number returns the number that the file has, or the one of another name beside it. "max" is none.
func number(file, other string) (uint64, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		data, err = os.ReadFile(filepath.Join(filepath.Dir(file), other))
	}
	n, bad := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil && bad == nil
}

// numbers returns what a file of lines with a name and a number has.
func numbers(file string) map[string]uint64 {
	data, _ := os.ReadFile(file)
	m := map[string]uint64{}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) >= 2 {
			if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				m[fields[0]] = n
			}
		}
	}
	return m
}
