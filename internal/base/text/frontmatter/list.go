package frontmatter

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/text/textline"
)

// List returns the items of a list: comma-separated, bracketed, or one `- item` per line under
// the key. It omits empty items.
func (f *File) List(key string) []string {
	fd := f.find(key)
	if fd == nil {
		return nil
	}
	if fd.last == fd.line {
		return SplitList(rawList(f.lines[fd.line]))
	}
	var items []string
	for _, line := range f.lines[fd.line+1 : fd.last+1] {
		if text, ok := listItem(textline.Chomp(line)); ok {
			items = appendItem(items, placeFrom(text, 0, true).text)
		}
	}
	return items
}

// IsBlock reports whether the key has one `- item` per line below it.
func (f *File) IsBlock(key string) bool {
	fd := f.find(key)
	return fd != nil && fd.last > fd.line
}

func appendItem(items []string, item string) []string {
	if item = strings.Trim(item, " \t"); item != "" {
		items = append(items, item)
	}
	return items
}

// listItem returns the text of a `- text` line.
func listItem(body string) (string, bool) {
	t := strings.Trim(body, " \t")
	if t == "-" {
		return "", true
	}
	if len(t) > 1 && t[0] == '-' && isBlank(t[1]) {
		return strings.TrimLeft(t[1:], " \t"), true
	}
	return "", false
}

// rawList returns a list's text as written, without a comment but with the quotes of its items.
func rawList(line string) string {
	body := textline.Chomp(line)
	colon := strings.IndexByte(body, ':')
	text := strings.Trim(body[colon+1:], " \t")
	if v := placeIn(line, true); v.quote != 0 {
		return v.text
	}
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && (i == 0 || isBlank(text[i-1])):
			return strings.TrimRight(text[:i], " \t")
		}
	}
	return text
}

// SplitList splits a comma-separated list, with or without brackets, at the commas outside
// quotes. It omits empty items.
func SplitList(text string) []string {
	text = strings.Trim(text, " \t")
	if strings.HasPrefix(text, "[") {
		text = strings.TrimSuffix(text[1:], "]")
	}
	var items []string
	var quote byte
	from := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',' && quote == 0:
			items = appendItem(items, placeFrom(text[from:i], 0, false).text)
			from = i + 1
		case quote != 0 && text[i] == quote:
			quote = 0
		case quote == 0 && (text[i] == '"' || text[i] == '\''):
			quote = text[i]
		}
	}
	return items
}

// SetList changes the items of a list and keeps its style: block, bracketed or plain, with the
// quotes and spacing of its first items. It changes nothing if the list already has these
// items.
func (f *File) SetList(key string, items []string) error {
	for _, item := range items {
		if item == "" || hasControl(item) || strings.ContainsAny(item, ",[]\"'# ") {
			return fmt.Errorf("%q can't be an item of the list %q", item, key)
		}
	}
	if err := settable(key, ""); err != nil || f.Has(key) && slices.Equal(f.List(key), items) {
		return err
	}
	fd := f.find(key)
	if fd == nil {
		f.add(key, strings.Join(items, ","))
		return nil
	}
	if fd.last > fd.line {
		return f.setBlock(fd, items)
	}
	line := f.lines[fd.line]
	raw := rawList(line)
	at := strings.Index(line, ":") + 1
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	v := place{from: at, to: at + len(raw)}
	if q := placeIn(line, true); q.quote != 0 {
		v.to = q.to
	}
	v.comment = v.from == v.to && strings.HasPrefix(line[v.to:], "#")
	f.lines[fd.line] = v.replace(line, joinLike(line[v.from:v.to], items))
	return nil
}

// joinLike joins the items in the style of raw, the old text of the list.
func joinLike(raw string, items []string) string {
	inner, open, end := raw, "", ""
	if strings.HasPrefix(raw, "[") {
		inner, open, end = strings.TrimSuffix(raw[1:], "]"), "[", "]"
	}
	quote, sep := "", ","
	switch {
	case open == "" && len(raw) > 1 && (raw[0] == '"' || raw[0] == '\''):
		open, end = raw[:1], raw[:1]
	case strings.ContainsAny(inner, "\"'"):
		quote = inner[strings.IndexAny(inner, "\"'"):][:1]
	case open != "" && strings.Trim(inner, " ") == "":
		quote = `"`
	}
	if strings.Contains(inner, ", ") || open == "[" && !strings.Contains(inner, ",") {
		sep = ", "
	}
	if len(items) == 0 {
		return open + end
	}
	return open + quote + strings.Join(items, quote+sep+quote) + quote + end
}

// setBlock rewrites the `- item` lines under a key; comments between them stay.
func (f *File) setBlock(fd *field, items []string) error {
	first := f.lines[fd.line+1]
	var lines []string
	for _, line := range f.lines[fd.line+1 : fd.last+1] {
		if _, ok := listItem(textline.Chomp(line)); !ok {
			lines = append(lines, line)
			continue
		}
		first = line
	}
	indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	text, _ := listItem(textline.Chomp(first))
	quote := ""
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		quote = text[:1]
	}
	block := make([]string, 0, len(items)+len(lines))
	for _, item := range items {
		block = append(block, indent+"- "+quote+item+quote+textline.End(first))
	}
	block = append(block, lines...)
	all := slices.Concat(f.lines[:fd.line+1], block, f.lines[fd.last+1:])
	next, err := ParseFile([]byte(f.pre+strings.Join(all, "")+f.Rest), f.rules)
	if err != nil {
		return err
	}
	*f = *next
	return nil
}
