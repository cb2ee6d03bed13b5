// Package suggest finds the word that was probably meant. It holds the one measure that all "did you mean" share.
package suggest

import "strings"

// Match returns the known word that word was probably meant to be: the same in another case, one that it begins, or the
// nearest within two edits and with fewer edits than half its letters. "" for none.
func Match(word string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if len(word) > 3 && strings.HasPrefix(k, word) {
			return k
		}
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < least && 2*d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// Distance is how many bytes must be changed, put in, left out, or swapped with their neighbour to make b of a.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
