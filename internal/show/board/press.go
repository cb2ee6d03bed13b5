package board

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/show/view"
)

// press handles a key: for a pending input or question, else for the help or the panel, else for
// the list, else as a gl command.
func (b *board) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case b.prompt.input != nil:
		return b.typed(msg)
	case b.prompt.confirm != nil:
		return b.prompt.confirmed(name == "y")
	case b.help.open:
		b.help.press(name, b.height)
		return nil
	}
	b.prompt.say(false, "")
	if b.panel != nil {
		if cmd, done := b.pressPanel(name); done {
			return cmd
		}
	} else if b.navigate(name) {
		return nil
	}
	return b.command(name)
}

// command handles a key that does the same in the list and in a panel.
func (b *board) command(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "?":
		b.help = help{open: true}
	case ":":
		in := &input{prompt: "gl", then: b.palette, menu: &menu{chosen: -1}}
		b.prompt.input = in
		return b.changed(in)
	case "n":
		return b.start()
	case "=": // the key of +, without Shift
		return b.act("+")
	case "u":
		if d := b.prompt.doomed; d != nil {
			b.prompt.say(false, commandLine(d.argv)+" isn't run")
			b.prompt.doomed = nil
			return nil
		}
		return b.act(name)
	default:
		return b.act(name)
	}
	return nil
}

// navigate handles a key that changes what the list shows, and reports whether it is one.
func (b *board) navigate(name string) bool {
	if by, ok := scrolled(name, b.height-4, len(b.list.rows())); ok {
		b.move(by)
		return true
	}
	switch name {
	case "tab":
		b.show(b.view + 1)
	case "shift+tab":
		b.show(b.view + len(views) - 1)
	case "1", "2", "3", "4", "5":
		b.show(int(name[0] - '1'))
	case "left":
		b.hop(-1)
	case "right":
		b.hop(1)
	case "esc":
		b.peek, b.list.filter = false, ""
		b.list.settle()
	case "space":
		b.peek = !b.peek
		b.readLogs()
	case "/":
		b.prompt.input = &input{prompt: "filter", line: newLine(b.list.filter),
			live: func(text string) {
				b.list.narrow(text)
				b.readLogs()
			}}
	default:
		return false
	}
	return true
}

// scrolled returns by how many lines a key moves, on a page of that height and in a text of that
// length.
func scrolled(name string, page, length int) (by int, ok bool) {
	page = max(page, 1)
	switch name {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -page, true
	case "pgdown", "ctrl+f":
		return page, true
	case "ctrl+u":
		return -max(page/2, 1), true
	case "ctrl+d":
		return max(page/2, 1), true
	case "home", "g":
		return -length, true
	case "end", "G":
		return length, true
	}
	return 0, false
}

// show switches to a view, scrolled to its top.
func (b *board) show(view int) { b.view, b.canvas.top = view%len(views), 0 }

// pressPanel handles a key of the panel, and reports whether it is one.
func (b *board) pressPanel(name string) (cmd tea.Cmd, done bool) {
	p := b.panel
	if by, ok := scrolled(name, p.view.height, len(p.view.lines)); ok {
		p.scroll(by)
		return nil, true
	}
	switch name {
	case "esc", "q":
		if name == "esc" && p.search != "" {
			p.search = ""
			break
		}
		b.panel = nil
		b.readLogs()
	case "space":
		p.scroll(max(p.view.height, 1))
	case "f":
		p.view.follow = p.page.grows && !p.view.follow
	case "/":
		b.prompt.input = &input{prompt: "search", then: func(text string) tea.Cmd {
			p.search, p.found = text, -1
			b.find(1)
			return nil
		}}
	case "n", "N":
		if p.search == "" {
			return nil, name == "N" // n starts what is ready
		}
		b.find(map[string]int{"n": 1, "N": -1}[name])
	case "J", "K":
		if p.id == "" {
			break
		}
		b.list.move(map[string]int{"J": 1, "K": -1}[name])
		return b.choose(b.list.selected), true
	case "tab", "shift+tab", "left", "right":
	default:
		return nil, false
	}
	return nil, true
}

// find moves the panel to the next line with the searched text.
func (b *board) find(by int) {
	if p := b.panel; p != nil && !p.find(by) {
		b.prompt.say(true, fmt.Sprintf("no more %q in this direction", p.search))
	}
}

// act runs the command of a key.
func (b *board) act(name string) tea.Cmd {
	row := b.list.row()
	known := ""
	for _, k := range b.keys {
		if k.Key != name {
			continue
		}
		if known = k.Means; k.Argv(row, "x") == nil {
			continue
		}
		return b.use(k, row)
	}
	if known != "" {
		b.prompt.say(true, "nothing is selected")
		if row != nil {
			b.prompt.says = fmt.Sprintf("%s: not for %s, which is %s", known, row.ID, row.State)
		}
	}
	return nil
}

// use runs a key's command on a row, once what it asks for is there.
func (b *board) use(k key, row *view.Row) tea.Cmd {
	switch {
	case k.How == reading:
		return b.open(k.Page)
	case k.Slots != 0:
		return b.perform(k, row, strconv.Itoa(max(b.list.facts.Slots+k.Slots, 1)))
	case k.Asks != "":
		in := &input{prompt: k.Asks, then: func(text string) tea.Cmd {
			return b.perform(k, row, text)
		}}
		if row != nil && answers(k) {
			in.below = row.ID
		}
		b.prompt.input = in
		return nil
	case k.Sure:
		b.prompt.confirm = &question{
			text: "gl " + strings.Join(k.Argv(row, ""), " "),
			yes:  func() tea.Cmd { return b.perform(k, row, "") },
		}
		return nil
	}
	return b.perform(k, row, "")
}

// perform runs a key's command.
func (b *board) perform(k key, row *view.Row, text string) tea.Cmd {
	argv := k.Argv(row, text)
	switch {
	case argv == nil:
		return nil
	case k.How == terminal:
		return b.gl.inTerminal(argv)
	}
	return b.beside(argv, false)
}
