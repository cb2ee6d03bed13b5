package attemptlog

import (
	"io"
	"strings"

	"greenlight/internal/agent"
	"greenlight/internal/attempt"
	"greenlight/internal/sanitize"
)

// EventText is an agent's event as lines for a person, without the last line end. The first character tells its kind;
// later lines are indented, so that they can't be taken for events. The text of an event is safe to print.
func EventText(ev agent.Event) string {
	return eventMark(ev.Kind) + strings.ReplaceAll(ev.Text, "\n", "\n  ")
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
	}
	return ""
}

// Text is a line of a log as gl logs shows it: a text for each event in it, safe to print.
func Text(dec *agent.Decoder, line []byte) []string {
	if note, ok := attempt.ParseNote(line); ok {
		text := sanitize.Text(note.Text)
		if note.From == "note" {
			text = "gl: " + text
		}
		return []string{EventText(agent.Event{Kind: agent.KindPlain, Text: text})}
	}
	var texts []string
	for _, ev := range dec.Line(line) {
		texts = append(texts, sanitize.Text(EventText(ev)))
	}
	return texts
}

// endBytes is how much of a log End looks at.
const endBytes = 256 << 10

// End returns the last n lines of a log as gl logs shows them; none if it can't be read.
func End(path, stream string, n int) []string {
	t := NewTail(path)
	defer t.Close()
	if ok, err := t.open(); !ok || err != nil {
		return nil
	}
	cut := false
	if info, err := t.f.Stat(); err == nil && info.Size() > endBytes {
		_, err := t.f.Seek(-endBytes, io.SeekEnd)
		cut = err == nil
	}
	var texts []string
	dec := agent.NewDecoder(stream)
	if err := t.Lines(true, func(line []byte) { texts = append(texts, Text(dec, line)...) }); err != nil {
		return nil
	}
	text := strings.TrimRight(strings.Join(texts, "\n"), "\n")
	if cut { // the rest of a line whose beginning wasn't read
		_, text, _ = strings.Cut(text, "\n")
	}
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}
