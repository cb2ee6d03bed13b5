// Package words has the small rules of English that every message follows.
package words

import "strconv"

// Count is a number with its noun: "1 test", "42 tests".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
