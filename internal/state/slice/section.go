package slice

import (
	"fmt"
	"strings"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
)

// Heading returns the text of the body's first `# ` heading, "" for none.
func (f *File) Heading() string {
	for l := range markdown.Lines(f.Body()) {
		if l.Level == 1 {
			return l.Title
		}
	}
	return ""
}

// AppendToSection adds `- line` at the end of the `## name` section, creating it at the end of
// the file if it is missing. It does nothing if the section already has the line.
func (f *File) AppendToSection(name, line string) error {
	name, line = strings.TrimSpace(name), strings.TrimSpace(line)
	if name == "" || line == "" || textline.Join(name) != name || textline.Join(line) != line {
		return fmt.Errorf("a section and the line for it must be one line of text each, without control characters")
	}
	at, found, there := f.sectionEnd(name, "- "+line)
	if there {
		return nil
	}
	eol := f.EOL()
	if found {
		f.Rest = f.Rest[:at] + eol + "- " + line + f.Rest[at:]
		return nil
	}
	body := f.Rest
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += eol
	}
	f.Rest = body + eol + "## " + name + eol + "- " + line + eol
	return nil
}

// sectionEnd returns where the section's last nonblank line ends, without its line ending, and
// whether the section already has the line.
func (f *File) sectionEnd(name, line string) (at int, found, there bool) {
	body := f.Body()
	head := len(f.Rest) - len(body)
	section, found := markdown.Find(body, 2, func(h markdown.Line) bool {
		return h.Level == 2 && strings.EqualFold(h.Title, name)
	})
	for l := range markdown.Lines(body) {
		if found && l.Start >= section.Heading.Start && l.Start < section.End &&
			!textline.Blank(l.Text) {
			at = head + l.Start + len(l.Text)
			there = there || !l.Code && strings.TrimRight(l.Text, " \t") == line
		}
	}
	return at, found, there
}
