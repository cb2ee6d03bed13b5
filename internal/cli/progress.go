package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"greenlight/internal/sanitize"
	"greenlight/internal/term"

	xterm "golang.org/x/term"
)

// progressAfter is how long something may take without a word.
const progressAfter = time.Second

// A progress is one line on stderr that says what takes so long. It comes after a second, on a terminal alone, and goes
// when the work is done. The nil one says nothing.
type progress struct {
	screen *os.File
	timer  *time.Timer

	mu    sync.Mutex
	text  string
	late  bool // the second is over
	shown bool
	over  bool
}

// progress tells that something has begun; done must be called when it has ended.
func (e *env) progress(text string) *progress {
	screen, ok := e.err.(*os.File)
	if !ok || !isTerminal(screen) || e.getenv("TERM") == "dumb" {
		return nil
	}
	p := &progress{screen: screen, text: text}
	p.timer = time.AfterFunc(progressAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = true
		p.draw()
	})
	e.busy = p
	return p
}

// step changes what is said.
func (p *progress) step(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
	p.draw()
}

// clear takes the line away, for a message that stays.
func (p *progress) clear() {
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

// done takes the line away for good.
func (p *progress) done() {
	if p == nil {
		return
	}
	p.timer.Stop()
	p.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

func (p *progress) draw() {
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
