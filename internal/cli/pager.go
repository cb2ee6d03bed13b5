package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"greenlight/internal/agent"
)

// paged sends a reading command's text through the pager, unless one of these flags is given: --json, --compact, and
// those with which the command shows what is only coming yet.
func paged(e *env, c *cobra.Command, live ...string) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, a []string) error {
		for _, name := range append(live, "json", "compact") {
			if c.Flags().Changed(name) {
				return run(c, a)
			}
		}
		return e.page(func() error { return run(c, a) })
	}
	return c
}

// page runs f, and shows what it prints in a pager where that is longer than the screen.
func (e *env) page(f func() error) error {
	p := e.newPager()
	if p == nil || e.data.pager != nil {
		return f()
	}
	e.data.pager = p
	err := f()
	e.data.pager = nil
	if flushed := p.close(); flushed != nil && e.data.err == nil {
		e.data.err = flushed
	}
	return err
}

// newPager is the pager that the environment asks for; nil where none is wanted, or stdout is no terminal of a person.
func (e *env) newPager() *pager {
	screen := e.terminal()
	if screen == nil || e.noPager || e.inside() {
		return nil
	}
	command, set := e.lookupEnv("GL_PAGER")
	if !set {
		command, set = e.lookupEnv("PAGER")
	}
	if !set {
		command = "less"
	}
	argv, err := agent.SplitWords(command)
	if err != nil || len(argv) == 0 || argv[0] == "cat" {
		return nil
	}
	if argv[0], err = exec.LookPath(argv[0]); err != nil {
		e.detail("no pager: %v", err)
		return nil
	}
	p := &pager{argv: argv, env: e.environ, screen: screen, errs: e.err}
	if p.columns, p.rows, err = xterm.GetSize(int(screen.Fd())); err != nil || p.rows < 2 || p.columns < 1 {
		return nil
	}
	// As git does: less ends by itself where the text is short, shows colours, and leaves the text on the screen.
	for _, usual := range [][2]string{{"LESS", "FRX"}, {"LV", "-c"}} {
		if _, set := e.lookupEnv(usual[0]); !set {
			p.env = append(p.env[:len(p.env):len(p.env)], usual[0]+"="+usual[1])
		}
	}
	return p
}

// A pager holds a text back until it is longer than the screen, and then starts the program that shows it.
type pager struct {
	argv    []string
	env     []string
	screen  *os.File
	errs    io.Writer
	rows    int
	columns int

	held    bytes.Buffer
	started *exec.Cmd
	pipe    io.WriteCloser
	quit    bool // the person has seen enough
	plain   bool // the program couldn't be started
	signals chan os.Signal
}

func (p *pager) Write(b []byte) (int, error) {
	switch {
	case p.quit:
		return len(b), nil
	case p.plain:
		return p.screen.Write(b)
	case p.started == nil:
		p.held.Write(b)
		if height(p.held.Bytes(), p.columns) < p.rows { // one row is the prompt's
			return len(b), nil
		}
		if err := p.start(); err != nil {
			p.plain = true
			_, err := p.held.WriteTo(p.screen)
			return len(b), err
		}
		b = p.held.Bytes()
	}
	if _, err := p.pipe.Write(b); err != nil {
		p.quit = true
	}
	return len(b), nil
}

// start runs the pager. A Ctrl-C is for the pager alone from then on: gl would leave it behind, with the terminal in a
// mode that isn't the shell's. The signals are taken and dropped rather than ignored, which the pager would inherit.
func (p *pager) start() error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.screen, p.errs
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.signals = make(chan os.Signal, 1)
	signal.Notify(p.signals, syscall.SIGINT, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		signal.Stop(p.signals)
		return err
	}
	p.started, p.pipe = cmd, pipe
	return nil
}

// close shows what is held still, or waits until the person has read.
func (p *pager) close() error {
	if p.started == nil {
		_, err := p.held.WriteTo(p.screen)
		return err
	}
	p.pipe.Close()
	_ = p.started.Wait() // how a pager ends says nothing about gl
	signal.Stop(p.signals)
	return nil
}

// height is how many rows of a screen the text fills. Escape sequences take no columns.
func height(text []byte, columns int) int {
	rows := 0
	for line := range bytes.Lines(text) {
		rows += 1 + max(0, columnsOf(line)-1)/columns
	}
	return rows
}

// columnsOf is how many columns a line takes, its line end and colours left out.
func columnsOf(line []byte) int {
	n := 0
	for line = bytes.TrimRight(line, "\r\n"); len(line) > 0; {
		if line[0] == '\x1b' {
			if end := bytes.IndexByte(line, 'm'); end > 0 {
				line = line[end+1:]
				continue
			}
		}
		_, size := utf8.DecodeRune(line)
		line = line[size:]
		n++
	}
	return n
}
