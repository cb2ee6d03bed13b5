// Package board is gl board: a view of a project that is drawn again when its files change. It decides nothing and changes nothing:
// what a key does is a gl command, and closing the board stops nothing. It never looks into panes.
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

	"greenlight/internal/attempt"
	"greenlight/internal/attemptlog"
	"greenlight/internal/facts"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/shellwords"
	"greenlight/internal/term"
	"greenlight/internal/view"
	"greenlight/internal/watch"
)

// A Config is what a board needs.
type Config struct {
	Project  *project.Project
	Plan     func(time.Time) (*plan.Plan, error)
	Commands []string // that gl has
	Self     string   // path of gl
	Flags    []string // that its commands get: -C DIR
	Environ  []string
	Paint    func(term.Color, string) string
	In, Out  *os.File
}

// A snapshot is what the board shows.
type snapshot struct {
	model  *view.Model
	facts  view.Facts
	leader string // who drains the project, "" for nobody
	err    error
}

const (
	ages    = 2 * time.Second        // how often the screen is drawn again while something runs: ages grow
	looks   = 5 * time.Second        // how often it is looked whether a drain lives: one that is killed leaves no event
	heard   = 30 * time.Second       // how long the files may go without a look while agents run: their logs have no events,
	safety  = 10 * time.Minute       // and else, in case an event was lost
	calm    = 150 * time.Millisecond // between two looks at the files
	peeked  = 200                    // lines of a log
	timeout = 2 * time.Minute        // of a command beside the board
	regret  = 30 * time.Second       // how long u takes back what deletes
)

// Run shows the board until the person quits it.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := newBoard(cfg)
	p := tea.NewProgram(b, tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out), tea.WithEnvironment(cfg.Environ), tea.WithFPS(15))
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

// Still is the first frame of a board that has read everything, of that size: what the board says where nobody looks at it.
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

// feed sends what there is to show: at once, and whenever files have changed.
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
				// A drain that is killed leaves no event.
				leader, _ := cfg.Project.Runs.Leader()
				same = !w.Renew(cfg.Project.Runs) && !w.Blind && leader == last.leader && time.Since(looked) < longest
			case <-ctx.Done():
				return
			}
		}
	}
}

// look reads the project; without a reader only what is quick to read.
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
	s.leader, _ = cfg.Project.Runs.Leader()
	return s
}

// The views.
var views = []string{"board", "graph", "timeline", "merge queue", "cost"}

// A board is the state of the screen.
type board struct {
	cfg  Config
	keys []key
	snapshot
	now time.Time

	ticking       bool
	width, height int
	view          int
	selected      string // id of a row
	top           int    // first line that is shown
	filter        string
	peek          bool
	peekText      []string
	help          bool
	helpTop       int // first line of the help that is shown
	input         *input
	confirm       *question
	says          string // the last line of what a command said
	bad           bool   // and it failed
	running       string // the command that runs beside the board
	doomed        *doomed
	tabs          []int // the column behind each view's name in the second line, for the mouse
	kept          map[view.Group]laidOut
	lineOf        []string // ids by line of the last frame, for the mouse
}

// An input is a line that a person types.
type input struct {
	prompt string
	text   string
	below  string                    // the slice that it answers: it is typed below its log while that is shown
	then   func(text string) tea.Cmd // nil for the filter
}

// A question is a key that waits for y. It is about the row that was selected, whatever is by then.
type question struct {
	key
	row *view.Row
}

// A doomed command deletes something, and waits until nobody can regret it any more. Closing the board drops it.
type doomed struct {
	argv []string
	at   time.Time
}

// A ran is the end of a command.
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
	return &board{cfg: cfg, keys: has(cfg.Commands), now: time.Now(), width: 80, height: 24}
}

// Init asks for the size of the screen once more when the program listens for changes of it: one that came before it did is told by nobody.
func (b *board) Init() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tea.RequestWindowSize() })
}

// tick draws the screen again after a while, as long as something on it changes by itself.
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
		if msg.err != nil && b.model != nil { // the last one stays on the screen
			b.err = msg.err
			break
		}
		b.snapshot = msg
		if msg.model != nil {
			b.now = msg.model.Now
		}
		b.settle()
		b.readPeek()
	case tock:
		b.ticking, b.now = false, time.Time(msg)
		b.readPeek()
	case due:
		if b.doomed == msg.of {
			b.doomed = nil
			return b, tea.Batch(b.gl(msg.of.argv, behind), b.tick())
		}
	case ran:
		b.tell(msg)
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
		if b.input != nil {
			b.input.text += sanitize.Line(msg.Content)
		}
	case tea.KeyPressMsg:
		return b, tea.Batch(b.press(msg), b.tick())
	}
	return b, b.tick()
}

