package gsd

import "greenlight/internal/text/frontmatter"

// A Doc is a file of GSD's, STATE.md above all: its front matter and its body.
type Doc struct{ *frontmatter.Doc }

// Parse reads what either of GSD's own two parsers reads; it never fails. The body begins behind any further front matter
// that was stacked on the first by mistake.
func Parse(src []byte) *Doc {
	d := &Doc{frontmatter.Parse(src)}
	d.SkipStacked(func(key string) bool {
		switch key {
		case "gsd_state_version", "milestone", "milestone_name", "current_phase", "status", "last_updated", "progress":
			return true
		}
		return false
	})
	return d
}
