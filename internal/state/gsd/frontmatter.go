package gsd

import (
	"bytes"

	"greenlight/internal/base/text/frontmatter"
)

// A Doc is the front matter and body of a GSD file, usually STATE.md.
type Doc struct{ *frontmatter.Doc }

// Parse reads what either of GSD's own two parsers reads; it never fails. The body begins after
// any further front matter that was stacked on the first by mistake.
func Parse(src []byte) *Doc {
	d := &Doc{frontmatter.Parse(src)}
	d.SkipStacked(func(key string) bool {
		switch key {
		case "gsd_state_version", "milestone", "milestone_name", "current_phase", "status",
			"last_updated", "progress":
			return true
		}
		return false
	})
	return d
}

// misclosed returns the number of a line of two dashes that was meant to close the front
// matter; 0 for none. GSD's tools, and so Parse, read on to the next ---, which may be a rule
// far below. Such a file must not be written.
func (d *Doc) misclosed() int {
	if d.FrontStart == 0 {
		return 0
	}
	front := d.Src[d.FrontStart:d.FrontEnd]
	for n := 2; len(front) > 0; n++ {
		line, rest, _ := bytes.Cut(front, []byte("\n"))
		if string(bytes.TrimRight(line, " \t\r")) == "--" {
			return n
		}
		front = rest
	}
	return 0
}
