package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// refusal is how Open ends in a repository.
type refusal struct {
	name  string
	make  func(t *testing.T, root string)
	o     Options
	want  string // part of the reason
	falls bool   // to shared
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []refusal{
		{name: "no commit", make: func(t *testing.T, root string) {
			must(t, os.RemoveAll(filepath.Join(root, ".git")))
			gitIn(t, root, "init", "-q")
		}, want: "no commit yet"},
		{name: "no repository", make: func(t *testing.T, root string) {
			must(t, os.RemoveAll(filepath.Join(root, ".git")))
		}, want: "no git repository", falls: true},
		{name: "detached", make: func(t *testing.T, root string) {
			gitIn(t, root, "checkout", "-q", "--detach")
		}, want: "no branch is checked out"},
		{name: "target", make: func(*testing.T, string) {}, o: Options{Target: "none"},
			want: "no branch none"},
		{name: "branch gl", make: func(t *testing.T, root string) {
			gitIn(t, root, "branch", "gl")
		}, want: "the branch gl is in the way"},
		{name: "branch gl/s", make: func(t *testing.T, root string) {
			gitIn(t, root, "branch", "gl/s")
		}, want: "the branch gl/s is in the way"},
		{name: "branch gl/s/_", make: func(t *testing.T, root string) {
			gitIn(t, root, "branch", "gl/s/_")
		}, want: "the branch gl/s/_ is in the way"},
		{name: "packed", make: func(t *testing.T, root string) {
			gitIn(t, root, "branch", "gl")
			gitIn(t, root, "pack-refs", "--all")
		}, want: "the branch gl is in the way"},
		{name: "prefix", make: func(*testing.T, string) {}, o: Options{Prefix: "a..b"},
			want: `begin with "a..b"`},
		{name: "option as prefix", make: func(*testing.T, string) {}, o: Options{Prefix: "--force"},
			want: `begin with "--force"`},
		{name: "repository above", make: func(t *testing.T, root string) {
			newRepo(t, filepath.Dir(root))
		}, want: "inside of the repository"},
		{name: "file in the place", make: func(t *testing.T, root string) {
			must(t, os.WriteFile(root+".gl", nil, 0o644))
		}, want: "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefusal(t, c) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func checkRefusal(t *testing.T, c refusal) {
	root := project(t)
	c.make(t, root)
	before := stamps(t, filepath.Dir(root))
	_, err := Open(t.Context(), root, c.o)
	if err == nil || !strings.Contains(err.Error(), c.want) {
		t.Fatalf("%v, want %q", err, c.want)
	}
	if falls := errors.As(err, new(*Unavailable)); falls != c.falls ||
		!falls && !errors.As(err, new(*Refused)) {
		t.Errorf("%T", err)
	}
	if diff := cmp.Diff(before, stamps(t, filepath.Dir(root))); diff != "" {
		t.Errorf("something has changed:\n%s", diff)
	}
}

func TestOpenOldGit(t *testing.T) {
	root, bin := project(t), tempDir(t)
	must(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho git version 2.34.1\n"),
		0o755))
	t.Setenv("PATH", bin)
	_, err := Open(t.Context(), root, Options{})
	if !errors.As(err, new(*Unavailable)) || !strings.Contains(err.Error(), "git is 2.34.1") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(filepath.Join(bin, "git")))
	if _, err := Open(t.Context(), root, Options{}); !errors.As(err, new(*Unavailable)) {
		t.Errorf("without git: %v", err)
	}
}

