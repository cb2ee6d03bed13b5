package attemptlog

import (
	"io"
	"strings"

	"greenlight/internal/base/logfile"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
)

// EventText returns an agent's event as lines for a person, without the final newline, safe to
// print. The first character marks its kind; later lines are indented, so that they can't be
// mistaken for events. The events of a sub-agent are prefixed with a bar and its name.
func EventText(ev agent.Event) string {
	mark, indent := eventMark(ev.Kind), "\n  "
	if ev.By != "" {
		if indent = "\n|   "; mark == "" {
			mark = ": "
		} else {
			mark = " " + mark
		}
		mark = "| " + ev.By + mark
	}
	return mark + strings.ReplaceAll(ev.Text, "\n", indent)
}

func eventMark(k agent.Kind) string {
	switch k {
	case agent.KindInit:
		return "- "
	case agent.KindTool:
		return "> "
	case agent.KindToolError:
		return "! "
	case agent.KindRetry, agent.KindLimit:
		return "~ "
	case agent.KindResult:
		return "= "
	case agent.KindHeard:
		return "you: "
	}
	return ""
}

// Events returns the events of a line of a log, including notes of gl. Their texts are safe to
// print.
func Events(dec *agent.Decoder, p lines.Piece) []agent.Event {
	if p.Rest {
		return nil
	}
	if note, ok := logfile.ParseNote(p.Text); ok {
		return []agent.Event{{Kind: agent.KindPlain, Text: sanitize.Text(note.Text)}}
	}
	return dec.Piece(p)
}

// Text returns a line of a log as gl logs shows it: a text for each event in it, safe to print.
func Text(dec *agent.Decoder, p lines.Piece) []string { return texts(Events(dec, p), p) }

func texts(events []agent.Event, p lines.Piece) []string {
	var list []string
	for _, ev := range events {
		if note, ok := logfile.ParseNote(p.Text); ok && note.From != logfile.Stderr {
			ev.Text = "gl: " + ev.Text
		}
		list = append(list, sanitize.Text(EventText(ev)))
	}
	return list
}

// RunningTool returns the tool call at the end of a log that hasn't ended, as one short line,
// or "".
func RunningTool(path, stream string) string {
	t := NewTail(path)
	defer t.Close()
	if t.log.ToEnd(toolBytes) != nil {
		return ""
	}
	tool, dec := "", agent.NewDecoder(stream)
	err := t.Lines(true, func(p lines.Piece) {
		for _, ev := range Events(dec, p) {
			if ev.Kind == agent.KindTool {
				tool = ev.Text
			}
		}
	})
	if err != nil || !dec.Summary().ToolRunning {
		return ""
	}
	return sanitize.Excerpt(tool, toolRunes)
}

const (
	toolBytes = 64 << 10
	toolRunes = 60
)

// endBytes is how many bytes of a log End reads.
const endBytes = 256 << 10

// End returns the last n lines of a log as gl logs shows them; none if it can't be read.
func End(path, stream string, n int) []string { return end(path, stream, n, Text) }

// Said returns the last n lines that the agent itself said, without its tools and the notes of
// gl.
func Said(path, stream string, n int) []string { return end(path, stream, n, said) }

func said(dec *agent.Decoder, p lines.Piece) []string {
	if note, ok := logfile.ParseNote(p.Text); ok && note.From != logfile.Stderr {
		return nil
	}
	var texts []string
	for _, ev := range Events(dec, p) {
		if ev.By == "" && (ev.Kind == agent.KindSay || ev.Kind == agent.KindPlain) {
			texts = append(texts, sanitize.Text(ev.Text))
		}
	}
	return texts
}

func end(path, stream string, n int, show func(*agent.Decoder, lines.Piece) []string) []string {
	t := NewTail(path)
	defer t.Close()
	if t.log.ToEnd(endBytes) != nil {
		return nil
	}
	var texts []string
	dec := agent.NewDecoder(stream)
	if err := t.Lines(true, func(p lines.Piece) {
		texts = append(texts, show(dec, p)...)
	}); err != nil {
		return nil
	}
	text := strings.TrimRight(strings.Join(texts, "\n"), "\n")
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	return all[max(0, len(all)-n):]
}

// Texts returns a function that is Text for the lines of one log.
func Texts(stream string) func(Line) []string {
	dec := agent.NewDecoder(stream)
	return func(l Line) []string { return Text(dec, l) }
}

// A Part is a piece of a log as gl logs shows it.
type Part struct {
	Events []agent.Event
	Lines  []string
	More   bool  // there is more before it
	End    int64 // where it ends in the log
}

// ReadPart returns the part that lies that many parts before the end of a log; 0 is the end. A part
// is made from at most endBytes of the log, and one long line.
func ReadPart(path, stream string, back int) (Part, error) {
	t := NewTail(path)
	defer t.Close()
	if err := t.log.ToEnd(int64(back+1) * endBytes); err != nil {
		return Part{}, err
	}
	p := Part{More: t.log.Offset() > 0}
	dec := agent.NewDecoder(stream)
	add := func(l lines.Piece) {
		events := Events(dec, l)
		p.Events = append(p.Events, events...)
		for _, text := range texts(events, l) {
			p.Lines = append(p.Lines, strings.Split(text, "\n")...)
		}
	}
	if err := t.in.Read(io.LimitReader(t.log, endBytes), add); err != nil {
		return p, err
	}
	p.End = t.log.Offset()
	t.in.End(add)
	return p, nil
}
