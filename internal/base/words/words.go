// Package words has the small rules of English for messages.
package words

import (
	"fmt"
	"strconv"
	"strings"
)

// Count returns a number with its noun: "1 test", "42 tests".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// More returns the end of a list that was cut: " and 3 more". It is empty if n is 0.
func More(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// Some returns a list for one line: the first ten items, and how many more there are.
func Some(items []string) string {
	n := min(10, len(items))
	return strings.Join(items[:n], ", ") + More(len(items)-n)
}

// InBrackets returns a cause and a command that helps, for the end of a line: " (exit 7, gl retry
// S-1)". It is empty without both.
func InBrackets(cause, command string) string {
	switch {
	case cause == "" && command == "":
		return ""
	case cause == "" || command == "":
		return " (" + cause + command + ")"
	case strings.Contains(cause, ": "):
		return " (" + cause + "; " + command + ")"
	}
	return " (" + cause + ", " + command + ")"
}

// MoreAre is More with a verb, after the first of several: " and 3 more are", or " is" if there
// is only one.
func MoreAre(n int) string {
	if n <= 0 {
		return " is"
	}
	return More(n) + " are"
}

// Thousands formats a number with separators: 1,247.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
