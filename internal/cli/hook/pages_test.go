package hook

import (
	"strings"
	"testing"

	"greenlight/internal/cli/plugin"
)

// The client shows only the beginning of longer texts, so each agent's pages and the standards
// must fit.
func TestPagesFit(t *testing.T) {
	for name, row := range isolation() {
		for _, page := range row.Pages {
			if strings.TrimSpace(plugin.Documents()[page]) == "" {
				t.Errorf("%s: no page %q", name, page)
			}
		}
		if n := len(Pages(row.Pages)); n >= MostContext {
			t.Errorf("%s gets %d bytes of pages", name, n)
		}
	}
	if n := len(plugin.Documents()["CLAUDE"]); n == 0 || n >= MostContext {
		t.Errorf("the standards are %d bytes", n)
	}
}
