package gsd

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
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
