package git

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// Included lists the files of the checkout at top that git ignores and that also match the patterns
// in a file, which has the syntax of a .gitignore. A directory with a repository of its own is one
// entry, with a slash at its end.
func Included(ctx context.Context, top, patterns string) ([]string, error) {
	out, err := runFor(ctx, time.Minute, top, "", "ls-files", "-z", "-o", "-i",
		"--exclude-from="+patterns)
	if err != nil || out == "" {
		return nil, err
	}
	out, err = runFor(ctx, time.Minute, top, out, "check-ignore", "-z", "--stdin")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // none of them is ignored
		return nil, nil
	}
	return split(out), err
}

// Untracked lists what git doesn't track at or under the paths, relative to the checkout's top:
// ignored files and others. A repository of its own is an entry with a slash at its end.
func Untracked(ctx context.Context, top string,
	paths ...string) (ignored, others []string, err error) {
	all, err := run(ctx, top, append([]string{"--literal-pathspecs", "ls-files", "-z", "-o", "--"},
		paths...)...)
	if err != nil || all == "" {
		return nil, nil, err
	}
	rest, err := run(ctx, top, append([]string{"--literal-pathspecs", "ls-files", "-z", "-o",
		"--exclude-standard", "--"}, paths...)...)
	if err != nil {
		return nil, nil, err
	}
	open := map[string]bool{}
	for _, p := range split(rest) {
		open[p] = true
	}
	for _, p := range split(all) {
		if open[p] {
			others = append(others, p)
		} else {
			ignored = append(ignored, p)
		}
	}
	return ignored, others, nil
}
