package issues

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/text/markdown"
)

// A githubIssue is an issue as gh issue list --json number,title,body,state,milestone prints it.
type githubIssue struct {
	Number    int64  `json:"number"`
	Title     string `json:"title"`
	Body      string `json:"body"`
	State     string `json:"state"` // OPEN, CLOSED; gh prints only what was asked for
	Milestone *struct {
		Title string `json:"title"`
	} `json:"milestone"`
}

func (r *reader) github(data []byte) error {
	var all []githubIssue
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("a JSON array must be one of GitHub's issues: %w", err)
	}
	for k, g := range all {
		if err := r.addGithub(g, fmt.Sprintf("element %d", k+1)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) addGithub(g githubIssue, where string) error {
	r.list.Format = "GitHub issues"
	if g.Number <= 0 || g.Number > 999_999_999 {
		return fmt.Errorf("%s has no number: gh issue list --json number,title,body,state,milestone", where)
	}
	i := Issue{ID: r.prefix + strconv.FormatInt(g.Number, 10), Name: g.Title, Text: g.Body,
		Closed: strings.EqualFold(g.State, "closed"), from: fmt.Sprintf("issue %d", g.Number)}
	if g.Milestone != nil {
		i.Milestone = g.Milestone.Title
	}
	i.Deps = r.hints(g.Body, func(string) bool { return false })
	return r.add(i)
}

// A beadsIssue is a line of beads' issues.jsonl.
type beadsIssue struct {
	ID           string `json:"id"`
	Title        string `json:"title"`
	Description  string `json:"description"`
	Design       string `json:"design"`
	Acceptance   string `json:"acceptance_criteria"`
	Notes        string `json:"notes"`
	Status       string `json:"status"` // open, in_progress, blocked, closed, tombstone, …
	Type         string `json:"issue_type"`
	Dependencies []struct {
		Issue string `json:"issue_id"`
		On    string `json:"depends_on_id"`
		Type  string `json:"type"` // blocks, parent-child, related, discovered-from
	} `json:"dependencies"`
}

// objects reads lines of beads, or GitHub's issues one after the other.
func (r *reader) objects(data []byte) error {
	var beads []beadsIssue
	dec := json.NewDecoder(bytes.NewReader(data))
	for n := 1; dec.More(); n++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("object %d: %w", n, err)
		}
		where := fmt.Sprintf("object %d", n)
		var g githubIssue
		if json.Unmarshal(raw, &g) == nil && g.Number > 0 {
			if err := r.addGithub(g, where); err != nil {
				return err
			}
			continue
		}
		var b beadsIssue
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if b.ID == "" {
			return fmt.Errorf("%s is neither an issue of beads, which has an id, nor one of GitHub, which has a number", where)
		}
		beads = append(beads, b)
	}
	return r.addBeads(beads)
}

func (r *reader) addBeads(all []beadsIssue) error {
	if len(all) == 0 {
		return nil
	}
	r.list.Format = "beads"
	epics := map[string]string{} // their titles by id
	for _, b := range all {
		if b.Type == "epic" {
			epics[b.ID] = b.Title
		}
	}
	for _, b := range all {
		i := Issue{ID: b.ID, Name: b.Title, Text: beadsText(b), from: fmt.Sprintf("issue %.70q", b.ID),
			Closed: b.Status == "closed" || b.Status == "tombstone"}
		if b.Type == "epic" { // done when its issues are
			if !i.Closed {
				r.notef("%.70q is an epic: its issues get it as their milestone", b.ID)
			}
			continue
		}
		for _, d := range b.Dependencies {
			epic, isEpic := epics[d.On]
			switch {
			case d.Issue != "" && d.Issue != b.ID:
			case d.Type == "parent-child" && isEpic:
				i.Milestone = epic
			case (d.Type == "blocks" || d.Type == "") && !isEpic:
				i.Deps = append(i.Deps, d.On)
			}
		}
		if err := r.add(i); err != nil {
			return err
		}
	}
	return nil
}

// beadsText joins the texts of an issue.
func beadsText(b beadsIssue) string {
	var text strings.Builder
	for _, part := range []struct{ name, text string }{
		{"", b.Description}, {"Design", b.Design}, {"Acceptance criteria", b.Acceptance}, {"Notes", b.Notes},
	} {
		if strings.TrimSpace(part.text) == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		if part.name != "" {
			text.WriteString(part.name + ":\n")
		}
		text.WriteString(part.text)
	}
	return text.String()
}

var (
	taskLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(.*)$`)
	})
	// an id that the task begins with: T001, AUTH-3:, **4.2**
	taskID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\**([A-Z]{1,8}-?\d+(?:\.\d+)*|\d+\.\d+(?:\.\d+)*)\**[:.)]?\**[ \t]+(\S.*)$`)
	})
)

// tasks reads the task lists of a Markdown document: what is below a task, indented, is its text. A
// task without an id of its own gets one from its words.
func (r *reader) tasks(text string) error {
	r.list.Format = "Markdown tasks"
	var found []Issue
	depth := -1 // of the task whose text follows, in blanks; -1 for none
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	fenced := codeLines(text)
	for n, line := range lines {
		m := taskLine().FindStringSubmatch(line)
		indent := blanks(line)
		switch {
		case m != nil && !fenced[n] && (depth < 0 || indent <= depth):
			depth = indent
			found = append(found, r.task(m[3], m[2] != " ", n+1))
		case depth < 0:
		case strings.TrimSpace(line) == "" || indent > depth:
			found[len(found)-1].Text += "\n" + outdent(line, depth+2)
		default: // a paragraph or heading ends the list
			depth = -1
		}
	}
	if len(found) == 0 {
		return errors.New("the list is neither JSON nor Markdown with tasks (- [ ] what to do)")
	}
	known := map[string]bool{}
	for _, i := range found {
		known[i.ID] = true
	}
	for _, i := range found {
		i.Deps = r.hints(i.Name+"\n"+i.Text, func(id string) bool { return known[id] })
		if err := r.add(i); err != nil {
			return err
		}
	}
	return nil
}

// task returns the issue of a task's line.
func (r *reader) task(text string, done bool, line int) Issue {
	i := Issue{Name: strings.TrimSpace(text), Closed: done, from: fmt.Sprintf("line %d", line)}
	if m := taskID().FindStringSubmatch(i.Name); m != nil {
		i.ID, i.Name = m[1], m[2]
		return i
	}
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(strings.ToLower(i.Name)), " ")))
	i.ID = fmt.Sprintf("task-%x", sum[:4])
	return i
}

// blanks returns how many columns a line is indented by; a tab counts as four.
func blanks(line string) int {
	rest := strings.TrimLeft(line, " \t")
	head := line[:len(line)-len(rest)]
	return len(head) + 3*strings.Count(head, "\t")
}

// codeLines reports which lines of a document, counted from 0, are in fenced code.
func codeLines(text string) map[int]bool {
	code := map[int]bool{}
	for l := range markdown.Lines(text) {
		if l.Code {
			code[l.N-1] = true
		}
	}
	return code
}

// outdent returns the line without the blanks of its first columns.
func outdent(line string, columns int) string {
	for columns > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
		columns--
		if line[0] == '\t' {
			columns -= 3
		}
		line = line[1:]
	}
	return line
}
