// Package board implements gl board: a view of a project that is redrawn when its files change.
// It decides nothing and changes nothing: every key runs a gl command, and closing the board
// stops nothing. It never reads panes.
package board

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/project"
	"greenlight/internal/run/watch"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/view"
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

// A snapshot is the data shown on the board.
type snapshot struct {
	model  *view.Model
	facts  view.Facts
	leader string // the process that drains the project, "" for none
	err    error
}

const (
	// redraw interval while something is running, because ages grow
	ages = 2 * time.Second
	// interval for checking whether a drain lives: a killed one leaves no event
	looks = 5 * time.Second
	// longest time without reading the files while agents run, because their logs have no
	// events,
	heard   = 30 * time.Second
	safety  = 10 * time.Minute       // and otherwise, in case an event was lost
	calm    = 150 * time.Millisecond // minimum time between two reads of the files
	peeked  = 200                    // lines of a log
	timeout = 2 * time.Minute        // of a command run beside the board
	regret  = 30 * time.Second       // how long u can undo a deletion
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
	s := look(cfg, facts.NewReader(cfg.Project))
	if s.err != nil {
		return "", s.err
	}
	b := newBoard(cfg)
	b.width, b.height = width, height
	b.Update(s)
	return strings.Join(b.frame(), "\n"), nil
}

// feed sends data to show: at once, and whenever files have changed.
func feed(ctx context.Context, cfg Config, send func(tea.Msg)) {
	w := watch.New(cfg.Project.Runs, cfg.Project.Tracker.Watch(), func(string, ...any) {})
	defer w.Close()
	tick := time.NewTicker(looks)
	defer tick.Stop()
	reader := facts.NewReader(cfg.Project)
	send(look(cfg, nil))
	for {
		last := look(cfg, reader)
		send(last)
		if last.err == nil && reader.LookAtWork(ctx, last.model.Plan, last.model.Now) {
			last.model = view.New(last.model.Plan, reader.WithWork(last.facts), last.model.Now)
			send(last)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(calm):
		}
		longest := safety
		if last.model != nil && last.model.Counts.Running+last.model.Counts.Merging > 0 {
			longest = heard
		}
		for looked, same := time.Now(), true; same; {
			select {
			case <-w.News:
				same = false
			case <-tick.C:
				// A killed drain leaves no event.
				leader, _ := cfg.Project.Runs.Control.Leader()
				same = !w.Renew(cfg.Project.Runs) && !w.Blind && leader == last.leader &&
					time.Since(looked) < longest
			case <-ctx.Done():
				return
			}
		}
	}
}

// look reads the project; without a reader, only what is fast to read.
func look(cfg Config, reader *facts.Reader) snapshot {
	now := time.Now()
	p, err := cfg.Plan(now)
	if err != nil {
		return snapshot{err: err}
	}
	f := facts.Brief(cfg.Project, p)
	if reader != nil {
		if all, err := reader.All(p); err == nil {
			f = all
		}
	}
	s := snapshot{model: view.New(p, f, now), facts: f}
	s.leader, _ = cfg.Project.Runs.Control.Leader()
	return s
}

// The views.
var views = []string{"board", "graph", "timeline", "merge queue", "cost"}

// A board is the state of the screen.
type board struct {
	cfg    Config
	keys   []key
	list   list
	canvas canvas
	prompt prompt

	ticking       bool
	width, height int
	view          int
	top           int // first line shown
	peek          bool
	peekText      []string
	help          bool
	helpTop       int      // first line of the help shown
	tabs          []int    // the column after each view's name in the second line, for the mouse
	lineOf        []string // ids by line of the last frame, for the mouse
}

// A prompt is the last line of the screen: what is being typed or asked, or what a command said.
type prompt struct {
	input   *input
	confirm *question
	says    string // last line of a command's output
	bad     bool   // whether it failed
	running string // the command running beside the board
	doomed  *doomed
}

// An input is a line being typed.
type input struct {
	prompt string
	text   string
	// the slice it answers: the input appears below that slice's log while it is shown
	below string
	then  func(text string) tea.Cmd // nil for the filter
}

// A question is a key waiting for y. It is about the row selected at the time, even if the
// selection changes.
type question struct {
	key
	row *view.Row
}

// A doomed command deletes something after a delay in which it can be undone. Closing the board
// drops it.
type doomed struct {
	argv []string
	at   time.Time
}

// A ran is the result of a command.
type ran struct {
	what string
	out  string
	err  error
}

type (
	tock time.Time
	due  struct{ of *doomed }
)

func newBoard(cfg Config) *board {
	return &board{
		cfg:    cfg,
		keys:   has(cfg.Commands),
		list:   list{now: time.Now()},
		canvas: canvas{paint: cfg.Paint},
		width:  80,
		height: 24,
	}
}

// Init requests the size of the screen again once the program listens for changes: a change
// before that would be missed.
func (b *board) Init() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tea.RequestWindowSize() })
}

