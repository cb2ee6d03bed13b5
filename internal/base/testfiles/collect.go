package testfiles

import (
	"os"
	"runtime/debug"
)

// Test binaries collect garbage less often, unless GOGC says how often: the gl that many of them
// are for a moment otherwise spends a fifth of its processor time on it, and a run of all tests
// starts thousands.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
