// Package sliceid defines which ids slices may have, and resolves the ids that people type. All
// trackers use it: the ids of their items become file names, parts of command lines and cells
// of tables in the same way.
package sliceid

import (
	"fmt"
	"sort"
	"strings"

	"greenlight/internal/base/suggest"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// maxLen is the length of the longest id in bytes. With its suffixes, a file name stays far
// below the limit of 255 of common file systems.
const maxLen = 64

// Valid returns an error that describes the allowed ids if id isn't one. An id becomes a file
// name, a part of a command line and a cell of a table, so characters that are special in any
// of them aren't allowed.
func Valid(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("the slice id is empty: use something like S-1 or S-4.1")
	case len(id) > maxLen:
		return fmt.Errorf("slice id %.20q… has %d characters: at most %d are allowed", id, len(id), maxLen)
	case !alnum(id[0]):
		return fmt.Errorf("slice id %q must begin with a letter or a digit", id)
	}
	for i := range len(id) {
		if c := id[i]; !alnum(c) && c != '.' && c != '_' && c != '-' {
			return fmt.Errorf("slice id %q: only letters, digits, '.', '_' and '-' are allowed", id)
		}
	}
	lower := strings.ToLower(id)
	switch {
	case strings.Contains(id, ".."):
		return fmt.Errorf("slice id %q must not contain '..'", id)
	case strings.HasSuffix(id, "."), strings.HasSuffix(lower, ".md"), strings.HasSuffix(lower, ".tmp"):
		return fmt.Errorf("slice id %q must not end in '.', '.md' or '.tmp'", id)
	case deviceName(lower):
		return fmt.Errorf("slice id %q is the name of a device on Windows: choose another", id)
	}
	return nil
}

// deviceName reports whether Windows reserves the name, with any extension. The repository may
// be checked out on Windows.
func deviceName(lower string) bool {
	base, _, _ := strings.Cut(lower, ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && base[3] >= '1' && base[3] <= '9'
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func alnum(c byte) bool  { return digit(c) || letter(c) }

// Key maps ids that read the same to one key: lower case, no separator between a letter and a
// digit, no leading zeros. S4.1, S-4.1 and s-04.1 have the same key.
func Key(id string) string {
	out := make([]byte, 0, len(id))
	for i := 0; i < len(id); i++ {
		c := id[i]
		switch {
		case (c == '-' || c == '_') && i > 0 && letter(id[i-1]) && i+1 < len(id) && digit(id[i+1]):
		case c == '0' && (i == 0 || !digit(id[i-1])):
			for i+1 < len(id) && id[i] == '0' && digit(id[i+1]) {
				i++
			}
			out = append(out, id[i])
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// Resolve returns which of ids the user means by id: the identical one, else the only one that
// differs in case, else the only one that reads the same (S4.1 for S-4.1, S-1 for S-01). note
// is a message for the user, "" if the match is exact. The error names the candidates of an
// ambiguous id; for an unknown id it is tracker.ErrNotFound, with similar ids.
func Resolve(id string, ids []string) (match, note string, err error) {
	var folded, normal []string
	key := Key(id)
	for _, have := range ids {
		if have == id {
			return id, "", nil
		}
		if strings.EqualFold(have, id) {
			folded = append(folded, have)
		}
		if Key(have) == key {
			normal = append(normal, have)
		}
	}
	for _, found := range [][]string{folded, normal} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], fmt.Sprintf("using %s for %s", found[0], id), nil
		default:
			return "", "", fmt.Errorf("slice id %q is ambiguous: it could be %s", id, strings.Join(found, " or "))
		}
	}
	return "", "", NotFound(id, ids)
}

// NotFound returns tracker.ErrNotFound for id, with the ids of similar spelling.
func NotFound(id string, ids []string) error {
	if near := Nearest(id, ids); len(near) > 0 {
		return fmt.Errorf("%w: %q, did you mean %s?", tracker.ErrNotFound, id, strings.Join(near, ", "))
	}
	return fmt.Errorf("%w: %q", tracker.ErrNotFound, id)
}

// Nearest returns at most three ids within two typing errors of id.
func Nearest(id string, ids []string) []string {
	type candidate struct {
		id   string
		dist int
	}
	var found []candidate
	key := Key(id)
	limit := min(2, len(key)/2)
	for _, have := range ids {
		if d := suggest.Distance(key, Key(have)); d <= limit {
			found = append(found, candidate{have, d})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].dist != found[j].dist {
			return found[i].dist < found[j].dist
		}
		return plan.NaturalLess(found[i].id, found[j].id)
	})
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.id)
	}
	return names
}
