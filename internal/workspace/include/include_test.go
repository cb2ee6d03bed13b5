package include

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A site is a main checkout and a fresh linked worktree beside it.
type site struct {
	t          *testing.T
	main, tree string
}

func newSite(t *testing.T, tracked map[string]string) *site {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for key, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir,
		"GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(key, value)
	}
	s := &site{t, filepath.Join(dir, "main"), filepath.Join(dir, "tree")}
	s.write(tracked)
	s.git(s.main, "init", "-q")
	s.git(s.main, "add", "-f", ".")
	s.git(s.main, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty",
		"-m", "first")
	s.git(s.main, "worktree", "add", "-q", s.tree)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes files in the main checkout; "-> TARGET" is a link.
func (s *site) write(files map[string]string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(s.main, 0o755))
	for name, text := range files {
		p := filepath.Join(s.main, name)
		must(s.t, os.MkdirAll(filepath.Dir(p), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must(s.t, os.Symlink(target, p))
		} else {
			must(s.t, os.WriteFile(p, []byte(text), 0o644))
		}
	}
}

func (s *site) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// inTree returns all files of the worktree except .git, in the format of write.
func (s *site) inTree() map[string]string {
	s.t.Helper()
	files := map[string]string{}
	must(s.t, filepath.WalkDir(s.tree, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.tree, p)
		switch {
		case err != nil || d.IsDir() || rel == ".git":
			return err
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			files[rel] = "-> " + target
			return err
		}
		data, err := os.ReadFile(p)
		files[rel] = string(data)
		return err
	}))
	return files
}

func (s *site) run(o Options, clone cloner) *Report {
	s.t.Helper()
	o.From, o.To = s.main, s.tree
	r, err := newCopier(o).run(s.t.Context(), clone)
	must(s.t, err)
	return r
}

func noClone(*os.File, string) error { return errNoClone }

func TestCopy(t *testing.T) {
	s := newSite(t, map[string]string{
		".gitignore":       "node_modules/\n.env*\n*.log\nrepo/\npipes/\n.greenlight/\nescape/\nout\n",
		".worktreeinclude": "# for builds\n.env*\n!.env.prod\nnode_modules\nplain\nrepo\npipes\n.greenlight\nescape\nout\n",
		"code.go":          "code", ".env.tracked": "tracked",
		"escape/link": "-> ../../out", // a link on the branch; in the main checkout a directory
	})
	must(t, os.RemoveAll(filepath.Join(s.main, "escape")))
	outside := filepath.Join(filepath.Dir(s.main), "out")
	must(t, os.Mkdir(outside, 0o755))
	s.write(map[string]string{
		".env": "secret", ".env.prod": "no", "debug.log": "no", "plain": "not ignored",
		"code.go": "changed", ".env.tracked": "changed", "node_modules/a/x.js": "x",
		"node_modules/.bin/a": "-> ../a/x.js", "node_modules/abs": "-> /etc",
		"sub/node_modules/b": "b", "escape/link/file": "into a link", "out": "-> /etc/passwd",
		".greenlight/runs/live/S-1.1.json": "{}", ".greenlight/.lock": "",
		".greenlight/contracts/S-1.md": "contract", "node_modules/.git/x": "x",
		"pipes/file": "beside a pipe",
	})
	must(t, syscall.Mkfifo(filepath.Join(s.main, "pipes", "pipe"), 0o644))
	must(t, os.MkdirAll(filepath.Join(s.main, "repo", "nested"), 0o755))
	s.git(filepath.Join(s.main, "repo", "nested"), "init", "-q")
	s.git(filepath.Join(s.main, "repo", "nested"), "-c", "user.name=t", "-c", "user.email=t@t",
		"commit", "-q", "--allow-empty", "-m", "x")
	must(t, os.Chmod(filepath.Join(s.main, ".env"), 0o4600))
	must(t, os.Chmod(filepath.Join(s.main, "node_modules/a/x.js"), 0o755))
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(s.main, ".env"), old, old))

	r := s.run(Options{}, clone)
	want := map[string]string{
		".gitignore": "node_modules/\n.env*\n*.log\nrepo/\npipes/\n.greenlight/\nescape/\nout\n",
		"code.go":    "code", ".env.tracked": "tracked",
		".env": "secret", "node_modules/a/x.js": "x", "node_modules/.bin/a": "-> ../a/x.js",
		"node_modules/abs": "-> /etc", "sub/node_modules/b": "b",
		".greenlight/contracts/S-1.md": "contract", "escape/link": "-> ../../out",
		"pipes/file": "beside a pipe", "out": "-> /etc/passwd",
	}
	got := s.inTree()
	want[".worktreeinclude"] = got[".worktreeinclude"]
	delete(got, "node_modules/.git/x") // git decides whether that is a repository
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written through a link: %v", left)
	}
	var paths []string
	for _, l := range r.Left {
		paths = append(paths, l.Path)
	}
	if d := cmp.Diff([]string{"escape/link/file", "repo/nested/"}, paths); d != "" {
		t.Errorf("%v%s", r.Left, d)
	}
	info, err := os.Stat(filepath.Join(s.tree, ".env"))
	must(t, err)
	if info.Mode() != 0o600 || !info.ModTime().Equal(old) {
		t.Errorf("%v of %v", info.Mode(), info.ModTime())
	}
	if info, err := os.Stat(filepath.Join(s.tree, "node_modules/a/x.js")); err != nil ||
		info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if r.Files != 8 {
		t.Errorf("%+v", r)
	}

	// Once more: existing files stay as they are now.
	must(t, os.WriteFile(filepath.Join(s.tree, ".env"), []byte("the agent's"), 0o600))
	must(t, os.Remove(filepath.Join(s.tree, "sub/node_modules/b")))
	if r := s.run(Options{}, clone); r.Files != 1 || s.inTree()[".env"] != "the agent's" {
		t.Errorf("%+v", r)
	}
}

