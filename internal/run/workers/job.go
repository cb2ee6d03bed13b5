package workers

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/command"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
)

// ErrStaysHere is returned for a job that only a process of this machine can be.
var ErrStaysHere = errors.New("a worker can't have it")

// CommandOf returns a job's program as it is sent to a worker. Paths below top, the worktree's
// place on this machine, become the placeholder that the worker replaces.
func CommandOf(j executor.Job, top, program string) (remote.Command, error) {
	var c remote.Command
	switch {
	case len(j.Argv) == 0:
		return c, errors.New("the command is empty")
	case len(j.Files) > 0:
		return c, fmt.Errorf("a process inherits open files: %w", ErrStaysHere)
	case j.Box != nil:
		return c, fmt.Errorf("its sandbox is made by this process: %w", ErrStaysHere)
	}
	dir, ok := paths.Below(top, j.Dir)
	if !ok {
		return c, fmt.Errorf("%s isn't in the worktree: %w", j.Dir, ErrStaysHere)
	}
	if dir = filepath.ToSlash(dir); dir == "." {
		dir = ""
	}
	c = remote.Command{
		Program: program, Argv: There(j.Argv, top), Env: There(j.Env, top), Dir: dir, Marks: j.Marks,
		Limit: j.Limit.Milliseconds(), Leaves: "nothing", Apart: j.Apart, Talks: j.Talks, Unwrap: j.Unwrap,
	}
	if j.Leaves == executor.Services {
		c.Leaves = "services"
	}
	for _, list := range [][]string{c.Argv, c.Env} {
		for _, text := range list {
			if !utf8.ValidString(text) {
				return c, fmt.Errorf("%.80q isn't UTF-8: %w", text, ErrStaysHere)
			}
		}
	}
	return c, nil
}

// There replaces a path of this machine by the worktree's placeholder.
func There(list []string, top string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ReplaceAll(s, top, remote.WorktreePlace)
	}
	return out
}

// Fits reports why a job can't be sent.
func Fits(name string, job remote.Job) error {
	place := &remote.Place{Fence: remote.Fence{Attempt: name, Lease: 1}, Serial: 1, Job: job}
	if _, err := remote.Encode(place); err != nil {
		return fmt.Errorf("%w: %w", ErrStaysHere, err)
	}
	return nil
}

// ResultOf returns a worker's result as that of a job here.
func ResultOf(r *remote.Result) (command.Result, error) {
	res := command.Result{
		Program: string(r.Program), ExitCode: r.ExitCode, Signal: string(r.Signal), TimedOut: r.TimedOut,
		OutOfMemory: r.Memory, Last: string(r.Last), Duration: time.Duration(r.Took) * time.Millisecond,
	}
	for _, left := range r.Left {
		res.Left = append(res.Left, string(left))
	}
	if r.Leftover != "" {
		res.Leftover = errors.New(string(r.Leftover))
	}
	switch r.How {
	case remote.Failed:
		if r.Program != "" {
			res.NotStarted = string(r.Reason)
			return res, nil
		}
		return res, &executor.PlaceError{Reason: string(r.Reason)}
	case remote.Crashed:
		res.ExitCode, res.Unseen = -1, true
	}
	return res, nil
}
