package cmdutil

import (
	"errors"
	"fmt"

	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
)

// The exit codes; each command's help names those it can return.
const (
	ExitOK      = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitClaimed = 3
	ExitMissing = 127
	ExitSignal  = 128 // plus the signal's number
)

// ExitHelp is the paragraph of a command's help that lists all exit codes.
const ExitHelp = `
Exit codes: 0 done; 1 it failed, or some slices aren't done; 2 wrong usage; 3 claimed by another session;
127 the agent's program is not on PATH; 130, 143 interrupted.`

// An ExitError carries an exit code. If Err is nil, it was already printed.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usage returns an error in how a command was called.
func Usage(format string, a ...any) error { return &ExitError{ExitUsage, fmt.Errorf(format, a...)} }

// Taken returns a refusal because another session has the slice.
func Taken(format string, a ...any) error {
	return &ExitError{ExitClaimed, fmt.Errorf(format, a...)}
}

// Exit prints an error unless it was printed, and returns its exit code. No other function maps
// errors to exit codes.
func Exit(io *iostreams.Streams, err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit) && exit.Err == nil:
		return exit.Code
	}
	io.Fail(err.Error())
	return codeOf(err)
}

func codeOf(err error) int {
	var exit *ExitError
	var admit *attempt.AdmitError
	var taken *ops.TakenError
	var argument *ops.ArgumentError
	switch {
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &taken), errors.As(err, &admit) && admit.Taken:
		return ExitClaimed
	case errors.As(err, &argument):
		return ExitUsage
	}
	return ExitFailed
}
