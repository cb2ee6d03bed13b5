package command

import (
	"regexp"
	"strings"
	"sync"

	"greenlight/internal/base/sanitize"
)

const lastWordsBytes = 300

// LastWords keeps the last line that explains why a program failed. A line that only repeats
// that something failed, as test runners and make print after the reason, doesn't replace a
// more informative one.
type LastWords struct{ Text string }

// Hear processes some lines.
func (w *LastWords) Hear(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || w.Text != "" && echoes().MatchString(line) {
			continue
		}
		w.Text = sanitize.Text(line[:min(len(line), lastWordsBytes)])
	}
}

// echoes matches lines that only repeat that there was a failure.
var echoes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(exit (status|code):? \d+|FAIL(ED)?|FAIL\t.*|make(\[\d+\])?: \*\*\* .* Error \d+|npm (ERR!|error) .*log.*)\.?$`)
})
