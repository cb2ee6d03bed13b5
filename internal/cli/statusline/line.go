package statusline

import (
	"fmt"
	"strings"

	"greenlight/internal/base/term"
)

// A Line is the content of the status line. Its texts come from files and the client, and may
// contain anything.
type Line struct {
	Model string
	Task  string // what the session works on
	State string // state of the project; "" if there is a task
	Dir   string

	Windows []Use   // of the account
	CostUSD float64 // of the session; 0 for unknown

	Context      int  // how full the context is, in percent; -1 for unknown
	ContextFirst bool // show it after the model rather than after the directory
	Columns      int  // width of the line; 0 for any
}

// A Use is how much of something is used, in percent.
type Use struct {
	Name    string
	Percent int
}

// The widest that the parts may be, in columns: more isn't readable, and a file may hold
// megabytes.
const (
	maxModel = 40
	maxDir   = 60
	maxState = 200
)

const separator = " │ "

// Render returns the line as text that is safe for a terminal. If it is too wide, the middle
// part is cut.
func (l Line) Render(color bool) string {
	paint := func(c term.Color, text string) string {
		if !color {
			return text
		}
		return c.Paint(text)
	}
	model, middle, dir := term.OneLine(l.Model, maxModel), term.OneLine(l.Task+l.State, maxState),
		term.OneLine(l.Dir, maxDir)
	use, useText := l.use(paint), l.use(plain)
	if useText != "" {
		useText += separator
	}
	if over := term.Width(model) + term.Width(middle) + term.Width(dir) + term.Width(useText) +
		term.Width(separator+separator+" ██████████ 100%") - l.Columns; l.Columns > 0 && over > 0 {
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
	for _, p := range []string{model, middle, dir, use} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, separator)
}

func plain(_ term.Color, text string) string { return text }

// use returns the account's windows and the cost: "5h 62% 7d 20% $1.25".
func (l Line) use(paint func(term.Color, string) string) string {
	var parts []string
	for _, u := range l.Windows {
		parts = append(parts, paint(heat(u.Percent), fmt.Sprintf("%s %d%%", u.Name, u.Percent)))
	}
	if l.CostUSD > 0 {
		parts = append(parts, paint(term.Dim, fmt.Sprintf("$%.2f", l.CostUSD)))
	}
	return strings.Join(parts, " ")
}

// heat returns the color for a percentage, from green to red.
func heat(percent int) term.Color {
	switch {
	case percent < 50:
		return term.Green
	case percent < 65:
		return term.Yellow
	case percent < 80:
		return term.Orange
	}
	return term.Red
}

// meter returns the context as ten cells and a number, and its color, from green to red; "" if
// unknown.
func (l Line) meter() (string, term.Color) {
	if l.Context < 0 {
		return "", ""
	}
	color := heat(l.Context)
	cells := strings.Repeat("█", l.Context/10) + strings.Repeat("░", 10-l.Context/10)
	return fmt.Sprintf("%s %d%%", cells, l.Context), color
}