// tell shows how a command ended.
func (b *board) tell(r ran) {
	b.running = ""
	b.bad, b.says = r.err != nil, lastLine(r.out)
	switch {
	case b.says != "":
	case r.err != nil:
		b.says = r.what + ": " + r.err.Error()
	default:
		b.says = r.what + ": done"
	}
}

// click selects what is under the mouse: a view or a row.
func (b *board) click(x, y int) {
	if y == 1 {
		if i := slices.IndexFunc(b.tabs, func(end int) bool { return x < end }); i >= 0 {
			b.show(i)
		}
	}
	if y >= 0 && y < len(b.lineOf) && b.lineOf[y] != "" {
		b.selected = b.lineOf[y]
		b.readPeek()
	}
}

// moves says whether something on the screen changes by itself.
func (b *board) moves() bool {
	return b.model != nil && (b.model.Counts.Running > 0 || b.model.Counts.Merging > 0 || b.peek)
}

// press takes a key: into what is asked, else for the board itself, and else for the gl command that it stands for.
func (b *board) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case b.input != nil:
		return b.typed(msg)
	case b.confirm != nil:
		return b.confirmed(name == "y")
	case b.help:
		b.scrollHelp(name)
		return nil
	}
	b.says, b.bad = "", false
	if b.navigate(name) {
		return nil
	}
	switch name {
	case "q":
		return tea.Quit
	case "esc":
		b.peek, b.filter = false, ""
		b.settle()
	case "?":
		b.help, b.helpTop = true, 0
	case "space":
		b.peek = !b.peek
		b.readPeek()
	case "/":
		b.input = &input{prompt: "filter", text: b.filter}
	case ":":
		b.input = &input{prompt: "gl", then: b.palette}
	case "=": // the key of +, without Shift
		return b.act("+")
	case "u":
		if b.doomed != nil {
			b.says, b.doomed = "gl "+strings.Join(b.doomed.argv, " ")+" isn't run", nil
			return nil
		}
		return b.act(name)
	default:
		return b.act(name)
	}
	return nil
}

// navigate takes a key that leads to another view or row, and says whether it is one.
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
		b.move(-len(b.rows()))
	case "end", "G":
		b.move(len(b.rows()))
	case "left":
		b.hop(-1)
	case "right":
		b.hop(1)
	default:
		return false
	}
	return true
}

// show shows a view from its top.
func (b *board) show(view int) { b.view, b.top = view%len(views), 0 }

// confirmed runs what was asked about, or doesn't.
func (b *board) confirmed(yes bool) tea.Cmd {
	q := b.confirm
	b.confirm = nil
	if yes {
		return b.run(q.key, q.row, "")
	}
	b.says, b.bad = "", false
	return nil
}

// scrollHelp takes a key while the help is shown: what doesn't scroll closes it.
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

// typed takes a key into the line that is typed.
func (b *board) typed(msg tea.KeyPressMsg) tea.Cmd {
	in := b.input
	switch name := msg.String(); name {
	case "esc":
		b.input, in.text = nil, ""
	case "enter":
		b.input = nil
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
		b.filter = in.text
		b.settle()
	}
	return nil
}

