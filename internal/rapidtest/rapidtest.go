// Package rapidtest keeps costly properties cheap.
package rapidtest

import (
	"flag"
	"strconv"
	"testing"
)

// Limit has the rapid checks of the test that follow done n times each, or as often as -rapid.checks says. It is for properties of
// which each check runs programs or writes many files, in tests that aren't parallel.
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
