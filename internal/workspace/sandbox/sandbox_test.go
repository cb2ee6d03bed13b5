package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/environ"
)

// tree returns a Probe of a machine that has these paths: directories end in a slash, and links
// are "FROM -> TO".
func tree(list ...string) Probe {
	kinds, links := map[string]Kind{"/": Dir}, map[string]string{}
	for _, path := range list {
		if from, to, ok := strings.Cut(path, " -> "); ok {
			links[from] = to
			continue
		}
		kind := File
		if strings.HasSuffix(path, "/") {
			kind = Dir
		}
		path = filepath.Clean(path)
		kinds[path] = kind
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			kinds[dir] = Dir
		}
	}
	return func(path string) (string, Kind) {
		for from, to := range links {
			if path == from || strings.HasPrefix(path, from+"/") {
				path = to + strings.TrimPrefix(path, from)
			}
		}
		return path, kinds[path]
	}
}

// plan returns the sandbox's arguments, one mount per line, without the common beginning.
func plan(t *testing.T, s Spec, probe Probe) (mounts []string, p *Plan) {
	t.Helper()
	p, err := New(s, probe)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(strings.Join(p.Args, " "), "--ro-bind-try /proc/fs /proc/fs ")
	if !ok {
		t.Fatalf("%q", p.Args)
	}
	for m := range strings.SplitSeq(" "+rest, " --") {
		if m != "" {
			mounts = append(mounts, m)
		}
	}
	return mounts, p
}

func TestMounts(t *testing.T) {
	home := environ.Environ{"HOME=/home/me", "PATH=/usr/bin:/tmp/tools:relative"}
	for name, tt := range map[string]struct {
		spec  Spec
		paths []string
		want  []string
	}{
		"nothing special": {
			Spec{Env: home, Dir: "/w"}, []string{"/home/me/", "/w/"},
			[]string{"chdir /w"},
		},
		"secrets are hidden, as directories and as files, where links lead": {
			Spec{Env: home, Dir: "/w"},
			[]string{"/w/", "/home/me/.aws/credentials", "/keys/mine/",
				"/home/me/.ssh -> /keys/mine", "/home/me/.netrc"},
			[]string{"tmpfs /home/me/.aws", "dev-bind /dev/null /home/me/.netrc",
				"tmpfs /keys/mine", "remount-ro /home/me/.aws", "remount-ro /keys/mine",
				"chdir /w"},
		},
		"variables name secrets elsewhere": {
			Spec{Env: append(slices.Clone(home), "KUBECONFIG=/k/a:/k/b", "GNUPGHOME=/g",
				"XDG_CONFIG_HOME=/c"), Dir: "/w"},
			[]string{"/w/", "/home/me/", "/k/a", "/k/b", "/g/", "/c/gh/"},
			[]string{"tmpfs /c/gh", "tmpfs /g", "dev-bind /dev/null /k/a",
				"dev-bind /dev/null /k/b", "remount-ro /c/gh", "remount-ro /g", "chdir /w"},
		},
		"what is needed of a directory that is replaced": {
			Spec{Env: home, Dir: "/tmp/p/w", Read: []string{"/tmp/gl", "/tmp/p"},
				Write: []string{"/tmp/p/w"}},
			[]string{"/tmp/gl", "/tmp/p/w/", "/tmp/tools/", "/tmp/other/", "/home/me/",
				"/run/systemd/resolve/", "/run/docker.sock"},
			[]string{"tmpfs /run", "ro-bind-try /run/systemd/resolve /run/systemd/resolve",
				"tmpfs /tmp", "ro-bind-try /tmp/gl /tmp/gl",
				"ro-bind-try /tmp/p /tmp/p", "bind-try /tmp/p/w /tmp/p/w",
				"ro-bind-try /tmp/tools /tmp/tools", "remount-ro /run", "chdir /tmp/p/w"},
		},
		"what is fixed below what is writable": {
			Spec{Env: home, Dir: "/w", Write: []string{"/w", "/s", "/s/runs/view", "/missing"},
				Fixed: []string{"/s/runs", "/w/.git", "/s/none"}},
			[]string{"/w/.git", "/s/runs/view", "/home/me/"},
			[]string{"bind-try /s /s", "ro-bind-try /s/runs /s/runs",
				"bind-try /s/runs/view /s/runs/view", "bind-try /w /w",
				"ro-bind-try /w/.git /w/.git", "chdir /w"},
		},
		"a worktree among what is hidden": {
			Spec{Env: home, Dir: "/home/me/.docker/w", Write: []string{"/home/me/.docker/w"}},
			[]string{"/home/me/.docker/w/"},
			[]string{"tmpfs /home/me/.docker", "bind-try /home/me/.docker/w /home/me/.docker/w",
				"remount-ro /home/me/.docker", "chdir /home/me/.docker/w"},
		},
		"caches are the sandbox's own, but for those that a person names": {
			Spec{Env: home, Dir: "/w", Caches: "/c", Write: []string{"/home/me/.npm"}},
			[]string{"/w/", "/home/me/.cache/", "/home/me/.npm/", "/home/me/.cargo/registry/"},
			[]string{"bind /c/cache /home/me/.cache",
				"bind /c/cargo-registry /home/me/.cargo/registry",
				"bind-try /home/me/.npm /home/me/.npm", "chdir /w"},
		},
		"a file behind a copy": {
			Spec{Env: home, Dir: "/w", Copies: []Copy{{"/home/me/.claude.json", "/c/copy"},
				{"/home/me/none", "/c/none"}}},
			[]string{"/w/", "/home/me/.claude.json"},
			[]string{"bind /c/copy /home/me/.claude.json", "chdir /w"},
		},
		"sockets that variables name": {
			Spec{Env: append(slices.Clone(home), "SSH_AUTH_SOCK=/home/me/agent.sock",
				"TMUX=/x/tmux,12,0", "XDG_RUNTIME_DIR=/home/me"), Dir: "/w"},
			[]string{"/w/", "/home/me/agent.sock", "/x/tmux"},
			[]string{"dev-bind /dev/null /home/me/agent.sock", "dev-bind /dev/null /x/tmux",
				"chdir /w"},
		},
	} {
		got, p := plan(t, tt.spec, tree(tt.paths...))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, tt.want)
		}
		if env := environ.Environ(p.Env); env.Get("SSH_AUTH_SOCK")+env.Get("TMUX") != "" ||
			env.Get("HOME") != "/home/me" {
			t.Errorf("%s: %q", name, p.Env)
		}
	}
}

