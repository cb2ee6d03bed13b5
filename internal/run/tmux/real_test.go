package tmux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
)

// fixture is a session on a server of the test's own, in a directory of its own.
type fixture struct {
	*Session
	t   *testing.T
	dir string
}

func newFixture(t *testing.T, env ...string) *fixture {
	t.Helper()
	if !Installed() {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("/tmp", "glt") // names from t.TempDir are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMUX_TMPDIR=" + dir,
		"TERM=screen"}, env...)
	f := &fixture{Session: Open(filepath.Join(dir, "shop"), "gl", env), t: t, dir: dir}
	t.Cleanup(func() {
		f.end()
		os.RemoveAll(dir)
	})
	return f
}

// end ends the server.
func (f *fixture) end() {
	if pid := f.server(); pid > 0 {
		f.run(context.Background(), "kill-server")
		f.until("the server is gone", func() bool { return gonePID(pid) })
	}
}

// gonePID reports whether the process is gone; a zombie counts as gone.
func gonePID(pid int) bool {
	id, err := proc.Of(pid)
	return err != nil || id.Dead()
}

// config writes the person's tmux.conf.
func (f *fixture) config(text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, ".tmux.conf"), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// server returns the pid of the server, 0 for none.
func (f *fixture) server() int {
	out, _ := f.run(context.Background(), "display-message", "-p", "#{pid}")
	pid, _ := strconv.Atoi(strings.TrimSpace(out))
	return pid
}

func (f *fixture) tmux(args ...string) string {
	f.t.Helper()
	out, err := f.run(f.t.Context(), args...)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (f *fixture) panes() []Pane {
	f.t.Helper()
	panes, err := f.Panes(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return panes
}

func (f *fixture) pane(tag string) Pane {
	f.t.Helper()
	panes := f.panes()
	i := slices.IndexFunc(panes, func(p Pane) bool { return p.Tag == tag })
	if i < 0 {
		f.t.Fatalf("no pane %s among %+v", tag, panes)
	}
	return panes[i]
}

// place runs a shell command in a pane and returns its pid.
func (f *fixture) place(tag, script string, reuse ...string) int {
	f.t.Helper()
	pid, err := f.Place(f.t.Context(), f.placement(tag, script), func(tag string) bool {
		return slices.Contains(reuse, tag)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return pid
}

func (f *fixture) placement(tag, script string, args ...string) Placement {
	return Placement{Tag: tag, Title: "title of " + tag,
		Argv: append([]string{"/bin/sh", "-c", script}, args...), Dir: f.dir,
		Bar: StatusBar{Program: filepath.Join(f.dir, "bar"), Root: f.dir}}
}

func (f *fixture) until(what string, ok func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("never: %s", what)
		}
	}
}

func (f *fixture) untilDead(tag string) {
	f.t.Helper()
	f.until(tag+"'s pane is dead", func() bool { return f.pane(tag).Dead })
}

const forever = "exec sleep 600"

// terminal attaches a client of that size to the session and returns a function that returns
// its screen. The terminal is a pane of another server.
func (f *fixture) terminal(width, height int) (screen func() string, outer *Session) {
	f.t.Helper()
	outer = Open(filepath.Join(f.dir, "outer"), "terminal", f.env)
	argv := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y",
		strconv.Itoa(height)}, f.AttachArgv()...)
	if _, err := outer.run(f.t.Context(), argv...); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { outer.run(context.Background(), "kill-server") })
	f.until("a client is attached", func() bool { return f.panes()[0].Attached })
	return func() string {
		out, _ := outer.run(f.t.Context(), "capture-pane", "-p")
		return out
	}, outer
}

// Thirty commands run in thirty panes, at most nine to a window, each tagged, titled, and large
// enough to read.
func TestManyPanes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 30
	pids := map[int]bool{}
	start := time.Now()
	for i := range n {
		pids[f.place(fmt.Sprint("S-", i, ".1"), forever)] = true
	}
	t.Logf("%d panes in %v", n, time.Since(start))
	panes := f.panes()
	perWindow, tags := map[string]int{}, map[string]bool{}
	for _, p := range panes {
		perWindow[p.Window]++
		tags[p.Tag] = true
	}
	if len(panes) != n || len(tags) != n || len(pids) != n {
		t.Errorf("%d panes, %d tags, %d processes for %d commands", len(panes),
			len(tags), len(pids), n)
	}
	if want := []int{3, 9, 9, 9}; !slices.Equal(slices.Sorted(values(perWindow)), want) {
		t.Errorf("panes by window: %v", perWindow)
	}
	for line := range strings.Lines(f.tmux("list-panes", "-s", "-F", "#{pane_width} #{pane_height} #{"+tagOption+"}=#{pane_title}")) {
		var w, h int
		var name string
		fmt.Sscan(line, &w, &h, &name)
		if _, title, _ := strings.Cut(strings.TrimSpace(line), "="); w < 60 || h < 14 ||
			title != "title of "+name[:strings.Index(name, "=")] {
			t.Errorf("pane %q", line)
		}
	}
}

