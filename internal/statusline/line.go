package statusline

import (
	"fmt"
	"strings"

	"greenlight/internal/term"
)

// A Line is what the status line shows. Its texts are those of files and of the client, and may contain anything.
type Line struct {
	Model string
	Task  string // what the session is doing
	State string // where the project stands; "" if there is a task
	Dir   string

	Context      int  // how full the context is, in percent; -1 for unknown
	ContextFirst bool // show that after the model instead of after the directory
	Columns      int  // how wide the line may be; 0 for any width
}

// The most columns that the parts may have: nobody reads more, and a file may hold megabytes.
const (
	maxModel = 40
	maxDir   = 60
	maxState = 200
)

const separator = " │ "

// Render is the line as text that is safe for a terminal. If it is too wide, the middle part is cut.
func (l Line) Render(color bool) string {
	paint := func(c term.Color, text string) string {
		if !color {
			return text
		}
		return c.Paint(text)
	}
	model, middle, dir := term.OneLine(l.Model, maxModel), term.OneLine(l.Task+l.State, maxState), term.OneLine(l.Dir, maxDir)
	if over := term.Width(model) + term.Width(middle) + term.Width(dir) + term.Width(separator+separator+" ██████████ 100%") - l.Columns; l.Columns > 0 && over > 0 {
		middle = term.OneLine(middle, max(term.Width(middle)-over, 1))
	}
	middleColor := term.Dim
	if l.Task != "" {
		middleColor = term.Bold
	}
	model, middle, dir = paint(term.Dim, model), paint(middleColor, middle), paint(term.Dim, dir)
	if meter, c := l.meter(); l.ContextFirst {
		model = strings.TrimSpace(model + " " + paint(c, meter))
	} else {
		dir = strings.TrimSpace(dir + " " + paint(c, meter))
	}
	var parts []string
	for _, p := range []string{model, middle, dir} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, separator)
}

// meter is the context as ten cells and a number, and its color, from green to red; "" for unknown.
func (l Line) meter() (string, term.Color) {
	color := term.Red
	switch {
	case l.Context < 0:
		return "", ""
	case l.Context < 50:
		color = term.Green
	case l.Context < 65:
		color = term.Yellow
	case l.Context < 80:
		color = term.Orange
	}
	cells := strings.Repeat("█", l.Context/10) + strings.Repeat("░", 10-l.Context/10)
	return fmt.Sprintf("%s %d%%", cells, l.Context), color
}
