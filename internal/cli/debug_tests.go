package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"slices"
	"time"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/shellwords"
)

// debugTests is the project's test command and, if it was run, how that went.
type debugTests struct {
	Command  *string  `json:"command"` // null if there is none
	Ran      bool     `json:"ran"`
	Error    *string  `json:"error"`     // why it couldn't be run, or which signal ended it
	ExitCode *int     `json:"exit_code"` // also null if a signal ended it
	Seconds  *float64 `json:"seconds"`
	Output   []string `json:"output"` // the last lines
}

// maxOutput is how many lines of the tests' output are kept, maxLine how many bytes of each.
const (
	maxOutput = 500
	maxLine   = 4096
)

// testCommand is the one of config.json.
func (x *debugging) testCommand() debugTests {
	t := debugTests{Output: []string{}}
	s, _ := x.pr.Settings() // of a file that can't be read there is a warning already
	set, err := s.Get("test.command")
	var command string
	if err == nil && json.Unmarshal(set.Value, &command) == nil {
		t.Command = jsondoc.OrNull(command)
	}
	return t
}

// run runs the command. Its lines go to live, where there is one, as they come.
func (t *debugTests) run(ctx context.Context, app *cmdutil.App, root string, live func(string)) {
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
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = root, app.Environ
	cmd.WaitDelay = 2 * time.Second // what a test left behind may keep the pipe open
	out := &lineWriter{line: func(line string) {
		if live != nil {
			live(line)
		}
		t.Output = append(t.Output, line)
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

// noShell refuses what only a shell understands, rather than hand it to a program as its arguments.
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

// A lineWriter hands out clean lines.
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

func (x *debugging) tellTests(ctx context.Context, doc *debugDoc, run bool) {
	t := &doc.Tests
	x.section("Tests")
	if t.Command == nil {
		x.line("no test command: gl settings set test.command \"…\"")
		return
	}
	if !run {
		x.line("%s (not run: --run-tests runs it)", *t.Command)
		return
	}
	x.line("%s", *t.Command)
	t.run(ctx, x.app, x.pr.Root, func(line string) { x.line("    %s", line) })
	switch {
	case t.ExitCode != nil:
		x.line("exit %d after %s", *t.ExitCode, plan.Age(time.Duration(*t.Seconds*float64(time.Second))))
	case t.Error != nil:
		x.line("%s", *t.Error)
	}
}