// A copy that was killed half way is completed the next time.
func TestCopyAfterAKill(t *testing.T) {
	s := newSite(t, map[string]string{".gitignore": "x\n", ".worktreeinclude": "x\n"})
	s.write(map[string]string{"x": "all of it"})
	must(t, os.WriteFile(filepath.Join(s.tree, "x.gl-part"), []byte("all"), 0o400))
	s.run(Options{}, noClone)
	if got := s.inTree(); got["x"] != "all of it" || len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// The smallest units are copied first, and a unit that is too large isn't begun.
func TestCopyIsBounded(t *testing.T) {
	s := newSite(t, map[string]string{".gitignore": "*\n", ".worktreeinclude": "*\n"})
	s.write(map[string]string{".env": "1234", "big/a": strings.Repeat("x", 50),
		"big/b/c": strings.Repeat("x", 60), "mid/a": strings.Repeat("x", 40)})
	r := s.run(Options{MaxBytes: 100}, noClone)
	if _, err := os.Lstat(filepath.Join(s.tree, "big")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("big was begun")
	}
	if r.Files != 2 || r.Bytes != 44 || r.Cloned != 0 || len(r.Left) != 1 ||
		r.Left[0].Path != "big" || !strings.Contains(r.Left[0].Why, "2 files") ||
		!strings.Contains(r.Left[0].Why, "git.setup") {
		t.Errorf("%+v", r)
	}
	// Files that share their data take no space.
	shared := func(src *os.File, dst string) error {
		data, err := io.ReadAll(src)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, data, 0o600)
	}
	if r := s.run(Options{MaxBytes: 100}, shared); r.Files != 2 || r.Cloned != 2 || r.Bytes != 0 ||
		len(r.Left) != 0 {
		t.Errorf("%+v", r)
	}
}

// A full disk is an error, since everything after it would fail, too; no half copy stays.
func TestCopyOnAFullDisk(t *testing.T) {
	s := newSite(t, map[string]string{".gitignore": "x\n", ".worktreeinclude": "x\n"})
	s.write(map[string]string{"x": "1"})
	_, err := newCopier(Options{From: s.main, To: s.tree}).run(t.Context(),
		func(_ *os.File, dst string) error {
			return errors.Join(os.WriteFile(dst, nil, 0o600), syscall.ENOSPC)
		})
	if !errors.Is(err, syscall.ENOSPC) || len(s.inTree()) != 2 {
		t.Errorf("%v, %q", err, s.inTree())
	}
}

