// Package board implements gl board: a view of a project that is redrawn when its files change.
// It decides nothing and changes nothing: every key runs a gl command, and closing the board
// stops nothing. It never reads panes.
//
// board.go has the model and its messages, feed.go what reads the project, keys.go and press.go
// the keys, prompt.go the last lines of the screen, panel.go and pages.go what a key opens beside
// or over the list, command.go what runs gl, and render.go the frames.
package board

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	look "greenlight/internal/show/live"
)

// A Config is what a board needs.
type Config struct {
	Project  *project.Project
	Plan     func(time.Time) (*plan.Plan, error)
	Commands []string // gl's commands
	Self     string   // path of gl
	Flags    []string // flags for its commands: -C DIR
	Environ  []string
	Paint    func(term.Color, string) string
	In, Out  *os.File
}

const (
	ages   = 2 * time.Second  // redraw interval while something is running, because ages grow
	live   = time.Second      // and while the log of a running slice is shown
	regret = 30 * time.Second // how long u can undo a deletion
)

// Run shows the board until the person quits.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := newBoard(cfg)
	p := tea.NewProgram(b, tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out),
		tea.WithEnvironment(cfg.Environ), tea.WithFPS(15))
	done := make(chan struct{})
	go func() {
		defer close(done)
		feed(ctx, cfg, p.Send)
	}()
	_, err := p.Run()
	cancel()
	<-done
	return err
}

// Still returns the first frame of a fully loaded board of that size, for output that isn't a
// terminal.
func Still(cfg Config, width, height int) (string, error) {
	s := snapshotOf(look.Now(cfg.source()))
	if s.err != nil {
		return "", s.err
	}
	b := newBoard(cfg)
	b.width, b.height = width, height
	b.Update(s)
	return strings.Join(b.frame(), "\n"), nil
}

// The views.
var views = []string{"board", "graph", "timeline", "merge queue", "cost"}

// A board is the state of the screen.
type board struct {
	cfg    Config
	gl     program
	keys   keySet
	list   list
	canvas canvas
	prompt prompt
	panel  *panel // nil for none
	help   help

	ticking       bool
	width, height int
	view          int
	peek          bool
	peekText      []string
	tabs          []int    // the column after each view's name in the second line, for the mouse
	lineOf        []string // ids by line of the last frame, for the mouse
}

func newBoard(cfg Config) *board {
	return &board{
		cfg:    cfg,
		gl:     program{cfg.Self, cfg.Flags, cfg.Environ},
		keys:   has(cfg.Commands),
		list:   list{now: time.Now()},
		canvas: canvas{paint: cfg.Paint},
		width:  80,
		height: 24,
	}
}

type (
	tock time.Time
	due  struct{ of *doomed }
)

// Init requests the size of the screen again once the program listens for changes: a change
// before that would be missed.
func (b *board) Init() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tea.RequestWindowSize() })
}

// tick redraws the screen after a while, as long as something on it changes by itself.
func (b *board) tick() tea.Cmd {
	if b.ticking || !b.peek && !b.list.moves() {
		return nil
	}
	b.ticking = true
	interval := ages
	if b.panel != nil || b.logShown() {
		interval = live
	}
	return tea.Tick(interval, func(t time.Time) tea.Msg { return tock(t) })
}

func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := b.receive(msg)
	return b, tea.Batch(cmd, b.tick())
}

// receive handles a message.
func (b *board) receive(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
		b.readLogs()
	case snapshot:
		return b.take(msg)
	case tock:
		b.ticking, b.list.now = false, time.Time(msg)
		b.readLogs()
	case due:
		if b.prompt.doomed == msg.of {
			b.prompt.doomed = nil
			return b.beside(msg.of.argv, false)
		}
	case ran:
		b.tell(msg)
	case filled:
		msg.panel.fill(msg.lines)
	case completed:
		return b.offer(msg)
	case tea.MouseClickMsg:
		return b.click(msg.Mouse().X, msg.Mouse().Y)
	case tea.MouseWheelMsg:
		b.wheel(msg.Mouse())
	case tea.PasteMsg:
		if in := b.prompt.input; in != nil {
			in.line.insert(msg.Content)
			return b.changed(in)
		}
	case tea.KeyPressMsg:
		return b.press(msg)
	}
	return nil
}

// take shows newer data. Data that can't be read leaves the last on the screen.
func (b *board) take(s snapshot) tea.Cmd {
	if s.err != nil && b.list.model != nil {
		b.list.err = s.err
		return nil
	}
	b.list.snapshot = s
	if s.model != nil {
		b.list.now = s.model.Now
	}
	b.list.settle()
	b.readLogs()
	return b.refill()
}

// click selects the view or row under the mouse.
func (b *board) click(x, y int) tea.Cmd {
	if y == 1 {
		if i := slices.IndexFunc(b.tabs, func(end int) bool { return x < end }); i >= 0 {
			b.show(i)
		}
	}
	if y >= 0 && y < len(b.lineOf) && b.lineOf[y] != "" {
		return b.choose(b.lineOf[y])
	}
	return nil
}

// wheel scrolls the panel, or moves the selection: whichever is under the mouse.
func (b *board) wheel(mouse tea.Mouse) {
	by := 0
	switch mouse.Button {
	case tea.MouseWheelUp:
		by = -1
	case tea.MouseWheelDown:
		by = 1
	}
	switch {
	case by == 0:
	case b.help.open:
		b.help.top += 3 * by
	case b.panel != nil && (b.width < wide || mouse.X >= b.width-b.width*3/5):
		b.panel.scroll(3 * by)
	default:
		b.move(by)
	}
}

func (b *board) move(by int) {
	b.list.move(by)
	b.readLogs()
}

func (b *board) hop(by int) {
	b.list.hop(by)
	b.readLogs()
}

// choose selects a row, which an open page then shows.
func (b *board) choose(id string) tea.Cmd {
	b.list.selected = id
	b.readLogs()
	if b.panel != nil && b.panel.id != "" && b.panel.id != id {
		return b.open(b.panel.page.name)
	}
	return nil
}
