package iostreams

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/term"

	xterm "golang.org/x/term"
)

// Page runs f, and shows its output in a pager if that is longer than the screen.
func (s *Streams) Page(f func() error) error {
	p := s.newPager()
	if p == nil || s.data.pager != nil {
		return f()
	}
	s.data.pager = p
	err := f()
	s.data.pager = nil
	if flushed := p.close(); flushed != nil && s.data.err == nil {
		s.data.err = flushed
	}
	return err
}

// newPager returns the pager that the environment names; nil if none is wanted or stdout isn't
// a terminal.
func (s *Streams) newPager() *pager {
	screen := s.Terminal()
	if screen == nil || s.NoPager {
		return nil
	}
	command, set := s.environ.Lookup("GL_PAGER")
	if !set {
		command, set = s.environ.Lookup("PAGER")
	}
	if !set {
		command = "less"
	}
	argv, err := shellwords.Split(command)
	if err != nil || len(argv) == 0 || argv[0] == "cat" {
		return nil
	}
	if argv[0], err = exec.LookPath(argv[0]); err != nil {
		s.Detail("no pager: %v", err)
		return nil
	}
	p := &pager{argv: argv, env: s.environ, screen: screen, errs: s.Err}
	if p.columns, p.rows, err = xterm.GetSize(int(screen.Fd())); err != nil || p.rows < 2 ||
		p.columns < 1 {
		return nil
	}
	// As in git: less exits by itself if the text is short, shows colors, and leaves the text
	// on the screen.
	for _, usual := range [][2]string{{"LESS", "FRX"}, {"LV", "-c"}} {
		if _, set := s.environ.Lookup(usual[0]); !set {
			p.env = append(p.env[:len(p.env):len(p.env)], usual[0]+"="+usual[1])
		}
	}
	return p
}

// A pager buffers text until it is longer than the screen, and then starts the program that
// shows it.
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
	quit    bool // the user quit the program
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
		if height(p.held.Bytes(), p.columns) < p.rows { // one row is for the prompt
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

// start starts the pager. From then on Ctrl-C is for the pager alone: if gl exited, the pager
// would stay behind with the terminal in a mode that the shell doesn't expect. The signals are
// caught and dropped rather than ignored, because the pager would inherit ignored ones.
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

// close prints buffered text, or waits until the user quits the pager.
func (p *pager) close() error {
	if p.started == nil {
		_, err := p.held.WriteTo(p.screen)
		return err
	}
	p.pipe.Close()
	_ = p.started.Wait() // the pager's exit code doesn't concern gl
	signal.Stop(p.signals)
	return nil
}

// height returns the number of rows that the text fills on a screen with so many columns.
func height(text []byte, columns int) int {
	rows := 0
	for line := range bytes.Lines(text) {
		rows += 1 + max(0, term.Width(strings.TrimRight(string(line), "\r\n"))-1)/columns
	}
	return rows
}
