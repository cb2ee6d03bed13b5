package slice

import (
	"fmt"
	"strconv"
	"strings"

	"greenlight/internal/text/frontmatter"
)

// maxRange bounds S-1..S-99999: a typing error must not make a million dependencies.
const maxRange = 1000

// splitList splits a comma list, with or without brackets, at the commas outside quotes.
func splitList(text string) []string { return expandAll(frontmatter.SplitList(text)) }

// expandAll is the items with their ranges expanded, each once.
func expandAll(items []string) []string {
	var all []string
	for _, item := range items {
		all = appendItem(all, item)
	}
	return all
}

// appendItem adds an item, or all of a range, unless it is there already or stands for none.
func appendItem(items []string, item string) []string {
	item = strings.Trim(item, " \t")
	switch strings.ToLower(item) {
	case "", "none", "-", "--", "—", "–", "null", "~", "[]", "n/a":
		return items
	}
	for _, id := range expand(item) {
		if !has(items, id) {
			items = append(items, id)
		}
	}
	return items
}

func has(items []string, item string) bool {
	for _, i := range items {
		if i == item {
			return true
		}
	}
	return false
}

// expand turns S-4..S-9 into its six ids; what is no range stays as it is.
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
	var ids []string
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
