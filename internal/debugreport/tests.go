package debugreport

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os/exec"
	"slices"
	"time"

	"greenlight/internal/jsondoc"
	"greenlight/internal/paths"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/shellwords"
	"greenlight/internal/trust"
)

// Tests is the project's test command and, if it was run, how that went.
type Tests struct {
	Command  *string  `json:"command"` // null if there is none
	Ran      bool     `json:"ran"`
	Error    *string  `json:"error"`     // why it couldn't be run, or which signal ended it
	ExitCode *int     `json:"exit_code"` // also null if a signal ended it
	Seconds  *float64 `json:"seconds"`
	Output   []string `json:"output"` // the last lines

	Commands []trust.Command `json:"-"` // the command as what a person must have allowed before it is run
}

// maxOutput is how many lines of the tests' output are kept, maxLine how many bytes of each.
const (
	maxOutput = 500
	maxLine   = 4096
)

// newTests reads the test command from config.json.
func newTests(pr *project.Project) Tests {
	t := Tests{Output: []string{}}
	s, _ := pr.Settings() // the plan warns of a file that can't be read
	if t.Commands = s.TestCommand(); len(t.Commands) > 0 {
		t.Command = &t.Commands[0].Line
	}
	return t
}

// Run runs the test command, if there is one, in root. It calls line with each line of output as it comes, safe to print.
func (t *Tests) Run(ctx context.Context, root string, environ []string, line func(string)) {
	if t.Command == nil {
		return
	}
	words, err := shellwords.Split(*t.Command)
	if err == nil {
		err = noShell(words)
	}
	if err != nil {
		t.Error = jsondoc.OrNull(err.Error())
		return
	}
	program, err := paths.Program(words[0], root)
	if err != nil {
		t.Error = jsondoc.OrNull(err.Error())
		return
	}
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Args[0] = words[0]
	cmd.Dir, cmd.Env = root, environ
	cmd.WaitDelay = 2 * time.Second // processes that the tests left behind may keep the pipe open
	out := &lineWriter{line: func(text string) {
		line(text)
		t.Output = append(t.Output, text)
		t.Output = t.Output[max(0, len(t.Output)-maxOutput):]
	}}
	cmd.Stdout, cmd.Stderr = out, out
	begun := time.Now()
	err = cmd.Run()
	out.flush()
	seconds := math.Round(time.Since(begun).Seconds()*1000) / 1000
	if cmd.ProcessState == nil {
		t.Error = jsondoc.OrNull(err.Error())
		return
	}
	t.Ran, t.Seconds = true, &seconds
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		t.ExitCode = &code
	} else {
		t.Error = jsondoc.OrNull(cmd.ProcessState.String())
	}
}

// noShell refuses what only a shell understands; a program would get it as arguments.
func noShell(words []string) error {
	if len(words) == 0 {
		return errors.New("the test command is empty")
	}
	for _, w := range words {
		if slices.Contains([]string{"&&", "||", "|", ";", ">", "<", "&"}, w) {
			return errors.New("the test command needs a shell (" + w + "), and gl uses none: put it into a script, and name that")
		}
	}
	return nil
}

// A lineWriter calls line with each line that is written, safe to print.
type lineWriter struct {
	line func(string)
	rest []byte
}

func (w *lineWriter) Write(data []byte) (int, error) {
	n := len(data)
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		w.emit(append(w.rest, data[:i]...))
		w.rest, data = w.rest[:0], data[i+1:]
	}
	if w.rest = append(w.rest, data...); len(w.rest) > maxLine {
		w.emit(w.rest)
		w.rest = w.rest[:0]
	}
	return n, nil
}

func (w *lineWriter) emit(line []byte) {
	line = bytes.TrimRight(line, "\r")
	w.line(sanitize.Text(string(line[:min(len(line), maxLine)])))
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.emit(w.rest)
	}
}
