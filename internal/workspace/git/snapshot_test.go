package git

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// A bench is a repository with a linked worktree on the branch "work".
type bench struct {
	t    testing.TB
	w    Worktree
	main string
}

func worktree(t testing.TB, files map[string]string) *bench {
	t.Helper()
	dir := filepath.Join(repo(t, map[string]string{}), "main")
	testfiles.Write(t, dir, files)
	b := &bench{t: t, main: dir}
	b.ok(testfiles.EmptyRepository(dir, "master"))
	b.w.Common = filepath.Join(dir, ".git")
	b.in(dir, "add", "-A")
	b.in(dir, "commit", "-q", "--allow-empty", "-m", "first")
	if testfiles.Long() { // so that git is asked what otherwise objects' own files tell
		b.in(dir, "repack", "-adq")
	}
	b.w.Path = filepath.Join(filepath.Dir(dir), "tree")
	b.in(dir, "worktree", "add", "-q", "-b", "work", b.w.Path)
	b.w.Admin = filepath.Join(b.w.Common, "worktrees", "tree")
	return b
}

// in runs git in a directory.
func (b *bench) in(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// git runs git in the worktree.
func (b *bench) git(args ...string) string {
	b.t.Helper()
	return b.in(b.w.Path, args...)
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	testfiles.Put(b.t, b.w.Path, name, text)
}

func (b *bench) remove(name string) {
	b.t.Helper()
	b.ok(os.RemoveAll(filepath.Join(b.w.Path, name)))
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) options() SnapshotOptions {
	return SnapshotOptions{Base: "refs/heads/work", Branch: "refs/heads/work"}
}

// snapshot takes one, and fails if that changes anything of the worktree or of the repository but
// objects.
func (b *bench) snapshot(o SnapshotOptions) *Snapshot {
	b.t.Helper()
	before := b.state()
	s, err := b.w.Snapshot(b.t.Context(), o)
	b.ok(err)
	if diff := cmp.Diff(before, b.state()); diff != "" {
		b.t.Errorf("the snapshot changed something:\n%s", diff)
	}
	return s
}

// state is every file of the worktree and of the git directories, objects aside.
func (b *bench) state() map[string]string {
	b.t.Helper()
	m := map[string]string{}
	for _, top := range []string{b.w.Path, b.w.Common} {
		for name, text := range b.files(top) {
			if strings.HasPrefix(name, quarantines) {
				b.t.Errorf("left: %s", name)
			}
			if rel, ok := strings.CutPrefix(name, "objects/"); ok && top == b.w.Common {
				if strings.HasPrefix(rel, quarantined) {
					b.t.Errorf("left: %s", name)
				}
				continue
			}
			if top == b.w.Common && strings.HasPrefix(name, heldDir+"/") { // objects, too
				continue
			}
			m[top+": "+name] = text
		}
	}
	return m
}

// files is what is below a directory: type, mode and content.
func (b *bench) files(top string) map[string]string {
	b.t.Helper()
	m := map[string]string{}
	b.ok(filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(top, path)
		m[rel] = describe(path)
		return nil
	}))
	return m
}

func describe(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return "-> " + target
	case !info.Mode().IsRegular():
		return info.Mode().String()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(data) > 200 {
		data = fmt.Appendf(nil, "%x", sha256.Sum256(data))
	}
	if info.Mode()&0o100 != 0 {
		return "x " + string(data)
	}
	return string(data)
}

// tree is what a commit's tree has, as describe writes it.
func (b *bench) tree(commit string) map[string]string {
	b.t.Helper()
	temp, err := os.MkdirTemp(b.t.TempDir(), "")
	b.ok(err)
	dir := filepath.Join(temp, "restored")
	b.ok(Restore(b.t.Context(), b.w.Common, commit, dir))
	return b.files(dir)
}

// want is what a snapshot of the worktree has to have: everything but git's own and the paths.
func (b *bench) want(but ...string) map[string]string {
	b.t.Helper()
	m := b.files(b.w.Path)
	for name := range m {
		if hasDotGit(name) || slices.ContainsFunc(but,
			func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") }) {
			delete(m, name)
		}
	}
	return m
}

func (b *bench) same(what string, commit string, but ...string) {
	b.t.Helper()
	if diff := cmp.Diff(b.want(but...), b.tree(commit)); diff != "" {
		b.t.Errorf("%s: -worktree +snapshot:\n%s", what, diff)
	}
}

var start = map[string]string{
	"a": "1\n", "b": "2\n", "d/c": "3\n", "d/e": "4\n", "run.sh": "#!/bin/sh\n",
	".gitignore": "*.log\nbuild/\n", "f": "5\n", "g/h": "6\n",
}

