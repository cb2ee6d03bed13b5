package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/environ"
)

var shop = Worktree{Root: "/p/shop", Project: "shop", Slice: "S-1", N: 1}

func TestEnv(t *testing.T) {
	w := shop
	w.Ports, w.Temp, w.Fallback = 20110, "/tmp/gl-0/x", Identity{"gl", "gl@localhost"}
	base := []string{"A=1", "TMPDIR=/tmp", "TEMP=/tmp", "COMPOSE_PROJECT_NAME=mine",
		"GL_PORT_BASE=1", "GIT_DIR=/p/.git", "GIT_INDEX_FILE=/p/.git/index",
		"GIT_COMMITTER_NAME=Me", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b",
		"GIT_CONFIG_VALUE_0=c", "GIT_CONFIG_KEY_1=stale", "B=2"}
	before := slices.Clone(base)
	got := environ.Environ(w.Env(base))
	if d := cmp.Diff(before, base); d != "" {
		t.Errorf("the environment that was given is changed: %s", d)
	}
	for key, want := range map[string]string{
		"A": "1", "B": "2", "TMPDIR": "/tmp/gl-0/x", "TEMP": "/tmp/gl-0/x", "GL_PORT_BASE": "20110",
		"COMPOSE_PROJECT_NAME": w.Compose(),
		"GIT_AUTHOR_NAME":      "gl", "GIT_AUTHOR_EMAIL": "gl@localhost",
		"GIT_COMMITTER_NAME":  "Me",
		"GIT_COMMITTER_EMAIL": "gl@localhost", "GIT_CONFIG_COUNT": "7", "GIT_CONFIG_KEY_0": "a.b",
		"GIT_CONFIG_VALUE_0": "c", "GIT_CONFIG_KEY_1": "gc.auto", "GIT_CONFIG_VALUE_1": "0",
	} {
		if got.Get(key) != want {
			t.Errorf("%s is %q, want %q", key, got.Get(key), want)
		}
	}
	for _, key := range []string{"GIT_DIR", "GIT_INDEX_FILE", "TMP"} {
		if _, set := got.Lookup(key); set {
			t.Errorf("%s is set", key)
		}
	}
	seen := map[string]bool{}
	for _, kv := range got {
		key, _, _ := strings.Cut(kv, "=")
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
	}
}

// A value that isn't given isn't set.
func TestEnvOfLess(t *testing.T) {
	w := shop
	w.Known, w.Fallback = Identity{"Me", ""}, Identity{"gl", "gl@localhost"}
	got := environ.Environ(w.Env([]string{"TMPDIR=/tmp", "GIT_CONFIG_COUNT=-3",
		"EMAIL=me@example.org"}))
	for _, key := range []string{"GL_PORT_BASE", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL"} {
		if value, set := got.Lookup(key); set {
			t.Errorf("%s is %q", key, value)
		}
	}
	if got.Get("TMPDIR") != "/tmp" || got.Get("GIT_CONFIG_COUNT") != "6" {
		t.Errorf("%q", got)
	}
}

// Git accepts the environment: it knows the settings, old ones too, and commits without a
// configured name.
func TestGitTakesIt(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	w := shop
	w.Fallback = Identity{"gl", "gl@localhost"}
	env := w.Env([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_DIR=/nowhere",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.useConfigOnly", "GIT_CONFIG_VALUE_0=true"})
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "x")
	if got := git("log", "-1",
		"--format=%an %ae %cn %ce"); got != "gl gl@localhost gl gl@localhost" {
		t.Error(got)
	}
	for _, s := range append(agentConfig(), [2]string{"user.useConfigOnly", "true"}) {
		if got := git("config", s[0]); got != s[1] {
			t.Errorf("%s is %q", s[0], got)
		}
	}
	git("gc", "--quiet") // which would reject an expiry that it can't parse
}

func TestCompose(t *testing.T) {
	allowed := regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`) // docker compose's own
	rapid.Check(t, func(t *rapid.T) {
		w := Worktree{Root: rapid.String().Draw(t, "root"), Project: rapid.String().Draw(t,
			"project"), Slice: rapid.String().Draw(t, "slice"), N: 1}
		if name := w.Compose(); !allowed.MatchString(name) || len(name) > maxCompose+9 {
			t.Errorf("%q", name)
		}
	})
	if name := (Worktree{Root: "/p", Project: "My Shop", Slice: "S-01.a",
		N: 2}).Compose(); !strings.HasPrefix(name, "my-shop-s-01-a-") {
		t.Error(name)
	}
	seen := map[string]Worktree{}
	for _, w := range []Worktree{
		{Root: "/a", Project: "p", Slice: "S-1", N: 1}, {Root: "/a", Project: "p", Slice: "S-1",
			N: 2}, {Root: "/a", Project: "p", Slice: "s-1", N: 1},
		{Root: "/a", Project: "p", Slice: "S.1", N: 1}, {Root: "/b", Project: "p", Slice: "S-1",
			N: 1}, {Root: "/a", Project: "p", System: "gsd", Slice: "S-1", N: 1},
		{Root: "/a", Project: "p-s", Slice: "1", N: 1},
	} {
		if other, twice := seen[w.Compose()]; twice {
			t.Errorf("%+v and %+v are both %s", w, other, w.Compose())
		}
		seen[w.Compose()] = w
	}
	w := shop
	w.Ports, w.Temp = 20110, "/x" // these may change between attempts
	if w.Compose() != shop.Compose() {
		t.Error("another name for the same services")
	}
}

func TestMakeTemp(t *testing.T) {
	base := t.TempDir()
	dir, err := shop.MakeTemp(base)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := shop.MakeTemp(base); err != nil || again != dir {
		t.Errorf("%s, then %s, %v", dir, again, err)
	}
	other := shop
	other.N = 2
	if path, err := other.MakeTemp(base); err != nil || path == dir {
		t.Errorf("%s, %v", path, err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, info, err)
		}
	}
	if rel, err := filepath.Rel(base, dir); err != nil || len(rel) > 30 {
		t.Errorf("%s leaves no room for a socket", rel)
	}
	// A directory that another user may have put there isn't used; one that is open to others
	// is closed.
	open := t.TempDir()
	parent := filepath.Join(open, filepath.Base(filepath.Dir(dir)))
	if err := os.Mkdir(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.MakeTemp(open); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(parent); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	linked := t.TempDir()
	if err := os.Symlink(open, filepath.Join(linked, filepath.Base(parent))); err != nil {
		t.Fatal(err)
	}
	if path, err := shop.MakeTemp(linked); err == nil {
		t.Errorf("through a link: %s", path)
	}
}

// In a sandbox git can't write the resolutions that all worktrees share, and a rebase would
// stop at that.
func TestConfined(t *testing.T) {
	for _, confined := range []bool{false, true} {
		env := strings.Join(Worktree{Confined: confined}.Env(nil), " ")
		if strings.Contains(env, "rerere.enabled") != confined {
			t.Errorf("confined %v: %s", confined, env)
		}
	}
}
