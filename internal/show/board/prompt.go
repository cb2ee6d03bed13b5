package board

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/base/sanitize"
)

// A prompt is the end of the screen: what is being typed or asked, or what a command said.
type prompt struct {
	input   *input
	confirm *question
	says    string   // last line of a command's output
	bad     bool     // whether it failed
	running string   // the command running beside the board
	doomed  *doomed  // nil for none
	history []string // command lines that were typed, the last one at the end
}

// An input is a line being typed.
type input struct {
	prompt string
	line   line
	// the slice it answers: the input appears below that slice's details while they are shown
	below string
	then  func(text string) tea.Cmd // run by Enter
	live  func(text string)         // called at every change; nil for none
	menu  *menu                     // of gl's command line; nil for other inputs
}

// A question is a key waiting for y. It is about the row selected at the time, even if the
// selection changes.
type question struct {
	text string
	yes  func() tea.Cmd
}

// A doomed command deletes something after a delay in which u drops it. Closing the board drops it,
// too.
type doomed struct {
	argv []string
	at   time.Time
}

// doom has a command wait for a time in which it can be undone. It returns the one that waited
// before, nil for none, and what tells the board when the time is over.
func (p *prompt) doom(argv []string) (earlier *doomed, over tea.Cmd) {
	earlier = p.doomed
	of := &doomed{argv, time.Now().Add(regret)}
	p.doomed = of
	return earlier, tea.Tick(regret, func(time.Time) tea.Msg { return due{of} })
}

// say shows a line until the next key.
func (p *prompt) say(bad bool, text string) { p.says, p.bad = text, bad }

// tell shows how a command ended: its last line, or all of its output in a panel if there is more
// and the person typed the command or has to know why it failed.
func (b *board) tell(r ran) {
	p := &b.prompt
	if p.running == r.what {
		p.running = ""
	}
	lines := outputLines(r.out)
	p.say(r.err != nil, "")
	if len(lines) > 0 {
		p.says = sanitize.Line(lines[len(lines)-1])
	}
	switch {
	case len(lines) > 1 && (r.typed || r.err != nil):
		b.panel = &panel{title: r.what, page: output}
		b.panel.fill(lines)
		if r.err == nil {
			p.says = ""
		}
	case p.says != "":
	case r.err != nil:
		p.says = r.what + ": " + r.err.Error()
	case r.back:
		p.says = "back from " + r.what
	default:
		p.says = r.what + ": done"
	}
}

// confirmed runs the pending question's command if yes is true.
func (p *prompt) confirmed(yes bool) tea.Cmd {
	q := p.confirm
	p.confirm = nil
	p.say(false, "")
	if yes {
		return q.yes()
	}
	return nil
}

// typed handles a key of the input line.
func (b *board) typed(msg tea.KeyPressMsg) tea.Cmd {
	in := b.prompt.input
	switch name := msg.String(); name {
	case "esc":
		b.prompt.input = nil
		in.line.set("")
	case "enter":
		b.prompt.input = nil
		if text := in.line.String(); in.then != nil && strings.TrimSpace(text) != "" {
			return in.then(text)
		}
		return nil
	default:
		switch {
		case in.menu != nil && in.menu.press(name, in, b.prompt.history):
			if in.menu.chosen >= 0 {
				return nil
			}
		case !in.line.edit(name):
			in.line.insert(msg.Key().Text)
		}
	}
	return b.changed(in)
}

// changed follows a change of the input line.
func (b *board) changed(in *input) tea.Cmd {
	if in.live != nil {
		in.live(in.line.String())
	}
	if in.menu != nil && b.prompt.input == in {
		return in.complete(b.gl, b.list.selected)
	}
	return nil
}
