package slice

import (
	"fmt"
	"strings"
	"unicode"

	"greenlight/internal/text/conflict"
)

// A CorruptError is a slice file that can't be read as one.
type CorruptError struct {
	Path   string // relative to the root; "" where the content came without one
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return "not a slice file: " + e.Reason
	}
	return fmt.Sprintf("%s is not a slice file: %s", e.Path, e.Reason)
}

// A File is one slice file: flat `key: value` lines between two `---`, then Markdown. It is kept as the lines it came
// in, so that what isn't edited keeps every byte: order, comments, unknown keys, quotes, line ends, the byte order mark.
type File struct {
	pre      string   // up to and with the opening ---
	lines    []string // the frontmatter, each line with its own end
	rest     string   // from the closing --- on
	fields   []field
	warnings []string
}

// A field is one key of the frontmatter.
type field struct {
	key  string
	line int // index into lines
	last int // index of the last line of its block list; line itself where there is none
}

const bom = "\ufeff"

// ParseFile reads a slice file. It accepts a byte order mark, any line ends, blank and comment lines. The error is a
// *CorruptError.
func ParseFile(data []byte) (*File, error) {
	text := string(data)
	if line, _ := conflict.Find(text); line > 0 {
		return nil, &CorruptError{Reason: fmt.Sprintf("merge conflict in line %d", line)}
	}
	f := &File{lines: make([]string, 0, 16), fields: make([]field, 0, 16)}
	at, ok := opening(text)
	if !ok {
		return nil, &CorruptError{Reason: "no frontmatter: the first line is not ---"}
	}
	f.pre = text[:at]
	lineNo := strings.Count(f.pre, "\n")
	for at < len(text) {
		line := nextLine(text[at:])
		lineNo++
		if delimiter(line) {
			f.rest = text[at:]
			return f, nil
		}
		if reason := f.addLine(line); reason != "" {
			return nil, &CorruptError{Reason: fmt.Sprintf("line %d: %s", lineNo, reason)}
		}
		at += len(line)
	}
	return nil, &CorruptError{Reason: "the frontmatter is not closed: there is no second ---"}
}

// opening returns where the line after the opening --- begins.
func opening(text string) (int, bool) {
	at := 0
	if strings.HasPrefix(text, bom) {
		at = len(bom)
	}
	for at < len(text) {
		line := nextLine(text[at:])
		at += len(line)
		if delimiter(line) {
			return at, true
		}
		if !blank(line) {
			return 0, false
		}
	}
	return 0, false
}

// addLine takes one line of the frontmatter, or says why it can't.
func (f *File) addLine(line string) string {
	i := len(f.lines)
	body := chomp(line)
	trimmed := strings.TrimLeft(body, " \t")
	if trimmed == "" || trimmed[0] == '#' {
		f.lines = append(f.lines, line)
		return ""
	}
	if _, ok := listItem(body); ok {
		if n := len(f.fields); n > 0 && f.fields[n-1].key == "deps" && f.openList(n-1) {
			f.fields[n-1].last = i
			f.lines = append(f.lines, line)
			return ""
		}
		return "a list, which only deps may have"
	}
	if trimmed != body {
		return "indented; the frontmatter is flat"
	}
	key, _, ok := strings.Cut(body, ":")
	key = strings.TrimRight(key, " \t")
	if !ok || key == "" {
		return fmt.Sprintf("%q is not `key: value`", clip(body))
	}
	f.lines = append(f.lines, line)
	if f.find(key) != nil {
		f.warnings = append(f.warnings, fmt.Sprintf("%q is there twice; the first one counts", key))
	}
	f.fields = append(f.fields, field{key, i, i})
	return ""
}

// openList says whether list items may follow the field: its own line has no value.
func (f *File) openList(i int) bool {
	v := span(f.lines[f.fields[i].line], true)
	return v.text == "" && v.quote == 0
}

// listItem returns the text of a `- text` line.
func listItem(body string) (string, bool) {
	t := strings.Trim(body, " \t")
	if t == "-" {
		return "", true
	}
	if len(t) > 1 && t[0] == '-' && (t[1] == ' ' || t[1] == '\t') {
		return strings.TrimLeft(t[1:], " \t"), true
	}
	return "", false
}

func (f *File) find(key string) *field {
	for i := range f.fields {
		if f.fields[i].key == key {
			return &f.fields[i]
		}
	}
	return nil
}

// Bytes returns the file as it is to be written.
func (f *File) Bytes() []byte {
	var b strings.Builder
	b.WriteString(f.pre)
	for _, l := range f.lines {
		b.WriteString(l)
	}
	b.WriteString(f.rest)
	return []byte(b.String())
}

// Head is the frontmatter with its opening line: the part that is gl's.
func (f *File) Head() string { return f.pre + strings.Join(f.lines, "") }

// Warnings returns what is odd in the frontmatter but didn't keep it from being read.
func (f *File) Warnings() []string { return f.warnings }

// Get returns the value of a key without quotes and trailing comment. Keys are matched as they are written.
func (f *File) Get(key string) (value string, ok bool) {
	fd := f.find(key)
	if fd == nil {
		return "", false
	}
	return span(f.lines[fd.line], token(key)).text, true
}

// Set changes the value of a key and no other byte; a new key is added before the closing ---. Quotes stay as they
// are, or are added where the value needs them. A value must be one line without control characters.
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
		return f.SetList(key, splitList(value))
	}
	line := f.lines[fd.line]
	if v := span(line, token(key)); v.text != value {
		f.lines[fd.line] = v.replace(line, quoted(value, v.quote))
	}
	return nil
}

// add puts a new key behind the last line, with the line end of its neighbour.
func (f *File) add(key, value string) {
	eol := lineEnd(f.pre)
	if n := len(f.lines); n > 0 {
		eol = lineEnd(f.lines[n-1])
	}
	line := key + ":"
	if value != "" {
		line += " " + quoted(value, 0)
	}
	f.fields = append(f.fields, field{key, len(f.lines), len(f.lines)})
	f.lines = append(f.lines, line+eol)
}

func settable(key, value string) error {
	if key == "" {
		return fmt.Errorf("a key must not be empty")
	}
	for i := range len(key) {
		if c := key[i]; !alnum(c) && c != '_' && c != '-' && c != '.' || i == 0 && c == '-' {
			return fmt.Errorf("key %q: only letters, digits, '_', '.' and '-' are allowed", key)
		}
	}
	if hasControl(value) {
		return fmt.Errorf("the value of %q must be one line without control characters", key)
	}
	return nil
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// quoted writes a value in the quotes its line has, or in double ones where plain text would be read differently.
func quoted(value string, quote byte) string {
	switch quote {
	case '\'':
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	case 0:
		if plain(value) {
			return value
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// plain says whether a value reads the same without quotes, here and for a YAML parser that meets the file.
func plain(v string) bool {
	if v == "" {
		return true
	}
	return v == strings.Trim(v, " \t") && !strings.ContainsAny(v, "#\"'") && !strings.ContainsAny(v[:1], "[]{}&*!|>%@`,")
}

// token says whether a key's values are single words, numbers, times or ids: only there is " #" a comment, since in
// free text a name like "fix #12" is more likely.
func token(key string) bool {
	switch key {
	case "id", "status", "step", "started", "updated", "tests", "security_tests", "session", "deps",
		"failing", "tests_failing", "wave", "priority":
		return true
	}
	return false
}
