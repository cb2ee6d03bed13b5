package tmux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"greenlight/internal/base/testfiles"
)

// A killed server leaves its socket; one told to exit takes a moment. Neither keeps the next
// from starting.
func TestServerGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 10 {
		f.place("a.1", forever)
		pid := f.server()
		if i%2 == 0 {
			syscall.Kill(pid, syscall.SIGKILL)
			f.until("it is dead", func() bool { return f.server() != pid })
		} else {
			f.run(t.Context(), "kill-server")
		}
	}
	f.place("b.1", forever)
	if len(f.panes()) != 1 {
		t.Errorf("panes: %+v", f.panes())
	}
}

// A window or a session that goes away while a pane is added to it is created again.
func TestSessionGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.place("a.1", forever)
	panes := f.panes()
	f.tmux("new-session", "-d", "-s", "other", forever)
	f.tmux("kill-session", "-t", f.target())
	if _, err := f.add(t.Context(), panes, f.placement("b.1", forever)); err != nil {
		t.Fatal(err)
	}
	if f.pane("b.1").Dead || len(f.panes()) != 1 {
		t.Errorf("panes: %+v", f.panes())
	}
}

// An earlier look may be outdated: then the command runs in another pane and ends none.
func TestLook(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.place("a.1", "exit 0")
	f.place("b.1", "exit 0")
	f.untilDead("a.1")
	f.untilDead("b.1")
	a, b := f.pane("a.1").ID, f.pane("b.1").ID
	f.Look(t.Context())
	f.putIdle(f.takeIdle())
	other := Open(filepath.Join(f.dir, "shop"), "gl", f.env)
	if _, err := other.Place(t.Context(), f.placement("c.1", forever), func(tag string) bool {
		return tag == "a.1"
	}); err != nil {
		t.Fatal(err)
	}
	f.place("d.1", forever, "a.1", "b.1")
	if f.pane("c.1").ID != a || f.pane("c.1").Dead || f.pane("d.1").ID != b {
		t.Errorf("panes: %+v", f.panes())
	}
	f.place("e.1", "exit 0")
	f.untilDead("e.1")
	f.Look(t.Context())
	f.putIdle(f.takeIdle())
	f.tmux("kill-pane", "-t", f.pane("e.1").ID)
	f.place("f.1", forever, "e.1")
	f.Look(t.Context())
	f.putIdle(f.takeIdle())
	f.end()
	f.place("g.1", forever, "e.1")
	if panes := f.panes(); len(panes) != 1 || panes[0].Dead {
		t.Errorf("panes: %+v", panes)
	}
}

func TestSilentServer(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	f := newFixture(t)
	f.place("a.1", forever)
	pid := f.server()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	_, err := f.Place(t.Context(), f.placement("b.1", forever), func(string) bool { return false })
	if !errors.Is(err, ErrSilent) {
		t.Errorf("a stopped server: %v", err)
	}
}

// Several callers may be the first at the same time: they share one session.
func TestTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			if _, err := f.Place(t.Context(), f.placement(fmt.Sprint("S-", i, ".1"), forever),
				func(string) bool {
					return false
				}); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	tags := map[string]bool{}
	for _, p := range f.panes() {
		tags[p.Tag] = true
	}
	if len(tags) != 8 {
		t.Errorf("panes: %+v", f.panes())
	}
}

func TestCloseIdle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	over := func(tag string) bool { return tag == "over.1" }
	f.place("over.1", forever)
	f.place("dead.1", "exit 0")
	f.place("runs.1", "while [ ! -e "+f.dir+"/go ]; do sleep 0.05; done")
	f.untilDead("dead.1")
	if err := f.CloseIdle(t.Context(), over); err != nil || len(f.panes()) != 3 {
		t.Fatalf("closed while one runs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.untilDead("runs.1")
	_, outer := f.terminal(80, 24)
	if err := f.CloseIdle(t.Context(), over); err != nil || len(f.panes()) != 3 {
		t.Fatalf("closed while a client is attached: %v", err)
	}
	f.place("next.1", forever) // it keeps the session, whatever was planned for it
	outer.run(t.Context(), "kill-server")
	f.until("no client is attached", func() bool { return !f.panes()[0].Attached })
	pid := f.server()
	over = func(string) bool { return true }
	if err := f.CloseIdle(t.Context(), over); err != nil || len(f.panes()) != 0 {
		t.Fatalf("not closed: %v", err)
	}
	f.until("the server is gone", func() bool { return gonePID(pid) })
	f.place("last.1", "exit 0")
	f.untilDead("last.1")
	_, outer = f.terminal(80, 24)
	if err := f.CloseIdle(t.Context(), over); err != nil || len(f.panes()) != 1 {
		t.Fatalf("closed while a client is attached: %v", err)
	}
	outer.run(t.Context(), "kill-server")
	f.until("the last one who looked took the session along", func() bool {
		return len(f.panes()) == 0
	})
	if err := f.CloseIdle(t.Context(), over); err != nil {
		t.Fatalf("closing nothing: %v", err)
	}
}

// The server gets a scope of its own if systemd grants one. If it refuses or doesn't answer,
// that costs little.
func TestScope(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		scoped bool
	}{
		"works":   {`echo "$@" >>"$HOME/asked"; while [ "$1" != -- ]; do shift; done; shift; GL_SCOPED=1 exec "$@"`, true},
		"refuses": {"echo no bus >&2; exit 1", false},
		"hangs":   {"exec sleep 600", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			bin, private := filepath.Join(f.dir, "bin"), filepath.Join(f.dir, "systemd")
			for _, d := range []string{bin, private} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			os.WriteFile(filepath.Join(private, "private"), nil, 0o644)
			if err := os.WriteFile(filepath.Join(bin, "systemd-run"),
				[]byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			f.env = append(f.env, "XDG_RUNTIME_DIR="+f.dir)
			f.place("a.1", forever)
			f.place("b.1", forever)
			env, err := f.run(t.Context(), "show-environment", "-g", "GL_SCOPED")
			if scoped := err == nil &&
				strings.TrimSpace(env) == "GL_SCOPED=1"; scoped != test.scoped {
				t.Errorf("the server's scope: %q %v", env, err)
			}
		})
	}
	if _, err := exec.LookPath("systemd-run"); err == nil &&
		len(scope(t.Context(), []string{"XDG_RUNTIME_DIR=/nonexistent"})) != 0 {
		t.Error("a scope without a user's systemd")
	}
}