// Each case edits the worktree. What a snapshot has is compared with what is on disk, for both
// kinds of snapshot.
func TestSnapshotTree(t *testing.T) {
	testfiles.Slow(t)
	for _, tt := range []struct {
		name string
		edit func(b *bench)
		but  []string // not in it
		fail []string // Snapshot.Failed
	}{
		{name: "nothing", edit: func(b *bench) {}},
		{name: "changed, new, removed, moved", edit: func(b *bench) {
			b.write("a", "other\n")
			b.write("new/x", "new\n")
			b.remove("b")
			b.git("mv", "d/c", "moved")
			b.write("staged", "1")
			b.git("add", "staged")
			b.write("staged", "2")
		}},
		{name: "ignored", edit: func(b *bench) {
			b.write("x.log", "1")
			b.write("build/y", "1")
			b.write("d/z.log", "1")
		}, but: []string{"x.log", "build", "d/z.log"}},
		{name: "ignored and added", edit: func(b *bench) {
			b.write("x.log", "1")
			b.git("add", "-f", "x.log")
			b.write("x.log", "2")
		}},
		{name: "tracked, then ignored and taken out of the index", edit: func(b *bench) {
			b.write(".gitignore", "a\n")
			b.git("rm", "-q", "--cached", "a")
			b.write("a", "edited")
		}},
		{name: "modes and links", edit: func(b *bench) {
			b.ok(os.Chmod(filepath.Join(b.w.Path, "run.sh"), 0o755))
			b.ok(os.Symlink("nowhere", filepath.Join(b.w.Path, "link")))
			b.remove("f")
			b.ok(os.Symlink("a", filepath.Join(b.w.Path, "f")))
		}},
		{name: "a directory where a file was, and the other way", edit: func(b *bench) {
			b.remove("a")
			b.write("a/inside", "1")
			b.remove("d")
			b.write("d", "file")
		}},
		{name: "a link where a directory was", edit: func(b *bench) {
			b.ok(os.Rename(filepath.Join(b.w.Path, "d"), filepath.Join(b.w.Path, "elsewhere")))
			b.ok(os.Symlink("elsewhere", filepath.Join(b.w.Path, "d")))
		}},
		{name: "a link to a repository where a directory was", edit: func(b *bench) {
			b.remove("d")
			b.ok(os.Symlink("..", filepath.Join(b.w.Path, "d")))
		}},
		{name: "odd names", edit: func(b *bench) {
			for _, n := range []string{"a\nb", `q"uote`, "'", "\\", "tab\t", "\xff\xfe", " ", "-x",
				":(top)", "*", "git~1", "é/ü", "con", "a:b"} {
				b.write(n, n)
			}
		}},
		{name: "FIFOs and sockets", edit: func(b *bench) {
			b.ok(syscall.Mkfifo(filepath.Join(b.w.Path, "fifo"), 0o644))
			b.remove("a")
			b.ok(syscall.Mkfifo(filepath.Join(b.w.Path, "a"), 0o644))
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			b.ok(err)
			b.t.Cleanup(func() { syscall.Close(fd) })
			b.t.(*testing.T).Chdir(b.w.Path) // the name of a socket is short
			b.ok(syscall.Bind(fd, &syscall.SockaddrUnix{Name: "sock"}))
		}, but: []string{"fifo", "a", "sock"}},
		{name: "assume-unchanged and skip-worktree", edit: func(b *bench) {
			b.git("update-index", "--assume-unchanged", "a", "b")
			b.git("update-index", "--skip-worktree", "f", "d/c")
			b.write("a", "hidden")
			b.write("f", "hidden")
		}},
		{name: "intent to add", edit: func(b *bench) {
			b.write("later", "1")
			b.git("add", "-N", "later")
		}},
		{name: "split index", edit: func(b *bench) {
			b.git("config", "core.splitIndex", "true")
			b.git("update-index", "--split-index")
			b.write("a", "1")
			b.write("new", "1")
		}},
		{name: "index.lock is held", edit: func(b *bench) {
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index.lock"), nil, 0o644))
			b.write("a", "x")
		}},
		{name: "no index", edit: func(b *bench) {
			b.ok(os.Remove(filepath.Join(b.w.Admin, "index")))
			b.write("a", "x")
			b.remove("b")
		}},
		{name: "corrupt index", edit: func(b *bench) {
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index"),
				[]byte("DIRC\x00\x00\x00\x02 what"),
				0o644))
			b.write("a", "x")
			b.remove("b")
		}},
		{name: "index of nothing", edit: func(b *bench) {
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index"), nil, 0o644))
			b.write("a", "x")
			b.remove("b")
		}},
		{name: "nested repositories", edit: func(b *bench) {
			for _, dir := range []string{"nr", "nr/deep", "nr/deep/er", "without", "d"} {
				b.write(dir+"/file", dir)
				b.in(filepath.Join(b.w.Path, dir), "init", "-q")
			}
			b.write("nr/.gitignore", "*.tmp\n")
			b.write("nr/forced.tmp", "tracked all the same")
			b.in(filepath.Join(b.w.Path, "nr"), "add", "-f", "file", "forced.tmp")
			b.in(filepath.Join(b.w.Path, "nr"), "-c", "user.name=t", "-c", "user.email=t@t",
				"commit",
				"-q", "-m", "nested")
			b.write("nr/file", "changed")
			b.write("nr/x.tmp", "")
		}, but: []string{"nr/x.tmp"}},
		{name: "a repository of the agent's, added as a gitlink", edit: func(b *bench) {
			b.write("nr/x", "1")
			nr := filepath.Join(b.w.Path, "nr")
			b.in(nr, "init", "-q")
			b.in(nr, "add", "-A")
			b.in(nr, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "1")
			b.git("-c", "advice.addEmbeddedRepo=false", "add", "nr")
		}},
		{name: "a nested repository where a file was", edit: func(b *bench) {
			b.remove("a")
			b.write("a/inside", "1")
			b.in(filepath.Join(b.w.Path, "a"), "init", "-q")
		}},
		{name: "the top's .git is replaced", edit: func(b *bench) {
			b.remove(".git")
			b.git("init", "-q")
			b.write("a", "x")
			b.git("add", "-A")
			b.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "mine")
			b.write("b", "y")
		}},
		{name: "the top's .git is gone", edit: func(b *bench) {
			b.remove(".git")
			b.write("a", "x")
		}},
		{name: "a HEAD that is nothing", edit: func(b *bench) {
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "HEAD"), nil, 0o644))
			b.write("a", "x")
			b.remove("f")
		}},
		{name: "an orphan branch", edit: func(b *bench) {
			b.git("checkout", "-q", "--orphan", "empty")
			b.git("rm", "-rqf", ".")
			b.write("only", "x")
		}},
		{name: "a required filter that is missing", edit: func(b *bench) {
			b.git("config", "filter.none.clean", "/nowhere/filter")
			b.git("config", "filter.none.required", "true")
			b.write(".gitattributes", "*.bin filter=none\n")
			b.write("1.bin", "one")
			b.write("2.bin", "two\r\n")
			b.write("z", "z")
		}},
		{name: "safecrlf", edit: func(b *bench) {
			b.git("config", "core.safecrlf", "true")
			b.git("config", "core.autocrlf", "input")
			b.write("mixed", "1\r\n2\n")
			b.write("z", "z")
		}},
		{name: "names that git has for itself", edit: func(b *bench) {
			b.write(".GIT/x", "1")
			b.write("d/.Git", "1")
			b.write("z", "z")
		}, but: []string{".GIT", "d/.Git"}, fail: []string{".GIT/x", "d/.Git"}},
		{name: "a merge conflict", edit: func(b *bench) {
			b.write("a", "ours")
			b.git("commit", "-qam", "ours")
			b.git("checkout", "-q", "-b", "other", "HEAD~")
			b.write("a", "theirs")
			b.git("rm", "-q", "b")
			b.git("commit", "-qam", "theirs")
			b.git("checkout", "-q", "work")
			b.write("b", "changed")
			b.git("commit", "-qam", "b")
			if err := exec.Command("git", "-C", b.w.Path, "merge", "-q",
				"other").Run(); err == nil {
				b.t.Fatal("no conflict")
			}
			b.write("new", "x")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := worktree(t, start)
			tt.edit(b)
			for _, exact := range []bool{false, true} {
				o := b.options()
				o.Exact = exact
				s := b.snapshot(o)
				b.same(fmt.Sprintf("exact %v", exact), s.Tree, tt.but...)
				var failed []string
				for _, f := range s.Failed {
					failed = append(failed, f.Path)
					if f.Why == "" {
						t.Errorf("%s isn't kept, and nothing says why", f.Path)
					}
				}
				if diff := cmp.Diff(tt.fail, failed); diff != "" {
					t.Errorf("exact %v: failed: %s", exact, diff)
				}
				b.ok(Keep(t.Context(), b.w.Common, fmt.Sprintf("refs/gl/wip/p/_/s-1/1/%v", exact),
					s))
			}
			b.in(b.main, "rev-list", "--objects", "--glob=refs/gl/*")
		})
	}
}

