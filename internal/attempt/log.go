package attempt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strconv"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A Note is a line of the log that the agent's stdout didn't hold: its stderr, or a word of gl's own.
type Note struct {
	From string `json:"gl"` // "stderr" or "note"
	Text string `json:"text"`
}

const noteStart = `{"gl":"`

// ParseNote tells a Note from a line of the agent's stdout.
func ParseNote(line []byte) (Note, bool) {
	var n Note
	if !bytes.HasPrefix(line, []byte(noteStart)) || json.Unmarshal(line, &n) != nil {
		return Note{}, false
	}
	return n, n.From == "stderr" || n.From == "note"
}

// A logFile is the log of one attempt: stdout verbatim, line by line, so that it can be decoded again.
type logFile struct {
	f    *os.File
	path string
}

func openLog(path string) (*logFile, error) {
	f, err := durable.OpenAppend(path, 0o600)
	if err != nil {
		return nil, err
	}
	return &logFile{f, path}, nil
}

// reopen goes on in a new file where the old one was removed: what comes from now on is kept.
func (l *logFile) reopen() error {
	if paths.Exists(l.path) {
		return nil
	}
	fresh, err := openLog(l.path)
	if err != nil {
		return err
	}
	l.f.Close()
	l.f = fresh.f
	return nil
}

// stdout writes one line in one write, so that a reader that follows sees whole lines. A log that can't be written (a
// full disk) is no reason to end an agent's work.
func (l *logFile) stdout(line []byte) {
	if len(line) == 0 || line[len(line)-1] != '\n' {
		line = append(line[:len(line):len(line)], '\n')
	}
	l.f.Write(line)
}

func (l *logFile) note(from, text string) {
	line, _ := json.Marshal(Note{from, text})
	l.stdout(line)
}

func (l *logFile) close() { l.f.Close() }

// A chunk is one line of an agent's output, its line ending included unless it was cut short.
type chunk struct {
	stderr bool
	line   []byte
}

// readLines sends every line of in, however long, and closes in.
func readLines(in *os.File, stderr bool, out chan<- chunk) {
	defer in.Close()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			out <- chunk{stderr, line}
		}
		if err != nil {
			return // io.EOF, or closed by us
		}
	}
}
