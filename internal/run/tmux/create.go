package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The size of windows without an attached client. 80x24 has no room for a sixth pane.
const (
	width  = "220"
	height = "55"
)

// create starts the server, if it isn't running, and the session with its first pane.
func (s *Session) create(ctx context.Context, p Placement) (pid int, err error) {
	args := append(s.options(), "new-session", "-d", "-P", "-F", answer, "-s", s.Name)
	args = append(append(args, "-x", width, "-y", height, "-c", closing(literal(p.Dir))), p.Argv...)
	args = append(append(args, ";"), s.statusBar(p.Bar)...)
	argv := append(scope(ctx, s.env), s.argv(args...)...)
	for try := range 10 { // a server that is exiting refuses, or takes the client down with it
		id, pid, failed := placed(s.exec(ctx, argv, "new-session"))
		if err = failed; err == nil {
			s.dress(ctx, id, p)
			return pid, nil
		}
		if strings.Contains(err.Error(), "duplicate session") { // another gl was faster
			if panes, listErr := s.Panes(ctx); listErr == nil && len(panes) > 0 {
				return s.add(ctx, panes, p)
			}
		} else if !errors.Is(err, ErrNone) {
			break
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Duration(try+1) * 20 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("start a tmux session: %w", err)
}

// options starts the server and sets what must hold before the first command can end (a pane
// whose command ends closes its window) and before the first client detaches. These are this
// private server's own options, and come after the person's tmux.conf, which has been read for
// its keys and colors.
func (s *Session) options() []string {
	return []string{
		"start-server", ";",
		"set-option", "-g", "remain-on-exit", "on", ";",
		// Disable tmux's message: it moves the cursor to the last line, and a pane that shrinks
		// keeps the end.
		"set-option", "-gq", "remain-on-exit-format", "", ";",
		"set-option", "-g", "history-limit", "20000", ";",
		"set-option", "-g", "destroy-unattached", "off", ";",
		"set-option", "-s", "exit-unattached", "off", ";",
		// otherwise it becomes gl[dead] when an agent ends
		"set-option", "-gw", "automatic-rename", "off", ";",
		"set-option", "-gu", "status-format", ";", // a custom one might omit status-right
	}
}

// wayBack is what the status line says to a person who knows no tmux.
const wayBack = "#{prefix} d: back  #{prefix} z: one pane or all"

// statusBar returns the setup of a session whose status line shows the output of a program. A
// path could contain text that tmux or the shell would interpret; in the server's environment
// it is safe from both.
func (s *Session) statusBar(b StatusBar) []string {
	// set-option takes a pane as its target and finds the session from it
	session := s.target() + ":"
	return []string{
		"set-environment", "-g", "GREENLIGHT_ROOT", closing(b.Root), ";",
		"set-environment", "-g", "GL_PROGRAM", closing(b.Program), ";",
		"set-option", "-t", session, "status", "on", ";",
		"set-option", "-t", session, "status-interval", "5", ";",
		// the way back, with the person's own prefix
		"set-option", "-t", session, "status-left-length", "60", ";",
		"set-option", "-t", session, "status-left", " " + wayBack + "  ", ";",
		"set-option", "-t", session, "status-right-length", "60", ";",
		"set-option", "-t", session, "status-right", `#("$GL_PROGRAM" status --compact) `,
	}
}

// scopeLimit is how long systemd may take to answer whether it grants a scope.
const scopeLimit = 2 * time.Second

// scope returns the beginning of a command line that puts the server into a systemd scope of
// its own, because the end of an ssh session can kill everything started in it. It is empty if
// there is no systemd user instance, or if it doesn't answer.
func scope(ctx context.Context, env []string) []string {
	dir := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "XDG_RUNTIME_DIR="); ok {
			dir = value
		}
	}
	program, err := exec.LookPath("systemd-run")
	if dir == "" || err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "systemd", "private")); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, scopeLimit)
	defer cancel()
	argv := []string{program, "--user", "--scope", "--quiet", "--collect", "--"}
	probe := exec.CommandContext(ctx, argv[0], append(argv[1:len(argv):len(argv)], "true")...)
	probe.Dir, probe.Env, probe.WaitDelay = "/", env, time.Second
	if probe.Run() != nil {
		return nil
	}
	return argv
}
