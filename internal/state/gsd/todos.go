package gsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/textline"
)

// pendingTodos counts the files in todos/pending.
func pendingTodos(planning string) int {
	list, _ := durable.ReadDir(filepath.Join(planning, "todos", "pending"))
	n := 0
	for _, d := range list {
		if !d.IsDir() && strings.HasSuffix(d.Name(), ".md") {
			n++
		}
	}
	return n
}

// todoLine is compiled on first use rather than at every start.
var todoLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+( pending\b)`) })

// todoCount returns the line of Pending Todos that states their number, or that there are none;
// ok is false if a person keeps a list there, or if the section is missing.
func todoCount(d *draft) (l bodyLine, n int, ok bool) {
	in, found := findSection(d.body, 3, 3, "Pending Todos")
	if !found {
		return l, 0, false
	}
	for _, line := range d.lines(in.text) {
		text := string(d.body[line.start:line.end])
		switch {
		case line.empty(d.body) || line.fenced || strings.HasPrefix(text, "["):
			// the template's hint
		case todoLine().MatchString(text):
			return line, atoi(text), true
		case isHollow(text):
			return line, 0, true
		default:
			return l, 0, false
		}
	}
	return l, 0, false
}

// syncTodos updates that line to the wanted number and describes the change; "" for none.
func syncTodos(d *draft, want int) string {
	l, have, ok := todoCount(d)
	if !ok || have == want {
		return ""
	}
	old := string(d.body[l.start:l.end])
	text := strconv.Itoa(want) + " pending — see .planning/todos/pending/"
	if todoLine().MatchString(old) {
		text = todoLine().ReplaceAllString(old, strconv.Itoa(want)+"$1")
	}
	d.splice(span{l.start, l.end}, text)
	return fmt.Sprintf("Pending Todos: %d -> %d", have, want)
}

// A Todo is an idea for later.
type Todo struct{ Title, Area, Problem, ProblemFile, Solution string }

type todoDoc struct {
	Added   bool   `json:"added"` // false if it was pending already
	File    string `json:"file"`  // relative to the project's root
	Pending int    `json:"pending"`
}

// AddTodo writes a file for an idea into todos/pending and updates their number in STATE.md.
// A pending todo with the same text is that idea, so repeating a killed one leads to one file.
func (p *Project) AddTodo(ctx context.Context, t Todo) (r Result, err error) {
	s := p.Store
	t.Title = textline.Join(strings.TrimSpace(t.Title))
	slug := slugOf(t.Title)
	if slug == "" {
		return Result{}, usagef("a title is required: todo add --title TEXT")
	}
	if err := checkTexts("--title", t.Title, "--area", t.Area); err != nil {
		return Result{}, err
	}
	problem, err := textOrFile(s.Root, t.Problem, t.ProblemFile, "problem")
	if err != nil {
		return Result{}, err
	}
	text := fmt.Sprintf("---\ncreated: %s\ntitle: %s\narea: %s\n---\n\n"+
		"## Problem\n\n%s\n\n## Solution\n\n%s\n",
		isoTime(s.Now()), yaml(t.Title, ""),
		yaml(cmp.Or(textline.Join(t.Area), "general"), ""),
		cmp.Or(strings.TrimSpace(problem), t.Title), cmp.Or(strings.TrimSpace(t.Solution), "TBD"))
	err = locked(ctx, s, func() error {
		dir := filepath.Join(s.Planning, "todos", "pending")
		if err := durable.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		path, err := sameTodoIn(dir, text)
		added := path == ""
		if err == nil && added {
			path = filepath.Join(dir, localDate(s.Now())+"-"+slug+".md")
			for n := 2; paths.Exists(path); n++ {
				path = filepath.Join(dir, fmt.Sprintf("%s-%s-%d.md", localDate(s.Now()), slug, n))
			}
			err = durable.Replace(path, nil, []byte(text))
		}
		if err != nil {
			return err
		}
		doc := todoDoc{added, placeOf(s).rel(path), pendingTodos(s.Planning)}
		r = result(doc, doc.File)
		if _, err := os.Stat(s.Path()); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		_, err = s.compareAndWrite(writing{note: true, also: true}, func(d *draft) error {
			syncTodos(d, doc.Pending)
			return nil
		})
		return err
	})
	return r, err
}

// sameTodoIn returns the file of a todo with the same text in dir, "" for none.
func sameTodoIn(dir, text string) (string, error) {
	list, err := durable.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range list {
		path := filepath.Join(dir, entry.Name())
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			continue
		}
		old, err := durable.ReadFile(path)
		if err != nil {
			return "", err
		}
		if sameTodo(string(old), text) {
			return path, nil
		}
	}
	return "", nil
}

// sameTodo reports whether two todos differ at most in their second line, the time.
func sameTodo(a, b string) bool {
	untimed := func(text string) string {
		head, rest, _ := strings.Cut(text, "\ncreated: ")
		_, rest, _ = strings.Cut(rest, "\n")
		return head + "\n" + rest
	}
	return untimed(a) == untimed(b)
}

// slugOf returns a title as the name of a file: letters and digits, with hyphens between.
func slugOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slug := strings.Join(words, "-")
	return strings.Trim(slug[:min(len(slug), 60)], "-")
}
