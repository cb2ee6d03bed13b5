// Package tmux is the only one that runs tmux. It gives a project a private server with one
// session, places commands into its panes, and lists the panes. It knows nothing about slices:
// a pane has a tag, whose meaning is up to the caller.
//
// tmux is only a view: its exit codes are no evidence (they are 0 when the server dies under a
// client), its panes lose exit statuses, and its server may go away at any time. So nothing
// here reports how a command ended.
package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	deadline  = 5 * time.Second // for one call: a client of a dying or stopped server can hang
	maxSocket = 100             // bytes; sun_path has 104 on some systems
	maxArgv   = 12 << 10        // tmux refuses commands of about 16 KB
)

var (
	// ErrNone is returned if there is no server, or it has no session of that name.
	ErrNone = errors.New("no tmux session")
	// ErrSilent is returned if tmux didn't answer in time. It may have done what it was asked
	// to, or do it later.
	ErrSilent = errors.New("tmux doesn't answer")
)

// A Session is the one session on a project's private server. Nothing is started before the
// first Place.
type Session struct {
	Name string // as tmux has it: only [A-Za-z0-9_-]

	socket []string // -L NAME, or -S PATH if the usual path is too long
	path   string   // of the socket
	env    []string

	mu   sync.Mutex    // guards the fields below
	look <-chan []Pane // delivers what Look finds; nil once received
	idle []Pane        // dead panes that Look found, without those used since
}

// InstallHint tells users how to get tmux.
const InstallHint = "install it (apt install tmux, brew install tmux)"

// Installed reports whether tmux is available.
func Installed() bool {
	_, err := exec.LookPath("tmux")
	return err == nil
}

// Open returns the session of the project at root: "{prefix}-{directory}" on a server of its
// own, whose socket contains a hash of the root because two checkouts may have the same name.
// env is the server's environment; Open removes any TMUX from it.
func Open(root, prefix string, env []string) *Session {
	// a run and gl attach may use different links
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	sum := sha256.Sum256([]byte(root))
	socket := "gl-" + hex.EncodeToString(sum[:])[:12]
	s := &Session{Name: sanitize(prefix + "-" + filepath.Base(root)),
		socket: []string{"-L", socket}}
	tmpdir := "/tmp"
	for _, kv := range env {
		if strings.HasPrefix(kv, "TMUX=") || strings.HasPrefix(kv, "TMUX_PANE=") {
			continue
		}
		if dir, ok := strings.CutPrefix(kv, "TMUX_TMPDIR="); ok && dir != "" {
			tmpdir = dir
		}
		s.env = append(s.env, kv)
	}
	if real, err := filepath.EvalSymlinks(tmpdir); err == nil {
		tmpdir = real
	}
	uid := strconv.Itoa(os.Getuid())
	if s.path = filepath.Join(tmpdir, "tmux-"+uid, socket); len(s.path) > maxSocket {
		// tmux would fail with "File name too long".
		s.path = filepath.Join("/tmp", socket+"-"+uid)
		s.socket = []string{"-S", s.path}
	}
	return s
}

// sanitize keeps the characters that tmux neither changes in a name nor interprets in a target.
func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
}

// argv returns a whole tmux command line. -u: the panes are UTF-8 in any locale.
func (s *Session) argv(args ...string) []string {
	return append(append([]string{"tmux", "-u"}, s.socket...), args...)
}

// AttachArgv returns the command line that attaches a terminal to the session. It is also
// printed for people to type, so its target lacks the "=": zsh would expand that word to a
// command's path. The plain name is safe here, because tmux tries the whole name first and the
// server has no other session. TMUX is removed for people inside another tmux: the server would
// find their terminal among its own dead panes, whose numbers are reused, and refuse.
func (s *Session) AttachArgv() []string {
	return append([]string{"env", "-u", "TMUX"}, s.argv("attach-session", "-t", s.Name)...)
}

// target matches the whole name only, not a prefix. For a pane or a window, ":" must follow.
func (s *Session) target() string { return "=" + s.Name }

// run runs one tmux client and returns its output, even with an error.
func (s *Session) run(ctx context.Context, args ...string) (string, error) {
	return s.exec(ctx, s.argv(args...), args[0])
}

// exec runs a command line that is, or becomes, a tmux client; what names it in errors. A
// server that it starts lives in /, so that it never keeps a directory busy, and outlives the
// client.
func (s *Session) exec(ctx context.Context, argv []string, what string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = s.env
	cmd.WaitDelay = time.Second
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	words := strings.TrimSpace(errOut.String())
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = errors.New("tmux is not on PATH")
	case ctx.Err() != nil:
		err = fmt.Errorf("tmux %s: %w for %s", what, ErrSilent, deadline)
	case gone(words):
		err = fmt.Errorf("%w: %s", ErrNone, words)
	case words == "":
		err = fmt.Errorf("tmux %s: %w", what, err)
	default:
		err = fmt.Errorf("tmux %s: %s", what, words)
	}
	return out.String(), err
}

// gone reports whether tmux's message means that there is no server or target.
func gone(words string) bool {
	for _, w := range []string{"no server running", "error connecting", "server exited",
		"lost server", "can't find session", "can't find pane", "can't find window",
		"session not found", "no current ", "no sessions"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// literal escapes text where tmux expands formats.
func literal(text string) string { return strings.ReplaceAll(text, "#", "##") }

// closing keeps a ";" at the end of an argument from ending the command.
func closing(arg string) string {
	if strings.HasSuffix(arg, ";") {
		return arg[:len(arg)-1] + `\;`
	}
	return arg
}

// command escapes argv for tmux: an argument that ends in ";" would end the command.
func command(argv []string) ([]string, error) {
	size := 0
	out := make([]string, len(argv))
	for i, a := range argv {
		size += len(a) + 1
		out[i] = closing(a)
	}
	if size > maxArgv {
		return nil, fmt.Errorf("a command of %d bytes is too long for tmux", size)
	}
	if len(argv) < 2 {
		return nil, fmt.Errorf("command %q: tmux would hand a single word to a shell", argv)
	}
	return out, nil
}