// Panes are in the order in which they were placed.
func TestReadingOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var want, got []string
	for i := range 5 {
		tag := fmt.Sprintf("S-%d.1", i+1)
		f.place(tag, forever)
		want = append(want, tag)
	}
	for _, p := range f.panes() {
		got = append(got, p.Tag)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func values(m map[string]int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// A pane whose command has ended is reused; one that is running, wasn't released or is being
// scrolled isn't.
func TestReuse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.place("a.1", forever)
	// The kernel can lose output at the very end, so b ends only when its output is on the
	// screen.
	f.place("b.1", "echo the last words of b; while [ ! -e "+f.dir+"/go ]; do sleep 0.02; done; exit 3")
	f.place("c.1", "exit 0")
	b := f.pane("b.1")
	f.until("b has spoken", func() bool {
		return strings.Contains(f.tmux("capture-pane", "-p", "-t", b.ID), "the last words of b")
	})
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.untilDead("b.1")
	f.untilDead("c.1")
	b = f.pane("b.1")
	for range 6 { // panes shrink, and keep the last output in view
		f.place("x.1", forever)
	}
	if out := f.tmux("capture-pane", "-p", "-t", b.ID); !strings.Contains(out,
		"the last words of b") {
		t.Errorf("a dead pane shows %q", out)
	}
	for _, p := range f.panes() {
		if p.Tag == "x.1" {
			f.tmux("kill-pane", "-t", p.ID)
		}
	}
	f.tmux("copy-mode", "-t", b.ID)
	pid := f.place("d.1", forever, "a.1", "b.1", "c.1")
	if p := f.pane("d.1"); p.Dead || len(f.panes()) != 3 || p.ID == b.ID {
		t.Errorf("d is in %+v of %+v", p, f.panes())
	}
	if got := f.tmux("display-message", "-p", "-t", f.pane("d.1").ID, "#{pane_pid} #{pane_title}"); got != fmt.Sprint(pid, " title of d.1") {
		t.Errorf("the pane of d is %q, its pid %d", got, pid)
	}
	f.tmux("send-keys", "-t", b.ID, "-X", "cancel")
	f.place("e.1", forever, "a.1")
	if len(f.panes()) != 4 || f.pane("a.1").Dead {
		t.Errorf("e took a pane that isn't free: %+v", f.panes())
	}
	f.place("f.1", "echo new", "b.1")
	f.untilDead("f.1")
	if out := f.tmux("capture-pane", "-p", "-S-", "-t",
		f.pane("f.1").ID); f.pane("f.1").ID != b.ID || strings.Contains(out, "words of b") {
		t.Errorf("the pane of f, %s, shows %q", f.pane("f.1").ID, out)
	}
}

// Two callers that have seen the same dead pane don't end each other's command.
func TestReuseTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.place("a.1", "exit 0")
	f.untilDead("a.1")
	old := f.pane("a.1")
	if _, err := f.respawnIn(t.Context(), old, f.placement("b.1", forever)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.respawnIn(t.Context(), old, f.placement("c.1", forever)); err == nil {
		t.Error("a pane was taken from the command that runs in it")
	}
	if p := f.pane("b.1"); p.Dead || p.ID != old.ID {
		t.Errorf("b is in %+v", p)
	}
}

// Characters special to tmux and the shell reach the command unchanged.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Join(f.dir, `it's a.b:c #(touch x) $HOME #S %H;`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	words := []string{"a;", ";", `b\;`, `c\`, "$(touch y)", "`touch z`", "#{pane_id}", "#(touch w)", "two words", "new\nline", "", "-t",
		"ünïcödé", "'", `"`, "~", "%H", "{", "}", `\;`, ";;"}
	for i, how := range []string{"the first", "a split", "a respawn"} {
		out := filepath.Join(f.dir, fmt.Sprint("out", i))
		p := f.placement("x.1", `{ pwd; printf '%s\0' "$@"; } >"$0.tmp"; mv "$0.tmp" "$0"`,
			append([]string{out}, words...)...)
		p.Dir, p.Title = dir, `#(touch t) #{pane_id} $(touch t);`
		if _, err := f.Place(t.Context(), p, func(string) bool { return i == 2 }); err != nil {
			t.Fatal(err)
		}
		f.until(how+" has run", func() bool { _, err := os.Stat(out); return err == nil })
		f.untilDead("x.1")
		data, _ := os.ReadFile(out)
		if want := dir + "\n" + strings.Join(words, "\x00") + "\x00"; string(data) != want {
			t.Errorf("%s: %q, not %q", how, data, want)
		}
		if title := f.tmux("display-message", "-p", "-t", f.pane("x.1").ID,
			"#{pane_title}"); title != p.Title {
			t.Errorf("%s: title %q", how, title)
		}
	}
	for _, d := range []string{dir, f.dir, "/"} {
		for _, name := range []string{"x", "y", "z", "w", "t"} {
			if _, err := os.Stat(filepath.Join(d, name)); err == nil {
				t.Errorf("%s was made in %s", name, d)
			}
		}
	}
}

