package gsd

import "strings"

// PhaseKey returns a key shared by all spellings of a phase's id: without project code, without
// leading zeros, in upper case. 05, 5 and APP-05 are the same phase; 4.1 and 4.10 are
// different. It returns "" for an invalid id.
func PhaseKey(id string) string {
	id = stripCode(id)
	token := phaseToken(id)
	if token == "" || token != id {
		return ""
	}
	letters := strings.IndexFunc(token, func(r rune) bool { return '0' <= r && r <= '9' })
	n := digits(token[letters:])
	short := strings.TrimLeft(n, "0")
	if short == "" {
		short = "0"
	}
	return strings.ToUpper(token[:letters] + short + token[letters+len(n):])
}

// phaseToken returns the id at the start of s: "4.5", "12A", "B7". The id must not be followed
// by a letter or digit.
func phaseToken(s string) string {
	i := 0
	if len(s) > 1 && isLetter(s[0]) && isDigit(s[1]) {
		i = 1
	}
	n := len(digits(s[i:]))
	if n == 0 {
		return ""
	}
	i += n
	if i < len(s) && isLetter(s[i]) {
		i++
	}
	for i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		i += 1 + len(digits(s[i+1:]))
	}
	if i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '_') {
		return ""
	}
	return s[:i]
}

// stripCode removes a project's code: APP-05 becomes 05.
func stripCode(s string) string {
	code, rest, ok := strings.Cut(s, "-")
	isCode := ok && code != "" && isLetter(code[0]) && strings.ToUpper(code) == code &&
		!strings.ContainsFunc(code, notCode)
	if !isCode || phaseToken(rest) == "" {
		return s
	}
	return rest
}

func notCode(r rune) bool { return r >= 0x80 || r == '-' || !isKeyByte(byte(r)) }

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// sentinel reports whether a key belongs to the backlog: 999 and its subphases.
func sentinel(key string) bool { return key == "999" || strings.HasPrefix(key, "999.") }

// uncounted reports whether a phase is left out of the progress: GSD counts neither the backlog
// nor phase 0 with its subphases, although it carries phase 0 out like any other.
func uncounted(key string) bool {
	return sentinel(key) || key == "0" || strings.HasPrefix(key, "0.")
}

// olderVersion reports whether milestone a is older than b: v1.9 is older than v1.10.
func olderVersion(a, b string) bool {
	x := strings.Split(strings.TrimLeft(a, "vV"), ".")
	y := strings.Split(strings.TrimLeft(b, "vV"), ".")
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m = atoi(x[i])
		}
		if i < len(y) {
			n = atoi(y[i])
		}
		if m != n {
			return m < n
		}
	}
	return false
}