// An edit in the second of the index's time, of the same size, is seen.
func TestSnapshotSeesRacyEdits(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	for i := range 5 {
		b.write("a", fmt.Sprintf("%d\n", i))
		b.git("add", "a")
		b.write("a", fmt.Sprintf("%d\n", i+1))
		b.same("racy", b.snapshot(b.options()).Tree)
	}
}

func TestSnapshotSame(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	o := b.options()
	b.write("a", "x")
	o.Last = b.snapshot(o).Tree
	objects := b.files(filepath.Join(b.w.Common, "objects"))
	for _, o.Exact = range []bool{false, true} {
		if s := b.snapshot(o); !s.Same || s.Tree != o.Last {
			t.Errorf("nothing changed: %+v", s)
		}
	}
	if diff := cmp.Diff(objects, b.files(filepath.Join(b.w.Common, "objects"))); diff != "" {
		t.Errorf("objects for nothing: %s", diff)
	}
	for _, edit := range []struct {
		name string
		do   func()
	}{
		{"staged", func() { b.git("add", "a"); b.write("a", "y") }},
		{"committed", func() { b.git("commit", "-qam", "x") }},
		{"edited", func() { b.write("a", "z") }},
		{"staged, edited and staged",
			func() { b.git("add", "a"); b.write("a", "z2"); b.git("add", "a"); b.write("a", "z") }},
	} {
		edit.do()
		s := b.snapshot(o)
		if s.Same {
			t.Errorf("%s: the same", edit.name)
		}
		o.Last = s.Tree
		if s := b.snapshot(o); !s.Same {
			t.Errorf("%s: nothing changed since: %+v", edit.name, s)
		}
	}
}

