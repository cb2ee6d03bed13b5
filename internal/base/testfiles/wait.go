package testfiles

import (
	"runtime"
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen. A busy machine takes its time; only a
// bug takes this long.
const Patience = 4 * time.Minute

// Check fails the test if there is an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Until waits for a condition, and fails the test once Patience is over.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting after %v: %s", Patience, what)
		}
	}
}

// Allocated returns how many MiB a function allocates in all. It skips short tests, because the
// race detector allocates as well.
func Allocated(t testing.TB, f func()) uint64 {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}