// With any tmux.conf, the panes stay, and the status line shows the program's output.
func TestConfig(t *testing.T) {
	for name, text := range map[string]string{
		"numbers":  "set -g base-index 1\nsetw -g pane-base-index 1\nset -g renumber-windows on\nset -g status off\n",
		"lifetime": "setw -g remain-on-exit off\nset -g destroy-unattached on\nset -s exit-unattached on\nset -g detach-on-destroy off\n",
		"commands": "set -g default-command 'touch \"$HOME/default\"; exec sh'\nset -g default-shell /bin/false\n",
		"looks":    "set -g status-format[0] nothing\nset -g status-right nothing\nsetw -g pane-border-status off\nset -g automatic-rename off\n",
		"sessions": "new-session -d -s gl-shop2 'sleep 600'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.config(text)
			bar := "#!/bin/sh\nprintf 'here %s for ' \"$*\"\nbasename \"$GREENLIGHT_ROOT\"\n"
			if err := os.WriteFile(filepath.Join(f.dir, "bar"), []byte(bar), 0o755); err != nil {
				t.Fatal(err)
			}
			for i := range 11 {
				f.place(fmt.Sprint("S-", i, ".1"), "exit 1")
			}
			if panes := f.panes(); len(panes) != 11 {
				t.Fatalf("panes: %+v", panes)
			}
			screen, _ := f.terminal(120, 40)
			f.until("the bar shows", func() bool {
				return strings.Contains(screen(), "here status --compact for "+filepath.Base(f.dir))
			})
			if s := screen(); !strings.Contains(s, "title of S-") ||
				!strings.Contains(s, "C-b d: back") {
				t.Errorf("no titles, or no way back: %s", s)
			}
			for range 2 { // the selected pane fills its window
				if err := f.Select(t.Context(), f.pane("S-3.1")); err != nil {
					t.Fatal(err)
				}
				f.until("one pane is shown", func() bool {
					return strings.Contains(screen(), "title of S-3") &&
						!strings.Contains(screen(), "title of S-4")
				})
			}
			if _, err := os.Stat(filepath.Join(f.dir, "default")); err == nil {
				t.Error("the default-command has run")
			}
		})
	}
}

// A broken tmux.conf only shows its errors.
func TestBrokenConfig(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.config("set -g no-such-option 1\nnonsense {\n")
	f.place("a.1", forever)
	f.place("b.1", forever)
	if n := len(f.panes()); n != 2 {
		t.Errorf("%d panes", n)
	}
}

// A small terminal has no room for panes; then there are more windows, but not one per pane.
func TestSmallTerminal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.place("S-0.1", forever)
	f.terminal(40, 14)
	for i := 1; i < 20; i++ {
		f.place(fmt.Sprint("S-", i, ".1"), forever)
	}
	windows := map[string]int{}
	for _, p := range f.panes() {
		windows[p.Window]++
	}
	if len(f.panes()) != 20 || len(windows) > 10 {
		t.Errorf("%d panes in %d windows", len(f.panes()), len(windows))
	}
}
