package slice

import (
	"strings"

	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/text/textline"
)

// projectNotes is STATE.md's information about the project as a whole.
type projectNotes struct {
	ValueProp   string   `json:"value_prop"`
	Stack       string   `json:"stack"`
	Mode        string   `json:"mode"`
	LastSession string   `json:"last_session"`
	ResumeFile  string   `json:"resume_file"`
	Blockers    []string `json:"blockers"`
}

// readNotes reads the Overview, Session and Blockers sections.
func readNotes(text string) projectNotes {
	var n projectNotes
	for _, line := range sectionLines(text, "Overview") {
		if !take(line, "stack", &n.Stack) && !take(line, "mode", &n.Mode) {
			n.ValueProp = strings.TrimSpace(n.ValueProp + " " + line)
		}
	}
	for _, line := range sectionLines(text, "Session") {
		_ = take(line, "last session", &n.LastSession) || take(line, "resume file", &n.ResumeFile)
	}
	for _, line := range sectionLines(text, "Blockers") {
		n.Blockers = appendText(n.Blockers, strings.TrimSpace(strings.TrimLeft(line, "-* ")))
	}
	for _, s := range []*string{&n.LastSession, &n.ResumeFile} {
		if len(appendText(nil, *s)) == 0 || strings.EqualFold(*s, "never") {
			*s = ""
		}
	}
	return n
}

// appendText appends a text unless it means "none".
func appendText(list []string, text string) []string {
	if isNone(strings.Trim(strings.TrimSuffix(text, "."), " \t")) {
		return list
	}
	return append(list, text)
}

// take reads a `Label: value` line and reports whether line is one.
func take(line, label string, into *string) bool {
	at := labeled(line, label)
	if at >= 0 && *into == "" {
		*into = textline.Join(line[at:])
	}
	return at >= 0
}

// sectionLines returns the nonblank lines of a section, without its heading.
func sectionLines(text, title string) []string {
	s := sectionOf(text, title)
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(s.text, textline.First(s.text))) {
		if line = textline.Join(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TakeNotes fills in the fields missing from p from a handwritten STATE.md.
func (p *ProjectState) TakeNotes(stateMD string) error { return readNotes(stateMD).into(p) }

// into fills in the fields missing from p.
func (n projectNotes) into(p *ProjectState) error {
	value, stack, mode := p.Overview()
	for _, f := range [][3]string{{"value_prop", value, n.ValueProp}, {"stack", stack, n.Stack}, {"mode", mode, n.Mode}} {
		if f[1] == "" && f[2] != "" {
			if err := p.SetOverview(f[0], f[2]); err != nil {
				return err
			}
		}
	}
	if p.LastSession() == "" && n.LastSession != "" {
		if err := p.setField("session", "last_session", jsonedit.Quote(n.LastSession)); err != nil {
			return err
		}
	}
	if p.ResumeFile() == "" && n.ResumeFile != "" {
		if err := p.SetResumeFile(n.ResumeFile); err != nil {
			return err
		}
	}
	for _, b := range n.Blockers {
		if err := p.AddBlocker(b); err != nil {
			return err
		}
	}
	return nil
}
