package attempt

import (
	"regexp"
	"strings"
	"sync"

	"greenlight/internal/sanitize"
)

const lastWordsBytes = 300

// lastWords remembers the last line that says why an agent failed. A line that only repeats that something failed, as
// test runners and make print behind the reason, doesn't replace one that says more.
type lastWords struct{ text string }

func (w *lastWords) hear(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || w.text != "" && echoes().MatchString(line) {
			continue
		}
		w.text = sanitize.Text(line[:min(len(line), lastWordsBytes)])
	}
}

// echoes are lines that say nothing but that there was a failure.
var echoes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(exit (status|code):? \d+|FAIL(ED)?|FAIL\t.*|make(\[\d+\])?: \*\*\* .* Error \d+|npm (ERR!|error) .*log.*)\.?$`)
})
