package slice

import (
	"fmt"
	"strings"
)

// Heading returns the text of the first `# ` heading of the body, "" for none.
func (f *File) Heading() string {
	text := strings.TrimPrefix(f.rest, nextLine(f.rest))
	var code fence
	for text != "" {
		line := nextLine(text)
		text = text[len(line):]
		if code.inside(line, text) {
			continue
		}
		if level, title := heading(line); level == 1 {
			return title
		}
	}
	return ""
}

// heading returns the level and the text of a Markdown heading line; level 0 for any other line.
func heading(line string) (level int, title string) {
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level == 0 || level > 6 {
		return 0, ""
	}
	after := chomp(line[level:])
	if after != "" && after[0] != ' ' && after[0] != '\t' {
		return 0, ""
	}
	return level, strings.Trim(after, " \t")
}

// AppendToSection adds `- line` at the end of the `## name` section, which is made at the end of the file where it is
// missing. A line that the section already has is not added again.
func (f *File) AppendToSection(name, line string) error {
	name, line = strings.TrimSpace(name), strings.TrimSpace(line)
	if name == "" || line == "" || hasControl(name) || hasControl(line) {
		return fmt.Errorf("a section and the line for it must be one line of text each, without control characters")
	}
	at, found, there := f.sectionEnd(name, "- "+line)
	if there {
		return nil
	}
	eol := lineEnd(f.pre)
	if found {
		f.rest = f.rest[:at] + eol + "- " + line + f.rest[at:]
		return nil
	}
	body := f.rest
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += eol
	}
	f.rest = body + eol + "## " + name + eol + "- " + line + eol
	return nil
}

// sectionEnd finds where the section's last line with text ends, its line end not included, and whether the section
// has the line already.
func (f *File) sectionEnd(name, line string) (at int, found, there bool) {
	var code fence
	pos := len(nextLine(f.rest))
	for pos < len(f.rest) {
		l := nextLine(f.rest[pos:])
		after := f.rest[pos+len(l):]
		inCode := code.inside(l, after)
		if level, title := heading(l); !inCode && level > 0 && level <= 2 {
			if found {
				return at, true, there
			}
			found = level == 2 && strings.EqualFold(title, name)
		}
		if found && !blank(l) {
			at = pos + len(chomp(l))
			there = there || !inCode && strings.TrimRight(chomp(l), " \t") == line
		}
		pos += len(l)
	}
	return at, found, there
}
