// Package scrub removes likely secrets from a text before others may read it. It recognizes the
// formats of common services' keys, and values after names such as password. It can't recognize
// other secrets.
package scrub

import (
	"regexp"
	"sync"
)

// Removed takes the place of a secret.
const Removed = "[removed]"

// start is where a key may begin: not within a word, as in task-list, but behind a color, whose
// last character is a letter.
const start = `(\x1b\[[0-9;]*m|[^A-Za-z]|^)`

type rule struct {
	shape *regexp.Regexp
	with  string
}

// Longer ones come first: later rules don't see what an earlier rule removed.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----|\z)`), Removed},
		{regexp.MustCompile(start + `eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)?`),
			"${1}" + Removed},
		{regexp.MustCompile(start + `(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`), "${1}" + Removed},
		{regexp.MustCompile(start + `(gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{20,})`), "${1}" + Removed},
		{regexp.MustCompile(start + `(AKIA|ASIA)[A-Z0-9]{16}\b`), "${1}" + Removed},
		{regexp.MustCompile(start + `AIza[A-Za-z0-9_-]{30,}`), "${1}" + Removed},
		{regexp.MustCompile(start + `xox[abprs]-[A-Za-z0-9-]{10,}`), "${1}" + Removed},
		{regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}" + Removed},
		{regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), "${1}" + Removed + "@"},
		{regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|auth[_-]?token|token|secret|passwd|password|passphrase|credential)[a-z0-9_-]*["']?\s*[:=]\s*)("[^"\n]+"|'[^'\n]+'|[^\s"',;]+)`), "${1}" + Removed},
	}
})

// Text returns the text without likely secrets.
func Text(s string) string {
	for _, r := range rules() {
		s = r.shape.ReplaceAllString(s, r.with)
	}
	return s
}

// Lines is Text for lines that belong together.
func Lines(list []string) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = Text(l)
	}
	return out
}
