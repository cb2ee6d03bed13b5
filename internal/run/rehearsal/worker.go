package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// A call is a tool call of the agent: the command it shows, and the function it runs, nil for
// none.
type call struct {
	command string
	do      func(context.Context) error
}

// A worker does an attempt's work the way an agent of one system does. It is called again at
// each step, so that it sees what others have written meanwhile.
type worker interface {
	enter(ctx context.Context, step int) ([]call, error) // at the start of a step
	complete(ctx context.Context, f Fate) ([]call, error)
	park(ctx context.Context) ([]call, error) // ask a person
}

// newWorker returns the worker for the slash command that the agent was given.
func newWorker(ctx context.Context, j *job) worker {
	command, _, _ := strings.Cut(j.prompt, " ")
	return commits(ctx, workerFor(j, command), j, command)
}

func workerFor(j *job, command string) worker {
	switch name := strings.TrimPrefix(command, "/"); {
	case j.isTask():
		return taskWorker{}
	case strings.HasPrefix(name, "sw-"):
		return &swWorker{gl: j.gl, root: j.root, verify: name == "sw-verify"}
	case strings.HasPrefix(name, "gsd"):
		return &gsdWorker{gl: j.gl, root: j.root, phase: j.slice,
			step: strings.TrimLeft(strings.TrimPrefix(name, "gsd"), ":-")}
	}
	return sliceWorker{j.slice, writeSlice(j.root, j.attempt)}
}

// A taskWorker works on a task, which has no state.
type taskWorker struct{}

func (taskWorker) enter(context.Context, int) ([]call, error) {
	return []call{{"go test ./...", nil}}, nil
}
func (t taskWorker) complete(ctx context.Context, _ Fate) ([]call, error) { return t.enter(ctx, 0) }
func (t taskWorker) park(ctx context.Context) ([]call, error)             { return t.enter(ctx, 0) }

// A sliceWorker writes the state of one of Greenlight's slices.
type sliceWorker struct {
	id    string
	write writer
}

func (w sliceWorker) set(fields ...field) ([]call, error) {
	command := "gl state set " + w.id
	for _, f := range fields {
		command += " " + f.key + "=" + f.value
	}
	return []call{{command, func(ctx context.Context) error { return w.write(ctx, w.id, fields) }}},
		nil
}

func (w sliceWorker) enter(_ context.Context, step int) ([]call, error) {
	return w.set(field{"status", walk[step]}, field{"step", walk[step]})
}

func (w sliceWorker) complete(_ context.Context, f Fate) ([]call, error) {
	return w.set(field{"status", "complete"}, field{"step", "complete"},
		field{"tests", strconv.Itoa(f.Tests)},
		field{"security_tests", strconv.Itoa(f.SecurityTests)})
}

func (w sliceWorker) park(context.Context) ([]call, error) {
	return w.set(field{"status", "verifying"}, field{"step", "verifying"},
		field{"waiting_for", "a person to look at it (rehearsal)"})
}

// A glCommand runs gl with arguments and returns its output.
type glCommand func(ctx context.Context, args ...string) ([]byte, error)

// runGL runs gl itself in the project. It passes on the environment, so gl knows which attempt
// calls.
func runGL(self, root string) glCommand {
	return func(ctx context.Context, args ...string) ([]byte, error) {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr = "gl", root, &stdout, &stderr
		err := cmd.Run()
		if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
			err = errors.New(text)
		}
		return stdout.Bytes(), err
	}
}

func (gl glCommand) call(args ...string) call {
	return call{"gl " + strings.Join(args, " "), func(ctx context.Context) error {
		_, err := gl(ctx, args...)
		return err
	}}
}

// try returns a call whose failure the agent sees and continues after.
func (gl glCommand) try(args ...string) call {
	c := gl.call(args...)
	do := c.do
	c.do = func(ctx context.Context) error {
		return seen(do(ctx))
	}
	return c
}

// A toolError is shown to the agent as the result of its call, and doesn't end the attempt.
type toolError struct{ error }

// rehearsed returns a name for something that only a rehearsal made.
func rehearsed(n int) string { return fmt.Sprintf("rehearsal-%d", n) }
