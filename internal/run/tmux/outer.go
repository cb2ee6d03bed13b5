package tmux

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// An Outer is the tmux in whose pane gl runs: the person's own, with its own server and prefix.
type Outer struct {
	socket string
	env    []string
}

// In returns the tmux that the environment names, nil for none.
func In(env []string) *Outer {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, "TMUX="); ok {
			socket, _, _ := strings.Cut(value, ",")
			if socket == "" {
				return nil
			}
			return &Outer{socket, env}
		}
	}
	return nil
}

// Has reports whether a session is on this very server: then its terminal already shows the
// session.
func (o *Outer) Has(s *Session) bool {
	return o != nil && realPath(o.socket) == realPath(s.path)
}

func realPath(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// Popup shows the session in a popup over the outer tmux until the person detaches. All keys in
// a popup go to the program in it, so the session has its own prefix, without interference from
// the outer one. Popup returns false if it isn't possible: before tmux 3.2, or if no client is
// attached to the outer tmux.
func (o *Outer) Popup(ctx context.Context, s *Session) bool {
	argv := []string{"-S", o.socket, "display-popup", "-E", "-w", "95%", "-h", "95%"}
	// The popup has the outer server's environment, which may name another directory for
	// sockets.
	argv = append(argv, "env", "-u", "TMUX", "-u", "TMUX_PANE", "tmux", "-u", "-S", s.path,
		"attach-session", "-t", s.Name)
	cmd := exec.CommandContext(ctx, "tmux", argv...)
	var words strings.Builder
	cmd.Env, cmd.Stderr = o.env, &words
	// tmux prints its own failures to stderr. The exit status is that of the program in the
	// popup.
	return cmd.Run() == nil || strings.TrimSpace(words.String()) == ""
}

// Detach returns the keys that detach the session while it is nested in this tmux. The outer
// prefix goes to the outer tmux, which passes it on if it is typed twice.
func (o *Outer) Detach(ctx context.Context, s *Session) string {
	inner := prefixOf(s.run(ctx, "show-options", "-gqv", "prefix"))
	cmd := exec.CommandContext(ctx, "tmux", "-S", o.socket, "show-options", "-gqv", "prefix")
	cmd.Env = o.env
	out, err := cmd.Output()
	if outer := prefixOf(string(out), err); outer != inner {
		return inner + " d"
	}
	return inner + " " + inner + " d"
}

func prefixOf(out string, err error) string {
	if key := strings.TrimSpace(out); err == nil && key != "" {
		return key
	}
	return "C-b"
}

// Attach attaches a terminal to the session until the person detaches.
func (s *Session) Attach(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	argv := s.AttachArgv()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.env, in, out, errs
	return cmd.Run()
}
