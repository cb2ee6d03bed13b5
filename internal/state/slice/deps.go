package slice

import (
	"fmt"
	"strconv"
	"strings"

	"greenlight/internal/base/text/frontmatter"
	"greenlight/internal/base/uniq"
)

// maxRange limits a range such as S-1..S-99999: a typo must not create a million dependencies.
const maxRange = 1000

// maxExpanded limits the ids that all ranges of one list expand to: a megabyte of ranges must
// not become a gigabyte of ids.
const maxExpanded = 20 * maxRange

// splitList splits a comma-separated list, with or without brackets, at the commas outside
// quotes.
func splitList(text string) []string { return expandAll(frontmatter.SplitList(text)) }

// expandAll returns the items with ranges expanded, without duplicates and without words for
// "none".
func expandAll(items []string) []string {
	var all uniq.List
	room := maxExpanded
	for _, item := range items {
		if item = strings.Trim(item, " \t"); isNone(item) {
			continue
		}
		ids := expand(item)
		if len(ids) > room {
			ids = []string{item} // reported as an unknown slice
		}
		if len(ids) > 1 {
			room -= len(ids)
		}
		for _, id := range ids {
			all.Add(id)
		}
	}
	return all.Items()
}

// isNone reports whether an item of a list means "none".
func isNone(item string) bool {
	switch strings.ToLower(item) {
	case "", "none", "-", "--", "—", "–", "null", "~", "[]", "n/a":
		return true
	}
	return false
}

// expand returns the six ids of S-4..S-9, or item itself if it isn't a range.
func expand(item string) []string {
	from, to, ok := strings.Cut(item, "..")
	if !ok {
		return []string{item}
	}
	from, to = strings.TrimRight(from, " "), strings.TrimLeft(to, " ")
	prefix := strings.TrimRight(from, "0123456789")
	digits := from[len(prefix):]
	first, err1 := strconv.Atoi(digits)
	last, err2 := strconv.Atoi(strings.TrimPrefix(to, prefix))
	if err1 != nil || err2 != nil || first < 0 || last < first || last-first >= maxRange {
		return []string{item}
	}
	ids := make([]string, 0, last-first+1)
	for n := first; n <= last; n++ {
		ids = append(ids, fmt.Sprintf("%s%0*d", prefix, len(digits), n))
	}
	return ids
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
