package cmdutil

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

func TestExit(t *testing.T) {
	taken := &ops.TakenError{Reason: "S-1 is claimed"}
	argument := &ops.ArgumentError{Err: errors.New("no such key")}
	for _, tt := range []struct {
		err   error
		code  int
		print string
	}{
		{nil, ExitOK, ""},
		{errors.New("x\x1b"), ExitFailed, "gl: x\\x1b\n"},
		{ops.ErrNothingToDo, ExitFailed, "gl: nothing to do\n"},
		{Usage("which slice?"), ExitUsage, "gl: which slice?\n"},
		{&ExitError{Code: 130}, 130, ""},
		{taken, ExitClaimed, "gl: S-1 is claimed\n"},
		{&attempt.AdmitError{Taken: true, Reason: plan.Reason{ID: "S-1", State: "running"}},
			ExitClaimed, "gl: S-1 is running\n"},
		{&attempt.AdmitError{Reason: plan.Reason{ID: "S-1", State: "blocked"}}, ExitFailed,
			"gl: S-1 is blocked\n"},
		{argument, ExitUsage, "gl: no such key\n"},
		{Usage("--deps: %w", argument), ExitUsage, "gl: --deps: no such key\n"},
		{errors.Join(errors.New("x"), fmt.Errorf("y: %w", taken)), ExitClaimed,
			"gl: x\ny: S-1 is claimed\n"},
	} {
		var out, errs bytes.Buffer
		io := iostreams.New(strings.NewReader(""), &out, &errs, nil)
		if code := Exit(io, tt.err); code != tt.code || out.Len() > 0 {
			t.Errorf("%v: exit code %d, want %d; stdout %q", tt.err, code, tt.code, out.String())
		}
		if errs.String() != tt.print {
			t.Errorf("%v: printed %q", tt.err, errs.String())
		}
	}
}
