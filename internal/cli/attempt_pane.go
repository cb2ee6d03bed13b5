package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
)

// hearPane passes each line typed into the attempt's pane to the agent, as gl say does. The
// terminal's mode doesn't change: the kernel echoes and handles editing, and C-c still ends the
// agent. A goroutine waits for lines until the process ends.
func (o wrapperOptions) hearPane(ctx context.Context, in io.Reader, show func(string)) {
	tty, ok := in.(*os.File)
	if !ok || !iostreams.IsTerminal(tty) || !inForeground(tty) {
		return
	}
	go func() {
		for lines := bufio.NewScanner(tty); lines.Scan(); {
			text := strings.TrimSpace(lines.Text())
			switch {
			case text == "":
			case !sayable(text):
				show("(not said: a line can't have control characters)")
			default:
				show(o.passOn(ctx, text))
			}
		}
	}()
}

// passOn sends a line to the attempt's agent, and returns the answer for the person. It opens its
// own project, because the wrapper's isn't safe for two goroutines.
func (o wrapperOptions) passOn(ctx context.Context, text string) string {
	pr, err := o.project()
	var rec *attempt.Record
	if err == nil {
		rec, err = pr.Runs.Get(o.id, o.n)
	}
	var said *ops.Saying
	if err == nil {
		id := rec.ID.Slice
		if rec.ID.IsTask() {
			id = rec.ID.Name()
		}
		said, err = ops.Say(ctx, pr.Whose(rec), id, text, time.Now())
	}
	switch {
	case err != nil:
		return "(not said: " + sanitize.Text(err.Error()) + ")"
	case said.Running == nil || !said.Running.Talk.Talks:
		return "(its agent can't read messages while it works: it gets this one when it starts again)"
	}
	return "(its agent reads it when its tool call ends)"
}

// inForeground reports whether this process may read from the terminal: a background process would
// be stopped.
func inForeground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}
