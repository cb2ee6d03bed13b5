package drift

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"greenlight/internal/base/words"
	"greenlight/internal/core/gate"
	"greenlight/internal/state/guard"
)

// Missing tests are found by file, by name, by mark and by count, compared with what the work is
// merged into. A refactoring may be right to remove some, so a person is asked, once. Tests that
// only moved, with their names, aren't missing.

// holdsTests reports whether a path is searched for tests.
func (c *Comparer) holdsTests(p string) bool {
	return c.IsTest(p) || guard.HoldsTests(c.InProject(p))
}

// A counted is the tests of a name on one side of a merge.
type counted struct {
	here, skipped, lines int
	files                []string // that have one
}

// file returns where the tests of a name are missing, judged by where they are now.
func (c counted) file(now counted) string {
	for _, f := range c.files {
		if !slices.Contains(now.files, f) {
			return f
		}
	}
	return c.files[0]
}

// gone finds the tests that a merge removes, or skips. except are paths that were reported
// otherwise.
func (c *Comparer) gone(ctx context.Context, base, merged Files, changed []string,
	except func(string) bool) ([]gate.Item, error) {
	pick := func(files Files) (paths []string) {
		for _, p := range changed {
			if files[p].IsRegular() && c.holdsTests(p) && base[p] != merged[p] {
				paths = append(paths, p)
			}
		}
		return paths
	}
	before, after := pick(base), pick(merged)
	if len(before) == 0 {
		return nil, nil
	}
	texts, err := c.texts(ctx, base, before, merged, after)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{} // contents that are still there, under the name of a test
	for _, p := range after {
		kept[merged[p].ID] = true
	}
	was, is := map[string]counted{}, map[string]counted{}
	for _, p := range after {
		count(is, p, texts[merged[p].ID])
	}
	var items []gate.Item
	for _, p := range before {
		if kept[base[p].ID] || except(p) {
			uncount(is, p, texts[base[p].ID], kept[base[p].ID])
			continue
		}
		_, there := merged[p]
		if n, known := count(was, p, texts[base[p].ID]); !there && c.IsTest(p) &&
			(n == 0 || !known) {
			items = append(items, gate.Item{Kind: gate.Removed, Name: p, Path: p})
		}
	}
	return append(items, compare(was, is, before, merged)...), nil
}

// texts returns the contents of files by their ids.
func (c *Comparer) texts(ctx context.Context, base Files, before []string, merged Files,
	after []string) (map[string][]byte, error) {
	var ids []string
	for _, p := range before {
		ids = append(ids, base[p].ID)
	}
	for _, p := range after {
		ids = append(ids, merged[p].ID)
	}
	texts := map[string][]byte{}
	err := c.Read(ctx, ids, MostBytes, func(id string, text []byte) error {
		texts[id] = slices.Clone(text)
		return nil
	})
	return texts, err
}

// count adds the tests of a file.
func count(all map[string]counted, p string, text []byte) (n int, known bool) {
	names, known := guard.TestNames(p, text)
	for _, t := range names {
		c := all[t.Name]
		c.here, c.lines = c.here+1, c.lines+t.Lines
		if !slices.Contains(c.files, p) {
			c.files = append(c.files, p)
		}
		if t.Skipped {
			c.skipped++
		}
		all[t.Name] = c
	}
	return len(names), known
}

// uncount removes the tests of a file that has only moved: they stand for themselves.
func uncount(all map[string]counted, p string, text []byte, moved bool) {
	names, _ := guard.TestNames(p, text)
	for _, t := range names {
		if c := all[t.Name]; moved && c.here > 0 {
			c.here, c.lines = c.here-1, c.lines-t.Lines
			if t.Skipped {
				c.skipped--
			}
			all[t.Name] = c
		}
	}
}

// compare names what is missing, skipped or emptied. If all tests of a file are missing with it, it
// names the file.
func compare(was, is map[string]counted, before []string, merged Files) []gate.Item {
	var items []gate.Item
	gone, of := map[string]int{}, map[string]int{}
	for name, c := range was {
		now := is[name]
		of[c.file(now)]++
		if now.here < c.here {
			gone[c.file(now)]++
		}
	}
	for _, p := range before {
		if _, there := merged[p]; !there && gone[p] > 0 && gone[p] == of[p] {
			items = append(items, gate.Item{Kind: gate.Removed,
				Name: fmt.Sprintf("%s (%s)", p, words.Count(of[p], "test")), Path: p})
		}
	}
	const emptied, something = 2, 4 // lines of a test: its head and its end, and two more
	for _, name := range slices.Sorted(maps.Keys(was)) {
		c, now := was[name], is[name]
		file := c.file(now)
		_, there := merged[file]
		full := name + " in " + slices.Concat(now.files, []string{file})[0]
		switch {
		case now.here < c.here && (there || gone[file] < of[file]):
			items = append(items, gate.Item{Kind: gate.Removed, Name: name + " in " + file,
				Path: file})
		case now.here < c.here:
		case now.skipped > c.skipped:
			items = append(items, gate.Item{Kind: gate.Skips, Name: full, Path: file})
		case c.here == now.here && c.lines >= something*c.here && now.lines <= emptied*now.here:
			items = append(items, gate.Item{Kind: gate.Skips, Name: full + " (emptied)",
				Path: file})
		}
	}
	return items
}

// Allowed returns the items that a person has allowed in advance, by patterns of the paths in the
// project whose tests may be removed.
func Allowed(patterns []string, found []gate.Item, prefix string) []gate.Item {
	c := &Comparer{Prefix: prefix}
	var allowed []gate.Item
	for _, i := range found {
		matches := func(pattern string) bool { return underPattern(pattern, c.InProject(i.Path)) }
		if (i.Kind == gate.Removed || i.Kind == gate.Skips) && i.Path != "" &&
			slices.ContainsFunc(patterns, matches) {
			allowed = append(allowed, i)
		}
	}
	return allowed
}

// underPattern reports whether a path, or a directory above it, matches.
func underPattern(pattern, p string) bool {
	for ; p != "." && p != "/" && p != ""; p = path.Dir(p) {
		if ok, err := path.Match(path.Clean(pattern), p); err == nil && ok {
			return true
		}
	}
	return false
}
