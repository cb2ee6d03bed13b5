package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project"
)

// attachedFlag makes gl serve end with its standard input, and so with the run that started it,
// however that ends.
const attachedFlag = "attached"

// ServingAt begins the line by which gl serve says that its port is open.
const ServingAt = "serving workers at "

// endingTime is how long gl serve may take to end. All that it has is on disk at any time.
const endingTime = 10 * time.Second

// untilClosed returns a context that ends with what in has.
func untilClosed(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}

// A servingRun is gl serve beside a run. It is a process of its own: gl has no network, and what
// becomes of the server is no harm to the run.
type servingRun struct {
	app    *cmdutil.App
	cmd    *exec.Cmd
	ending atomic.Bool
	done   chan struct{} // closed when the process is gone
}

// beginServing starts gl serve beside a run, waits until its port is open, and returns what ends
// it.
func beginServing(app *cmdutil.App, pr *project.Project) (end func(), err error) {
	path, err := findRemote()
	if err != nil {
		return nil, err
	}
	s := &servingRun{app: app, done: make(chan struct{}),
		cmd: exec.Command(path, "serve", "--"+attachedFlag)}
	s.cmd.Dir, s.cmd.Env = pr.Root, app.Environ
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the run
	input, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var errs strings.Builder
	s.cmd.Stderr = &errs
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	open := make(chan struct{})
	go s.follow(out, open, &errs)
	select {
	case <-open:
	case <-s.done:
		return nil, errors.New(whyEnded(errs.String()))
	}
	return func() {
		s.ending.Store(true)
		input.Close()
		late := time.AfterFunc(endingTime, func() { _ = s.cmd.Process.Kill() })
		<-s.done
		late.Stop()
	}, nil
}

// follow shows what the server says, until it is gone. open is closed once its port is open.
func (s *servingRun) follow(out io.Reader, open chan struct{}, errs *strings.Builder) {
	defer close(s.done)
	serving := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.app.IO.Message("%s", sanitize.Text(lines.Text()))
		if !serving && strings.HasPrefix(lines.Text(), ServingAt) {
			serving = true
			close(open)
		}
	}
	_ = s.cmd.Wait() // its words say more
	if serving && !s.ending.Load() {
		s.app.IO.Message("warning: gl serve has ended: %s. Agents on workers go on; gl serve takes them over",
			whyEnded(errs.String()))
	}
}

// whyEnded returns why gl serve ended, from its messages.
func whyEnded(errs string) string {
	text := sanitize.Excerpt(strings.TrimPrefix(strings.TrimSpace(errs), "gl: "), 300)
	if text == "" {
		return "it was killed"
	}
	return text
}
