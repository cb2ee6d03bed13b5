package hands

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/relay"
	"greenlight/internal/core/remote"
)

const (
	// askLimit is how long an agent's command waits for the coordinator.
	askLimit = 2 * time.Minute
	// hookLimit is that of a hook, for which the agent's client itself waits.
	hookLimit = 20 * time.Second
)

// asks are the commands that a job's agent runs: its gl sends them to a socket, and the
// coordinator runs them.
type asks struct {
	run      *run
	path     string
	listener net.Listener
	top      string // the job's worktree
	short    string // a directory of its own, "" for none
}

// longestSocket is how long the path of a socket may be on every system.
const longestSocket = 100

// listen begins to take commands, at a socket in the directory for temporary files, or where its
// path is shorter. The program may reach it from its sandbox.
func listen(dir string, r *run) (*asks, error) {
	a := &asks{run: r, path: filepath.Join(dir, socketName), top: r.site.Lineage.Path}
	if len(a.path) > longestSocket {
		short, err := os.MkdirTemp("/tmp", "gl-")
		if err != nil {
			return nil, err
		}
		a.path, a.short = filepath.Join(short, socketName), short
		r.site.Sandbox.Caches = append(slices.Clone(r.site.Sandbox.Caches), short)
	}
	if err := removeSocket(a.path); err != nil {
		return nil, err
	}
	var err error
	if a.listener, err = net.Listen("unix", a.path); err != nil {
		return nil, err
	}
	go relay.Serve(a.listener, a.answer)
	return a, nil
}

func (a *asks) close() {
	a.listener.Close()
	if a.short != "" {
		_ = os.RemoveAll(a.short) // an empty directory for temporary files
	}
}

// answer has a command run by the coordinator.
func (a *asks) answer(ctx context.Context, c relay.Call) relay.Reply {
	hook := len(c.Argv) > 0 && c.Argv[0] == "hook"
	limit := askLimit
	if hook {
		limit = hookLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got, err := a.run.place.inquire(ctx, a.inquiry(c))
	switch {
	case err != nil && hook: // which never prevents work
		return relay.Reply{}
	case err != nil:
		return relay.Reply{ExitCode: 1, Errors: []byte("gl: the coordinator didn't answer within " +
			limit.String() + ", so the command may not have run: check with gl slice, and repeat it\n")}
	}
	home, here := []byte(remote.WorktreePlace), []byte(a.top)
	return relay.Reply{ExitCode: got.ExitCode, Output: bytes.ReplaceAll(got.Output, home, here),
		Errors: bytes.ReplaceAll(got.Errors, home, here)}
}

// inquiry is the command with the placeholder where it names the worktree.
func (a *asks) inquiry(c relay.Call) remote.Inquire {
	q := remote.Inquire{Fence: a.run.f,
		Input: bytes.ReplaceAll(c.Input, []byte(a.top), []byte(remote.WorktreePlace))}
	for _, arg := range c.Argv {
		q.Argv = append(q.Argv, strings.ReplaceAll(arg, a.top, remote.WorktreePlace))
	}
	if dir, ok := paths.Below(a.top, c.Dir); ok && dir != "." {
		q.Dir = filepath.ToSlash(dir)
	}
	return q
}
