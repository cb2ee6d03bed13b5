package iostreams

import (
	"fmt"
	"os"
	"sync"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"

	xterm "golang.org/x/term"
)

// progressAfter is how long work takes before the line appears.
const progressAfter = time.Second

// A Progress is a line on stderr that names the work in progress. It appears after a second,
// only on a terminal, and disappears when the work is done. A nil Progress shows nothing.
type Progress struct {
	screen *os.File
	timer  *time.Timer

	mu    sync.Mutex
	text  string
	late  bool // progressAfter has passed
	shown bool
	over  bool
}

// Progress announces work that may take long. Call Done at its end.
func (s *Streams) Progress(text string) *Progress {
	screen, ok := s.Err.(*os.File)
	if !ok || s.Quiet || !IsTerminal(screen) || s.environ.Get("TERM") == "dumb" {
		return nil
	}
	p := &Progress{screen: screen, text: text}
	p.timer = time.AfterFunc(progressAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = true
		p.draw()
	})
	s.busy = p
	return p
}

// Step changes the text.
func (p *Progress) Step(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
	p.draw()
}

// Clear removes the line to make room for a message that stays.
func (p *Progress) Clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.screen, "\r\x1b[K")
	}
}

// Done removes the line for good.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.timer.Stop()
	p.Clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

func (p *Progress) draw() {
	if !p.late || p.over {
		return
	}
	line := sanitize.Text(p.text) + " …"
	if width, _, err := xterm.GetSize(int(p.screen.Fd())); err == nil && width > 1 {
		line = term.Truncate(line, width-1)
	}
	p.shown = true
	fmt.Fprintf(p.screen, "\r\x1b[K%s", line)
}
