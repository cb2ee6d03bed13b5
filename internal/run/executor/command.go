package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/command"
	"greenlight/internal/base/text/lines"
)

// lineBytes is how many bytes of a line are examined for the last informative one.
const lineBytes = 256 << 10

// Command runs a configured command to its end. If ctx ends, the command is ended, and the
// error is ctx's. Other errors mean that the command couldn't be started.
func Command(ctx context.Context, x Starter, s command.Spec) (command.Result, error) {
	j := Job{Argv: s.Argv, Dir: s.Dir, Env: s.Env, Files: s.Files, Box: s.Box, Limit: s.Limit}
	if s.Mark != "" {
		j.Env, j.Marks, j.Leaves = append(slices.Clip(s.Env), s.Mark), []string{s.Mark}, Nothing
	}
	record := s.Started
	if record == nil {
		record = func(command.Handle) error { return nil }
	}
	run, err := x.Start(ctx, j, record)
	if err != nil {
		return command.Result{}, err
	}
	var last command.LastWords
	hear := func(p lines.Piece) {
		if !p.Rest {
			last.Hear(strings.TrimRight(string(p.Text), "\r\n"))
		}
	}
	split := lines.NewSplitter(lineBytes)
	for c := range run.Output() {
		if s.Log != nil {
			_, _ = s.Log.Write(c.Data) // a full disk must not end a command
		}
		split.Write(c.Data, hear)
	}
	split.End(hear)
	res, err := run.Wait()
	res.Last = last.Text
	if res.NotStarted != "" {
		return res, fmt.Errorf("%s can't be started: %s", res.Program, res.NotStarted)
	}
	return res, err
}

// Commands returns Command for one executor.
func Commands(x Executor) func(context.Context, command.Spec) (command.Result, error) {
	return func(ctx context.Context, s command.Spec) (command.Result, error) {
		return Command(ctx, x, s)
	}
}
