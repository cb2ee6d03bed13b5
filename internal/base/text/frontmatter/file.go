package frontmatter

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"greenlight/internal/base/text/textline"
)

// A File is a text with flat front matter. It keeps the original lines, so that an edit keeps
// every other byte: order, comments, unknown keys, quotes, line endings, the byte order mark.
type File struct {
	// Rest is the text from the closing --- on. The caller may change the text after that line.
	Rest string

	rules    Rules
	pre      string   // up to and including the opening ---
	lines    []string // the front matter, each line with its line ending
	fields   []field
	index    map[string]int // the first field of each key; nil while there are few
	compared int            // number of keys compared one by one, checked by tests
	warnings []string
}

// few is how many keys are found equally fast without an index.
const few = 16

// Rules describe how a format's keys affect parsing. A nil function is false for every key.
type Rules struct {
	// Token is true for keys whose values are single words, numbers, times or ids. Only in
	// these does " #" begin a comment: in free text a name like "fix #12" is more likely.
	Token func(key string) bool
	// List is true for keys that may have `- item` lines below them. Lists names these keys in
	// messages.
	List  func(key string) bool
	Lists string
}

func (r Rules) token(key string) bool { return r.Token != nil && r.Token(key) }
func (r Rules) list(key string) bool  { return r.List != nil && r.List(key) }

// A field is one key of the front matter.
type field struct {
	key  string
	line int  // index into lines
	last int  // index of the last line of its block list; line itself if there is none
	dup  bool // the key is repeated
}

// ParseFile parses a text with flat front matter. The error names the line that can't be parsed
// and the reason.
func ParseFile(data []byte, rules Rules) (*File, error) {
	text := string(data)
	at, ok := flat.opens(data, len(text)-len(strings.TrimPrefix(text, textline.BOM)))
	if !ok {
		return nil, errors.New("no frontmatter: the first line is not ---")
	}
	f := &File{rules: rules, pre: text[:at], lines: make([]string, 0, 16),
		fields: make([]field, 0, 16)}
	for n := strings.Count(f.pre, "\n") + 1; at < len(text); n++ {
		l := lineAt(data, at, len(data))
		if flat.closes(data, l) {
			f.Rest = text[at:]
			return f, nil
		}
		if reason := f.addLine(text[l.start:l.next], l, data); reason != "" {
			return nil, fmt.Errorf("line %d: %s", n, reason)
		}
		at = l.next
	}
	return nil, errors.New("the frontmatter is not closed: there is no second ---")
}

// addLine adds one line of the front matter, or returns why it can't be parsed.
func (f *File) addLine(text string, l line, src []byte) string {
	i := len(f.lines)
	body := text[:l.end-l.start]
	switch {
	case textline.Blank(body), l.comment(src):
	case l.item(src):
		n := len(f.fields)
		if n == 0 || !f.rules.list(f.fields[n-1].key) || !f.openList(n-1) {
			return "a list, which only " + f.rules.Lists + " may have"
		}
		f.fields[n-1].last = i
	case l.indent > 0:
		return "indented; the frontmatter is flat"
	default:
		key, _, ok := strings.Cut(body, ":")
		key = strings.TrimRight(key, " \t")
		if !ok || key == "" {
			return fmt.Sprintf("%q is not `key: value`", clip(body))
		}
		f.addField(key, i)
	}
	f.lines = append(f.lines, text)
	return ""
}

// openList reports whether list items may follow the field: its own line has no value.
func (f *File) openList(i int) bool {
	v := placeIn(f.lines[f.fields[i].line], true)
	return v.text == "" && v.quote == 0
}

// addField adds the field whose key is in line i.
func (f *File) addField(key string, i int) {
	if first := f.find(key); first != nil && !first.dup {
		first.dup = true
		f.warnings = append(f.warnings,
			fmt.Sprintf("%q is there twice; the first one counts", clip(key)))
	}
	f.fields = append(f.fields, field{key: key, line: i, last: i})
	switch n := len(f.fields); {
	case f.index != nil:
		f.enter(n - 1)
	case n > few:
		f.index = make(map[string]int, 2*n)
		for i := range f.fields {
			f.enter(i)
		}
	}
}

func (f *File) enter(i int) {
	if _, have := f.index[f.fields[i].key]; !have {
		f.index[f.fields[i].key] = i
	}
}

func (f *File) find(key string) *field {
	if f.index != nil {
		if i, ok := f.index[key]; ok {
			return &f.fields[i]
		}
		return nil
	}
	for i := range f.fields {
		f.compared++
		if f.fields[i].key == key {
			return &f.fields[i]
		}
	}
	return nil
}

// clip shortens a text for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// Bytes returns the content of the file.
func (f *File) Bytes() []byte { return []byte(f.Head() + f.Rest) }

// Head returns the front matter with its opening line, without the closing one.
func (f *File) Head() string { return f.pre + strings.Join(f.lines, "") }

// Body returns the text after the closing --- line.
func (f *File) Body() string { return strings.TrimPrefix(f.Rest, textline.First(f.Rest)) }

// EOL returns the line ending of the opening line.
func (f *File) EOL() string { return textline.End(f.pre) }

// Warnings returns the oddities in the front matter that aren't errors.
func (f *File) Warnings() []string { return f.warnings }

// Keys returns the keys in file order, each once.
func (f *File) Keys() []string {
	var keys []string
	for i := range f.fields {
		if fd := &f.fields[i]; f.find(fd.key) == fd {
			keys = append(keys, fd.key)
		}
	}
	return keys
}

// Has reports whether the key exists, with or without a value.
func (f *File) Has(key string) bool { return f.find(key) != nil }

// Get returns the value of a key without quotes and trailing comment. Keys are case-sensitive.
func (f *File) Get(key string) (value string, ok bool) {
	fd := f.find(key)
	if fd == nil {
		return "", false
	}
	return placeIn(f.lines[fd.line], f.rules.token(key)).text, true
}

// Set changes the value of a key and no other byte. It adds a new key before the closing ---.
// Existing quotes stay, and quotes are added if the value needs them. A value must be one line
// without control characters. For a block list it is a comma-separated list.
func (f *File) Set(key, value string) error {
	if err := settable(key, value); err != nil {
		return err
	}
	fd := f.find(key)
	if fd == nil {
		f.add(key, value)
		return nil
	}
	if fd.last > fd.line {
		return f.SetList(key, SplitList(value))
	}
	line := f.lines[fd.line]
	if v := placeIn(line, f.rules.token(key)); v.text != value {
		f.lines[fd.line] = v.replace(line, written(value, v.quote))
	}
	return nil
}

// add inserts a new key after the last line, with that line's ending.
func (f *File) add(key, value string) {
	eol := f.EOL()
	if n := len(f.lines); n > 0 {
		eol = textline.End(f.lines[n-1])
	}
	line := key + ":"
	if value != "" {
		line += " " + written(value, 0)
	}
	f.addField(key, len(f.lines))
	f.lines = append(f.lines, line+eol)
}

func settable(key, value string) error {
	if key == "" {
		return errors.New("a key must not be empty")
	}
	for i := range len(key) {
		if c := key[i]; !isKeyByte(c) && c != '.' || i == 0 && c == '-' {
			return fmt.Errorf("key %q: only letters, digits, '_', '.' and '-' are allowed", key)
		}
	}
	if hasControl(value) {
		return fmt.Errorf("the value of %q must be one line without control characters", key)
	}
	return nil
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
