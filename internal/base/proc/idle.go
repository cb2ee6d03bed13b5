package proc

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Idle returns how long the machine's processors have been idle since it started, all of them
// together; 0 where the system doesn't say.
func Idle() time.Duration { return idleIn("/proc/stat") }

// idleIn is Idle for a file like Linux's /proc/stat, whose first line has the time of all
// processors in hundredths of a second: user, nice, system, idle, waiting for input and output, …
func idleIn(file string) time.Duration {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0
	}
	idle, bad := strconv.ParseUint(fields[4], 10, 48)
	waiting, worse := strconv.ParseUint(fields[5], 10, 48)
	if bad != nil || worse != nil {
		return 0
	}
	return time.Duration(idle+waiting) * 10 * time.Millisecond
}
