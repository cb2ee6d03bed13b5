package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/paths"
)

// A RejectedError says that a remote rejected a push, in git's words.
type RejectedError struct {
	Remote, Reason string
	Behind         bool // the remote's branch has commits that aren't in what was pushed
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s rejected the push: %s", e.Remote, e.Reason)
}

// pushLimit is how long a push may take.
const pushLimit = 10 * time.Minute

// RemoteOf returns the remote that belongs to a branch: the one that is configured for it, origin,
// or the only one there is; "" for none.
func RemoteOf(ctx context.Context, common, branch string) (string, error) {
	name, err := quiet(ctx, common, "--git-dir="+common, "config", "--get",
		"branch."+strings.TrimPrefix(branch, "refs/heads/")+".remote")
	if err != nil {
		return "", err
	}
	out, err := quiet(ctx, common, "--git-dir="+common, "remote")
	if err != nil {
		return "", err
	}
	all := strings.Fields(out)
	switch {
	case slices.Contains(all, name):
		return name, nil
	case slices.Contains(all, "origin"):
		return "origin", nil
	case len(all) == 1:
		return all[0], nil
	}
	return "", nil
}

// PushSettings returns the settings of the repository's own configuration that decide where pushes
// go and which programs they start. A password in a URL isn't shown.
func PushSettings(ctx context.Context, dir string) ([]Setting, error) {
	pattern := `^(core\.(sshcommand|askpass|gitproxy)|credential\.(.*\.)?helper|url\..*\.(insteadof|pushinsteadof)|remote\..*\.(url|pushurl|receivepack|vcs|proxy))$`
	var list []Setting
	for _, file := range []string{"--local", "--worktree"} {
		out, err := run(ctx, dir, "config", "--includes", file, "-z", "--get-regexp", pattern)
		if exit := new(exec.ExitError); err != nil &&
			(file == "--worktree" || errors.As(err, &exit) && exit.ExitCode() == 1) {
			continue // there is none; or, as for filters, no configuration of the worktree alone
		}
		if err != nil {
			return nil, err
		}
		for _, line := range split(out) {
			key, value, _ := strings.Cut(line, "\n")
			if scheme, rest, is := strings.Cut(value, "://"); is {
				if _, at, has := strings.Cut(rest, "@"); has {
					value = scheme + "://…@" + at
				}
			}
			// Without an extension, both are one file.
			if s := (Setting{key, value}); !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}

// Push makes a branch of the remote a local one's commit. Without lease, the commit at which the
// remote's branch has to be, it only moves the branch forward. Hooks don't run. Credentials come
// from the person's usual place; nothing is asked on the terminal. If the remote rejects the push,
// the error is a *RejectedError.
func Push(ctx context.Context, common, remote, branch, lease string) error {
	program, err := paths.Program("git", "")
	if err != nil {
		return ErrMissing
	}
	ctx, cancel := context.WithTimeout(ctx, pushLimit)
	defer cancel()
	cmd, err := command(ctx, common)
	if err != nil {
		return err
	}
	options := slices.DeleteFunc(overrides(), func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return slices.Contains([]string{"core.sshCommand", "core.askPass", "credential.helper"},
			key)
	})
	cmd.Args = slices.Concat([]string{program, "--no-pager"},
		settings(append(options, "push.followTags=false", "push.recurseSubmodules=no")...),
		[]string{"--git-dir=" + common, "push", "--porcelain", "--no-verify", "--no-signed"})
	if lease != "" {
		cmd.Args = append(cmd.Args, "--force-with-lease="+branch+":"+lease)
	}
	cmd.Args = append(cmd.Args, "--", remote, branch+":"+branch)
	// ext:: would run what the remote's URL says.
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GCM_INTERACTIVE=never")
	if !slices.ContainsFunc(cmd.Env, func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_SSH_COMMAND=") || strings.HasPrefix(kv, "GIT_SSH=")
	}) {
		ssh, err := quiet(ctx, common, "--git-dir="+common, "config", "--get", "core.sshCommand")
		if err != nil {
			return err
		}
		if ssh == "" {
			cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
		}
	}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err == nil {
		return nil
	} else if ctx.Err() != nil {
		return fmt.Errorf("git push: %w", ctx.Err())
	} else {
		return rejected(remote, out.String(), errOut.String(), err)
	}
}

// rejected returns the most informative line of a failed push.
func rejected(remote, out, words string, err error) error {
	reason, isError := "", false
	for line := range strings.Lines(words) {
		line = strings.TrimSpace(line)
		said, ofRemote := strings.CutPrefix(line, "remote: ")
		is := ofRemote && strings.HasPrefix(strings.ToLower(said), "error:") ||
			strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "ERROR:")
		if !isError && (is || reason == "" && ofRemote) { // the first error says most
			reason, isError = strings.TrimSpace(said), is
		}
	}
	for line := range strings.Lines(out) { // "!\tFROM:TO\t[rejected] (fetch first)"
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 && f[0] == "!" {
			behind := strings.Contains(f[2], "fetch first") ||
				strings.Contains(f[2], "non-fast-forward") || strings.Contains(f[2], "stale info")
			if reason == "" || behind {
				reason = f[2]
			}
			return &RejectedError{remote, reason, behind}
		}
	}
	if reason != "" {
		return fmt.Errorf("can't push to %s: %s", remote, strings.TrimPrefix(reason, "fatal: "))
	}
	return failed(context.Background(), "push", words, err)
}
