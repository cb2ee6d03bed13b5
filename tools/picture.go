//go:build ignore

// Picture makes docs/board.svg, the moving picture in the README, from a real run: it builds the
// sample project of gl demo, looks at gl board in a tmux of its own while that happens, and puts
// the screens after each other. In that run a slice is red at first: the board has it selected,
// so that the picture shows how its agent mends it and how it is merged.
//
//	go run tools/picture.go [-gl bin/gl] [-o docs/board.svg]
package main

import (
	"flag"
	"fmt"
	"html"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	columns, rows = 104, 22
	cellWidth     = 8.5
	cellHeight    = 18
	most          = 30  // frames
	pause         = 0.9 // seconds for a frame

	// red is the slice that goes wrong at first
	red   = "S-03"
	agent = "rehearsal:seed=7,step=800ms,jitter=30%,red=" + red + "#1,clash=S-05+S-06"
)

func main() {
	gl := flag.String("gl", "bin/gl", "the program")
	out := flag.String("o", "docs/board.svg", "the picture")
	flag.Parse()
	log.SetFlags(0)
	path, err := filepath.Abs(*gl)
	check(err)
	frames := record(path)
	check(os.WriteFile(*out, []byte(draw(frames)), 0o644))
	log.Printf("%s: %d frames", *out, len(frames))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// record returns the screens of the board while the sample drains.
func record(gl string) []string {
	dir, err := os.MkdirTemp("", "picture")
	check(err)
	defer os.RemoveAll(dir)
	shop, socket := filepath.Join(dir, "shop"), filepath.Join(dir, "tmux")
	demo := exec.Command(gl, "demo", "--dir", shop, "--agent", agent)
	demo.Env = append(os.Environ(), "HOME="+dir)
	check(demo.Start())
	done := make(chan error, 1)
	go func() { done <- demo.Wait() }()
	for live := false; !live; {
		select {
		case err := <-done:
			log.Fatalf("gl demo ended before its first agent: %v", err)
		case <-time.After(50 * time.Millisecond):
			_, err := os.Stat(filepath.Join(shop, ".greenlight", "runs", "live"))
			live = err == nil
		}
	}
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket}, args...)...)
		cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
		text, err := cmd.Output()
		check(err)
		return string(text)
	}
	tmux("-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(columns), "-y",
		strconv.Itoa(rows), "-e", "TERM=xterm-256color", gl+" -C "+shop+" board")
	defer tmux("kill-server")
	for !strings.Contains(tmux("capture-pane", "-p"), red) {
		time.Sleep(50 * time.Millisecond)
	}
	tmux("send-keys", "/")
	tmux("send-keys", "-l", red)
	tmux("send-keys", "Enter")
	for !strings.Contains(tmux("capture-pane", "-p"), "> "+red) {
		time.Sleep(50 * time.Millisecond)
	}
	tmux("send-keys", "Escape")
	time.Sleep(200 * time.Millisecond) // or Escape and what follows would be one key
	tmux("send-keys", "Space")         // its log
	var frames []string
	look := func() {
		text := tmux("capture-pane", "-p", "-e")
		if strings.Contains(text, " done |") && (len(frames) == 0 || frames[len(frames)-1] != text) {
			frames = append(frames, text)
		}
	}
	for over := false; !over; {
		select {
		case <-done:
			over = true
			time.Sleep(2 * time.Second)
		case <-time.After(300 * time.Millisecond):
		}
		look()
	}
	return thinned(frames)
}

// thinned drops every second frame until few are left, never the last or one of the red slice.
func thinned(frames []string) []string {
	for len(frames) > most {
		var half []string
		for i, f := range frames {
			if i%2 == 0 || i == len(frames)-1 || strings.Contains(f, "after red") {
				half = append(half, f)
			}
		}
		if len(half) == len(frames) {
			break
		}
		frames = half
	}
	return frames
}

var colors = map[string]string{"31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "34": "#79c0ff"}

var escape = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// draw puts the frames in sequence. A viewer without animation shows the last one.
func draw(frames []string) string {
	var b strings.Builder
	width, height := columns*cellWidth+24, rows*cellHeight+24
	whole := pause*float64(len(frames)) + 3
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" `+
		`viewBox="0 0 %g %d" width="%g" height="%d" role="img" aria-label="gl board while twelve `+
		`slices are built: the tests of one are red, its agent goes on, and it is merged">`,
		width, height, width, height)
	b.WriteString(`<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,` +
		`"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}.b{font-weight:bold}` +
		`.d{fill:#8b949e}.f{visibility:hidden}.f:last-child{visibility:visible}`)
	for i := range frames {
		from, to := 100*pause*float64(i)/whole, 100*pause*float64(i+1)/whole
		if i == len(frames)-1 {
			to = 100
		}
		fmt.Fprintf(&b,
			`@keyframes k%d{0%%{visibility:%s}%.2f%%{visibility:visible}%.2f%%{visibility:%s}}`,
			i, visibility(i == 0), from, to, visibility(i == len(frames)-1))
		fmt.Fprintf(&b, `#f%d{animation:k%d %.1fs step-end infinite}`, i, i, whole)
	}
	fmt.Fprintf(&b, `@media(prefers-reduced-motion:reduce){.f{animation:none!important}}</style>`+
		`<rect width="%g" height="%d" rx="8" fill="#0d1117"/>`, width, height)
	for i, f := range frames {
		fmt.Fprintf(&b, `<g class="f" id="f%d">`, i)
		var p pen
		for y, line := range strings.Split(strings.TrimRight(f, "\n"), "\n") {
			p.drawLine(&b, line, y)
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func visibility(visible bool) string {
	if visible {
		return "visible"
	}
	return "hidden"
}

// A pen is the style of the text that follows: tmux prints only changes, also from one line to
// the next.
type pen struct {
	fill, class string
	inverted    bool
}

func (p *pen) drawLine(b *strings.Builder, line string, y int) {
	x := 0
	for line != "" {
		m := escape.FindStringSubmatchIndex(line)
		if m == nil {
			p.span(b, line, x, y)
			return
		}
		x = p.span(b, line[:m[0]], x, y)
		for _, c := range strings.Split(line[m[2]:m[3]], ";") {
			p.set(c)
		}
		line = line[m[1]:]
	}
}

// set applies an SGR code.
func (p *pen) set(code string) {
	switch {
	case code == "" || code == "0":
		*p = pen{}
	case code == "1":
		p.class = "b"
	case code == "2":
		p.class = "d"
	case code == "7":
		p.inverted = true
	case code == "27":
		p.inverted = false
	case code == "22":
		p.class = ""
	case code == "39":
		p.fill = ""
	case colors[code] != "":
		p.fill = colors[code]
	}
}

func (p *pen) span(b *strings.Builder, text string, x, y int) int {
	if p.inverted {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#e6edf3"/>`,
			12+float64(x)*cellWidth, 26+y*cellHeight-14, float64(len([]rune(text)))*cellWidth, cellHeight)
	}
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%d"`, 12+float64(x)*cellWidth, 26+y*cellHeight)
		if p.inverted {
			b.WriteString(` style="fill:#0d1117"`)
		} else if p.fill != "" {
			fmt.Fprintf(b, ` style="fill:%s"`, p.fill)
		}
		if p.class != "" {
			fmt.Fprintf(b, ` class="%s"`, p.class)
		}
		fmt.Fprintf(b, ">%s</text>", html.EscapeString(strings.TrimRight(text, " ")))
	}
	return x + len([]rune(text))
}
