package report

import (
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/scrub"
)

// What of the diffs a page shows: it has to open at once, and to be read.
// The page itself has them because a link breaks when the page is mailed, and what isn't delivered
// yet is on no forge.
const (
	longestPatch = 300  // lines added and removed
	mostPatches  = 3000 // the same, of all
	largestPatch = 64 << 10
)

// shownPatches are the commits whose patches go into the page, in the order in which they landed.
func (d *Document) shownPatches() []string {
	var commits []string
	sum := 0
	for _, l := range d.Landed {
		if l.Diff == nil {
			continue
		}
		if n := l.Diff.Added + l.Diff.Removed; n <= longestPatch && sum+n <= mostPatches {
			sum += n
			commits = append(commits, l.commits...)
		}
	}
	return commits
}

// AddPatches gives the document the patches of what has landed, by commit.
func (d *Document) AddPatches(patches map[string]string) {
	for i := range d.Landed {
		l := &d.Landed[i]
		var text []string
		for _, hash := range l.commits {
			if patch := patches[hash]; patch != "" {
				text = append(text, patch)
			}
		}
		if all := strings.Join(text, "\n"); all != "" && len(all) <= largestPatch {
			l.Patch = scrub.Lines(strings.Split(sanitize.Text(all), "\n"))
		}
	}
}

// HasPatches says whether there is any.
func (d *Document) HasPatches() bool {
	for _, l := range d.Landed {
		if l.Patch != nil {
			return true
		}
	}
	return false
}

// A run is lines of a patch that look alike.
type run struct{ Class, Text string }

// runs joins lines that look alike: a page with an element for each line opens slowly.
func runs(patch []string) []run {
	var list []run
	for _, line := range patch {
		class := tint(line)
		if n := len(list); n > 0 && list[n-1].Class == class {
			list[n-1].Text += "\n" + line
		} else {
			list = append(list, run{class, line})
		}
	}
	return list
}

// tint is the class of a patch's line.
func tint(line string) string {
	switch {
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return "dim"
	case strings.HasPrefix(line, "+"):
		return "good"
	case strings.HasPrefix(line, "-"):
		return "bad"
	case strings.HasPrefix(line, " "), line == "":
		return ""
	}
	return "dim"
}
