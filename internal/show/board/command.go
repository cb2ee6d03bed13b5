package board

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/show/rowlayout"
)

const (
	timeout   = 2 * time.Minute // of a command run beside the board
	mostBytes = 1 << 20         // of its output
	atOnce    = 5 * time.Second // a run that ends sooner has started nothing
)

// A ran is the result of a command.
type ran struct {
	what  string
	out   string
	err   error
	typed bool // the person typed it, so all of its output is wanted
	back  bool // it had the terminal; what it showed may go on
}

// terminalCommands need the terminal: they ask, open an editor, show tmux, or print events as they
// happen.
var terminalCommands = []string{
	"assess", "attach", "board", "demo", "design", "do", "edit", "init", "land", "map", "quick",
	"rehearse", "review", "ship", "slice", "trust", "verify", "wrap",
}

// terminalFlags make any command follow something or start a program.
var terminalFlags = []string{"-f", "--follow", "--watch", "--tool", "--open"}

// needsTerminal reports whether a typed command gets the terminal until it ends.
func needsTerminal(argv []string) bool {
	return len(argv) == 0 || slices.Contains(terminalCommands, argv[0]) ||
		slices.ContainsFunc(argv, func(a string) bool {
			flag, _, _ := strings.Cut(a, "=")
			return slices.Contains(terminalFlags, flag)
		})
}

// palette runs a typed line as gl's arguments.
func (b *board) palette(text string) tea.Cmd {
	argv, err := shellwords.Split(text)
	if err != nil || len(argv) == 0 {
		b.prompt.say(true, fmt.Sprintf("can't read %q", text))
		return nil
	}
	if h := &b.prompt.history; len(*h) == 0 || (*h)[len(*h)-1] != text {
		*h = append(*h, text)
	}
	if argv[0] == "gl" {
		argv = argv[1:]
	}
	switch {
	case len(argv) == 1 && (argv[0] == "q" || argv[0] == "quit"):
		return tea.Quit
	case deletes(argv):
		earlier, over := b.prompt.doom(argv)
		if earlier == nil {
			return over
		}
		return tea.Batch(b.beside(earlier.argv, false), over) // u undoes only the last
	case needsTerminal(argv):
		return b.gl.inTerminal(argv)
	}
	return b.beside(argv, true)
}

// commandLine returns how a person would type the command.
func commandLine(argv []string) string { return "gl " + strings.Join(argv, " ") }

// beside runs a gl command without the terminal.
func (b *board) beside(argv []string, typed bool) tea.Cmd {
	what := commandLine(argv)
	b.prompt.running = what
	run := b.gl
	return func() tea.Msg {
		out, err := run.output(argv)
		return ran{what: what, out: out, err: err, typed: typed}
	}
}

// A program runs gl's commands on the project.
type program struct {
	self    string   // path of gl
	flags   []string // -C DIR
	environ []string
}

func (p program) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.self, slices.Concat(p.flags, argv)...)
	cmd.Env = p.environ
	return cmd
}

// output runs a command and returns what it printed. It may be called from any goroutine.
func (p program) output(argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := p.command(ctx, argv)
	out := &head{rest: commandLine(argv)}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	return out.String(), err
}

// A head is the beginning of an output.
type head struct {
	buf  bytes.Buffer
	cut  bool
	rest string // the command that prints all
}

func (h *head) Write(p []byte) (int, error) {
	room := max(mostBytes-h.buf.Len(), 0)
	h.cut = h.cut || len(p) > room
	h.buf.Write(p[:min(len(p), room)])
	return len(p), nil
}

func (h *head) String() string {
	if !h.cut {
		return h.buf.String()
	}
	whole := h.buf.Bytes()[:bytes.LastIndexByte(h.buf.Bytes(), '\n')+1]
	return string(whole) + "… there is more: " + h.rest + "\n"
}

// inTerminal runs a command that has the terminal until it ends.
func (p program) inTerminal(argv []string) tea.Cmd {
	what := commandLine(argv)
	cmd := p.command(context.Background(), argv)
	return tea.Exec(&shown{cmd, argv[0] != "attach"}, func(err error) tea.Msg {
		return ran{what: what, err: err, back: true}
	})
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

// start asks whether to start what is ready: that costs money.
func (b *board) start() tea.Cmd {
	m, p := b.list.model, &b.prompt
	switch {
	case m == nil:
		return nil
	case b.list.leader != "":
		p.say(false, "a run is on: it starts what gets ready; + lets it run one agent more")
		return nil
	case m.Counts.Ready == 0:
		p.say(true, "nothing is ready: w says why")
		return nil
	}
	text := "start " + words.Count(m.Counts.Ready, "ready "+m.Plan.Snapshot.Noun)
	if names := builders(m.Plan, b.cfg.Project); names != "" {
		text += " with " + names
	}
	if n := b.list.facts.Slots; n > 0 {
		text += fmt.Sprintf(", at most %d at once", n)
	}
	p.confirm = &question{text + ", until nothing is left", func() tea.Cmd {
		cmd, err := b.gl.start("slice", "--watch")
		if err != nil {
			p.say(true, err.Error())
			return nil
		}
		p.say(false, "gl slice --watch is on; closing the board doesn't end it")
		return cmd
	}}
	return nil
}

// builders names the agents that would build what is ready.
func builders(p *plan.Plan, pr *project.Project) string {
	var names []string
	for _, id := range p.Lists.Ready {
		name := p.State(id).Agent
		if name == "" && pr != nil && len(pr.Config.Agent) > 0 {
			name = pr.Config.Agent[0]
		}
		if name = rowlayout.AgentName(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// start starts a run that doesn't depend on the board: it has a session of its own, and a file for
// its output rather than a pipe.
func (p program) start(argv ...string) (tea.Cmd, error) {
	what, began := commandLine(argv), time.Now()
	out, err := os.CreateTemp("", "gl-board-")
	if err != nil {
		return nil, err
	}
	cmd := p.command(context.Background(), argv)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// The file lives as long as the run.
	if err := errors.Join(os.Remove(out.Name()), cmd.Start()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), out.Close())
	}
	return func() tea.Msg {
		defer out.Close()
		err := cmd.Wait()
		text, readErr := io.ReadAll(io.NewSectionReader(out, 0, mostBytes))
		if readErr != nil || time.Since(began) > atOnce {
			text = []byte(lastLine(string(text)))
		}
		return ran{what: what, out: string(text), err: err}
	}, nil
}

// outputLines returns the lines of a command's output, safe for a terminal.
func outputLines(out string) []string {
	out = strings.TrimRight(sanitize.Text(strings.ReplaceAll(out, "\r\n", "\n")), "\n ")
	if strings.TrimSpace(out) == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(out, "\t", "    "), "\n")
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}
