package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Pane is a pane of the session.
type Pane struct {
	ID       string // %N; meaningful only on the server that assigned it
	Window   string // @N
	Tag      string // as given to Place; "" for a pane that Place didn't create
	Dead     bool   // its command has ended
	Attached bool   // a client is attached to the session
	Browsed  bool   // a client is scrolling in it
}

// tagOption is the user option that holds a pane's tag. It survives a respawn, unlike the
// title, which programs change.
const tagOption = "@gl_attempt"

// Panes returns the panes of the session, none if there is no session.
func (s *Session) Panes(ctx context.Context) ([]Pane, error) {
	out, err := s.run(ctx, "list-panes", "-s", "-t", s.target()+":", "-F",
		"#{pane_id} #{window_id} #{pane_dead} #{session_attached} #{pane_in_mode} #{"+tagOption+"}")
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var panes []Pane
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", 6)
		if len(f) == 6 && strings.HasPrefix(f[0], "%") {
			panes = append(panes, Pane{ID: f[0], Window: f[1], Dead: f[2] == "1",
				Attached: f[3] != "0", Browsed: f[4] != "0", Tag: f[5]})
		}
	}
	return panes, nil
}

// A Placement is a command to show in a pane.
type Placement struct {
	Tag   string
	Title string   // in the pane's border; must not contain control characters
	Argv  []string // at least two words; executed as they are, never by a shell
	// also the directory of panes split off by the person; tmux ignores a missing one
	Dir string
	Bar StatusBar
}

// A StatusBar shows `gl status --compact` of a project at the right of the session's status
// line.
type StatusBar struct {
	Program string // path of gl
	Root    string
}

// Place runs the command in a pane of its own: a dead pane accepted by reuse, or else a new one
// beside the others, or else one in another window. Panes stay when their command ends. It
// returns the command's pid. After an error the command may be running anyway, even twice.
func (s *Session) Place(ctx context.Context, p Placement,
	reuse func(tag string) bool) (pid int, err error) {
	if p.Argv, err = command(p.Argv); err != nil {
		return 0, err
	}
	pid, rest, err := s.respawn(ctx, s.takeIdle(), p, reuse)
	s.putIdle(rest)
	if err == nil || errors.Is(err, ErrSilent) {
		return pid, err
	}
	panes, err := s.Panes(ctx)
	if err != nil {
		return 0, err
	}
	pid, rest, err = s.respawn(ctx, panes, p, reuse)
	s.putIdle(rest)
	if err == nil || errors.Is(err, ErrSilent) {
		return pid, err
	}
	return s.add(ctx, panes, p)
}

// Look starts to find out which panes are dead, so that the next Place needn't ask. By then
// another process may have used or closed them; tmux will report that.
func (s *Session) Look(ctx context.Context) {
	look := make(chan []Pane, 1)
	s.mu.Lock()
	s.look = look
	s.mu.Unlock()
	go func() {
		panes, _ := s.Panes(ctx)
		look <- panes
	}()
}

// takeIdle returns the panes that Look found, without those used since. No two callers get the
// same pane.
func (s *Session) takeIdle() []Pane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look != nil {
		s.idle, s.look = <-s.look, nil
	}
	idle := s.idle
	s.idle = nil
	return idle
}

// putIdle returns the unused panes.
func (s *Session) putIdle(rest []Pane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = rest
}

var errNoPane = errors.New("no dead pane")

// respawn runs the command in the first pane that is dead and free. rest are the panes after
// it.
func (s *Session) respawn(ctx context.Context, panes []Pane, p Placement,
	reuse func(tag string) bool) (pid int, rest []Pane, err error) {
	err = errNoPane
	for i, q := range panes {
		if !q.Dead || q.Browsed || !reuse(q.Tag) {
			continue
		}
		if pid, err = s.respawnIn(ctx, q, p); err == nil || errors.Is(err, ErrSilent) {
			return pid, panes[i+1:], err
		}
	}
	return 0, nil, err
}

// respawnIn runs the command in a dead pane. It omits -k: if another gl was faster, its command
// must not be killed.
func (s *Session) respawnIn(ctx context.Context, q Pane, p Placement) (pid int, err error) {
	args := append([]string{"respawn-pane", "-t", q.ID, "-c", closing(literal(p.Dir))}, p.Argv...)
	args = append(args, ";", "clear-history", "-t", q.ID, ";", "display-message", "-p", "-t",
		q.ID, answer, ";")
	_, pid, err = placed(s.run(ctx, append(args, s.label(q.ID, p)...)...))
	return pid, err
}

