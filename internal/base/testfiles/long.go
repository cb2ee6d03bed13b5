package testfiles

import "os"

// Long reports whether GREENLIGHT_LONG asks for the long forms of tests, as make check-heavy does.
func Long() bool { return os.Getenv("GREENLIGHT_LONG") != "" }

// Sized returns how much a test does: short by default, long in its long form.
func Sized(short, long int) int {
	if Long() {
		return long
	}
	return short
}