// A cache that HOME lacks is put in the one that always exists.
func TestCachesByVariable(t *testing.T) {
	_, p := plan(t, Spec{Env: environ.Environ{"HOME=/home/me"}, Dir: "/w", Caches: "/c"},
		tree("/w/", "/home/me/.cache/"))
	if got := environ.Environ(p.Env).Get("GOMODCACHE"); got != "/home/me/.cache/go-pkg-mod" {
		t.Errorf("GOMODCACHE %q", got)
	}
	if !slices.Equal(p.Make, []string{"/c/cache"}) {
		t.Errorf("makes %q", p.Make)
	}
}

func TestSecretsHaveReasons(t *testing.T) {
	for _, s := range secrets {
		if s.why == "" || filepath.IsAbs(s.path) || !filepath.IsLocal(s.path) {
			t.Errorf("%+v", s)
		}
	}
}

func TestNeedsHome(t *testing.T) {
	for _, env := range []environ.Environ{nil, {"HOME="}, {"HOME=here"}} {
		if _, err := New(Spec{Env: env, Dir: "/"}, tree()); !errors.Is(err, ErrHome) {
			t.Errorf("%q: %v", env, err)
		}
	}
}

func TestRestriction(t *testing.T) {
	for name, want := range map[string]string{
		"kernel/apparmor_restrict_unprivileged_userns": "AppArmor",
		"kernel/unprivileged_userns_clone":             "unprivileged_userns_clone=1",
		"user/max_user_namespaces":                     "max_user_namespaces", "": "container",
	} {
		got := restriction(func(path string) ([]byte, error) {
			switch {
			case path != "/proc/sys/"+name:
				return nil, os.ErrNotExist
			case strings.Contains(name, "apparmor"):
				return []byte("1\n"), nil
			}
			return []byte("0\n"), nil
		})
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMakePlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	for range 2 {
		if err := MakePlaces(dir, []string{"settings.json", "hooks/", "NOTES.md"}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "NOTES.md"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"settings.json": "{}\n", "NOTES.md": "mine"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, kind := Look(filepath.Join(dir, "hooks")); kind != Dir {
		t.Error("no directory hooks")
	}
}

// The plan works in a real sandbox, with the cases that only real files can produce.
func TestRealSandbox(t *testing.T) {
	if err := Check(context.Background()); err != nil {
		t.Skip(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	for _, path := range []string{"home/.ssh/id", "home/.netrc", "home/plain", "home/.cache/theirs",
		"w/file", "w/fixed", "copy", "caches/cache/ours", "home/.claude.json"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(path)), 0o755),
			os.WriteFile(at(path), []byte(path), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("home"), at("link")); err != nil {
		t.Fatal(err)
	}
	p, err := New(Spec{
		Env: environ.Environ{"HOME=" + at("link"), "PATH=" + os.Getenv("PATH")}, Dir: at("w"),
		Write: []string{at("w"), at("none")}, Read: []string{base},
		Fixed: []string{at("w", "fixed")}, Caches: at("caches"),
		Copies: []Copy{{at("home", ".claude.json"), at("copy")}},
	}, Look)
	if err == nil {
		err = p.Prepare()
	}
	if err != nil {
		t.Fatal(err)
	}
	bwrap, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"cat ../home/plain":                 "home/plain",
		"cat ../home/.ssh/id":               "",
		"cat ../home/.netrc":                "",
		"cat ../home/.cache/ours":           "caches/cache/ours",
		"cat ../home/.cache/theirs":         "",
		"cat ../home/.claude.json":          "copy",
		"touch ../home/x || echo no":        "no",
		"touch ../home/.ssh/x || echo no":   "no",
		"echo x > file; cat file":           "x",
		"rm -f fixed || echo no":            "no",
		"touch /tmp/x && echo yes":          "yes",
		"cat /proc/1/environ || echo no":    "no",
		"umount ../home/.ssh || echo no":    "no",
		"grep CapEff /proc/self/status":     "CapEff:\t0000000000000000",
		"grep NoNewPrivs /proc/self/status": "NoNewPrivs:\t1",
	} {
		cmd := exec.Command(bwrap, p.Command([]string{"/bin/sh", "-c", script})[1:]...)
		cmd.Env, cmd.Dir = p.Env, at("w")
		out, _ := cmd.Output()
		if got := strings.TrimRight(string(out), "\n"); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}
