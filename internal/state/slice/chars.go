package slice

func digit(c byte) bool { return c >= '0' && c <= '9' }
func alnum(c byte) bool { return digit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// number returns the run of digits at s[i:], without leading zeros, and the offset where it
// ends. The digits stay text because ids may have more of them than an integer can hold.
func number(s string, i int) (string, int) {
	j := i
	for j < len(s) && digit(s[j]) {
		j++
	}
	for i < j-1 && s[i] == '0' {
		i++
	}
	return s[i:j], j
}
