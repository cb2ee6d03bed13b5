package testfiles

import (
	"os"
	"testing"
)

// Long reports whether GREENLIGHT_LONG asks for the long forms of tests, as make check-heavy does.
func Long() bool { return os.Getenv("GREENLIGHT_LONG") != "" }

// Sized returns how much a test does: short by default, long in its long form.
func Sized(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Slow skips a test that takes seconds, unless GREENLIGHT_SLOW or GREENLIGHT_LONG is set: go test
// ./... stays short, and make slow runs what it left out, as .ci/run does.
func Slow(t testing.TB) {
	t.Helper()
	if !RunsSlow() {
		t.Skip("it takes seconds: make slow runs it")
	}
}

// RunsSlow reports whether slow tests run.
func RunsSlow() bool { return os.Getenv("GREENLIGHT_SLOW") != "" || Long() }
