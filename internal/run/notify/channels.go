package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
)

// Terminal is the terminal of the run. It gets OSC 777, which travels over SSH and which
// terminals show as a notification, and the bell. tmux passes the sequence on if its option
// allow-passthrough is on.
type Terminal struct {
	Write func(text string) // writes the text in one call
	Tmux  bool              // the terminal is a tmux pane
}

func (Terminal) Name() string { return "notify.terminal" }

func (t Terminal) Send(_ context.Context, m Message) error {
	field := strings.NewReplacer(";", ",", "\n", " ")
	text := "\x1b]777;notify;" + field.Replace(m.Title) + ";" + field.Replace(m.Text) + "\x1b\\"
	if t.Tmux {
		text = "\x1bPtmux;" + strings.ReplaceAll(text, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	t.Write(text + "\a")
	return nil
}

// Desktop returns a channel for desktop notifications; nil if there is no desktop, or no such
// program.
func Desktop(getenv func(string) string) Channel {
	if runtime.GOOS == "darwin" {
		if path, err := paths.Program("osascript", "/"); err == nil {
			return program{name: "notify.desktop", argv: func(m Message) []string {
				return []string{path, "-e", "on run argv", "-e",
					"display notification (item 2 of argv) with title (item 1 of argv)", "-e",
					"end run", m.Title, m.Text}
			}}
		}
		return nil
	}
	if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	path, err := paths.Program("notify-send", "/")
	if err != nil {
		return nil
	}
	// the body may contain markup
	markup := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	return program{name: "notify.desktop", argv: func(m Message) []string {
		urgency := "normal"
		if m.Kind == NeedsYou {
			urgency = "critical"
		}
		return []string{path, "--app-name=gl", "--urgency=" + urgency, "--", m.Title,
			markup.Replace(strings.TrimSpace(m.Text + "\n" + m.Link))}
	}}
}

// Command returns a channel that runs a command line with the message as JSON on stdin.
func Command(argv []string, dir string, env []string) Channel {
	return program{name: "notify.command", dir: dir, env: env, stdin: true,
		argv: func(Message) []string {
			return argv
		}}
}

// A program is started once per message.
type program struct {
	name  string
	dir   string
	env   []string
	stdin bool
	argv  func(Message) []string
}

func (p program) Name() string { return p.name }

func (p program) Send(ctx context.Context, m Message) error {
	argv := p.argv(m)
	path, err := paths.Program(argv[0], p.dir)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir, cmd.Env = argv, p.dir, p.env
	if p.stdin {
		cmd.Stdin = bytes.NewReader(m.JSON())
	}
	var said tail
	cmd.Stderr = &said
	// A process group of its own: Ctrl-C is meant for gl, and a hanging program is killed with
	// all its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // a background process holds its pipe
		err = nil
	}
	if text := strings.TrimSpace(string(said)); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, sanitize.Excerpt(text, longest))
	}
	return err
}

// A tail keeps the beginning of a program's output.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p[:min(len(p), max(0, 1000-len(*t)))]...)
	return len(p), nil
}

// Webhook returns a channel that posts the message as JSON.
func Webhook(url string) Channel {
	return post{"notify.webhook", url, func(m Message) (string, http.Header) {
		return string(m.JSON()), http.Header{"Content-Type": {"application/json"}}
	}}
}

// Ntfy returns a channel that posts to a topic of ntfy (https://ntfy.sh/TOPIC, or another
// server).
func Ntfy(url string) Channel {
	return post{"notify.ntfy", url, func(m Message) (string, http.Header) {
		h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Title": {m.Title},
			"Tags": {string(m.Kind)}}
		if m.Kind == NeedsYou {
			h.Set("Priority", "high")
		}
		if m.Link != "" {
			h.Set("Click", m.Link)
		}
		text := m.Text
		if text == "" {
			text = m.Title
		}
		return text, h
	}}
}

type post struct {
	name, url string
	body      func(Message) (string, http.Header)
}

func (p post) Name() string { return p.name }

func (p post) Send(ctx context.Context, m Message) error {
	body, header := p.body(m)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		return errors.New("its URL can't be used") // omit the URL, which may contain a secret
	}
	req.Header = header
	// A redirect would post to a server that the person hasn't allowed.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	res, err := client.Do(req)
	if err != nil {
		var inner interface{ Unwrap() error }
		if errors.As(err, &inner) && inner.Unwrap() != nil {
			err = inner.Unwrap() // without the URL
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the server answers %s", sanitize.Line(res.Status))
	}
	return nil
}