func TestSnapshotLimit(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.write("large", strings.Repeat("x", 3000))
	o := b.options()
	o.MaxBytes = 2000
	_, err := b.w.Snapshot(t.Context(), o)
	var big *TooBigError
	if !errors.As(err, &big) || big.Largest != "large" || big.Max != 2000 {
		t.Errorf("%v", err)
	}
	b.state() // nothing is left
	o.MaxBytes = 4000
	b.same("below the limit", b.snapshot(o).Tree)
}

func TestKeep(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.write("a", "1")
	b.git("add", "a")
	b.write("a", "2")
	s := b.snapshot(b.options())
	const prefix = "refs/gl/wip/p/_/s-1/1/1"
	if s.Index == "" || s.Head != "" {
		t.Errorf("%+v", s)
	}
	b.ok(Keep(t.Context(), b.w.Common, prefix, s))
	refs, err := Refs(t.Context(), b.w.Common, "refs/gl/wip")
	b.ok(err)
	if len(refs) != 2 || refs[0].Name != prefix+"/index" || refs[0].Commit != s.Index ||
		refs[1].Commit != s.Tree || time.Since(refs[1].Time) > time.Hour {
		t.Errorf("%+v", refs)
	}
	if err := Keep(t.Context(), b.w.Common, prefix, s); !errors.Is(err, ErrRefExists) {
		t.Errorf("twice: %v", err)
	}
	// All or none: one name is taken.
	b.in(b.main, "update-ref", "refs/gl/wip/p/_/s-1/1/2/tree", "HEAD")
	if err := Keep(t.Context(), b.w.Common, "refs/gl/wip/p/_/s-1/1/2",
		s); !errors.Is(err, ErrRefExists) {
		t.Errorf("one is taken: %v", err)
	}
	if refs, _ := Refs(t.Context(), b.w.Common, "refs/gl/wip/p/_/s-1/1/2"); len(refs) != 1 {
		t.Errorf("half of a snapshot: %+v", refs)
	}
	gone := []RefChange{{Name: refs[0].Name, Old: refs[0].Commit},
		{Name: refs[1].Name, Old: s.Index}}
	if err := ChangeRefs(t.Context(), b.w.Common, "test", gone...); !errors.Is(err, ErrRefMoved) {
		t.Errorf("moved: %v", err)
	}
	gone[1].Old = s.Tree
	b.ok(ChangeRefs(t.Context(), b.w.Common, "test", gone...))
	if err := ChangeRefs(t.Context(), b.w.Common, "test", gone...); !errors.Is(err, ErrRefMoved) {
		t.Errorf("gone: %v", err)
	}
}