// Where worktrees have been opened before, only opening them for new work asks git for its version.
func TestAttachAsksNoVersion(t *testing.T) {
	root, bin := project(t), tempDir(t)
	if _, err := Open(t.Context(), root, Options{}); err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("git")
	must(t, err)
	asked := filepath.Join(bin, "asked")
	must(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nfor a; do [ \"$a\" != version ] || : >"+
		asked+"; done\nexec "+real+" \"$@\"\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if _, err := Attach(t.Context(), root, Options{}); err != nil || paths.Exists(asked) {
		t.Errorf("Attach: %v, asked for the version: %v", err, paths.Exists(asked))
	}
	if _, err := Open(t.Context(), root, Options{}); err != nil || !paths.Exists(asked) {
		t.Errorf("Open: %v, asked for the version: %v", err, paths.Exists(asked))
	}
	must(t, os.Remove(asked))
	var none *Unavailable
	_, err = Open(t.Context(), tempDir(t), Options{})
	if !errors.As(err, &none) || !none.NoRepository || paths.Exists(asked) {
		t.Errorf("in no repository: %v, asked for the version: %v", err, paths.Exists(asked))
	}
}

// A git that something has killed is no reason to work in the checkout.
func TestOpenKilledGit(t *testing.T) {
	root, bin := project(t), tempDir(t)
	real, err := exec.LookPath("git")
	must(t, err)
	for _, killed := range []string{"version", "rev-parse"} {
		script := "#!/bin/sh\nfor a; do if [ \"$a\" = " + killed +
			" ]; then kill -9 $$; fi; done\nexec " + real + " \"$@\"\n"
		must(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		if _, err := Open(t.Context(), root, Options{}); errors.As(err, new(*Unavailable)) {
			t.Errorf("%s: %v", killed, err)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"2.38": true, "2.38.0": true,
		"2.39.5.windows.1": true, "3.0": true, "2.37.9": false, "1.99": false, "": false,
		"2.4": false} {
		if atLeast(version, oldest) != want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}

// The target is what was recorded, whatever is checked out now; a setting counts more.
func TestTarget(t *testing.T) {
	t.Parallel()
	root := project(t)
	if _, err := open(t, root).Queue.Base(t.Context()); err != nil {
		t.Fatal(err)
	}
	gitIn(t, root, "checkout", "-q", "-b", "other")
	if r := open(t, root); r.Target() != "refs/heads/main" {
		t.Errorf("the target is %s", r.Target())
	}
	gitIn(t, root, "checkout", "-q", "--detach")
	r, err := Open(t.Context(), root, Options{Target: "other"})
	must(t, err)
	_, err = r.Queue.Base(t.Context())
	must(t, err)
	if got := gitIn(t, root, "symbolic-ref", "refs/gl/target/_"); got != "refs/heads/other" {
		t.Errorf("recorded is %s", got)
	}
}

func TestTwoProjectsInOneRepository(t *testing.T) {
	t.Parallel()
	root := project(t)
	for _, p := range []string{"one", "two/deep"} {
		testfiles.Write(t, root, map[string]string{p + "/x": p,
			p + "/.greenlight/.gitignore": "*\n"})
	}
	commit(t, root, "projects")
	seen := map[string]bool{}
	for _, p := range []string{"", "one", "two/deep"} {
		r := open(t, filepath.Join(root, p))
		l := made(t, r, "lane")
		if seen[l.Branch] || seen[l.Path] {
			t.Errorf("%s and %s are used twice", l.Branch, l.Path)
		}
		seen[l.Branch], seen[l.Path] = true, true
		if want := filepath.Join(l.Path, p); r.Layout.Dir(l) != want {
			t.Errorf("the agent's directory is %s, want %s", r.Layout.Dir(l), want)
		}
		if got := gitIn(t, r.Layout.Dir(l), "rev-parse", "--show-toplevel"); got != l.Path {
			t.Errorf("its top is %s", got)
		}
	}
}

// Whatever is in the way of new worktrees, the work in one that is there is kept.
func TestAttach(t *testing.T) {
	t.Parallel()
	root := project(t)
	l := made(t, open(t, root), "s-1")
	testfiles.Write(t, l.Path, map[string]string{"work": "work"})
	gitIn(t, root, "checkout", "-q", "--detach")
	gitIn(t, root, "symbolic-ref", "-d", "refs/gl/target/_")
	testfiles.Write(t, filepath.Dir(root), map[string]string{".git/HEAD": "ref: refs/heads/x\n"})
	if _, err := Open(t.Context(), root, Options{}); !errors.As(err, new(*Refused)) {
		t.Fatalf("%v", err)
	}
	r, err := Attach(t.Context(), root, Options{})
	must(t, err)
	s, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true})
	must(t, err)
	if got := gitIn(t, root, "show", s.Tree+":work"); got != "work" {
		t.Errorf("work is %q", got)
	}
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil ||
		!strings.Contains(kept, "no target branch") {
		t.Errorf("%q, %v", kept, err)
	}
}

// In a bare layout the state is in a linked worktree, beside which ours may be, although a .git
// file is above them.
func TestBareLayout(t *testing.T) {
	t.Parallel()
	origin := project(t)
	top := tempDir(t)
	gitIn(t, top, "clone", "-q", "--bare", origin, ".bare")
	must(t, os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: ./.bare\n"), 0o644))
	gitIn(t, top, "worktree", "add", "-q", "main", "main")
	root := filepath.Join(top, "main")
	testfiles.Write(t, root, map[string]string{".greenlight/.gitignore": "*\n"})
	l := made(t, open(t, root), "s-1")
	if l.Path != root+".gl/_/_/s-1.1" || read(t, l.Path, "a.txt") != "a\n" {
		t.Errorf("%+v", l)
	}
	if got := read(t, top, ".bare/gl-root"); got != root+"\n" {
		t.Errorf("gl-root is %q", got)
	}
	// A second checkout of the same repository isn't where the state is.
	gitIn(t, top, "worktree", "add", "-q", "-b", "more", "more", "main")
	testfiles.Write(t, filepath.Join(top, "more"),
		map[string]string{".greenlight/.gitignore": "*\n"})
	if _, err := Open(t.Context(), filepath.Join(top, "more"),
		Options{}); !errors.As(err, new(*Refused)) || !strings.Contains(err.Error(), root) {
		t.Errorf("a second state: %v", err)
	}
}

func TestNamedPlace(t *testing.T) {
	t.Parallel()
	root := project(t)
	dir := tempDir(t)
	must(t, os.Symlink(dir, filepath.Join(dir, "link")))
	r, err := Open(t.Context(), root, Options{Dir: filepath.Join(dir, "link", "new")})
	must(t, err)
	if l := made(t, r, "s-1"); l.Path != filepath.Join(dir, "new", "repo", "_", "_", "s-1.1") {
		t.Errorf("the worktree is in %s", l.Path)
	}
	if _, err := Open(t.Context(), root, Options{Dir: filepath.Join(root, "w")}); err == nil ||
		!strings.Contains(err.Error(), "inside of the repository") {
		t.Errorf("in the checkout: %v", err)
	}
}

func TestMounts(t *testing.T) {
	t.Parallel()
	const info = "1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 8:1 /x /work rw - ext4 /dev/sda rw\n3 1 8:1 /y /with\\040space rw - ext4 /dev/sda rw\nshort\n"
	for path, want := range map[string]string{"/": "/", "/work": "/work", "/work/a": "/work",
		"/work.gl": "/", "/with space/a": "/with space"} {
		if got := mountOf(info, path); got != want {
			t.Errorf("%s is on %s, want %s", path, got, want)
		}
	}
}

// stamps are the modes, times and contents of all files below dir.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[path] += " " + info.ModTime().String() + " " + string(data)
			return err
		}
		return nil
	}))
	return all
}
