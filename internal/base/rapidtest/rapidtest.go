// Package rapidtest limits the cost of expensive property tests.
package rapidtest

import (
	"flag"
	"strconv"
	"testing"
)

// Limit makes each rapid check in the rest of the test run n times, or as often as
// -rapid.checks says. It is for properties whose checks run programs or write many files, in
// tests that aren't parallel.
func Limit(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
}
