package proc

import (
	"os"
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
