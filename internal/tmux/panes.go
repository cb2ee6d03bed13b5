package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The size of windows that nobody is attached to. 80x24 has no room for a sixth pane.
const (
	width  = "220"
	height = "55"
)

// A Pane is a pane of the session.
type Pane struct {
	ID       string // %N; means something only on the server that gave it
	Window   string // @N
	Tag      string // what Place was given; "" for a pane that somebody else made
	Dead     bool   // its command has ended
	Attached bool   // a client looks at the session
}

// tagOption is the user option that holds a pane's tag. It survives a respawn, unlike the title, which programs change.
const tagOption = "@gl_attempt"

// Panes returns the panes of the session, none where there is no session.
func (s *Session) Panes(ctx context.Context) ([]Pane, error) {
	out, err := s.run(ctx, "list-panes", "-s", "-t", s.target(), "-F",
		"#{pane_id}\t#{window_id}\t#{pane_dead}\t#{session_attached}\t#{"+tagOption+"}")
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var panes []Pane
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 5)
		if len(f) == 5 && strings.HasPrefix(f[0], "%") {
			panes = append(panes, Pane{ID: f[0], Window: f[1], Dead: f[2] == "1", Attached: f[3] != "0", Tag: f[4]})
		}
	}
	return panes, nil
}

// A Placement is a command to be shown in a pane.
type Placement struct {
	Tag   string
	Title string   // in the pane's border; control characters must be gone already
	Argv  []string // at least two words; run as they are, never by a shell
	Bar   StatusBar
}

// A StatusBar shows `gl status --compact` of a project at the right of the session's status line.
type StatusBar struct {
	Program string // path of gl
	Root    string
}

// Place runs the command in a pane of its own: a dead pane that reuse names, else a new one beside the others, else one
// in a further window. Panes stay when their command ends.
func (s *Session) Place(ctx context.Context, p Placement, reuse func(tag string) bool) error {
	argv, err := command(p.Argv)
	if err != nil {
		return err
	}
	panes, err := s.Panes(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(panes, func(q Pane) bool { return q.Dead && reuse(q.Tag) }); i >= 0 {
		_, err := s.run(ctx, append([]string{"respawn-pane", "-k", "-t", panes[i].ID}, argv...)...)
		if err == nil {
			return s.label(ctx, panes[i].ID, p)
		}
	}
	id, err := s.add(ctx, panes, argv, p.Bar)
	if err != nil {
		return err
	}
	return s.label(ctx, id, p)
}

// add makes a new pane and returns its id.
func (s *Session) add(ctx context.Context, panes []Pane, argv []string, bar StatusBar) (string, error) {
	if len(panes) == 0 {
		return s.create(ctx, argv, bar)
	}
	if target, ok := roomiest(panes); ok {
		// The layout is tiled after each split: else the sixth finds no room.
		out, err := s.run(ctx, append([]string{"split-window", "-d", "-P", "-F", "#{pane_id}", "-c", "/", "-t", target}, argv...)...)
		if err == nil {
			s.run(ctx, "select-layout", "-t", target, "tiled")
			return strings.TrimSpace(out), nil
		}
		if errors.Is(err, ErrNone) {
			return s.create(ctx, argv, bar)
		}
	}
	// No room: a further window. The target ends in ":" because a window is meant, not a pane.
	out, err := s.run(ctx, append([]string{"new-window", "-d", "-P", "-F", "#{pane_id}", "-c", "/", "-t", s.target() + ":"}, argv...)...)
	return strings.TrimSpace(out), err
}

// perWindow is how many panes share a window: more can't be read.
const perWindow = 9

// roomiest is a pane of the first window that isn't full.
func roomiest(panes []Pane) (id string, ok bool) {
	count := make(map[string]int)
	for _, p := range panes {
		count[p.Window]++
	}
	for _, p := range panes {
		if count[p.Window] < perWindow {
			return p.ID, true
		}
	}
	return "", false
}

// create starts the server, if there is none, and the session. Options that must hold before the first command may end
// (a pane whose command is gone takes its window along) are set before it, on this server, which is ours alone.
func (s *Session) create(ctx context.Context, argv []string, bar StatusBar) (string, error) {
	args := []string{
		"start-server", ";",
		"set-option", "-g", "remain-on-exit", "on", ";",
		"set-option", "-g", "history-limit", "20000", ";",
		"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", s.Name, "-x", width, "-y", height, "-c", "/",
	}
	args = append(append(args, argv...), ";")
	args = append(args, s.statusBar(bar)...)
	var out string
	var err error
	for try := range 10 { // a server that is just going away refuses, or takes the client along
		if out, err = s.run(ctx, args...); err == nil {
			return strings.TrimSpace(out), nil
		}
		if strings.Contains(err.Error(), "duplicate session") {
			panes, listErr := s.Panes(ctx)
			if listErr == nil && len(panes) > 0 {
				return s.add(ctx, panes, argv, bar)
			}
		} else if !errors.Is(err, ErrNone) {
			break
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Duration(try+1) * 20 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("start a tmux session: %w", err)
}

// label tags the pane and puts the title into its border. A pane that is gone by now needs none.
func (s *Session) label(ctx context.Context, id string, p Placement) error {
	_, err := s.run(ctx, "set-option", "-p", "-t", id, tagOption, p.Tag, ";",
		"select-pane", "-t", id, "-T", literal(p.Title), ";",
		"set-option", "-w", "-t", id, "remain-on-exit", "on", ";",
		"set-option", "-w", "-t", id, "pane-border-status", "top", ";",
		"set-option", "-w", "-t", id, "pane-border-format", " #{pane_title} ")
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// Select makes the pane the one that is looked at.
func (s *Session) Select(ctx context.Context, p Pane) error {
	_, err := s.run(ctx, "select-window", "-t", p.Window, ";", "select-pane", "-t", p.ID)
	return err
}

// CloseIdle ends the session if no command of it runs and nobody is looking.
func (s *Session) CloseIdle(ctx context.Context) error {
	panes, err := s.Panes(ctx)
	if err != nil || len(panes) == 0 {
		return err
	}
	for _, p := range panes {
		if !p.Dead || p.Attached {
			return nil
		}
	}
	_, err = s.run(ctx, "kill-session", "-t", s.target())
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// statusBar is the setup of a session whose status line shows the output of a program. A path could hold anything that
// tmux or the shell would take for its own; in the server's environment it is safe from both.
func (s *Session) statusBar(b StatusBar) []string {
	session := s.target() + ":" // set-option takes a pane for its target and finds the session by it
	args := []string{"set-environment", "-g", "GREENLIGHT_ROOT", closing(b.Root), ";", "set-environment", "-g", "GL_PROGRAM", closing(b.Program), ";"}
	return append(args,
		"set-option", "-t", session, "status", "on", ";",
		"set-option", "-t", session, "status-interval", "5", ";",
		"set-option", "-t", session, "status-right-length", "60", ";",
		"set-option", "-t", session, "status-right", `#("$GL_PROGRAM" status --compact) `)
}
