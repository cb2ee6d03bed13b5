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
	// set for a pull request: gh api repos/OWNER/REPO/issues lists these, too
	PullRequest json.RawMessage `json:"pull_request"`
}

func (r *reader) addGithub(g githubIssue) error {
	r.list.Format = "GitHub issues"
	if g.PullRequest != nil {
		r.notef("%d is a pull request: it is left out", g.Number)
		return nil
	}
	i := Issue{ID: r.prefix + strconv.FormatInt(g.Number, 10), Name: g.Title, Text: g.Body,
		Closed: strings.EqualFold(g.State, "closed"), from: fmt.Sprintf("issue %d", g.Number)}
	if g.Milestone != nil {
		i.Milestone = g.Milestone.Title
	}
	return r.add(i, func(string) bool { return false })
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

// array reads issues in a JSON array, as gh and bd list --json print them.
func (r *reader) array(data []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("the list isn't JSON: %w", err)
	}
	if len(all) == 0 { // no issue is open
		r.list.Format = "GitHub issues"
	}
	return r.objects(all, "element")
}

// lines reads issues that follow each other, as in beads' issues.jsonl.
func (r *reader) lines(data []byte) error {
	var all []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("object %d: %w", len(all)+1, err)
		}
		all = append(all, raw)
	}
	return r.objects(all, "object")
}

// objects reads issues of GitHub, which have a number, and of beads.
func (r *reader) objects(all []json.RawMessage, what string) error {
	var beads []beadsIssue
	for n, raw := range all {
		var g githubIssue
		var b beadsIssue
		switch {
		case json.Unmarshal(raw, &g) == nil && g.Number > 0 && g.Number <= 999_999_999:
			if err := r.addGithub(g); err != nil {
				return err
			}
		case json.Unmarshal(raw, &b) == nil && b.ID != "":
			beads = append(beads, b)
		default:
			return fmt.Errorf("%s %d has neither a number of GitHub (gh issue list --json "+
				"number,title,body,state,milestone) nor an id of beads", what, n+1)
		}
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
		if err := r.add(i, nil); err != nil {
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
// task without an id of its own gets one from its words and, if another has the same, from its
// heading.
func (r *reader) tasks(text string) error {
	r.list.Format = "Markdown tasks"
	var found []Issue
	known := map[string]bool{}
	same := map[string]int{}
	depth := -1 // of the task whose text follows, in blanks; -1 for none
	heading := ""
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	fenced := codeLines(text)
	for n, line := range lines {
		m := taskLine().FindStringSubmatch(line)
		indent := blanks(line)
		switch {
		case m != nil && !fenced[n] && (depth < 0 || indent <= depth):
			depth = indent
			i := task(m[3], m[2] != " ", n+1)
			if i.Name == "" {
				r.notef("line %d: a task without words is left out", n+1)
				depth = -1
				continue
			}
			if i.ID == "" {
				if i.ID = wordsID(i.Name); known[i.ID] {
					again := wordsID(heading + "\n" + i.Name)
					same[again]++
					i.ID = wordsID(fmt.Sprint(again, "\n", same[again]))
				}
			}
			known[i.ID] = true
			found = append(found, i)
		case depth < 0:
		case strings.TrimSpace(line) == "" || indent > depth:
			last := &found[len(found)-1]
			last.Text += "\n" + outdent(line, depth+2)
			if m != nil && m[2] == " " && !fenced[n] && last.Closed {
				r.notef("line %d: an open task below a finished one is left out", n+1)
			}
		default: // a paragraph or heading ends the list
			depth = -1
		}
		if strings.HasPrefix(line, "#") && !fenced[n] {
			heading = line
		}
	}
	if len(found) == 0 {
		return errors.New("the list is neither JSON nor Markdown with tasks (- [ ] what to do)")
	}
	for _, i := range found {
		if err := r.add(i, func(id string) bool { return known[id] }); err != nil {
			return err
		}
	}
	return nil
}

// task returns the issue of a task's line, without an id if it begins with none.
func task(text string, done bool, line int) Issue {
	i := Issue{Name: strings.TrimSpace(text), Closed: done, from: fmt.Sprintf("line %d", line)}
	if m := taskID().FindStringSubmatch(i.Name); m != nil {
		i.ID, i.Name = m[1], m[2]
	}
	i.Name = strings.ReplaceAll(i.Name, "**", "")
	return i
}

func wordsID(text string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(strings.ToLower(text)), " ")))
	return fmt.Sprintf("task-%x", sum[:4])
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