// act does what a key stands for.
func (b *board) act(name string) tea.Cmd {
	row := b.row()
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
			return b.run(k, row, strconv.Itoa(max(b.facts.Slots+k.Slots, 1)))
		case k.Asks != "":
			b.input = &input{prompt: k.Asks, then: func(text string) tea.Cmd { return b.run(k, row, text) }}
			if answers(k) {
				b.input.below = row.ID
			}
		case k.Sure:
			b.confirm = &question{k, row}
		default:
			return b.run(k, row, "")
		}
		return nil
	}
	if known != "" {
		b.bad, b.says = true, "nothing is selected"
		if row != nil {
			b.says = fmt.Sprintf("%s: not for %s, which is %s", known, row.ID, row.State)
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

// palette runs a line that was typed as gl's arguments.
func (b *board) palette(text string) tea.Cmd {
	argv, err := shellwords.Split(text)
	if err != nil || len(argv) == 0 {
		b.bad, b.says = true, fmt.Sprintf("can't read %q", text)
		return nil
	}
	if argv[0] == "gl" {
		argv = argv[1:]
	}
	if deletes(argv) {
		b.doomed = &doomed{argv, time.Now().Add(regret)}
		of := b.doomed
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

// gl runs a command of gl.
func (b *board) gl(argv []string, how how) tea.Cmd {
	what := "gl " + strings.Join(argv, " ")
	argv = slices.Concat(b.cfg.Flags, argv)
	if how == terminal {
		cmd := exec.Command(b.cfg.Self, argv...)
		cmd.Env = b.cfg.Environ
		return tea.Exec(&shown{cmd, !slices.Contains(argv, "attach")}, func(err error) tea.Msg { return ran{what: what, err: err} })
	}
	b.running = what
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, b.cfg.Self, argv...)
		cmd.Env = b.cfg.Environ
		out, err := cmd.CombinedOutput()
		return ran{what, string(out), err}
	}
}

// A shown command has the terminal, and keeps what it printed on it until Enter: the board would cover it at once.
type shown struct {
	*exec.Cmd
	wait bool // also where it didn't fail
}

func (s *shown) SetStdin(r io.Reader)  { s.Stdin = r }
func (s *shown) SetStdout(w io.Writer) { s.Stdout = w }
func (s *shown) SetStderr(w io.Writer) { s.Stderr = w }

func (s *shown) Run() error {
	err := s.Cmd.Run()
	if s.wait || err != nil {
		fmt.Fprint(s.Stdout, "\nPress Enter to go back to the board.")
		_, _ = bufio.NewReader(s.Stdin).ReadString('\n')
	}
	return err
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return sanitize.Line(lines[len(lines)-1])
}

// rows are those that the filter lets through, in the board's order.
func (b *board) rows() []view.Row {
	if b.model == nil {
		return nil
	}
	var list []view.Row
	for _, g := range view.BoardGroups() {
		list = append(list, b.in(g)...)
	}
	return list
}

// in are the rows of a group that the filter lets through.
func (b *board) in(g view.Group) []view.Row {
	rows := b.model.In(g)
	if b.filter == "" {
		return rows
	}
	var list []view.Row
	for _, r := range rows {
		if strings.Contains(strings.ToLower(strings.Join([]string{r.ID, r.Name, r.Agent, r.Step, r.Text, g.String()}, "\x00")), strings.ToLower(b.filter)) {
			list = append(list, r)
		}
	}
	return list
}

// row is the selected one, nil for none.
func (b *board) row() *view.Row {
	rows := b.rows()
	if i := b.index(rows); i >= 0 {
		return &rows[i]
	}
	return nil
}

func (b *board) index(rows []view.Row) int {
	return slices.IndexFunc(rows, func(r view.Row) bool { return r.ID == b.selected })
}

// settle keeps something selected.
func (b *board) settle() {
	if rows := b.rows(); b.index(rows) < 0 && len(rows) > 0 {
		b.selected = rows[0].ID
	}
}

func (b *board) move(by int) {
	rows := b.rows()
	if len(rows) == 0 {
		return
	}
	b.selected = rows[min(max(b.index(rows)+by, 0), len(rows)-1)].ID
	b.readPeek()
}

// hop goes to the first row of the next group that has any.
func (b *board) hop(by int) {
	row := b.row()
	if row == nil {
		return
	}
	groups := view.BoardGroups()
	for i := slices.Index(groups, row.Group) + by; i >= 0 && i < len(groups); i += by {
		if rows := b.in(groups[i]); len(rows) > 0 {
			b.selected = rows[0].ID
			b.readPeek()
			return
		}
	}
}

// readPeek reads the end of the selected slice's log, while that is shown.
func (b *board) readPeek() {
	if !b.peek {
		return
	}
	b.peekText = nil
	recs := b.facts.Records[b.selected]
	if len(recs) == 0 {
		return
	}
	b.peekText = b.tail(recs[len(recs)-1])
}

func (b *board) tail(r *attempt.Record) []string {
	return attemptlog.End(b.cfg.Project.Runs.LogPath(r.Slice, r.N), r.Stream, peeked)
}
