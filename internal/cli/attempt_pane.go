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

// hearPane passes on what a person types into the attempt's pane, a line at a time, as gl say does. The terminal stays as it is: the kernel
// echoes and lets a line be corrected before Enter, and C-c ends the agent as ever. A goroutine waits for lines until the process ends.
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

// passOn says a line to the attempt's agent, and returns what the person is told. The wrapper's own project isn't for two goroutines.
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
		return "(kept for its next start: its agent takes no messages while it works)"
	}
	return "(its agent reads it when its tool call ends)"
}

// inForeground says whether this process may read from the terminal: one in the background would be stopped for it.
func inForeground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}
