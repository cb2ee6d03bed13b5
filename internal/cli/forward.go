package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"greenlight/internal/base/command"
	"greenlight/internal/base/relay"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/hook"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/rehearsal"
)

// staysLocal reports whether a command is about this gl and this machine rather than the state of
// the project: agents on workers run it where they are.
func staysLocal(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return slices.Contains([]string{command.GateArg, command.InsideArg, rehearsal.Command, "version",
		"help", "ref", "completion"}, args[0])
}

// readsInput reports whether a command reads standard input. That of others isn't read: an agent
// may have it open forever.
func readsInput(args []string) bool {
	return args[0] == hookCommand || args[0] == "do" && slices.Contains(args, "-")
}

// forward has a command of an agent on a worker run by the coordinator, which has the state.
func forward(ctx context.Context, socket string, args []string, s *iostreams.Streams) error {
	c := relay.Call{Argv: args}
	var err error
	if c.Dir, err = os.Getwd(); err != nil {
		return err
	}
	if len(args) > 0 && readsInput(args) {
		if c.Input, err = io.ReadAll(io.LimitReader(s.In, relay.MaxInput+1)); err != nil {
			return err
		}
	}
	guards := slices.Equal(args, []string{hookCommand, hook.Guard})
	if len(c.Input) > relay.MaxInput {
		if len(args) > 0 && args[0] == hookCommand && !guards {
			return nil // a hook never prevents work
		}
		return cmdutil.Usage("the call is longer than %d KB, which gl doesn't check on a worker: write the file in parts",
			relay.MaxInput>>10)
	}
	r, err := relay.Ask(ctx, socket, c)
	if err != nil {
		if len(args) > 0 && args[0] == hookCommand {
			return nil
		}
		return errors.Join(errors.New("the worker that runs this agent can't be reached"), err)
	}
	if _, err := s.Write(r.Output); err != nil {
		return err
	}
	if _, err := s.Err.Write(r.Errors); err != nil {
		return err
	}
	if r.ExitCode != 0 {
		return &cmdutil.ExitError{Code: r.ExitCode}
	}
	return nil
}
