package tmux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ root, prefix, name string }{
		{"/src/shop", "gl", "gl-shop"},
		{"/src/it's a.b:c #(touch x) $HOME", "gl", "gl-it_s_a_b_c___touch_x___HOME"},
		{"/src/größe", "g.l:", "g_l_-gr__e"},
		{"/", "gl", "gl-_"},
	} {
		if s := Open(test.root, test.prefix, nil); s.Name != test.name {
			t.Errorf("session of %s: %q, not %q", test.root, s.Name, test.name)
		}
	}
	a, b := Open("/src/shop", "gl", nil), Open("/old/shop", "gl", nil)
	if a.Name != b.Name || slices.Equal(a.AttachArgv(), b.AttachArgv()) {
		t.Errorf("two checkouts with one name: %q and %q", a.AttachArgv(), b.AttachArgv())
	}
}

// The command to type contains no word that a shell would change, such as zsh's "=name".
func TestAttachArgv(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Open("/src/"+rapid.String().Draw(t, "dir"), rapid.String().Draw(t, "prefix"), nil)
		for _, w := range s.AttachArgv() {
			if strings.HasPrefix(w, "=") || strings.ContainsFunc(w, func(r rune) bool {
				return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/", r)
			}) {
				t.Fatalf("word %q", w)
			}
		}
	})
}

func TestOpenLeavesTmuxOut(t *testing.T) {
	t.Parallel()
	s := Open("/src/shop", "gl", []string{"A=1", "TMUX=/tmp/tmux-0/default,1,0", "TMUX_PANE=%3", "TMUX_TMPDIR=/var/tmp"})
	if want := []string{"A=1", "TMUX_TMPDIR=/var/tmp"}; !slices.Equal(s.env, want) {
		t.Errorf("environment %q", s.env)
	}
}

// A socket's path has room for about a hundred bytes; TMUX_TMPDIR may be longer, or a link to
// something longer.
func TestLongTmpdir(t *testing.T) {
	t.Parallel()
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 20))
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(long, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{long, link} {
		argv := Open("/src/shop", "gl", []string{"TMUX_TMPDIR=" + dir}).AttachArgv()
		i := slices.Index(argv, "-S")
		if i < 0 || len(argv[i+1]) > maxSocket {
			t.Errorf("attach by %q", argv)
		}
	}
}

func TestLongTmpdirWorks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := filepath.Join(f.dir, strings.Repeat("long/", 20))
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	f.Session = Open(filepath.Join(f.dir, "shop"), "gl",
		append(slices.Clone(f.env), "TMUX_TMPDIR="+long))
	t.Cleanup(func() {
		f.end()
		os.Remove(f.socket[1])
	})
	f.place("a.1", forever)
	if len(f.panes()) != 1 {
		t.Errorf("panes: %+v", f.panes())
	}
}

func TestCommandRefuses(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"one word": {"gl"}, "nothing": {},
		"too long": {"gl", strings.Repeat("x", maxArgv)}} {
		if _, err := command(argv); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// tmux undoes closing: an argument that ends in ";" ends the command, unless a "\" precedes it.
func TestClosing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arg := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a\\;#]*`)).Draw(t, "arg")
		got := closing(arg)
		if body, ok := strings.CutSuffix(got, ";"); ok {
			if !strings.HasSuffix(body, `\`) {
				t.Fatalf("%q ends the command", got)
			}
			got = body[:len(body)-1] + ";"
		}
		if got != arg {
			t.Fatalf("%q arrives as %q", arg, got)
		}
	})
}

// FuzzPlaced checks that for any output of tmux, there is a pane only if there is a pid.
func FuzzPlaced(f *testing.F) {
	for _, s := range []string{"%0 123\n", "", "%1", "%1 x\n", "lost server\n", "%2 -5\n", "%3 99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, out string) {
		id, pid, err := placed(out, nil)
		if (pid > 0) != (err == nil) || err != nil && id != "" || pid < 0 {
			t.Errorf("%q: %q %d %v", out, id, pid, err)
		}
	})
}