func TestCopyEnds(t *testing.T) {
	s := newSite(t, map[string]string{".gitignore": "x\n", ".worktreeinclude": "x\n"})
	s.write(map[string]string{"x": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Copy(ctx, Options{From: s.main, To: s.tree}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Files that agents read are copied without being named, in a project in a subdirectory too.
// The agent's git add -A doesn't commit them, because then the branch couldn't be merged where
// they are untracked.
func TestCopyAgentFiles(t *testing.T) {
	s := newSite(t, map[string]string{
		".gitignore": "*.local.json\n", "app/.claude/commands/mine.md": "tracked",
		"app/.gemini/commands/.gitignore": "x", "a": "",
	})
	s.write(map[string]string{
		"app/.claude/commands/gl/slice.md": "1", "app/.claude/commands/gl/a b[1].md": "2",
		"app/.claude/settings.local.json": "{}", "app/.claude/settings.json": "{}",
		"app/.claude/todos/x": "no", "app/.gemini/commands/new.toml": "left",
		"app/code.go": "new code", ".claude/commands/other.md": "another project's",
		"app/.claude/commands/mine.md": "changed",
	})
	r := s.run(Options{Place: "app"}, clone)
	got := s.inTree()
	for name, want := range map[string]string{
		"app/.claude/commands/gl/slice.md": "1", "app/.claude/commands/gl/a b[1].md": "2",
		"app/.claude/settings.local.json": "{}", "app/.claude/settings.json": "{}",
		"app/.claude/commands/mine.md": "tracked", "app/.claude/todos/x": "",
		"app/.gemini/commands/new.toml": "", "app/code.go": "", ".claude/commands/other.md": "",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if out := s.git(s.tree, "status", "--porcelain", "--untracked-files=all"); out != "" {
		t.Errorf("git would commit\n%s", out)
	}
	if len(r.Left) != 1 || r.Left[0].Path != "app/.gemini/commands/new.toml" {
		t.Errorf("%+v", r.Left)
	}
	// An interrupted run leaves half of a .gitignore.
	half := filepath.Join(s.tree, "app/.claude/.gitignore")
	must(t, os.WriteFile(half, []byte("/sett"), 0o644))
	must(t, os.Remove(filepath.Join(s.tree, "app/.claude/settings.json")))
	s.run(Options{Place: "app"}, clone)
	if again := s.inTree(); cmp.Diff(got, again) != "" {
		t.Error(cmp.Diff(got, again))
	}
}

// Without patterns and agents' files there is nothing to do, and a FIFO in place of the
// patterns doesn't block.
func TestCopyNothing(t *testing.T) {
	s := newSite(t, map[string]string{"a": ""})
	must(t, syscall.Mkfifo(filepath.Join(s.main, PatternsFile), 0o644))
	if r := s.run(Options{}, clone); r.Files != 0 || r.Left != nil {
		t.Errorf("%+v", r)
	}
}

// Any name gets a pattern that matches only that name.
func FuzzIgnoreLine(f *testing.F) {
	for _, name := range []string{"a", "#a", "!a", "a ", `a\`, "[a]", "*", "a?", "\xff", "ü"} {
		f.Add(name)
	}
	dir := f.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		f.Skip(string(out))
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || len(name) > 100 || strings.ContainsAny(name, "/\n\r\x00") || name == "." ||
			name == ".." || strings.EqualFold(name, ".git") {
			return
		}
		must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignoreLine(name)+"\n"),
			0o644))
		// with ./, since git takes one that begins with a colon for pathspec magic
		for other, want := range map[string]string{"./" + name: "./" + name + "\x00",
			"./" + name + "x": "", "x" + name: "", "sub/" + name: ""} {
			cmd := exec.Command("git", "-C", dir, "check-ignore", "--no-index", "-z", "--stdin")
			cmd.Stdin = strings.NewReader(other)
			if out, _ := cmd.Output(); string(out) != want {
				t.Errorf("%q hides %q: %q", ignoreLine(name), other, out)
			}
		}
	})
}

// Only copies what it names, from a directory that needn't be a checkout, and reports the rest.
func TestOnly(t *testing.T) {
	s := newSite(t, map[string]string{"a": "tracked"})
	from := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(from, "conf"), 0o755))
	for _, name := range []string{".env", "conf/key", "other", "a"} {
		must(t, os.WriteFile(filepath.Join(from, name), []byte(name), 0o600))
	}
	report, err := Copy(t.Context(), Options{From: from, To: s.tree,
		Only: []string{".env", "conf/key", "a", "conf", "missing"}})
	must(t, err)
	if report.Files != 2 || len(report.Left) != 1 || report.Left[0].Path != "conf" {
		t.Errorf("%+v", report)
	}
	for name, want := range map[string]string{".env": ".env", "conf/key": "conf/key", "a": "tracked"} {
		if got, _ := os.ReadFile(filepath.Join(s.tree, name)); string(got) != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}