// tick redraws the screen after a while, as long as something on it changes by itself.
func (b *board) tick() tea.Cmd {
	if b.ticking || !b.moves() {
		return nil
	}
	b.ticking = true
	return tea.Tick(ages, func(t time.Time) tea.Msg { return tock(t) })
}

func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
	case snapshot:
		if msg.err != nil && b.list.model != nil { // the last one stays on the screen
			b.list.err = msg.err
			break
		}
		b.list.snapshot = msg
		if msg.model != nil {
			b.list.now = msg.model.Now
		}
		b.list.settle()
		b.readPeek()
	case tock:
		b.ticking, b.list.now = false, time.Time(msg)
		b.readPeek()
	case due:
		if b.prompt.doomed == msg.of {
			b.prompt.doomed = nil
			return b, tea.Batch(b.gl(msg.of.argv, behind), b.tick())
		}
	case ran:
		b.prompt.tell(msg)
	case tea.MouseClickMsg:
		b.click(msg.Mouse().X, msg.Mouse().Y)
	case tea.MouseWheelMsg:
		switch msg.Mouse().Button {
		case tea.MouseWheelUp:
			b.move(-1)
		case tea.MouseWheelDown:
			b.move(1)
		}
	case tea.PasteMsg:
		if b.prompt.input != nil {
			b.prompt.input.text += sanitize.Line(msg.Content)
		}
	case tea.KeyPressMsg:
		return b, tea.Batch(b.press(msg), b.tick())
	}
	return b, b.tick()
}

// tell shows how a command ended.
func (p *prompt) tell(r ran) {
	p.running = ""
	p.bad, p.says = r.err != nil, lastLine(r.out)
	switch {
	case p.says != "":
	case r.err != nil:
		p.says = r.what + ": " + r.err.Error()
	default:
		p.says = r.what + ": done"
	}
}

// click selects the view or row under the mouse.
func (b *board) click(x, y int) {
	if y == 1 {
		if i := slices.IndexFunc(b.tabs, func(end int) bool { return x < end }); i >= 0 {
			b.show(i)
		}
	}
	if y >= 0 && y < len(b.lineOf) && b.lineOf[y] != "" {
		b.list.selected = b.lineOf[y]
		b.readPeek()
	}
}

// moves reports whether something on the screen changes by itself.
func (b *board) moves() bool {
	m := b.list.model
	return m != nil && (m.Counts.Running > 0 || m.Counts.Merging > 0 || b.peek)
}

// press handles a key: for a pending input or question, else for the board itself, else as a gl
// command.
func (b *board) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case b.prompt.input != nil:
		return b.typed(msg)
	case b.prompt.confirm != nil:
		return b.confirmed(name == "y")
	case b.help:
		b.scrollHelp(name)
		return nil
	}
	b.prompt.says, b.prompt.bad = "", false
	if b.navigate(name) {
		return nil
	}
	switch name {
	case "q":
		return tea.Quit
	case "esc":
		b.peek, b.list.filter = false, ""
		b.list.settle()
	case "?":
		b.help, b.helpTop = true, 0
	case "space":
		b.peek = !b.peek
		b.readPeek()
	case "/":
		b.prompt.input = &input{prompt: "filter", text: b.list.filter}
	case ":":
		b.prompt.input = &input{prompt: "gl", then: b.palette}
	case "=": // the key of +, without Shift
		return b.act("+")
	case "u":
		if b.prompt.doomed != nil {
			b.prompt.says, b.prompt.doomed = "gl "+strings.Join(b.prompt.doomed.argv, " ")+" isn't run", nil
			return nil
		}
		return b.act(name)
	default:
		return b.act(name)
	}
	return nil
}

// navigate handles a key that selects another view or row, and reports whether it is one.
func (b *board) navigate(name string) bool {
	page := max(b.height-4, 1)
	switch name {
	case "tab":
		b.show(b.view + 1)
	case "shift+tab":
		b.show(b.view + len(views) - 1)
	case "1", "2", "3", "4", "5":
		b.show(int(name[0] - '1'))
	case "up", "k":
		b.move(-1)
	case "down", "j":
		b.move(1)
	case "pgup":
		b.move(-page)
	case "pgdown":
		b.move(page)
	case "home", "g":
		b.move(-len(b.list.rows()))
	case "end", "G":
		b.move(len(b.list.rows()))
	case "left":
		b.hop(-1)
	case "right":
		b.hop(1)
	default:
		return false
	}
	return true
}

// show switches to a view, scrolled to its top.
func (b *board) show(view int) { b.view, b.top = view%len(views), 0 }

// confirmed runs the pending question's command if yes is true.
func (b *board) confirmed(yes bool) tea.Cmd {
	q := b.prompt.confirm
	b.prompt.confirm = nil
	if yes {
		return b.run(q.key, q.row, "")
	}
	b.prompt.says, b.prompt.bad = "", false
	return nil
}

