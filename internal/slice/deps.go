package slice

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRange bounds S-1..S-99999: a typing error must not make a million dependencies.
const maxRange = 1000

// List returns the items of a list: a comma list, a bracketed one, or one `- item` per line under the key. Words for
// "none" are no items; ranges such as S-4..S-9 are expanded.
func (f *File) List(key string) []string {
	fd := f.find(key)
	if fd == nil {
		return nil
	}
	if fd.last == fd.line {
		return splitList(rawList(f.lines[fd.line]))
	}
	var items []string
	for _, line := range f.lines[fd.line+1 : fd.last+1] {
		if text, ok := listItem(chomp(line)); ok {
			items = appendItem(items, spanFrom(text, 0, true).text)
		}
	}
	return items
}

// rawList returns a list's text as its line has it, without a comment, with the quotes of its items.
func rawList(line string) string {
	body := chomp(line)
	colon := strings.IndexByte(body, ':')
	text := strings.Trim(body[colon+1:], " \t")
	if v := span(line, true); v.quote != 0 {
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
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t'):
			return strings.TrimRight(text[:i], " \t")
		}
	}
	return text
}

// splitList splits a comma list, with or without brackets, at the commas outside quotes.
func splitList(text string) []string {
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
			items = appendItem(items, spanFrom(text[from:i], 0, false).text)
			from = i + 1
		case quote != 0 && text[i] == quote:
			quote = 0
		case quote == 0 && (text[i] == '"' || text[i] == '\''):
			quote = text[i]
		}
	}
	return items
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

// SetList changes the items of a list in the style in which the file has it: block, bracketed or plain, with the
// quotes and the spaces of its first items. Nothing is written where the items are already these.
func (f *File) SetList(key string, items []string) error {
	for _, item := range items {
		if item == "" || hasControl(item) || strings.ContainsAny(item, ",[]\"'# ") {
			return fmt.Errorf("%q can't be an item of the list %q", item, key)
		}
	}
	if err := settable(key, ""); err != nil || equal(f.List(key), items) && f.find(key) != nil {
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
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	v := value{from: at, to: at + len(raw)}
	if q := span(line, true); q.quote != 0 {
		v.to = q.to
	}
	v.comment = v.from == v.to && strings.HasPrefix(line[v.to:], "#")
	f.lines[fd.line] = v.replace(line, joinLike(line[v.from:v.to], items))
	return nil
}

// joinLike writes the items as raw, the old text of the list, writes them.
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
		if _, ok := listItem(chomp(line)); !ok {
			lines = append(lines, line)
			continue
		}
		first = line
	}
	indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	text, _ := listItem(chomp(first))
	quote := ""
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		quote = text[:1]
	}
	block := make([]string, 0, len(items)+len(lines))
	for _, item := range items {
		block = append(block, indent+"- "+quote+item+quote+lineEnd(first))
	}
	block = append(block, lines...)
	all := append(append(append([]string(nil), f.lines[:fd.line+1]...), block...), f.lines[fd.last+1:]...)
	next, err := ParseFile([]byte(f.pre + strings.Join(all, "") + f.rest))
	if err != nil {
		return err
	}
	*f = *next
	return nil
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
