package git

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The other end of a stream is a git that serves a fetch or a push already: git calls that its
// transport fd. So git needs no address, no login and no helper, and the caller has the connection.

// streamed is the number of a stream in git's process: the first after its three own ones.
const streamed = "fd::3"

// FetchStream fetches the refs of the other end that are below a name, as they are named there. The
// repository is gl's own.
func FetchStream(ctx context.Context, repo string, stream *os.File, below string) error {
	below = strings.TrimSuffix(below, "/") + "/*"
	_, err := overStream(ctx, repo, stream, "fetch.fsckObjects=true", "fetch", "-q", "--no-tags",
		"--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
		streamed, "+"+below+":"+below)
	return err
}

// PushStream makes a commit the ref at the other end, wherever that was before.
func PushStream(ctx context.Context, repo string, stream *os.File, commit, ref string) error {
	words, err := overStream(ctx, repo, stream, "push.recurseSubmodules=no", "push", "-q",
		"--no-verify", "--no-signed", "--no-thin", streamed, "+"+commit+":"+ref)
	if err != nil {
		return rejected("the coordinator", "", words, err)
	}
	return nil
}

func overStream(ctx context.Context, repo string, stream *os.File, setting string,
	args ...string) (words string, err error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	cmd, err := command(ctx, repo, slices.Concat(settings(setting, "gc.auto=0",
		"maintenance.auto=false", "protocol.fd.allow=always"), []string{"--git-dir=" + repo}, args)...)
	if err != nil {
		return "", err
	}
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=fd")
	cmd.ExtraFiles = []*os.File{stream}
	var errs strings.Builder
	cmd.Stderr = &limited{to: &errs, left: 64 << 10}
	if err := cmd.Run(); err != nil {
		return errs.String(), failed(ctx, verbOf(args), errs.String(), err)
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("git %s: %w", verbOf(args), ctx.Err())
	}
	return "", nil
}