// scrollHelp handles a key while the help is shown: any key that doesn't scroll closes it.
func (b *board) scrollHelp(name string) {
	switch name {
	case "up", "k":
		b.helpTop--
	case "down", "j":
		b.helpTop++
	case "pgup":
		b.helpTop -= max(b.height-4, 1)
	case "pgdown", "space":
		b.helpTop += max(b.height-4, 1)
	default:
		b.help = false
	}
}

// typed adds a key to the input line.
func (b *board) typed(msg tea.KeyPressMsg) tea.Cmd {
	in := b.prompt.input
	switch name := msg.String(); name {
	case "esc":
		b.prompt.input, in.text = nil, ""
	case "enter":
		b.prompt.input = nil
		if in.then != nil && strings.TrimSpace(in.text) != "" {
			return in.then(in.text)
		}
	case "backspace":
		if r := []rune(in.text); len(r) > 0 {
			in.text = string(r[:len(r)-1])
		}
	case "ctrl+u":
		in.text = ""
	default:
		in.text += msg.Key().Text
	}
	if in.then == nil {
		b.list.filter = in.text
		b.list.settle()
	}
	return nil
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
		switch {
		case k.Slots != 0:
			return b.run(k, row, strconv.Itoa(max(b.list.facts.Slots+k.Slots, 1)))
		case k.Asks != "":
			run := func(text string) tea.Cmd { return b.run(k, row, text) }
			b.prompt.input = &input{prompt: k.Asks, then: run}
			if answers(k) {
				b.prompt.input.below = row.ID
			}
		case k.Sure:
			b.prompt.confirm = &question{k, row}
		default:
			return b.run(k, row, "")
		}
		return nil
	}
	if known != "" {
		b.prompt.bad, b.prompt.says = true, "nothing is selected"
		if row != nil {
			b.prompt.says = fmt.Sprintf("%s: not for %s, which is %s", known, row.ID, row.State)
		}
	}
	return nil
}

func (b *board) run(k key, row *view.Row, text string) tea.Cmd {
	argv := k.Argv(row, text)
	if argv == nil {
		return nil
	}
	return b.gl(argv, k.How)
}

// palette runs a typed line as gl's arguments.
func (b *board) palette(text string) tea.Cmd {
	argv, err := shellwords.Split(text)
	if err != nil || len(argv) == 0 {
		b.prompt.bad, b.prompt.says = true, fmt.Sprintf("can't read %q", text)
		return nil
	}
	if argv[0] == "gl" {
		argv = argv[1:]
	}
	if deletes(argv) {
		b.prompt.doomed = &doomed{argv, time.Now().Add(regret)}
		of := b.prompt.doomed
		return tea.Tick(regret, func(time.Time) tea.Msg { return due{of} })
	}
	how := terminal
	for _, k := range keys {
		if len(argv) > 0 && k.Command == argv[0] && k.How == behind {
			how = behind
		}
	}
	return b.gl(argv, how)
}

// gl runs a gl command.
func (b *board) gl(argv []string, how how) tea.Cmd {
	what := "gl " + strings.Join(argv, " ")
	argv = slices.Concat(b.cfg.Flags, argv)
	if how == terminal {
		cmd := exec.Command(b.cfg.Self, argv...)
		cmd.Env = b.cfg.Environ
		return tea.Exec(&shown{cmd, !slices.Contains(argv, "attach")}, func(err error) tea.Msg {
			return ran{what: what, err: err}
		})
	}
	b.prompt.running = what
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, b.cfg.Self, argv...)
		cmd.Env = b.cfg.Environ
		out, err := cmd.CombinedOutput()
		return ran{what, string(out), err}
	}
}

// A shown command has the terminal, and keeps its output there until Enter: otherwise the board
// would cover it at once.
type shown struct {
	cmd  *exec.Cmd
	wait bool // wait even if it succeeded
}

func (s *shown) SetStdin(r io.Reader)  { s.cmd.Stdin = r }
func (s *shown) SetStdout(w io.Writer) { s.cmd.Stdout = w }
func (s *shown) SetStderr(w io.Writer) { s.cmd.Stderr = w }

func (s *shown) Run() error {
	err := s.cmd.Run()
	if s.wait || err != nil {
		fmt.Fprint(s.cmd.Stdout, "\nPress Enter to go back to the board.")
		_, _ = bufio.NewReader(s.cmd.Stdin).ReadString('\n')
	}
	return err
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return sanitize.Line(lines[len(lines)-1])
}

func (b *board) move(by int) {
	b.list.move(by)
	b.readPeek()
}

func (b *board) hop(by int) {
	b.list.hop(by)
	b.readPeek()
}

// readPeek reads the end of the selected slice's log, while it is shown.
func (b *board) readPeek() {
	if !b.peek {
		return
	}
	b.peekText = nil
	recs := b.list.facts.Records[b.list.selected]
	if len(recs) == 0 {
		return
	}
	b.peekText = b.tail(recs[len(recs)-1])
}

func (b *board) tail(r *attempt.Record) []string {
	return attemptlog.End(b.cfg.Project.Runs.Files.Log(r.ID.Slice, r.ID.N), r.Job.Stream, peeked)
}
