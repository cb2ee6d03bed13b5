package gsd

import (
	"bytes"
	"strings"

	"greenlight/internal/base/text/frontmatter"
)

// A Position is what the status line shows of a STATE.md. All fields are text from the file; ""
// for missing ones.
type Position struct {
	Status, Milestone, MilestoneName string

	ActivePhase string   // the phase a command is working on
	NextAction  string   // the command to run next, without a slash
	NextPhases  []string // its phases

	CompletedPhases, TotalPhases, Percent string // digits

	PhaseNum, PhaseTotal string // digits, from the body's line "Phase: 1 of 5 (Name)"
	PhaseName            string

	NoWorkstream bool // the project has workstreams, and none is selected
}

// Line returns the status line's text for the position, short or in full.
func (p Position) Line(compact bool) string {
	if compact {
		return p.Compact()
	}
	return p.String()
}

// positionOf reads the position from a STATE.md. It agrees with GSD's own status line where
// that works, and also understands what defeats GSD's patterns: a byte order mark, comments and
// quotes in the progress block, a list or map in another form.
func positionOf(d *Doc) Position {
	p := Position{
		Status:        d.word("status"),
		Milestone:     d.word("milestone"),
		MilestoneName: d.word("milestone_name"),
		ActivePhase:   d.word("active_phase"),
		NextAction:    d.word("next_action"),
	}
	p.NextPhases = d.last("next_phases", frontmatter.List).Items
	progress := d.last("progress", frontmatter.Map)
	p.CompletedPhases = leading(progress, "completed_phases")
	p.TotalPhases = leading(progress, "total_phases")
	p.Percent = leading(progress, "percent")
	p.PhaseNum, p.PhaseTotal, p.PhaseName = phaseLine(d.Src)
	if p.Status == "" {
		p.Status = bodyStatus(d.Src)
	}
	return p
}

// last returns the last value of that kind; the zero Value for none.
func (d *Doc) last(key string, k frontmatter.Kind) frontmatter.Value {
	for i := len(d.Front) - 1; i >= 0; i-- {
		if e := &d.Front[i]; e.Key == key && e.Value.Kind == k {
			return e.Value
		}
	}
	return frontmatter.Value{}
}

// word returns a scalar, "" for null. A repeated key without a value doesn't override the
// first.
func (d *Doc) word(key string) string {
	for i := len(d.Front) - 1; i >= 0; i-- {
		e := &d.Front[i]
		if e.Key != key || e.Value.Kind == frontmatter.Empty {
			continue
		}
		text := e.Value.Text
		if e.Value.Kind != frontmatter.Scalar { // brackets where words belong
			text, _, _ = strings.Cut(string(d.Src[e.Value.Start:e.Value.End]), "\n")
			text = trim(text)
		}
		if text == "null" {
			return ""
		}
		return text
	}
	return ""
}

// leading returns the number at the start of a progress value, as digits.
func leading(v frontmatter.Value, key string) string {
	n, _ := v.Get(key)
	return digits(n.Text)
}

func digits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}

// labeled calls accept with the text after the label, for each line that begins with it until
// accept returns true. It skips white space as GSD does, including the line ending.
func labeled(src []byte, label string, accept func(rest []byte) bool) {
	for at := 0; ; {
		i := bytes.Index(src[at:], []byte(label))
		if i < 0 {
			return
		}
		at += i + len(label)
		if begin := at - len(label); begin > 0 && src[begin-1] != '\n' && src[begin-1] != '\r' {
			continue
		}
		if accept(bytes.TrimLeft(src[at:], whiteSpace)) {
			return
		}
	}
}

const whiteSpace = " \t\r\n\v\f"

// phaseLine reads "Phase: 1 of 5 (Name)". It doesn't read a decimal or bold phase.
func phaseLine(src []byte) (num, total, name string) {
	labeled(src, "Phase:", func(rest []byte) bool {
		n := digits(head(rest))
		of := bytes.TrimLeft(rest[len(n):], whiteSpace)
		after, ok := bytes.CutPrefix(of, []byte("of"))
		of = bytes.TrimLeft(after, whiteSpace)
		t := digits(head(of))
		if n == "" || !ok || t == "" || len(of) == len(after) || rest[len(n)] == 'o' {
			return false
		}
		num, total, name = n, t, parenthesis(of[len(t):])
		return true
	})
	return num, total, name
}

// head returns enough of b for a number.
func head(b []byte) string { return string(b[:min(len(b), 32)]) }

// maxName is the maximum length of a phase's name, in bytes.
const maxName = 1 << 10

// parenthesis returns the text in the parentheses at the start of b, after white space.
func parenthesis(b []byte) string {
	inner, ok := bytes.CutPrefix(bytes.TrimLeft(b, whiteSpace), []byte("("))
	if !ok || len(b) > 0 && b[0] == '(' {
		return ""
	}
	end := bytes.IndexByte(inner[:min(len(inner), maxName)], ')')
	if end < 0 {
		return ""
	}
	return string(inner[:end])
}

// bodyStatus returns the status for a file without one in its front matter: the word that
// matches its first line "Status: …", if any.
func bodyStatus(src []byte) (status string) {
	labeled(src, "Status:", func(rest []byte) bool {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		text := strings.ToLower(string(line))
		switch {
		case len(line) == 0:
			return false
		case strings.Contains(text, "ready to plan") || strings.Contains(text, "planning"):
			status = Planning
		case strings.Contains(text, "execut"):
			status = Executing
		case strings.Contains(text, "complet") || strings.Contains(text, "archived"):
			status = "complete"
		}
		return true
	})
	return status
}
