// Package iostreams provides standard input, output and error for commands: printing, messages,
// JSON documents, the pager, progress, questions, and the abilities of the terminal. It is
// independent of Greenlight.
package iostreams

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
)

// Streams are the streams of one command line. As an io.Writer it writes to stdout, through the
// pager if there is one.
type Streams struct {
	In  io.Reader
	Out io.Writer // stdout itself: to query it, and to pass to child processes
	Err io.Writer

	NoColor bool // --no-color
	NoPager bool // --no-pager
	Verbose bool // --verbose
	Quiet   bool // --quiet

	environ environ.Environ
	data    sink
	busy    *Progress
}

// New returns streams that look up TERM, NO_COLOR, PAGER and the like in environ.
func New(in io.Reader, out, err io.Writer, environ environ.Environ) *Streams {
	return &Streams{In: in, Out: out, Err: err, environ: environ, data: sink{w: out}}
}

// Write writes to stdout. WriteError returns the first error.
func (s *Streams) Write(p []byte) (int, error) { return s.data.Write(p) }

// WriteError returns the error of the first write to stdout that failed, or nil.
func (s *Streams) WriteError() error { return s.data.err }

// Printf writes to stdout. Text from files must be sanitized first, see package sanitize.
func (s *Streams) Printf(format string, a ...any) { fmt.Fprintf(s, format, a...) }

// PrintText writes text from a file to stdout, sanitized and ending in a newline.
func (s *Streams) PrintText(text string) error {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(s, sanitize.Text(text))
	return err
}

// warning is the prefix of a message that --quiet keeps.
const warning = "warning: "

// Message writes one sanitized line to stderr. With --quiet it writes only warnings.
func (s *Streams) Message(format string, a ...any) {
	if s.Quiet && !strings.HasPrefix(format, warning) {
		return
	}
	s.busy.Clear()
	fmt.Fprintln(s.Err, s.onErr(sanitize.Text(fmt.Sprintf(format, a...))))
}

// Fail writes the message of an error that ends the command to stderr, also with --quiet.
func (s *Streams) Fail(text string) {
	fmt.Fprintln(s.Err, s.onErr("gl: "+sanitize.Text(strings.TrimSpace(text))))
}

// onErr wraps a message to the width of the terminal that stderr is; elsewhere lines may have any
// length. Commands in it stay whole, for copying.
func (s *Streams) onErr(text string) string {
	f, ok := s.Err.(*os.File)
	if !ok || !IsTerminal(f) {
		return text
	}
	width, _, err := xterm.GetSize(int(f.Fd()))
	if err != nil {
		return text
	}
	return wrapped(text, width)
}

// wrapped wraps each line of a message below its first word.
func wrapped(text string, width int) string {
	const indent = 2
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = term.WrapMessage(l, width, indent+len(l)-len(strings.TrimLeft(l, " ")))
	}
	return strings.Join(lines, "\n")
}

// Hush drops, with --quiet, all text for stdout that isn't a document. It is for commands whose
// text only reports their actions.
func (s *Streams) Hush() {
	if s.Quiet && s.data.held == nil {
		s.data.held = io.Discard
	}
}

// Record returns the text that f prints instead of printing it. Documents and messages are
// still printed.
func (s *Streams) Record(f func() error) (text string, err error) {
	var b strings.Builder
	s.data.held = &b
	err = f()
	s.data.held = nil
	return b.String(), err
}

// ForMessages returns streams that print everything to stderr, for callers that keep stdout for
// other data.
func (s *Streams) ForMessages() *Streams {
	m := New(s.In, s.Err, s.Err, s.environ)
	m.NoColor, m.NoPager, m.Verbose, m.Quiet = s.NoColor, s.NoPager, s.Verbose, s.Quiet
	return m
}

// Detail writes a message with the time, only with --verbose.
func (s *Streams) Detail(format string, a ...any) {
	if s.Verbose {
		s.Message(time.Now().Format("15:04:05.000")+" "+format, a...)
	}
}

// JSON prints one document to stdout.
func (s *Streams) JSON(v any) error {
	text, err := jsondoc.Line(v, "  ")
	if err == nil {
		_, err = s.data.send(text)
	}
	return err
}

// IsTerminal reports whether stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// Terminal returns stdout if it is a terminal whose cursor can be moved, otherwise nil. Whether
// it may show color is a separate question: see Colors.
func (s *Streams) Terminal() *os.File {
	if !IsTerminal(s.Out) || s.environ.Get("TERM") == "dumb" {
		return nil
	}
	return s.Out.(*os.File)
}

// Interactive reports whether both stdin and stdout are terminals.
func (s *Streams) Interactive() bool { return IsTerminal(s.In) && IsTerminal(s.Out) }

// Width returns the number of columns of stdout; 0 if it isn't a terminal, where lines may have
// any length.
func (s *Streams) Width() int {
	width, _ := s.Size()
	return width
}

// Size returns the number of columns and rows of stdout; 0 if it isn't a terminal.
func (s *Streams) Size() (width, height int) {
	f, ok := s.Out.(*os.File)
	if !ok || s.data.held != nil {
		return 0, 0
	}
	width, height, err := xterm.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// Paint colors sanitized text if colors are on.
func (s *Streams) Paint(c term.Color, text string) string {
	if !s.Colors() {
		return text
	}
	return c.Paint(text)
}

// Colors reports whether text may be colored. JSON documents never are.
func (s *Streams) Colors() bool { return s.ColorsOn(IsTerminal(s.Out)) }

// ColorsOn is Colors for an output other than stdout; capable tells whether it can show colors.
func (s *Streams) ColorsOn(capable bool) bool {
	return !s.NoColor && s.data.held == nil && term.ColorWanted(s.environ.Get, capable)
}

// Ask asks for a line of text. It returns false at the end of the input.
func (s *Streams) Ask(question string) (line string, ok bool) {
	fmt.Fprint(s.Err, question)
	line, err := bufio.NewReader(s.In).ReadString('\n')
	return strings.TrimSpace(line), err == nil || line != ""
}

// Confirm asks a yes-or-no question. The answer is no if stdin or stderr isn't a terminal.
func (s *Streams) Confirm(question string) bool {
	if !IsTerminal(s.In) || !IsTerminal(s.Err) {
		return false
	}
	fmt.Fprint(s.Err, s.onErr(strings.TrimSpace(question)+" [y/N]")+" ")
	line, _ := bufio.NewReader(s.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}
