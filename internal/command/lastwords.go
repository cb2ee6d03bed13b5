package command

import (
	"regexp"
	"strings"
	"sync"

	"greenlight/internal/sanitize"
)

const lastWordsBytes = 300

// LastWords remembers the last line that says why a program failed. A line that only repeats that something failed, as
// test runners and make print behind the reason, doesn't replace one that says more.
type LastWords struct{ Text string }

// Hear takes some lines.
func (w *LastWords) Hear(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || w.Text != "" && echoes().MatchString(line) {
			continue
		}
		w.Text = sanitize.Text(line[:min(len(line), lastWordsBytes)])
	}
}

// echoes are lines that say nothing but that there was a failure.
var echoes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(exit (status|code):? \d+|FAIL(ED)?|FAIL\t.*|make(\[\d+\])?: \*\*\* .* Error \d+|npm (ERR!|error) .*log.*)\.?$`)
})
