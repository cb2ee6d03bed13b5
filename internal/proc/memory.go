package proc

import (
	"os"
	"strconv"
	"strings"
)

// OutOfMemory is how many processes the kernel has killed for lack of memory since the machine started, 0 where it doesn't say. A process that was
// killed while that has grown was one of them, or may have been; else somebody else has killed it.
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
