// Package suggest finds the word that was probably meant. Every "did you mean" uses it.
package suggest

import "strings"

// Match returns the known word most similar to word: one that begins with it, or the nearest
// within two edits and fewer edits than half its letters. Among equally near words, one with
// the same first letter and length wins: people swap letters more often than they leave them
// out. It returns "" if none is similar.
func Match(word string, known []string) string {
	best, least := "", 3*rank
	for _, k := range known {
		if len(word) > 3 && strings.HasPrefix(k, word) {
			return k
		}
		d := Distance(strings.ToLower(word), strings.ToLower(k))
		if 2*d >= len(k) {
			continue
		}
		d *= rank
		if k[0] != word[0] {
			d += 2
		}
		if len(k) != len(word) {
			d++
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// rank is greater than all that decides between words of the same distance.
const rank = 4

// Distance returns the number of bytes that must be changed, inserted, deleted or swapped with
// their neighbor to turn a into b (optimal string alignment).
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
