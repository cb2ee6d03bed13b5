package board

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/term"
)

// A menu is what can come next on gl's command line: what gl completes for shells.
type menu struct {
	list   []candidate
	chosen int    // index of the candidate on the line, -1 for none
	word   string // the word that the list completes
	of     string // the text before the cursor that the list belongs to
	busy   bool   // gl has been asked, and hasn't answered yet
	recall int    // how far back in the history the line is from
}

// A candidate is a word that may come next.
type candidate struct{ text, means string }

// A completed is gl's answer on what can come next.
type completed struct {
	in   *input
	of   string
	word string
	list []candidate
}

const (
	menuRows        = 6
	completeTimeout = time.Minute // a busy machine answers late
)

// complete asks gl what can come next, as a shell does; first is the word to offer first. While gl
// answers, it isn't asked again.
func (in *input) complete(gl program, first string) tea.Cmd {
	m := in.menu
	m.chosen = -1
	of := in.line.before()
	if m.busy {
		return nil
	}
	argv, err := shellwords.Split(of)
	if err != nil { // an open quote
		m.list = nil
		return nil
	}
	if len(argv) > 0 && argv[0] == "gl" {
		argv = argv[1:]
	}
	word := ""
	if len(argv) > 0 && !strings.HasSuffix(of, " ") {
		word, argv = argv[len(argv)-1], argv[:len(argv)-1]
	}
	m.busy = true
	argv = slices.Concat([]string{"__complete"}, gl.flags, argv, []string{word})
	gl.flags = nil // what comes first is the command
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), completeTimeout)
		defer cancel()
		out, _ := gl.command(ctx, argv).Output() // without an answer there are no candidates
		return completed{in, of, word, candidates(string(out), word, first)}
	}
}

// candidates returns those of gl's answer that begin with the word, and first of them that one.
func candidates(out, word, first string) []candidate {
	var list []candidate
	for l := range strings.Lines(out) {
		text, means, _ := strings.Cut(strings.TrimRight(l, "\n"), "\t")
		if text != "" && !strings.HasPrefix(text, ":") && strings.HasPrefix(text, word) {
			list = append(list, candidate{sanitize.Line(text), sanitize.Line(means)})
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int {
		switch {
		case x.text == first && y.text != first:
			return -1
		case y.text == first && x.text != first:
			return 1
		}
		return 0
	})
	return list
}

// offer shows the candidates, or asks again if the line has changed since.
func (b *board) offer(c completed) tea.Cmd {
	m := c.in.menu
	m.busy = false
	if m.chosen < 0 && c.of != c.in.line.before() {
		return b.changed(c.in)
	}
	m.list, m.word, m.of, m.chosen = c.list, c.word, c.of, -1
	return nil
}

// press handles a key of the menu or of the history, and reports whether it is one.
func (m *menu) press(name string, in *input, history []string) bool {
	switch name {
	case "tab":
		m.choose(in, 1)
	case "shift+tab":
		m.choose(in, -1)
	case "up", "ctrl+p":
		m.remember(in, history, 1)
	case "down", "ctrl+n":
		m.remember(in, history, -1)
	default:
		return false
	}
	return true
}

// choose puts another candidate on the line, in place of the word that it completes.
func (m *menu) choose(in *input, by int) {
	n := len(m.list)
	if n == 0 {
		return
	}
	if m.chosen < 0 && by < 0 {
		m.chosen = 0
	}
	m.chosen = (m.chosen + by + n) % n
	rest := string(in.line.text[in.line.at:])
	head := strings.TrimSuffix(m.of, m.word) + shellwords.Quote(m.list[m.chosen].text)
	if n == 1 { // what comes after it is next
		head += " "
		m.chosen = -1
	}
	in.line.set(head + rest)
	in.line.at = len([]rune(head))
}

// remember puts an earlier command line on the line.
func (m *menu) remember(in *input, history []string, by int) {
	m.recall = min(max(m.recall+by, 0), len(history))
	m.list = nil
	if m.recall == 0 {
		in.line.set("")
		return
	}
	in.line.set(history[len(history)-m.recall])
}

// lines returns the candidates around the chosen one, in at most that many lines.
func (m *menu) lines(width, rows int, paint func(term.Color, string) string) []string {
	rows = min(rows, menuRows)
	if rows < 1 || len(m.list) == 0 {
		return nil
	}
	column := 0
	for _, c := range m.list {
		column = max(column, min(term.Width(c.text), width/2))
	}
	from := min(max(m.chosen-rows+1, 0), max(len(m.list)-rows, 0))
	var lines []string
	for i := from; i < min(from+rows, len(m.list)); i++ {
		c := m.list[i]
		text := term.Pad(term.Truncate(c.text, column), column)
		color, mark := term.Color(""), "  "
		if i == m.chosen {
			color, mark = term.Invert, "> "
		}
		rest := strings.TrimRight(term.Truncate("  "+c.means, width-column-2), " ")
		lines = append(lines, mark+paint(color, text)+paint(term.Dim, rest))
	}
	return lines
}