// What is pruned between the objects and the refs shows, and no ref is left that names what isn't
// there.
func TestKeepSeesWhatIsPruned(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.write("a", "a blob that nothing names")
	s := b.snapshot(b.options())
	blob := b.in(b.main, "rev-parse", s.Tree+":a")
	b.ok(os.RemoveAll(filepath.Join(b.w.Common, heldDir)))
	b.ok(os.Remove(filepath.Join(b.w.Common, "objects", blob[:2], blob[2:])))
	if err := Keep(t.Context(), b.w.Common, "refs/gl/wip/p/_/s-1/1/1",
		s); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
	if refs, err := Refs(t.Context(), b.w.Common, "refs/gl"); err != nil || len(refs) > 0 {
		t.Errorf("%+v, %v", refs, err)
	}
	got, err := b.w.Save(t.Context(), "refs/gl/wip/p/_/s-1/1/1", b.options())
	b.ok(err)
	b.same("again", got.Tree)
}

func TestRestore(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.write("a", "x")
	s := b.snapshot(b.options())
	dir := t.TempDir()
	testfiles.Write(t, dir, map[string]string{"a": "mine"})
	if err := Restore(t.Context(), b.w.Common, s.Tree, dir); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("%v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "a")); !bytes.Equal(data, []byte("mine")) {
		t.Errorf("a is %q", data)
	}
	b.ok(RestoreBranch(t.Context(), b.w.Common, s.Tree, "refs/heads/back"))
	if err := RestoreBranch(t.Context(), b.w.Common, s.Tree,
		"refs/heads/back"); !errors.Is(err, ErrRefExists) {
		t.Errorf("%v", err)
	}
	if got := b.in(b.main, "show", "back:a"); got != "x" {
		t.Errorf("a is %q", got)
	}
	if err := RestoreBranch(t.Context(), b.w.Common, s.Tree, "refs/heads/a..b"); err == nil {
		t.Error("a name that can't be one")
	}
}

// What git can't look into isn't kept, and is said not to be.
func TestSnapshotOfWhatCantBeRead(t *testing.T) {
	b := worktree(t, start)
	b.write("new", "x")
	dir := strings.Repeat("d", 200)
	t.Chdir(b.w.Path)
	for range 22 { // longer than a path may be
		b.ok(os.Mkdir(dir, 0o755))
		b.ok(os.Chdir(dir))
	}
	b.ok(os.WriteFile("deep", []byte("1"), 0o644))
	b.ok(os.Chdir(b.w.Path))
	s, err := b.w.Snapshot(t.Context(), b.options())
	b.ok(err)
	if len(s.Failed) != 1 || !strings.HasPrefix(s.Failed[0].Path, dir+"/"+dir) ||
		b.tree(s.Tree)["new"] != "x" {
		t.Errorf("failed: %q", s.Failed)
	}
}

// What a process left that was killed is removed by the next snapshot, and what one is working with
// isn't.
func TestQuarantinesOfTheDead(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	alive, err := newQuarantine(b.w.Common)
	b.ok(err)
	dead, old := filepath.Join(b.w.Common, quarantines+"dead"),
		filepath.Join(b.w.Common, "objects", quarantined+"dead")
	young := filepath.Join(b.w.Common, quarantines+"young")
	hour := time.Now().Add(-time.Hour)
	for _, dir := range []string{dead, old, young} {
		b.ok(os.Mkdir(dir, 0o755))
		b.ok(os.WriteFile(filepath.Join(dir, "lock"), nil, 0o644))
	}
	b.ok(os.Chtimes(dead, hour, hour))
	b.ok(os.Chtimes(old, hour, hour))
	b.ok(os.Chtimes(alive.dir, hour, hour))
	_, err = b.w.Snapshot(t.Context(), b.options())
	b.ok(err)
	for dir, there := range map[string]bool{dead: false, old: false, young: true, alive.dir: true} {
		if _, err := os.Stat(dir); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
	b.ok(alive.remove())
}

// What a killed git init leaves is no repository: nothing in it can be kept, or missed.
func TestSnapshotOfHalfARepository(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.write("half/file", "x")
	b.in(filepath.Join(b.w.Path, "half"), "init", "-q")
	b.remove("half/.git/objects")
	o := b.options()
	o.Exact = true
	for _, gone := range []string{"half/.git/config", "half/.git/refs", "half/.git/HEAD"} {
		s := b.snapshot(o)
		if len(s.Failed) > 0 || b.tree(s.Tree)["half/file"] != "x" {
			t.Errorf("before %s: failed %q, tree %v", gone, s.Failed, b.tree(s.Tree))
		}
		b.remove(gone)
	}
}
