package report

import (
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/scrub"
)

// Limits of the diffs on a page: it has to open at once and stay readable. The page contains the
// diffs because links break when it is mailed, and unmerged work is on no forge.
const (
	longestPatch = 300  // lines added and removed
	mostPatches  = 3000 // the same, of all patches
	largestPatch = 64 << 10
)

// shownPatches returns the commits whose patches are on the page, in the order of merging.
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

// AddPatches adds the patches of merged work, which are given by commit.
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

// HasPatches reports whether there is any patch.
func (d *Document) HasPatches() bool {
	for _, l := range d.Landed {
		if l.Patch != nil {
			return true
		}
	}
	return false
}

// A run is a sequence of lines of a patch that look alike.
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

// tint returns the class of a patch's line.
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
