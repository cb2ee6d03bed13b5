package plan

import "strings"

// NaturalLess orders ids as people read them: runs of digits compare as numbers, so S-2 comes
// before S-10.
func NaturalLess(a, b string) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			na, nb := digits(a[i:]), digits(b[j:])
			if c := compareNumbers(na, nb); c != 0 {
				return c < 0
			}
			i, j = i+len(na), j+len(nb)
			continue
		}
		if a[i] != b[j] {
			return a[i] < b[j]
		}
		i, j = i+1, j+1
	}
	if rest := (len(a) - i) - (len(b) - j); rest != 0 {
		return rest < 0
	}
	return a < b // S-1 and S-01: equal as numbers, but the order must be total
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) string {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[:n]
}

// compareNumbers compares digit strings of any length without converting them.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