// answer is the format that tmux prints for a new pane.
const answer = "#{pane_id} #{pane_pid}"

// placed parses answer, the only proof that there is a pane: the exit code may belong to a later
// command, and is 0 if the server went away under the client.
func placed(out string, err error) (id string, pid int, _ error) {
	id, rest, _ := strings.Cut(strings.TrimSpace(out), " ")
	if pid, _ = strconv.Atoi(rest); pid > 0 {
		return id, pid, nil
	}
	if err == nil {
		err = fmt.Errorf("%w: it went away", ErrNone)
	}
	return "", 0, err
}

// add makes a new pane: in the first window with room, in another window, or in a new session.
func (s *Session) add(ctx context.Context, panes []Pane, p Placement) (pid int, err error) {
	if len(panes) == 0 {
		return s.create(ctx, p)
	}
	for _, target := range roomy(panes) {
		// The available room depends on the terminal that is or was attached, so let tmux
		// decide.
		pid, err := s.open(ctx, p, "split-window", "-t", target)
		if err == nil || errors.Is(err, ErrSilent) {
			return pid, err
		}
	}
	pid, err = s.open(ctx, p, "new-window", "-t", s.target()+":")
	if errors.Is(err, ErrNone) { // it has gone away meanwhile
		return s.create(ctx, p)
	}
	return pid, err
}

// open makes a pane with the given command, then labels it and tiles its window. That takes a
// second call, because the pane has no id before; the command in the pane doesn't wait for it.
func (s *Session) open(ctx context.Context, p Placement, how ...string) (pid int, err error) {
	options := []string{"-d", "-P", "-F", answer, "-c", closing(literal(p.Dir))}
	id, pid, err := placed(s.run(ctx, slices.Concat(how, options, p.Argv)...))
	if err == nil {
		s.dress(ctx, id, p)
	}
	return pid, err
}

// perWindow is how many panes share a window: more would be unreadable.
const perWindow = 9

// roomy returns the last pane of each window that isn't full. Splitting the last pane keeps
// panes in the order in which they were placed.
func roomy(panes []Pane) []string {
	count := make(map[string]int)
	for _, p := range panes {
		count[p.Window]++
	}
	var ids []string
	for i, p := range panes {
		last := !slices.ContainsFunc(panes[i+1:], func(q Pane) bool { return q.Window == p.Window })
		if last && count[p.Window] < perWindow {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// dress labels a new pane and tiles its window, which must follow each split, or the sixth
// finds no room. If that fails, the command keeps running.
func (s *Session) dress(ctx context.Context, id string, p Placement) {
	_, _ = s.run(ctx, append([]string{"select-layout", "-t", id, "tiled", ";"}, s.label(id, p)...)...)
}

// label returns the commands that tag a pane and set the title in its border.
func (s *Session) label(id string, p Placement) []string {
	return []string{
		"set-option", "-p", "-t", id, tagOption, p.Tag, ";",
		"select-pane", "-t", id, "-T", closing(literal(p.Title)), ";",
		// undo what CloseIdle may have set
		"set-option", "-t", s.target() + ":", "destroy-unattached", "off", ";",
		"set-option", "-w", "-t", id, "remain-on-exit", "on", ";",
		"set-option", "-w", "-t", id, "pane-border-status", "top", ";",
		"set-option", "-w", "-t", id, "pane-border-format",
		" #{pane_title}#{?pane_dead, (ended),} ", ";",
		"set-environment", "-g", "GL_PROGRAM", closing(p.Bar.Program),
	}
}

// Select makes the pane the active one, and lets it fill its window: beside eight others it would
// be too small to read.
func (s *Session) Select(ctx context.Context, p Pane) error {
	_, err := s.run(ctx, "select-window", "-t", p.Window, ";", "select-pane", "-t", p.ID, ";",
		"if-shell", "-F", "-t", p.ID, "#{window_zoomed_flag}", "", "resize-pane -Z -t "+p.ID)
	return err
}

// CloseIdle ends the session if each of its commands has ended, or is over according to its
// tag: at once if no client is attached, otherwise when the last client detaches.
func (s *Session) CloseIdle(ctx context.Context, over func(tag string) bool) error {
	panes, err := s.Panes(ctx)
	if err != nil || len(panes) == 0 {
		return err
	}
	for _, p := range panes {
		if !p.Dead && !over(p.Tag) {
			return nil
		}
	}
	end := []string{"kill-session", "-t", s.target()}
	if panes[0].Attached {
		end = []string{"set-option", "-t", s.target() + ":", "destroy-unattached", "on"}
	}
	_, err = s.run(ctx, end...)
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}
